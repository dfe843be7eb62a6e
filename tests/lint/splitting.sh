#!/bin/bash
# Of the static functions few are called once: splitting.py has the bounds.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

# shellcheck disable=SC2154 # of folders.sh
folders="${folders[*]}" exec python3 -B tests/lint/splitting.py "${@:2}"
