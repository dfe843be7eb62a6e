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
checks=()
[[ ${LINT_LONG:-0} == 1 ]] || checks=("--checks=-clang-analyzer-*")
read -ra packages < <(pkg-config --cflags libmicrohttpd jansson sqlite3 libpq libcurl yaml-0.1 libvirt \
    libxml-2.0 2>/dev/null)
sources | grep '\.c$' | tr '\n' '\0' |
    xargs -0 -P "$(nproc)" -I{} clang-tidy --quiet "${checks[@]}" {} -- -std=gnu11 -D_GNU_SOURCE= \
        -DSYSCONFDIR='"/etc"' -DLOCALSTATEDIR='"/var"' -I. -I"$build" "${packages[@]}" 2>/dev/null
