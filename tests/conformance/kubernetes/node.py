"""What the driver has on the node, which is this machine: devices, mounts, processes."""

import glob
import re

from programs import read


def devices(directory):
    """Of images there, and those that the kubelet lays over the devices of pods."""
    found = []
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            backing = read(path)
        except FileNotFoundError:
            continue  # gone meanwhile
        if directory in backing or "kubernetes.io" in backing:
            found.append(f"/dev/{path.split('/')[3]}")
    return found


def mounts():
    """Of volumes, in the kubelet's directory."""
    points = [line.split()[4] for line in read("/proc/self/mountinfo").splitlines()]
    return [point for point in points if re.search("/kubelet/.*/?kubernetes.io[/~]csi/", point)]


def pids_of(*words):
    """Of the driver's processes with these arguments."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            arguments = read(path).split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if arguments[0].endswith("scoria") and set(words) <= set(arguments):
            found.append(int(path.split("/")[2]))
    return found
