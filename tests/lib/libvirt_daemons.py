#!/usr/bin/python3
"""
Runs virtlogd and libvirtd until SIGTERM, or until the process that started this one ends.

Two things that are missing in many containers would make every start of a domain slow:

libvirtd waits until a QEMU that it has ended is gone from the process table. QEMU makes itself an
orphan, and process 1 often collects no orphans there: forty seconds. So this process adopts and
collects them.

libvirtd probes QEMU's capabilities again, seconds long and with every start, when QEMU finds a
/dev/kvm that works and libvirt's QEMU user may not open it, or the other way about. So where that
user may not, an invalid device that no user may open replaces it: domains are emulated.
"""

import ctypes
import grp
import os
import signal
import socket
import stat
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_SLAVE, MNT_DETACH = 0x1000, 0x4000, 0x80000, 2


def is_running(pid_file):
    try:
        with open(pid_file, encoding="ascii") as file:
            os.kill(int(file.read()), 0)
        return True
    except (OSError, ValueError):
        return False


def kvm_is_closed():
    try:
        status = os.stat("/dev/kvm")
    except OSError:
        return False
    try:
        group = grp.getgrnam("kvm").gr_gid
    except KeyError:
        group = None
    return status.st_mode & 0o006 != 0o006 and (
        status.st_gid != group or status.st_mode & 0o060 != 0o060)


def close_kvm(libc):
    """For this process and its children; mounts of others still appear. The substitute must be a
    device, and of mode 0: libvirt checks whether its QEMU user may open it."""
    if libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None)
        libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)
        os.mknod("/mnt/kvm", stat.S_IFCHR, os.makedev(1, 3))
        libc.mount(b"/mnt/kvm", b"/dev/kvm", None, MS_BIND, None)
        libc.umount2(b"/mnt", MNT_DETACH)


def await_listener(path, seconds=60):
    """libvirtd starts no domain without virtlogd."""
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX) as probe:
        while probe.connect_ex(path) != 0 and time.monotonic() < deadline:
            time.sleep(0.01)


def launch(program):
    return subprocess.Popen(
        [program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, set())).pid


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    if kvm_is_closed():
        close_kvm(libc)
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    daemons = [] if is_running("/run/virtlogd.pid") else [launch("/usr/sbin/virtlogd")]
    await_listener("/run/libvirt/virtlogd-sock")
    daemons.append(launch("/usr/sbin/libvirtd"))
    ending = False
    while daemons:
        if signal.sigwait(signals) != signal.SIGCHLD and not ending:
            ending = True
            os.kill(daemons[-1], signal.SIGTERM)
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 0
            if pid == 0:
                break
            if pid in daemons:
                daemons.remove(pid)
                if daemons:
                    ending = True
                    os.kill(daemons[-1], signal.SIGTERM)
    return 0 if ending else 1


if __name__ == "__main__":
    sys.exit(main())
