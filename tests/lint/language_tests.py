"""The language of tests and benchmarks: language_tests.py [FOLDER...], all folders by default.

Each folder has at most one person in 1,000 words of its comments, and none in a text, a name of a test or another
name; no metaphor anywhere; no clause in the name of a test, and few in comments (MOST_CLAUSES_PER_1000).
The folders of COUNTED are counted in one line instead."""

import ast
import io
import pathlib
import re
import sys
import tokenize

import language

COUNTED = ()
LANGUAGE = re.compile(r"tests/lint/language\w*\.(py|sh)")  # has the words themselves
MOST_CLAUSES_PER_1000 = 0.5
TEST = re.compile(r"TEST\((\w+)\)|^\s*def (test_\w+)", re.MULTILINE)
CLAUSE_IN_NAME = re.compile(r"(?:^|_)(?:what|says?|said|tells?|told|hears?|heard)(?:_|$)")
WORD_OF_NAME = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # of a class
STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))
SHEBANG = re.compile(r"#!.*?(python|sh)")


def kind(path, text):
    """c, python or shell; None: neither."""
    if path.suffix in (".c", ".h"):
        return "c"
    found = SHEBANG.match(text)
    if path.suffix == ".py" or (found and found.group(1) == "python"):
        return "python"
    return "shell" if path.suffix in (".sh", ".mk") or found else None


def split_python(text):
    """The comments, the strings and the names of a Python source, each with its offset."""
    starts = [0]
    for line in io.StringIO(text):
        starts.append(starts[-1] + len(line))
    documents = {
        node.body[0].value.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, False)
    }
    comments, strings, code = [], [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        piece = (starts[token.start[0] - 1] + token.start[1], token.string)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.start[0] in documents):
            comments.append(piece)
        elif token.type in STRINGS:
            strings.append(piece)
        elif token.type == tokenize.NAME:
            code.append(piece)
    return comments, strings, code


def split_shell(text):
    """The comments of a script, and its other lines as strings."""
    comments, strings, at = [], [], 0
    for line in text.splitlines(keepends=True):
        if not line.startswith("#!"):
            (comments if line.lstrip().startswith("#") else strings).append((at, line))
        at += len(line)
    return comments, strings, []


SPLIT = {"c": language.split, "python": split_python, "shell": split_shell}


class Tests:
    """One folder: its words, persons and clauses, and each place that breaks a rule."""

    def __init__(self, paths):
        self.words, self.persons, self.clauses, self.wrong = 0, [], [], []
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")  # programs of a build in place, too
            if kind(path, text):
                self.read(path, text)
        if self.per_1000() > language.MOST_PER_1000:
            self.wrong += self.persons
        if 1000 * len(self.clauses) > MOST_CLAUSES_PER_1000 * max(self.words, 2000):
            self.wrong += self.clauses

    def per_1000(self):
        """Persons in 1,000 words of comments."""
        return 1000 * len(self.persons) / self.words if self.words else 0

    def read(self, path, text):
        """Adds a file."""

        def places(piece, offset, *patterns):
            for found in (each for pattern in patterns for each in pattern.finditer(piece)):
                line = text.count("\n", 0, offset + found.start()) + 1
                yield f"{path}:{line}: {found.group().strip('_')}"

        comments, strings, code = SPLIT[kind(path, text)](text)
        for offset, piece in comments:
            self.words += len(re.findall(r"[A-Za-z']+", piece))
            self.persons += places(piece, offset, language.PERSON)
            self.clauses += places(piece, offset, language.CLAUSE)
            self.wrong += places(piece, offset, language.BANNED_WORD)
        for offset, piece in strings:
            self.wrong += places(piece, offset, language.PERSON, language.BANNED_WORD)
        for offset, piece in code:
            for name in language.NAME.finditer(piece):
                parts = WORD_OF_NAME.sub("_", name.group())
                self.wrong += places(
                    parts, offset + name.start(), language.PERSON_IN_NAME, language.BANNED_IN_NAME
                )
        for found in TEST.finditer(text):
            name = found.group(1) or found.group(2)
            if CLAUSE_IN_NAME.search(name):
                self.wrong.append(f"{path}: name of a test: {name}")


