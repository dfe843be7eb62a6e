#!/usr/bin/env python3
"""Files that call each other in a circle can only be read, tested and moved together, even where a
shared private header hides it from circles.sh. A file here is the .c with its headers, and calls
another one if it calls a function that only that one defines. Calls through pointers do not count:
a table of functions is how a file below calls one above. Neither do functions whose body stands in
a header. Between folders, calls follow folders.sh as includes do.

A circle may get smaller than it is stated, and one that is cut leaves the list. With --edges the
calls of each circle are printed."""

import os
import re
import subprocess
import sys

from recursion import DEFINITION, circles, variables, without_texts

CALL = re.compile(r"(?<![.>\w])([A-Za-z_]\w*)\s*\(")

# These have functions of the C library's names.
REPLACES_C = re.compile(r"_preload\w*\.c$")

CIRCLES_MOST, FILES_MOST = 5, 3

# The circle, and why it is left.
STATED = {
    "rest/call rest/confirmation rest/read":
        "a call is run, read by turns, and run again after a fact was confirmed elsewhere",
}

# A folder that calls one which it may not include, and why.
UPWARDS = {
    ("manager/runtime", "manager/jobs"): "it runs the jobs of its table, of which one closes a cancelled operation",
}


def file_of(path):
    return re.sub(r"(\.private)?\.[ch]$", "", path)


def functions(paths):
    """(file, name) of each function with a body in a .c: is it static, the names that it calls."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            source = without_texts(file.read())
        for match in DEFINITION.finditer(source):
            called = set(CALL.findall(match["body"])) - variables(match[0])
            static, names = found.get((file_of(path), match["name"]), (False, set()))
            static = static or "static" in match["head"].split()[:3]
            found[file_of(path), match["name"]] = (static, names | called)
    return found


def graph(found):
    """For each file the files that it calls, with (caller, called) of each call."""
    owners = {}
    for (file, name), (static, _) in found.items():
        if not static:
            owners.setdefault(name, set()).add(file)
    edges = {file: {} for file, _ in found}
    for (file, caller), (_, names) in found.items():
        for name in sorted(names):
            owner = owners.get(name, set())
            if (file, name) not in found and len(owner) == 1:
                edges[file].setdefault(*owner, []).append((caller, name))
    return edges


def print_edges(edges, circle):
    for file in circle:
        for other in sorted(set(edges[file]) & set(circle)):
            calls = ", ".join(f"{caller}>{name}" for caller, name in edges[file][other])
            print(f"    {file} -> {other}: {calls}")


def folder_of(may, file):
    return max((folder for folder in may if file.startswith(folder + "/")), key=len)


def check_folders(edges, table):
    """Calls into a folder that the caller's folder may not include."""
    may = {row.split()[0]: set(row.split()) for row in table.strip().splitlines()}
    status, left = 0, set()
    for file in sorted(edges):
        for other, calls in sorted(edges[file].items()):
            pair = folder_of(may, file), folder_of(may, other)
            if pair[1] in may[pair[0]]:
                continue
            left.add(pair)
            if pair not in UPWARDS:
                print(f"{file} calls {other}, which {pair[0]} may not include:", *(name for _, name in calls))
                status = 1
    for pair in sorted(set(UPWARDS) - left):
        print("tests/lint/calls.py: this call is gone, take it from the list:", *pair)
        status = 1
    return status


def main():
    folders = os.environ["folders"].split()
    paths = subprocess.run(["git", "ls-files", *folders], check=True, capture_output=True, text=True).stdout.split()
    paths = [path for path in paths if path.endswith(".c") and not REPLACES_C.search(path) and os.path.exists(path)]
    edges = graph(functions(paths))
    status, left = check_folders(edges, os.environ["folder_table"]), set()
    for circle in sorted(circles(edges), key=lambda circle: (-len(circle), circle)):
        if "--edges" in sys.argv:
            print(len(circle), *circle)
            print_edges(edges, circle)
        known = [stated for stated in STATED if set(circle) <= set(stated.split())]
        left.update(known)
        if not known:
            print("these call each other in a circle:", *circle)
            print_edges(edges, circle)
            status = 1
    for stated in sorted(set(STATED) - left):
        print("tests/lint/calls.py: this circle is cut, take it from the list:", stated)
        status = 1
    if len(STATED) > CIRCLES_MOST or any(len(stated.split()) > FILES_MOST for stated in STATED):
        print(f"tests/lint/calls.py: states more than {CIRCLES_MOST} circles, or more than {FILES_MOST} files in one")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
