"""Counts persons and private metaphors in comments, texts and names: language.py --held "A B" --documents "A B" FOLDER...

A folder that is held has at most one person in 1,000 words of its comments, none in a text (log lines, errors,
help), none in a name of a test, and no banned word anywhere. The others are counted in one line.
A document has at most one person and two clauses in place of a noun (what it says) in 1,000 words, no banned word.
docs/glossary.md: each name stands in a header of its folder, and each held folder has its table."""

import pathlib
import re
import sys

PERSONS = r"who|whoever|whom|whomever|nobody|somebody|anybody|everybody|someone|anyone|everyone|he|his|him"
PERSON = re.compile(rf"(?<![\w'-])(?:{PERSONS}|(?:one|those|all) whose)(?![\w'-])", re.IGNORECASE)
PERSON_IN_NAME = re.compile(rf"(?:^|_)(?:{PERSONS})(?:_|$)", re.IGNORECASE)

# Metaphors that have a term of the field. "word" and "paper" only as the metaphor: a text has words.
BANNED = (
    r"knock(?:s|ed|ing)?|wish(?:es|ed|ing)?|weigh(?:s|ed|ing)?|believ(?:e|es|ed|ing)|bur(?:y|ies|ied|ying)"
    r"|shun(?:s|ning)?|shunned|dig(?:s|ging)?|dug|papers?|hurr(?:y|ies|ied)|errands?"
)
BANNED_WORD = re.compile(rf"(?<![\w-])(?:{BANNED})(?![\w-])", re.IGNORECASE)
BANNED_IN_NAME = re.compile(rf"(?:^|_)(?:{BANNED})(?:_|$)", re.IGNORECASE)

# Clauses in place of a noun. WHAT is a word of a synopsis.
CLAUSE = re.compile(r"(?<![\w'-])(?:[Ww]hat|[Ss]ays?|[Ss]aid|[Tt]ells?|[Tt]old|[Hh]ears?|[Hh]eard)(?![\w'-])")

# A document without its commands, output and names, in as many lines.
NOT_PROSE = re.compile(r"^```.*?^```|^(?: {4}|\t)[^\n]*|`[^`\n]*`", re.DOTALL | re.MULTILINE)

# Comments and strings of C; the rest is code.
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")
C_TEST = re.compile(r"START_TEST\((\w+)\)")
MOST_PER_1000 = 1.0
MOST_CLAUSES_PER_1000 = 2.0


def split(text):
    """The comments, the strings and the code of a C source, each with its offset."""
    comments, strings, code, at = [], [], [], 0
    for token in TOKEN.finditer(text):
        code.append((at, text[at : token.start()]))
        at = token.end()
        kind = comments if token.group().startswith("/") else strings
        kind.append((token.start(), token.group()))
    code.append((at, text[at:]))
    return comments, strings, code


class Folder:
    """One folder: its words and persons, and each place that breaks a rule."""

    def __init__(self, name, root):
        self.name, self.words, self.persons, self.wrong = name, 0, 0, []
        self.in_comments = []
        for path in sorted((root / name).rglob("*.[ch]")):
            self.read_source(path)
        for path in sorted((root / "tests/unit" / name).rglob("*.c")):
            self.read_tests(path)
        if self.per_1000() > MOST_PER_1000:
            self.wrong += self.in_comments

    def per_1000(self):
        """Persons in 1,000 words of comments."""
        return 1000 * self.persons / self.words if self.words else 0

    def note(self, where, path, text, offset, what):
        where.append(f"{path}:{text.count(chr(10), 0, offset) + 1}: {what}")

    def read_source(self, path):
        text = path.read_text(encoding="utf-8")
        comments, strings, code = split(text)
        for offset, comment in comments:
            self.words += len(re.findall(r"[A-Za-z']+", comment))
            for found in PERSON.finditer(comment):
                self.persons += 1
                self.note(self.in_comments, path, text, offset + found.start(),
                          f"a person in a comment: {found.group()}")
            for found in BANNED_WORD.finditer(comment):
                self.note(self.wrong, path, text, offset + found.start(),
                          f"a metaphor in a comment: {found.group()}")
        for offset, string in strings:
            for found in [*PERSON.finditer(string), *BANNED_WORD.finditer(string)]:
                self.note(self.wrong, path, text, offset, f"in a text: {found.group()}")
        for offset, piece in code:
            for found in NAME.finditer(piece):
                if BANNED_IN_NAME.search(found.group()):
                    self.note(self.wrong, path, text, offset + found.start(),
                              f"a metaphor in a name: {found.group()}")

    def read_tests(self, path):
        text = path.read_text(encoding="utf-8")
        for found in C_TEST.finditer(text):
            if PERSON_IN_NAME.search(found.group(1)) or BANNED_IN_NAME.search(found.group(1)):
                self.note(self.wrong, path, text, found.start(), f"name of a test: {found.group(1)}")


