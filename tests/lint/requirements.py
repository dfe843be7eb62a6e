"""
Every requirement has its row in docs/requirements.md, and each test that it or docs/security.md names exists.

A test is named as `path:name`, a name of START_TEST or a function of a Python suite; a row without one has a
reason ("no test: …").
"""

import functools
import re
import sys

# The letters, and how far each went once: rows may be added, none goes.
KNOWN = ("A36 B7 C20 D10 E10 G18 H15 I23 J9 K36 L8 M8 N15 O3 P68 Q7 R62 S6 T11 U11 V19 W9 X53 Y2 Z5").split()
GAPS = {"G6", "G7", "G8", "G9"}


@functools.lru_cache(maxsize=None)
def tests_of(path):
    """The names of its tests; None without such a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return set(re.findall(r"(?:START_TEST\(|_TEST\(|def )(\w+)", file.read()))
    except FileNotFoundError:
        return None


def faults_of_row(name, row):
    """Of the tests that its last cell names."""
    cell = re.sub(r" \|$", "", row).rpartition(" | ")[2]
    words = [word for word in re.findall(r"`([^`]+)`", cell) if ":" in word]
    count = 0
    for word in words:
        path, _, test = word.partition(":")
        if "/" not in path:
            yield f"{name}: `{word}` is no path:test"
            continue
        count += 1
        tests = tests_of(path)
        if tests is None:
            yield f"{name}: {path} is not there"
        elif test not in tests:
            yield f"{name}: {path} has no test {test}"
    if count == 0 and "no test:" not in row:
        yield f"{name}: names no test and does not say why"


def faults_of_requirements(lines):
    """Of the numbers, and of each row."""
    rows = [(match[1], line) for line in lines if (match := re.match(r"\| ([A-Z]\d+) \|", line))]
    ids = [name for name, _ in rows]
    for last in KNOWN:
        letter = last[0]
        most = max([int(last[1:])] + [int(name[1:]) for name in ids if name[0] == letter])
        for number in range(1, most + 1):
            name = f"{letter}{number}"
            if name not in GAPS and ids.count(name) != 1:
                yield f"{name} has {ids.count(name)} rows"
    letters = {last[0] for last in KNOWN}
    for name, row in rows:
        if name[0] not in letters:
            yield f"{name}: unknown letter"
        yield from faults_of_row(name, row)


def faults_of_proofs(lines):
    """Of the rows of tables with the column "proved by"."""
    proves = False
    for line in lines:
        if line == "| what must hold | proved by |":
            proves = True
        elif not line.startswith("| "):
            proves = False
        elif proves and not line.startswith("| --- "):
            yield from faults_of_row(f'"{line[2:42]}…"', line)


def main():
    status = 0
    for document, faults_of in (("docs/requirements.md", faults_of_requirements),
                                ("docs/security.md", faults_of_proofs)):
        with open(document, encoding="utf-8") as file:
            for fault in faults_of(file.read().splitlines()):
                print(f"{document}: {fault}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
