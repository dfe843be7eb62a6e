#!/bin/bash
# A header is guarded and opens with its promise; a file includes its own header first; feature
# macros come from the build alone, assertions from common/assert.h.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

status=0
wrong() {
    echo "$*"
    status=1
}

mapfile -t files < <(sources)
for header in "${files[@]}"; do
    [[ $header == *.h ]] || continue
    read -r first <"$header"
    [[ $first == "/*"* ]] || wrong "$header: does not open with a comment"
done
while read -r header; do
    wrong "$header: has no #pragma once"
done < <(printf '%s\n' "${files[@]}" | grep '\.h$' | xargs grep -L '^#pragma once$')
for file in "${files[@]}"; do
    [[ $file == *.c ]] || continue
    own=${file%.c}.h
    [[ -f $own ]] || own=${file%.c}.private.h
    [[ -f $own ]] || continue
    first=$(grep -m 1 '^#include "' "$file")
    [[ $first == "#include \"config.h\"" ]] && first=$(grep -m 2 '^#include "' "$file" | tail -n 1)
    grep -q "^#include \"$own\"" "$file" || continue # a file of a table shares that table's header
    [[ $first == "#include \"$own\"" ]] || wrong "$file: includes $own, but not first"
done
# The name makes a header private, or the folder of an engine, of which one header is visible; a
# folder of the table (folders.sh) shows its headers, and those of its rooms.
while IFS=: read -r file line text; do
    included=${text#*\"} included=${included%%\"*}
    folder=${included%/*}
    [[ $included != *.private.h ]] &&
        [[ -v may[$folder] || $with_rooms == *" ${folder%%/*} "* ]] && continue
    [[ $file == "$folder"/* || $included == "$folder/${folder##*/}.h" ]] ||
        wrong "$file:$line: $included is private to $folder"
done < <(grep -rnE --include='*.[ch]' '^#include "([^"]*\.private\.h|[a-z]+/[a-z]+/[^"]*)"' "${folders[@]}")
while read -r found; do
    wrong "$found: the build defines _GNU_SOURCE"
done < <(grep -rn --include='*.[ch]' --exclude-dir=build '^ *#define _GNU_SOURCE' . | cut -d: -f1,2)
while read -r found; do
    wrong "$found: common/assert.h has the assertions of the product"
done < <(grep -rn --include='*.[ch]' '^#include <assert.h>' "${folders[@]}" | cut -d: -f1,2)
exit "$status"
