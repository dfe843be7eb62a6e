"""
Ports of loopback for servers that need theirs in advance.

A port that the kernel hands out (bind to 0) may be another connection a moment later, when the
server wants it or is started again. These are from below the range that it hands out from, and no
other process of the tests gets them before this one ends.
"""

import fcntl
import itertools
import os
import random
import socket
import tempfile

LEAST = 10000
# A lock on the byte of this number is the port.
LOCKS = os.open(os.path.join(tempfile.gettempdir(), f"scoria-tests-ports-{os.getuid()}.lock"),
                os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
given = set()


def handed_out_from():
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        return int(file.read().split()[0])


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def take(port):
    if port in given:
        return False
    try:
        fcntl.lockf(LOCKS, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    given.add(port)
    return is_free(port)


def free_ports(count):
    """So many different unused ones."""
    candidates = range(LEAST, max(handed_out_from(), LEAST + 10000))
    return list(itertools.islice(filter(take, random.sample(candidates, 1000)), count))


def free_port():
    return free_ports(1)[0]
