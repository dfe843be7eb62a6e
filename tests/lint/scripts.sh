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
mapfile -t files < <(grep -rlE -m 1 '^#!.*python3' tests; find tests -name '*.py')
python3 - "${files[@]}" <<'PYTHON' || status=1
import ast, sys
for file in sys.argv[1:]:
    try:
        ast.parse(open(file, encoding="utf-8").read(), file)
    except SyntaxError as error:
        sys.exit(f"{error.filename}:{error.lineno}: {error.msg}")
PYTHON
exit "$status"
