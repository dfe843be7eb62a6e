#!/bin/bash
# A status that stands in a row already is written by one function, whatever the object
# (operation/status.h); an operation's row is made by one file, and changed by one.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

status=0
only() {
    local file=$1 pattern=$2 found
    found=$(sources operation model manager rest api | grep -vxF "$file" | xargs grep -nE "$pattern") || return 0
    echo "only $file may say this:"
    echo "$found"
    status=1
}
only operation/status.c '(SET|[,"]) *"?status(_by_reset)? ='
only operation/operation.c 'INSERT INTO operations'
only operation/operation_turn.c 'UPDATE operations'
exit "$status"
