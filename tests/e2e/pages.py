"""What a reader of a page of docs/ pastes."""

import os
import re
import signal
import subprocess

import program
from ports import free_port

LIMIT_S = 1800  # that only a hang reaches


def commands(page, heading):
    """The indented lines below a heading."""
    with open(os.path.join(program.REPOSITORY, "docs", page), encoding="utf-8") as file:
        section = file.read().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"^    (.*)$", section, re.M))


def paste(page, heading, directory, place):
    """All of that in one shell, with `place` where the page has `directory`: its status, what it said."""
    script = commands(page, heading).replace(directory, place)
    script = script.replace("8776", str(free_port())).replace("build/plain/scoria", program.BINARY)
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=program.REPOSITORY,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        said = process.communicate(timeout=LIMIT_S)[0]
    finally:
        if process.poll() != 0:
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said