def folders(root):
    """The folders of tests, each with its files."""
    found = {}
    for path in sorted([*root.glob("tests/**/*"), *root.glob("bench/*")]):
        name = path.relative_to(root)
        if path.is_file() and "__pycache__" not in name.parts and not LANGUAGE.fullmatch(str(name)):
            depth = 3 + ("replication" in name.parts) if name.parts[:2] == ("tests", "unit") else 2
            folder = "/".join(name.parts[: min(depth, len(name.parts) - 1)])
            found.setdefault(folder, []).append(path)
    return found


def check(root, chosen=()):
    """Each place that breaks a rule, and the counts of the folders that are not held."""
    wrong, counts = [], []
    for folder, paths in folders(root).items():
        if chosen and folder not in chosen:
            continue
        tests = Tests(paths)
        if folder in COUNTED and not chosen:
            counts.append(f"{folder} {tests.per_1000():.1f}")
        else:
            wrong += tests.wrong
    return wrong, counts


def self_test():
    """Each rule finds its own fault, and nothing in tests that keep to all."""
    import tempfile  # pylint: disable=import-outside-toplevel

    good = {
        "tests/unit/a/test_a.c": "/* The volume of a request. */\nSTART_TEST(a_volume_is_shown) {\n",
        "tests/e2e/test_a.py": '"""A volume."""\n\n\ndef test_a_volume_is_shown():\n    return "a volume"  # shown\n',
        "bench/run": "#!/bin/sh\n# Prints a figure.\necho figure\n",
    }
    faults = {
        "person in a comment of C": {"tests/lib/a.h": "/* For whoever asks. */\n"},
        "person in a text of C": {"tests/lib/a.c": 'fail("nobody answers");\n'},
        "person in a name of C": {"tests/lib/a.c": "static void expect_nobody(void);\n"},
        "person in a name of a test": {"tests/unit/a/test_b.c": "WORK_TEST(who_may_see_it) {\n"},
        "metaphor in C": {"tests/lib/a.c": "/* A knock. */\n"},
        "metaphor in a name": {"tests/lib/a.c": "struct wish *next_wish;\n"},
        "clause in a name of a test": {"tests/unit/a/test_b.c": "START_TEST(what_is_told_stays) {\n"},
        "clauses in comments": {"tests/lib/a.c": "/* What it says. */\n/* What it is told. */\n"},
        "person in a docstring": {"tests/e2e/b.py": '"""For whoever asks."""\n'},
        "person in a text of Python": {"tests/e2e/b.py": 'WAITS = ("nobody",)\n'},
        "person in a name of Python": {"tests/e2e/b.py": "NOBODY = 1\n"},
        "person in a name of a class": {"tests/e2e/b.py": "class NobodyAsks:\n    pass\n"},
        "clause in a name of a Python test": {"tests/e2e/b.py": "def test_what_is_told():\n    pass\n"},
        "person in a script": {"tests/crash/run": "#!/bin/bash\n# For whoever asks.\n"},
    }
    for fault, files in {"": {}, **faults}.items():
        with tempfile.TemporaryDirectory() as top:
            for name, text in {**good, **files}.items():
                path = pathlib.Path(top, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            wrong, _ = check(pathlib.Path(top))
        if bool(wrong) != bool(fault):
            print(f"language_tests.py: self-test: {fault or 'good tests'}: {wrong}")
            return 1
    return 0


def main(arguments):
    """The exit status."""
    if arguments == ["--self-test"]:
        return self_test()
    wrong, counts = check(pathlib.Path("."), arguments)
    for line in wrong:
        print(line)
    if counts:
        print("persons in 1,000 words of comments of tests, not held:", ", ".join(counts))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
