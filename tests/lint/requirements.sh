#!/bin/bash
# docs/requirements.md and docs/security.md: every requirement has its row, and every test that they
# name exists. A test is named as `path: name`, a name of START_TEST, a function of a Python suite
# or a check of a script; a row without one has a reason.
set -uo pipefail

document=docs/requirements.md
status=0
wrong() {
    echo "$document: $*"
    status=1
}

# The letters, and how far each went once: rows may be added, none goes.
known=(A36 B7 C20 D10 E10 G18 H15 I23 J9 K36 L8 M8 N15 O3 P68 Q7 R62 S6 T11 U11 V19 W9 X53 Y2 Z5)
gaps=' G6 G7 G8 G9 '
for last in "${known[@]}"; do
    letter=${last:0:1} most=${last:1}
    for id in $(grep -oE "^\| ${letter}[0-9]+ \|" "$document" | tr -cd '0-9\n'); do
        ((id <= most)) || most=$id
    done
    for ((number = 1; number <= most; number++)); do
        [[ $gaps == *" $letter$number "* ]] && continue
        rows=$(grep -c "^| $letter$number |" "$document")
        [[ $rows -eq 1 ]] || wrong "$letter$number has $rows rows"
    done
done

# check_row NAME ROW: every test that its last cell names; a row names one or has a reason.
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
    [[ $row =~ ^\|\ ([A-Z][0-9]+)\ \| ]] || continue
    id=${BASH_REMATCH[1]}
    [[ " ${known[*]}" == *" ${id:0:1}"* ]] || wrong "$id: unknown letter"
    check_row "$id" "$row"
done <"$document"

# docs/security.md: the rows of its tables with the column "proved by".
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
