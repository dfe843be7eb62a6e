#!/bin/bash
# Files that documents link to, and paths of the tree that they name, exist.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

status=0
alternatives=$(IFS='|' && echo "${folders[*]}")
for document in README.md HACKING.md docs/*.md; do
    while read -r target; do
        [[ $target == http* || $target == '#'* ]] && continue
        [[ -e $(dirname "$document")/${target%%#*} ]] && continue
        echo "$document: links to $target, which is not there"
        status=1
    done < <(grep -oE '\]\([^)]+\)' "$document" | sed -E 's/^\]\(//; s/\)$//')
    # shellcheck disable=SC2016 # the backquotes are those of the document
    while read -r path; do
        [[ -e $path ]] && continue
        echo "$document: names $path, which is not there"
        status=1
    done < <(grep -oE '`('"$alternatives"'|bench|docs|etc|man|tests)/[a-z0-9_/.]+\.(c|h|def|sh|md|py|sql|mk)`' \
        "$document" | tr -d '`' | sort -u)
done
exit "$status"
