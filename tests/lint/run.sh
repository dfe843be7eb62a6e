#!/bin/bash
# Everything about the sources that needs no running service: run.sh BUILD-DIRECTORY [CHECK...] Each
# check is a script beside this one. It is started at the top of the sources, prints each fault and
# returns 1; 77 means that a tool it needs is missing.
set -uo pipefail

checks=(layers doors removals headers circles calls splitting recursion words language format spelling scripts cppcheck tidy requirements generated links quotes manifests containerfile dist)

[[ $# -ge 1 ]] || {
    echo "usage: run.sh BUILD-DIRECTORY [CHECK...]" >&2
    exit 2
}
build=$(realpath -- "$1") || exit 2
shift
[[ $# -eq 0 ]] || checks=("$@")
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2

failed=0
for check in "${checks[@]}"; do
    begin=$SECONDS
    "tests/lint/$check.sh" "$build"
    case $? in
        0) outcome="good" ;;
        77) outcome="SKIPPED" ;;
        *) outcome="WRONG" failed=1 ;;
    esac
    printf '%-14s %s (%d s)\n' "$check" "$outcome" $((SECONDS - begin))
done
exit "$failed"
