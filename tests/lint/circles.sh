#!/bin/bash
# Files that include each other in a circle can only be read, tested and moved together, so there
# are none but these. A file here is the .c with its headers; a circle may get smaller than it is
# stated, and a circle that is gone leaves the list.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

# The circle, and why it is left.
declare -A stated=(
    ["db/db db/engine"]="the door calls engines by a struct of functions that promise what the door says"
    ["http/acceptor http/answers http/connection http/eviction http/refusal http/reply http/server http/stream http/tls"]="parts of one server, which share its state (connection.private.h) and its settings (server.h)"
)

# "FILE INCLUDED", each without its end.
includes() {
    grep -roHE --include='*.[ch]' '^#include "[^"]+\.h"' "${folders[@]}" |
        sed -E 's/^([^:]*)\.[ch]:#include "([^"]*)\.h"$/\1 \2/; s/\.private( |$)/\1/g'
}

# Each circle in one line: files that reach each other.
circles() {
    includes | LC_ALL=C sort -u | awk '
        $1 != $2 { to[$1] = to[$1] " " $2; files[$1] }
        function walk(from, file,    next_files, count, i) {
            count = split(to[file], next_files)
            for (i = 1; i <= count; i++)
                if (!((from, next_files[i]) in reached)) {
                    reached[from, next_files[i]]
                    walk(from, next_files[i])
                }
        }
        END {
            for (file in files)
                walk(file, file)
            for (file in files)
                if ((file, file) in reached)
                    for (other in files)
                        if ((file, other) in reached && (other, file) in reached)
                            print file, other
        }' | LC_ALL=C sort | awk '
        $1 != last { if (last) print line; last = $1; line = "" }
        { line = line (line ? " " : "") $2 }
        END { if (last) print line }' | sort -u
}

# is_part A B: has B all the files of A?
is_part() {
    [[ -z $(comm -23 <(tr ' ' '\n' <<<"$1") <(tr ' ' '\n' <<<"$2")) ]]
}

status=0
declare -A left=()
mapfile -t found < <(circles)
for circle in "${found[@]}"; do
    known=no
    for other in "${!stated[@]}"; do
        is_part "$circle" "$other" && known=yes left[$other]=yes
    done
    [[ $known == yes ]] || {
        echo "these include each other in a circle: $circle"
        status=1
    }
done
for other in "${!stated[@]}"; do
    [[ -v left[$other] ]] || {
        echo "tests/lint/circles.sh: this circle is cut, take it from the list: $other"
        status=1
    }
done
exit "$status"
