"""The driver's part of this machine, for all its nodes: devices and processes."""

import fcntl
import glob
import os
import struct

from programs import read

LOOP_GET_STATUS64, STATUS_SIZE = 0x4C05, 232


def backing(device):
    """Of a loop device: on which device its file lies, and which device the file is."""
    try:
        with open(device, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            status = fcntl.ioctl(file, LOOP_GET_STATUS64, bytes(STATUS_SIZE))
    except OSError:
        return 0, 0  # gone meanwhile
    return struct.unpack_from("=Q8xQ", status)


def devices(disks):
    """
    Over files of file systems, distinguished by their devices, and those that the kubelet lays over
    them for its pods. Loop devices are the whole machine's: by names of files there would be those
    of others, too.
    """
    rows = {device: backing(device) for device in
            (f"/dev/{path.split('/')[3]}" for path in glob.glob("/sys/block/loop*/loop"))}
    found = [device for device, (place, _) in rows.items() if place in disks]
    numbers = {os.stat(device).st_rdev for device in found}
    return found + [device for device, (_, over) in rows.items() if over in numbers]


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
