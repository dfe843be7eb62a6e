#!/usr/bin/env python3
"""Files that call each other in a circle can only be read, tested and moved together, even where a
shared private header hides it from circles.sh. A file here is the .c with its headers, and calls
another one if it calls a function that only that one defines. Calls through pointers do not count:
a table of functions is how a file below calls one above. Neither do functions whose body stands in
a header.

A circle may get smaller than it is stated, and one that is cut leaves the list. With --edges the
calls of each circle are printed."""

import os
import re
import subprocess
import sys

from recursion import DEFINITION, circles, variables, without_texts

CALL = re.compile(r"(?<![.>\w])([A-Za-z_]\w*)\s*\(")

# The circle, and why it is left.
STATED = {
    "manager/check/check manager/check/attachments manager/check/documents manager/check/drafts "
    "manager/check/group_snapshots manager/check/groups manager/check/hosts "
    "manager/check/replicas manager/check/snapshots":
        "to be cut",
    "rest/call rest/read rest/confirmation":
        "to be cut",
    "manager/jobs/assist manager/jobs/create":
        "to be cut",
    "manager/jobs/reclaim manager/jobs/trim":
        "to be cut",
}


def file_of(path):
    return re.sub(r"(\.private)?\.[ch]$", "", path)


def functions(paths):
    """(file, name) of each function with a body in a .c: is it static, the names that it calls."""
    found, declared = {}, set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            source = without_texts(file.read())
        if path.endswith(".h"):
            declared |= set(CALL.findall(source))
            continue
        for match in DEFINITION.finditer(source):
            called = set(CALL.findall(match["body"])) - variables(match[0])
            static, names = found.get((file_of(path), match["name"]), (False, set()))
            static = static or "static" in match["head"].split()[:3]
            found[file_of(path), match["name"]] = (static, names | called)
    # A function without a declaration in a header replaces one of the C library.
    return {key: (static or key[1] not in declared, names) for key, (static, names) in found.items()}


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


def main():
    folders = os.environ["folders"].split()
    paths = subprocess.run(["git", "ls-files", *folders], check=True, capture_output=True, text=True).stdout.split()
    edges = graph(functions([path for path in paths if path.endswith((".c", ".h")) and os.path.exists(path)]))
    status, left = 0, set()
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
    return status


if __name__ == "__main__":
    sys.exit(main())
