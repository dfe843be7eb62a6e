#!/bin/bash
# Spelling of code and documents; .codespellrc says which words are meant so.
set -uo pipefail

command -v codespell >/dev/null || {
    echo "codespell is not installed"
    exit 77
}
codespell api bench cmd common compute db docs drivers etc man manager policy rpc tests volume \
    README.md HACKING.md Makefile.am configure.ac quickstart test
