#!/bin/bash
# The language of the sources: components as subjects, the field's terms, no persons. Folders of
# `held` and the documents keep to it, the others are counted. docs/glossary.md names what the headers have.
# `language.sh --self-test` proves that each check fails when it has to.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

held=(common json config http grpc policy identity client db rpc kubernetes compute drivers cmd ledger api manager csi volume replicated declared)
documents=(README.md HACKING.md NEWS docs/*.md man/scoria.1 man/scoria.conf.5)
[[ ${1:-} != --self-test ]] || exec python3 tests/lint/language.py --self-test
python3 tests/lint/language.py --self-test || exit 1
exec python3 tests/lint/language.py --held "${held[*]}" --documents "${documents[*]}" "${folders[@]}"
