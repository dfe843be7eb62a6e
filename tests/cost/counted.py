"""
A program of the service below callgrind: the instructions of all its threads, and the calls of some
functions, between two moments. The kernel's work and that of child processes is not counted.
"""

import glob
import os
import re
import subprocess

import program

# The string functions of every processor alike: glibc chooses them by its features.
os.environ["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2,-AVX,-ERMS,-BMI2,-SSE4_2,-SSSE3"
FUNCTIONS = {
    "statements": ("statement_run", "statement_query"),  # of db/sqlite
    "flushes": ("fsync", "fdatasync"),
}
START_S = 300


def read_counts(path):
    """The counts of one dump: instructions, and calls by the names of FUNCTIONS."""
    names, called, calls, instructions = {}, None, {}, None
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            named = re.match(r"(c?fn)=(\(\d+\))(?: (.*))?", line)
            if named:  # a name stands beside its number once
                name = names.setdefault(named[2], named[3])
                called = name if named[1] == "cfn" else None
            elif line.startswith("calls=") and called:
                calls[called] = calls.get(called, 0) + int(line[6:].split()[0])
            elif line.startswith("totals:"):
                instructions = int(line.split()[1])
    counts = {name: sum(calls.get(function, 0) for function in functions)
              for name, functions in FUNCTIONS.items()}
    return {"instructions": instructions, **counts}


class Counted(program.Program):
    """`counts`: path of the dumps."""

    def __init__(self, counts, command, log_path, *options):
        super().__init__(command, log_path, *options)
        self.counts = counts
        self.arguments = ["valgrind", "-q", "--tool=callgrind", "--fair-sched=yes",
                          "--dump-line=no", f"--callgrind-out-file={counts}", *self.arguments]

    def start(self, timeout=START_S):
        return super().start(timeout)

    def count(self):
        """Since the last count, or the start."""
        subprocess.run(["vgdb", f"--pid={self.process.pid}", "dump"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=START_S)
        path, = glob.glob(glob.escape(self.counts) + ".*")
        counts = read_counts(path)
        os.unlink(path)
        return counts