def document(path):
    """Each place of a document that breaks a rule."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = NOT_PROSE.sub(lambda found: "\n" * found.group().count("\n"), text)
    words = len(re.findall(r"[A-Za-z']+", text))
    wrong = []
    for pattern, what, most in (
        (PERSON, "a person", MOST_PER_1000),
        (CLAUSE, "a clause in place of a noun", MOST_CLAUSES_PER_1000),
        (BANNED_WORD, "a metaphor", 0),
    ):
        found = list(pattern.finditer(text))
        if 1000 * len(found) > most * words:
            wrong += [f"{path}:{text.count(chr(10), 0, each.start()) + 1}: {what}: {each.group()}" for each in found]
    return wrong


def glossary(root, held):
    """Rows of docs/glossary.md without a name in a header of the folder, and held folders without a table."""
    path = root / "docs/glossary.md"
    wrong, folder, names = [], None, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        heading = re.match(r"## `([\w/]+)/`", line)
        if line.startswith("## "):
            folder = heading.group(1) if heading else None
            if folder:
                names[folder] = set()
                text = "\n".join(h.read_text(encoding="utf-8") for h in sorted((root / folder).rglob("*.h")))
                known = {part for name in NAME.findall(text) for part in (name, *name.lower().split("_"))}
        elif folder and line.startswith("| `"):
            for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
                if name in names[folder]:
                    wrong.append(f"{path}:{number}: {name} has two rows")
                names[folder].add(name)
                if name not in known:
                    wrong.append(f"{path}:{number}: no header of {folder}/ has {name}")
    wrong += [f"{path}: no table of {name}/" for name in held if not names.get(name)]
    return wrong


def check(root, held, documents, folders):
    """Each place that breaks a rule, and the counts of the folders that are not held."""
    wrong, counts = [], []
    for name in documents:
        wrong += document(root / name)
    for name in folders:
        folder = Folder(name, root)
        if any(f"{name}/".startswith(f"{each}/") for each in held):
            wrong += folder.wrong
        else:
            counts.append(f"{name} {folder.per_1000():.1f}")
    wrong += glossary(root, held)
    return wrong, counts


def self_test():
    """Each rule finds its own fault, and nothing in a folder that keeps to all."""
    import tempfile  # pylint: disable=import-outside-toplevel

    header = "/* The volume of a request. */\nint volume_show(void);\n"
    good = {"README.md": "The volume is deleted.\n", "a/a.h": header, "tests/unit/a/test_a.c": "START_TEST(volume_is_shown)\n",
            "docs/glossary.md": "## `a/`\n\n| `volume` | a disk |\n| `show` | reads one |\n"}
    faults = {
        "person": {"a/b.c": "/* For whoever asks. */\n"},
        "possessive": {"a/b.c": "/* Those whose place is taken. */\n"},
        "metaphor": {"a/b.c": "/* A knock of the disk. */\n"},
        "name": {"a/b.c": "static int disk_knock(void);\n"},
        "log line": {"a/b.c": 'log_info(log, "nobody answers", NULL);\n'},
        "test": {"tests/unit/a/test_b.c": "START_TEST(nobody_sees_a_volume)\n"},
        "glossary": {"docs/glossary.md": "## `a/`\n\n| `snapshot` | a copy |\n"},
        "no table": {"docs/glossary.md": ""},
        "person in a document": {"README.md": "Whoever asks.\n"},
        "clause in a document": {"README.md": "What the manager says.\n"},
        "metaphor in a document": {"README.md": "A knock of the disk.\n"},
    }
    for fault, files in {"": {}, **faults}.items():
        with tempfile.TemporaryDirectory() as top:
            for name, text in {**good, **files}.items():
                path = pathlib.Path(top, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            wrong, _ = check(pathlib.Path(top), ["a"], ["README.md"], ["a"])
        if bool(wrong) != bool(fault):
            print(f"language.py: self-test: {fault or 'a good folder'}: {wrong}")
            return 1
    return 0


def main(arguments):
    """The exit status."""
    if arguments == ["--self-test"]:
        return self_test()
    held, documents, folders = arguments[1].split(), arguments[3].split(), arguments[4:]
    wrong, counts = check(pathlib.Path("."), held, documents, folders)
    for line in wrong:
        print(line)
    if counts:
        print("persons in 1,000 words of comments, not held:", ", ".join(counts))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
