"""
A namespace of mounts for a test and its children.
"""

import ctypes
import os

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


def can_mount():
    return os.geteuid() == 0 and os.access("/dev/loop-control", os.W_OK)


def own_mounts():
    libc = ctypes.CDLL(None, use_errno=True)
    for result in (libc.unshare(CLONE_NEWNS),
                   libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)):
        if result != 0:
            raise OSError(ctypes.get_errno(), "a namespace of mounts")
