#!/bin/bash
# Log lines, errors and messages that documents quote are texts of the program.
# `quotes.sh --self-test` proves that a quote with another word is found.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

[[ ${1:-} != --self-test ]] || exec python3 tests/lint/quotes.py --self-test
python3 tests/lint/quotes.py --self-test || exit 1
documents=(README.md docs/*.md)
mapfile -t files < <(sources "${folders[@]}")
exec python3 tests/lint/quotes.py "${documents[*]}" "${files[@]}"
