"""Texts of the program that documents quote (log lines, errors, messages) stand in the sources:
quotes.py "DOCUMENT ..." SOURCE...

A quote is a code span of two words or more without the signs of a command, an option or code. "…" and each
conversion of a format stand for any text.
"""

import functools
import pathlib
import re
import sys

FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`]+)`")
# Words as in a sentence, and values in the middle: a path, an address, a number.
QUOTE = re.compile(r"[A-Za-z…][^=<>{}\[\]|$*\\~@()#\"]*")
COMMANDS = re.compile(
    r"(?:scoria|manage|ready|struct|top|etc/dev-cluster|openstack|cinder|kubectl|virsh|volume|make|podman|rabbitmqctl"
    r"|xfs_io|sqlite3|man|fuser|curl|pg_dump|losetup|fallocate|e2fsck|qemu-\w+|kill|GET|POST|PUT|PATCH|DELETE|[\w.-]+:) "
)
STRINGS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
CONVERSION = re.compile(r"%[-+0-9.* ]*(?:hh|h|ll|l|j|z)?[a-zA-Z]")
# Texts of other programs, or of several strings.
EXEMPT = (
    "Canceled on conflict out to old pivot",
    "pool pool-a is drained: 2 replicas left, 512.0 of 2048.0 MiB moved, 120.0 MiB/s, 13 s left",
)
# So much of a quote must be the string's own words; the rest are values.
LEAST = 0.6


def quotes(text):
    """The quotes of a document, each with its line."""
    text = FENCED.sub(lambda found: "\n" * found.group().count("\n"), text)
    for span in SPAN.finditer(text):
        quote = " ".join(span.group(1).split())
        if len(quote.split()) >= 2 and QUOTE.fullmatch(quote) and not COMMANDS.match(quote) and quote not in EXEMPT:
            yield text.count("\n", 0, span.start()) + 1, quote


def texts(sources):
    """The strings of the sources, those in a row as one."""
    return [
        "".join(STRING.findall(found.group())).replace('\\"', '"')
        for source in sources
        for found in STRINGS.finditer(pathlib.Path(source).read_text(encoding="utf-8"))
    ]


def words(text):
    """Its words; None stands for a value."""
    return [None if "…" in word else word.strip(".,:;") for word in CONVERSION.sub("…", text).split()]


def stands_in(quote, string):
    """Is the quote a part of the string? A value of the string is some words of the quote, and the other way round."""
    least = LEAST * sum(word is not None for word in quote)

    @functools.lru_cache(maxsize=None)
    def follows(i, j, same):
        if j == len(quote):
            return same >= least
        if i == len(string):
            return False
        if quote[j] is None:
            return follows(i + 1, j, same) or follows(i, j + 1, same) or follows(i + 1, j + 1, same)
        if string[i] is None:
            return any(follows(i + 1, j + n, same) for n in range(min(5, len(quote) - j) + 1))
        return string[i] == quote[j] and follows(i + 1, j + 1, same + 1)

    return any(follows(i, 0, 0) for i in range(len(string)))


def self_test():
    """A quote that is a part of a text, with values on either side, is found; one with another word is not."""
    text = words("backend %s unavailable, retried in %d seconds")
    good = ("unavailable, retried in 5 seconds", "backend … unavailable, retried", "backend big one unavailable, retried")
    wrong = ("unavailable, repeated in 5 seconds", "backend … unreachable, retried", "unavailable, in 5 seconds")
    failed = [quote for quote in (*good, *wrong) if stands_in(words(quote), text) != (quote in good)]
    for quote in failed:
        print(f"quotes.py: self-test: {quote}")
    return 1 if failed else 0


def main(arguments):
    """The exit status."""
    if arguments == ["--self-test"]:
        return self_test()
    documents, sources = arguments[0].split(), arguments[1:]
    strings = [words(text) for text in texts(sources)]
    status = 0
    for document in documents:
        for line, quote in quotes(pathlib.Path(document).read_text(encoding="utf-8")):
            wanted = words(quote)
            if not any(len(set(wanted) & set(string) - {None}) >= 2 and stands_in(wanted, string) for string in strings):
                print(f"{document}:{line}: no text of the program: {quote}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
