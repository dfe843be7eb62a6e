"""
System calls of a running program, counted by strace on all its threads. Those that wait are left out:
how often a thread waits is a matter of the order of threads.
"""

import collections
import re
import signal
import subprocess

WAITS = {"futex", "epoll_wait", "epoll_pwait", "poll", "ppoll", "select", "nanosleep",
         "clock_nanosleep", "restart_syscall", "sched_yield", "rt_sigtimedwait"}
CALL = re.compile(r"\d+ +(\w+)\(")  # a call that another interrupts has a second line without it


class Traced:
    """The calls of a process between start() and stop()."""

    def __init__(self, pid, path):
        self.pid, self.path = pid, path
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["strace", "-f", "-p", str(self.pid), "-o", self.path],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        line = self.process.stderr.readline()
        if b"attached" not in line:
            raise RuntimeError(f"strace: {line.decode()}")

    def stop(self):
        """The number of each."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        calls = collections.Counter()
        with open(self.path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                found = CALL.match(line)
                if found and found[1] not in WAITS:
                    calls[found[1]] += 1
        return calls
