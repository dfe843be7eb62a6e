#!/bin/bash
# Spelling of code and documents; .codespellrc has the exceptions.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

command -v codespell >/dev/null || {
    echo "codespell is not installed"
    exit 77
}
codespell "${folders[@]}" bench docs etc man tests README.md \
    HACKING.md Makefile.am configure.ac quickstart test
