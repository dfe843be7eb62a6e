#!/usr/bin/env python3
"""A static function with one caller makes its reader jump: it has a name that tells more than its lines, or
the lines stand at the place. Most of a program's functions serve several places; here the share of those
that are called once is bounded, in all folders together and in each. With --list they are printed."""

import os
import re
import subprocess
import sys

from recursion import DEFINITION, without_texts

SHARE_MOST, FOLDER_MOST, COUNTED = 0.35, 0.56, 20


def called_once(path):
    """The number of static functions of a file, and the names of those with one use, a call.  A member of
    the same name (x->name(), .name =) is none."""
    with open(path, encoding="utf-8") as file:
        source = without_texts(file.read())
    names = [match["name"] for match in DEFINITION.finditer(source) if "static" in match["head"].split()[:3]]
    return len(names), [name for name in names
                        if re.findall(rf"(?<![\w.>]){name}\b\(?", source) == [name + "("] * 2]


def main():
    folders = os.environ["folders"].split()
    paths = subprocess.run(["git", "ls-files", *folders], check=True, capture_output=True, text=True).stdout.split()
    status, all_once, all_static = 0, 0, 0
    for folder in folders:
        once, static = 0, 0
        for path in paths:
            if not path.startswith(folder + "/") or not path.endswith(".c") or not os.path.exists(path):
                continue
            count, names = called_once(path)
            static += count
            once += len(names)
            if "--list" in sys.argv:
                print(*(f"{path}: {name}()" for name in names), sep="\n", end="\n" if names else "")
        all_once, all_static = all_once + once, all_static + static
        if static >= COUNTED and once > FOLDER_MOST * static:
            print(f"{folder}: {once} of {static} static functions are called once, at most {FOLDER_MOST:.1%} may be")
            status = 1
    if all_once > SHARE_MOST * all_static:
        print(f"{all_once} of {all_static} static functions are called once, at most {SHARE_MOST:.1%} may be")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
