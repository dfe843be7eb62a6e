"""
Ports of loopback for servers that must be told theirs.

A port that the kernel hands out (bind to 0) may be somebody's connection a moment later, when the
server wants it or is started again. These are from below the range that it hands out from.
"""

import itertools
import random
import socket

LEAST = 10000


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


def free_ports(count):
    """So many different ones that nobody has."""
    candidates = range(LEAST, max(handed_out_from(), LEAST + 10000))
    return list(itertools.islice(filter(is_free, random.sample(candidates, 1000)), count))


def free_port():
    return free_ports(1)[0]
