#!/bin/bash
# The packages of the image are those that the program needs. $1: the build directory.
set -uo pipefail

[[ -x $1/scoria ]] || {
    echo "$1/scoria is not built"
    exit 77
}
command -v dpkg-query >/dev/null || {
    echo "whose files are whose, only Debian knows"
    exit 77
}
exec python3 -B tests/lint/containerfile.py "$1/scoria"
