#!/bin/bash
# A file of a volume or a snapshot loses its name by drivers/file/removal.h, and a draft by
# drivers/file/unlink.h: the drivers, and their callers, remove or replace a file by no other call.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

status=0
only() {
    local files=$1 pattern=$2 found
    found=$(sources drivers operation model declared manager rest api | grep -vE "^drivers/file/($files)$" |
        xargs grep -nE "$pattern") || return 0
    echo "only $files of drivers/file may call this:"
    echo "$found"
    status=1
}
only 'unlink\.c' '(^|[^_a-z>.])(unlink|unlinkat|remove|nftw|SYS_unlink[a-z]*)\('
only 'unlink\.[ch]|directory\.c|draft\.c|removal\.c|volume_name\.c|volume_file\.c' 'unlink_(same|draft)\('
only 'directory\.c' '(^|[^_a-z>.])(rename|renameat|renameat2|link|linkat)\('
exit "$status"
