#!/bin/bash
# docs/requirements.md: every requirement has its row, and every test that it names exists.
# A test is named as `path: name`, a name of START_TEST, a function of a Python suite or a check of
# a script; a row without one says why.
set -uo pipefail

document=docs/requirements.md
status=0
wrong() {
    echo "$document: $*"
    status=1
}

for id in R{1..62} X{1..45} A{1..33} K{1..35}; do
    rows=$(grep -c "^| $id |" "$document")
    [[ $rows -eq 1 ]] || wrong "$id has $rows rows"
done
while IFS= read -r row; do
    [[ $row =~ ^\|\ ([RXAK][0-9]+)\ \| ]] || continue
    id=${BASH_REMATCH[1]} count=0
    # shellcheck disable=SC2016 # the backquotes are those of the document
    while read -r word; do
        if [[ $word == */*:* ]]; then
            file=${word%%:*} name=${word#*:}
        else
            wrong "$id: \`$word\` is no path:test"
            continue
        fi
        count=$((count + 1))
        if [[ ! -e $file ]]; then
            wrong "$id: $file is not there"
        elif ! grep -qE "(START_TEST\(|_TEST\(|def )$name\b" "$file"; then
            wrong "$id: $file has no test $name"
        fi
    done < <(grep -oE '`[^`]+`' <<<"${row##*|*|*| }" | tr -d '`' | grep ':')
    [[ $count -gt 0 || $row == *"no test:"* ]] || wrong "$id: names no test and does not say why"
done <"$document"
exit "$status"
