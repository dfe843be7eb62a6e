#!/bin/bash
# docs/requirements.md and docs/security.md: every requirement has its row, and every test that they
# name exists.
# A test is named as `path: name`, a name of START_TEST, a function of a Python suite or a check of
# a script; a row without one says why.
set -uo pipefail

document=docs/requirements.md
status=0
wrong() {
    echo "$document: $*"
    status=1
}

for id in R{1..62} X{1..49} A{1..33} K{1..35} O{1..3} Q{1..7} S{1..6} N{1..8} G{1..5} G{10..15} E{1..6} C{1..20} D{1..10} U{1..10} L{1..7} V{1..11} P{1..27} P{29..39} P{41..46} P{48..59} P61 P{64..68}; do
    rows=$(grep -c "^| $id |" "$document")
    [[ $rows -eq 1 ]] || wrong "$id has $rows rows"
done
# check_row NAME ROW: every test that its last cell names; a row names one or says why not.
check_row() {
    local name=$1 row=${2% |} word file test count=0

    # shellcheck disable=SC2016 # the backquotes are those of the document
    while read -r word; do
        if [[ $word == */*:* ]]; then
            file=${word%%:*} test=${word#*:}
        else
            wrong "$name: \`$word\` is no path:test"
            continue
        fi
        count=$((count + 1))
        if [[ ! -e $file ]]; then
            wrong "$name: $file is not there"
        elif ! grep -qE "(START_TEST\(|_TEST\(|def )$test\b" "$file"; then
            wrong "$name: $file has no test $test"
        fi
    done < <(grep -oE '`[^`]+`' <<<"${row##* | }" | tr -d '`' | grep ':')
    [[ $count -gt 0 || $row == *"no test:"* ]] || wrong "$name: names no test and does not say why"
}

while IFS= read -r row; do
    [[ $row =~ ^\|\ ([RXAKOSNGEP][0-9]+)\ \| ]] && check_row "${BASH_REMATCH[1]}" "$row"
done <"$document"

# docs/security.md: the rows of its tables "what must hold | proved by".
document=docs/security.md
proves=no
while IFS= read -r row; do
    case $row in
        '| what must hold | proved by |') proves=yes ;;
        '| --- '*) ;;
        '| '*) [[ $proves == no ]] || check_row "\"${row:2:40}…\"" "$row" ;;
        *) proves=no ;;
    esac
done <"$document"
exit "$status"
