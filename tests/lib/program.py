"""
The scoria program as a child process: started, stopped, killed, measured.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import time

import evidence
from block_storage import until

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("SCORIA", os.path.join(REPOSITORY, "build/plain/scoria"))
# A transition that a state table does not have ends the program (common/state_table.h).
os.environ.setdefault("SCORIA_STATE_TABLES", "strict")


def end_on_sigterm():
    """SIGTERM ends the caller as an exception does: its children are stopped and removed."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


class NotStarted(RuntimeError):
    """The program ended instead of getting ready; the text is its output."""


def states_of(pid):
    """The letters of proc(5), one for each kind that its threads are in: R, S, D, T (stopped)..."""
    states = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as stat:
                states.add(stat.read().rpartition(") ")[2][0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile
    return states


def is_gone(pid):
    try:
        return states_of(pid) <= {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def daemon_of(run):
    """The id of the storage daemon in this run directory, or None. It has the file with its id open
    and locked, at this descriptor: after its end the number may be that of any other process."""
    path = os.path.join(run, "daemon")
    try:
        with open(path, encoding="ascii") as file:
            pid = int(file.read())
        return pid if os.path.samefile(path, f"/proc/{pid}/fd/3") else None
    except (OSError, ValueError):
        return None


def stop_and_wait(pid):
    """SIGSTOP, and until none of its threads does anything any more."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: states_of(pid) <= {"T", "Z"}, 60, f"process {pid} stopped")


class Program:
    """One running subcommand. Its log grows in `log_path` over restarts."""

    def __init__(self, command, log_path, *options):
        self.arguments = [BINARY, command, *options]
        self.log_path = log_path
        self.process = None
        self.endpoint = None  # of the ready line; a restart may change it
        evidence.add(self)

    def start(self, timeout=60):
        with open(self.log_path, "ab") as log:
            position = log.tell()
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log)
        line = self._first_line(timeout)
        if not line.startswith("ready"):
            self.kill()
            raise NotStarted(self.log(position))
        self.endpoint = line.partition(" ")[2].strip()
        return self

    def _first_line(self, timeout):
        text = b""
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in text and selector.select(max(0, deadline - time.monotonic())):
                piece = os.read(self.process.stdout.fileno(), 4096)
                if not piece:
                    break
                text += piece
        return text.decode()

    def log(self, position=0):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            log.seek(position)
            return log.read()

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def lives(self):
        """Neither dead nor dying: a killed process may be `running` for a moment, but never stops."""
        if not self.running:
            return False
        self.process.send_signal(signal.SIGSTOP)
        seen = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        self.process.send_signal(signal.SIGCONT)
        return seen.si_code == os.CLD_STOPPED

    def _end(self, signal_number, timeout):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self.process = None
        return status

    def stop(self, timeout=90):
        """SIGTERM; returns the exit status, negative for a signal."""
        return self._end(signal.SIGTERM, timeout)

    def kill(self):
        return self._end(signal.SIGKILL, 60)

    def memory_kib(self):
        """Resident memory that is the process's alone or its share of it (PSS)."""
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1])
        raise RuntimeError("smaps_rollup without Pss")

    def socket_count(self):
        count = 0
        for entry in os.scandir(f"/proc/{self.process.pid}/fd"):
            try:
                count += os.readlink(entry.path).startswith("socket:")
            except FileNotFoundError:
                pass  # closed meanwhile
        return count


def serve(state_directory, *options, listen="127.0.0.1:0"):
    return Program("serve", os.path.join(os.path.dirname(state_directory), "serve.log"),
                   "--state-dir", state_directory, "--listen", listen, *options)


def role(directory, name, command, *options):
    """On a node of this name, whose state and log stand in the directory."""
    return Program(command, os.path.join(directory, f"{name}.log"),
                   "--state-dir", os.path.join(directory, name), f"--host={name}", *options)


def _manage(verb, state_directory, options):
    """The status and the list that `scoria manage` ends with."""
    result = subprocess.run([BINARY, "manage", verb, "--format=json",
                             "--state-dir", state_directory, *options],
                            capture_output=True, text=True, timeout=600, check=False)
    try:
        return result.returncode, json.loads(result.stdout)
    except ValueError:
        raise AssertionError(f"manage {verb} said {result.stdout!r}, {result.stderr!r}") from None


def processes_with(text):
    """Those that have it in their arguments, and are not this one."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as arguments:
                if text.encode() in arguments.read():
                    found.append(int(name))
        except OSError:
            pass  # it has ended
    return found


def check(state_directory, *options):
    """The findings of `scoria manage check`: a list of {promise, text}."""
    status, found = _manage("check", state_directory, options)
    if (status == 0) != (not found):
        raise AssertionError(f"manage check ended with {status}: {found}")
    return found


def phase(state_directory, volume_id, *options):
    """Of the volume's operation, as `scoria manage operations` shows it; None without one."""
    _, operations = _manage("operations", state_directory, options)
    return next((row["phase"] for row in operations if row["volume_id"] == volume_id), None)
