"""
What a failed test shows of its processes, before they and their files are removed: the end of each
log, the states of all threads, and the stacks of scoria's.
"""

import glob
import os
import subprocess
import weakref

LOG_BYTES = 16 * 1024
STACKS_S = 60  # gdb's time for one process
# Of programs that a test starts, in their directory and in a state directory; of storage daemons of
# volumes, sessions and jobs, and of daemons that serve a volume as a file.
LOGS = ("*.log", "*/*.log", "*/*/log", "*/*/file/log")

_directories = set()
_programs = weakref.WeakSet()


def add(program):
    """Logs and processes of its log's directory belong to the tests."""
    _programs.add(program)
    _directories.add(os.path.dirname(os.path.abspath(program.log_path)))


def _directories_left():
    """None within another one."""
    left = [path for path in _directories if os.path.isdir(path)]
    return sorted(path for path in left
                  if not any(path.startswith(other + os.sep) for other in left))


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as failure:
        return f"({failure})"


def end_of_log(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
        return file.read().decode("utf-8", "replace")


def _logs():
    found = {path for directory in _directories_left() for pattern in LOGS
             for path in glob.glob(os.path.join(directory, pattern))}
    for path in sorted(found):
        try:
            text = end_of_log(path)
        except OSError:
            continue  # removed meanwhile, or none of a program
        if text:
            yield f"---- end of {path}\n{text.rstrip()}"


# ---- processes ----

def _processes():
    """The ids of those that name one of the directories, with their arguments."""
    directories = _directories_left()
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        arguments = _read(f"/proc/{name}/cmdline").replace("\0", " ").strip()
        if int(name) != os.getpid() and any(path in arguments for path in directories):
            yield int(name), arguments


def _threads(pid):
    """Name, state and the kernel's function of each thread."""
    for task in glob.glob(f"/proc/{pid}/task/*"):
        stat = _read(f"{task}/stat")
        yield (f"    {os.path.basename(task)} {stat.partition('(')[2].rpartition(')')[0]} "
               f"{stat.rpartition(') ')[2][:1]} {_read(f'{task}/wchan')}")


def _stacks(pid):
    """Of all its threads, where there is a debugger."""
    try:
        result = subprocess.run(
            ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set debuginfod enabled off",
             "-ex", "thread apply all bt 16"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=STACKS_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"    no stacks: {failure}"
    lines = result.stdout.splitlines()
    return "\n".join("    " + line for line in lines if line.startswith(("Thread", "#")))


def _report(pid, arguments):
    text = [f"---- process {pid}: {arguments[:400]}", *_threads(pid)]
    # A stopped one stays so; of others than scoria the debugger reads symbols for long.
    if os.path.basename(arguments.split(" ")[0]) == "scoria":
        text.append(_stacks(pid))
    return "\n".join(text)


def _ended():
    """Programs that ended before a test stopped them; a signal is negative."""
    for program in list(_programs):
        status = program.process.poll() if program.process else None
        if status is not None:
            yield f"---- ended with {status}: {' '.join(program.arguments)}"


def text():
    parts = [_report(pid, arguments) for pid, arguments in _processes()]
    return "\n".join([*_logs(), *_ended(), *parts])
