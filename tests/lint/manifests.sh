#!/bin/bash
# The manifests for Kubernetes agree with each other and with the program. $1: the build directory.
set -uo pipefail

python3 -c 'import yaml' 2>/dev/null || {
    echo "python3-yaml is not installed"
    exit 77
}
[[ -x $1/scoria ]] || {
    echo "$1/scoria is not built"
    exit 77
}
exec python3 -B tests/lint/manifests.py "$1/scoria"
