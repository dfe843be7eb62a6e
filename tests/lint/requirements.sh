#!/bin/bash
# docs/requirements.md and docs/security.md: each requirement has its row, and each named test exists.
set -uo pipefail

exec python3 tests/lint/requirements.py
