"""
Pages of docs/: the blocks that a reader pastes, which are indented, and the output of them that a
page shows, which is fenced; "…" stands there for parts that differ from run to run.
"""

import os
import re
import signal
import subprocess

import program

LIMIT_S = 1800  # that only a hang reaches
FENCE = "```"


def _sections(page):
    """Each heading with its lines, up to the next heading of any depth; fenced ones are marked."""
    with open(os.path.join(program.REPOSITORY, "docs", page), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found, fenced = {}, False
    for line in lines:
        if line.startswith(FENCE):
            fenced = not fenced
        elif not fenced and re.match("#+ ", line):
            rows = found.setdefault(line.lstrip("#").strip(), [])
        elif found:
            rows.append((fenced, line))
    return found


def headings(page):
    """Those with a block below them."""
    return [heading for heading in _sections(page) if blocks(page, heading)]


def blocks(page, heading):
    """Each a run of indented lines, with the empty ones among them."""
    found, open_block = [], False
    for fenced, line in _sections(page)[heading]:
        if not fenced and line.startswith("    "):
            if not open_block:
                found.append("")
            found[-1] += line[4:] + "\n"
            open_block = True
        elif not fenced and not line and open_block:
            found[-1] += "\n"
        else:
            open_block = False
    return [block.rstrip("\n") + "\n" for block in found]


def shown(page, heading):
    """The lines of output that the page shows below the heading, as patterns, in their order."""
    return [re.sub("(…| +)", lambda found: ".*" if found[1] == "…" else " +",
                   re.sub(r"([^\w\s…])", r"\\\1", line)).strip()
            for fenced, line in _sections(page)[heading] if fenced and line]


def missing(patterns, output):
    """The first that no line fits behind those that fit the ones before; None: all are there."""
    lines = iter(output.splitlines())
    for pattern in patterns:
        if not any(re.fullmatch(pattern, line.strip()) for line in lines):
            return pattern
    return None


def paste(text, words, prelude="", limit_s=LIMIT_S, cwd=program.REPOSITORY):
    """All of the text in one shell, with each of `words` exchanged: its status and its output."""
    for word, other in words.items():
        text = text.replace(word, other)
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", prelude + text], cwd=cwd,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        output = process.communicate(timeout=limit_s)[0]
    finally:
        if process.poll() != 0:
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output
