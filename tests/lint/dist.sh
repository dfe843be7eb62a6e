#!/bin/bash
# Every file that git knows is in the tarball of make dist. $1: the build directory.
set -uo pipefail

git rev-parse --git-dir >/dev/null 2>&1 || {
    echo "this is no git repository"
    exit 77
}
top=$(pwd -P)
listed=$(make -s -C "$1" dist-files 2>/dev/null | sed -E "s|^(\.\./)+src/||; s|^$top/||" |
    sed -E 's|^(\.\./)+||; s|^\./||' | sort -u)
missing=$(git ls-files --cached --others --exclude-standard | grep -vE '(^|/)\.gitignore$|^bench/results/' |
    sort -u | comm -23 - <(printf '%s\n' "$listed"))
[[ -z $missing ]] && exit 0
while read -r file; do
    [[ ! -e $file ]] || echo "$file: not in EXTRA_DIST or any SOURCES"
done <<<"$missing" | grep . && exit 1
exit 0
