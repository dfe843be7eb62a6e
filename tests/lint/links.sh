#!/bin/bash
# Files and headings that documents link to, and paths and functions of the tree that they name, exist.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

# The anchors of a document: its headings as GitHub writes them.
anchors() {
    sed -nE 's/^#+ //p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9_ -]//g; s/ /-/g'
}

status=0
alternatives=$(IFS='|' && echo "${folders[*]%%/*}")
functions=$(mktemp) || exit 1
trap 'rm -f "$functions"' EXIT
sources "${folders[@]}" tests/lib | xargs -d '\n' cat | grep -oE '[a-z_0-9]+\(' | sort -u >"$functions"
echo 'bdrv_drained_begin(' >>"$functions" # of QEMU
for document in README.md HACKING.md docs/*.md; do
    while read -r target; do
        [[ $target == http* ]] && continue
        file=$(dirname "$document")/${target%%#*}
        [[ $target != '#'* ]] || file=$document
        [[ -e $file && $target != *.md'#'* && $target != '#'* ]] && continue
        [[ -e $file ]] && anchors "$file" | grep -qxF -- "${target#*#}" && continue
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
    # shellcheck disable=SC2016 # the backquotes are those of the document
    while read -r name; do
        grep -qxF -- "$name" "$functions" && continue
        echo "$document: names $name), which is not there"
        status=1
    done < <(grep -oE '`[a-z_0-9]+\([^`]*\)`' "$document" | sed -E 's/^`([a-z_0-9]+\().*/\1/' | sort -u)
done
exit "$status"
