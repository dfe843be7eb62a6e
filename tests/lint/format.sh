#!/bin/bash
# The form of the C code: clang-format decides, and comments, which it leaves alone, keep to 100
# columns, too.
set -uo pipefail
export LC_ALL=C.UTF-8
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

command -v clang-format >/dev/null || {
    echo "clang-format is not installed"
    exit 77
}
status=0
mapfile -t files < <(sources "${folders[@]}" bench tests)
printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -n 16 clang-format --dry-run --Werror || status=1
while read -r file && read -r line; do
    echo "$file: wider than 100 columns: $line"
    status=1
done < <(sed -s '/clang-format off/,/clang-format on/d; /"/d; /^.\{101,\}/!d; F' "${files[@]}")
exit "$status"
