#!/bin/bash
# Static analysis by clang-tidy; .clang-tidy has its checks. $1: the build directory. With
# LINT_LONG=1 also clang's analyzer, which takes minutes.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

command -v clang-tidy >/dev/null || {
    echo "clang-tidy is not installed"
    exit 77
}
build=${1:-.}
# Several files for each process, as its begin takes as long as a file; but the analyzer takes the
# va_list of one for that of another then.
checks='' files=1
[[ ${LINT_LONG:-0} == 1 ]] || checks='--checks=-clang-analyzer-*' files=16
flags=$(pkg-config --cflags libmicrohttpd jansson sqlite3 libpq libcurl yaml-0.1 libvirt libxml-2.0 2>/dev/null)
export flags="-std=gnu11 -D_GNU_SOURCE= -I. -I$build $flags"
# shellcheck disable=SC2016 # expanded by each process
sources | grep '\.c$' | tr '\n' '\0' |
    xargs -0 -P "$(nproc)" -n "$files" bash -fc 'clang-tidy --quiet $0 "$@" -- $flags \
        -DSYSCONFDIR=\"/etc\" -DLOCALSTATEDIR=\"/var\" 2>/dev/null' "${checks:---use-color=0}"
