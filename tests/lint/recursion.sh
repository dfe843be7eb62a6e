#!/bin/bash
# Every recursion of the program stands in recursion.list, with its bound.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

folders="${folders[*]}" exec python3 -B tests/lint/recursion.py
