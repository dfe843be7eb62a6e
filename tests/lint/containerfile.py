#!/usr/bin/python3
"""
The image of Containerfile has the libraries that the program is linked with or loads and the programs
that it starts, and no other library: containerfile.py SCORIA.  Each line that it prints is something wrong.
"""

import re
import subprocess
import sys

PROGRAMS = ("mount", "mkfs.ext4", "mkfs.xfs", "e2fsck", "resize2fs", "xfs_growfs", "qemu-img")
LOADED = ("libvirt-qemu.so.0",)
ALSO = {"ca-certificates", "nfs-common"}  # for TLS, and mount's helper for shares
OF_ALL = {"libc6", "libgcc-s1"}


def output_of(*words):
    return subprocess.run(words, check=False, capture_output=True, text=True).stdout


def packages_of(patterns):
    """{package} that has a file of each pattern."""
    found = {}
    for line in output_of("dpkg-query", "--search", *patterns).splitlines():
        package, _, path = line.partition(": ")
        found.setdefault(path.rpartition("/")[2], package.partition(":")[0])
    return found


def named():
    """Packages of the image that runs."""
    with open("Containerfile", encoding="utf-8") as file:
        last = file.read().rpartition("\nFROM ")[2]
    words = re.search(r"--no-install-recommends \\\n(.*?)&&", last, re.S)[1]
    return set(words.replace("\\", "").split())


def main():
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", sys.argv[1]))
    libraries += LOADED
    found = packages_of([*(f"*/lib/x86_64-linux-gnu/{name}" for name in libraries),
                         *(f"*bin/{name}" for name in PROGRAMS)])
    wrong = [f"no package has {name}" for name in (*libraries, *PROGRAMS)
             if name not in found]
    needed = set(found.values()) - OF_ALL | ALSO
    wrong += [f"Containerfile installs no {name}" for name in sorted(needed - named())]
    wrong += [f"Containerfile installs {name} without need" for name in sorted(named() - needed)]
    for name in PROGRAMS + LOADED:
        if not output_of("grep", "-rlF", "--include=*.c", "--include=*.h", f'"{name}"', "csi",
                       "drivers", "compute", "common"):
            wrong.append(f"scoria does not start or load {name} any more")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
