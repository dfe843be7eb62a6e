#!/bin/bash
# Files do not call each other in a circle, but for the circles that calls.py lists.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

# shellcheck disable=SC2154 # of folders.sh
folders="${folders[*]}" folder_table="$folder_table" exec python3 -B tests/lint/calls.py "${@:2}"
