#!/usr/bin/env python3
"""Functions that call themselves, also by way of others or of a callback that they pass on, use as much
stack as their input wants unless something bounds them. Each such circle stands in recursion.list with
its bound; one that does not, and one that is gone, is an error.

A function reaches each function whose name stands in its body."""

import os
import re
import subprocess
import sys

LIST = "tests/lint/recursion.list"
DEFINITION = re.compile(r"^(?P<head>[A-Za-z_][^;{}=]*?\b(?P<name>\w+)\([^;{}]*?\))\s*\{\n(?P<body>.*?)^\}", re.S | re.M)
WORD = re.compile(r"(?<![.>\w])([A-Za-z_]\w*)\b")
NO_TYPE = {"return", "else", "case", "goto", "sizeof", "do"}


def without_texts(source):
    source = re.sub(r"/\*.*?\*/", " ", source, flags=re.S)
    source = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', source)
    source = re.sub(r"'(?:\\.|[^'\\\n])*'", "' '", source)
    return re.sub(r"\b(struct|enum|union) \w+", r"\1", source)


def variables(text):
    """Names that are variables here, which may be the names of functions elsewhere."""
    declared = re.finditer(r"\b(\w+)\b[\s*]*[\s*](\w+)\s*(?=[=;,)\[])", text)
    return {match[2] for match in declared if match[1] not in NO_TYPE}


def definitions(paths):
    """(path, name) of each function: is it seen by its file alone, and the names in its body."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            source = without_texts(file.read())
        for match in DEFINITION.finditer(source):
            names = set(WORD.findall(match["body"])) - variables(match[0])
            found[path, match["name"]] = ("static" in match["head"].split()[:3], names)
    return found


def graph(found):
    public = {name: (path, name) for (path, name), (static, _) in found.items() if not static}
    return {
        node: {(path, name) if (path, name) in found else public[name]
               for name in names if (path, name) in found or name in public}
        for node, (_, names) in found.items() for path in [node[0]]
    }


def circles(edges):
    """Tarjan's strongly connected components that have an edge within, without recursion."""
    number, low, stack, result = {}, {}, [], []
    for root in sorted(edges):
        walk = [(root, iter(sorted(edges[root])))] if root not in number else []
        while walk:
            node, rest = walk[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
            for below in rest:
                if below not in number:
                    walk.append((below, iter(sorted(edges[below]))))
                    break
                if below in stack:
                    low[node] = min(low[node], number[below])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1 or node in edges[node]:
                        result.append(sorted(stack[at:]))
                    del stack[at:]
    return result


def shown(circle):
    return " ".join(f"{path}:{name}" for path, name in circle)


def stated():
    """The circles of the list: a line of functions, and below it, indented, their bound."""
    result, last = {}, None
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            if line[0].isspace():
                result[last] = f"{result[last]} {line.strip()}".strip()
            else:
                last = line.strip()
                result[last] = ""
    return result


def main():
    folders = os.environ["folders"].split()
    paths = subprocess.run(["git", "ls-files", *folders], check=True, capture_output=True, text=True).stdout.split()
    found = {shown(circle) for circle in circles(graph(definitions([p for p in paths if p.endswith((".c", ".h"))])))}
    known = stated()
    for circle in sorted(found - set(known)):
        print(f"recursion without a stated bound: {circle}")
    for circle in sorted(set(known) - found):
        print(f"{LIST}: not found any more, take it from the list: {circle}")
    for circle in sorted(circle for circle, bound in known.items() if not bound):
        print(f"{LIST}: the bound is missing: {circle}")
    return 1 if found != set(known) or not all(known.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
