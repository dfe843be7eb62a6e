#!/bin/bash
# Shell scripts as shellcheck reads them; Python files that parse.
set -uo pipefail

command -v shellcheck >/dev/null || {
    echo "shellcheck is not installed"
    exit 77
}
status=0
mapfile -t scripts < <(grep -rlE -m 1 '^#!/bin/bash|^# shellcheck shell=bash' quickstart test .ci etc tests)
shellcheck "${scripts[@]}" || status=1
while read -r file; do
    python3 - "$file" <<'PYTHON' || status=1
import ast, sys
try:
    ast.parse(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1])
except SyntaxError as error:
    sys.exit(f"{error.filename}:{error.lineno}: {error.msg}")
PYTHON
done < <(grep -rlE -m 1 '^#!.*python3' tests; find tests -name '*.py')
exit "$status"
