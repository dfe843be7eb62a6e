#!/bin/bash
# Words that excuse unfinished work, and paths of one developer's machine.
set -uo pipefail

patterns=(
    'T''ODO' 'F''IXME' '\bX''XX\b' '\bHA''CK\b' '\b[Ss]t''ubs?\b' '\b[Pp]lace''holders?\b'
    '/ho''me/[a-z]' '/ro''ot/' '(^|[^a-z_}])/wo''rk/' '\.\./sha''red/'
)
status=0
files=$(find . -type f -not -path './.git/*' -not -path './build/*' -not -path './autom4te.cache/*' \
    -not -path './build-aux/*' -not -name configure -not -name aclocal.m4 -not -name '*.in' \
    -not -name 'configure~' -not -name '*.pyc' -not -name LICENSE)
for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2086 # a list of files
    grep -nE "$pattern" $files && status=1
done
exit "$status"
