#!/bin/bash
# The language of the sources: components as subjects, the field's terms, no persons. Folders of
# `held`, the documents and the tests keep to it, the others are counted. Names of docs/glossary.md are in headers.
# `language.sh --self-test` proves that each check fails when it has to.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

held=(common data json config http grpc policy identity client db rpc kubernetes compute drivers cmd operation rest api manager csi model replicated declared replication/engine replication/node)
documents=(README.md HACKING.md NEWS bench/README.md docs/*.md man/scoria.1 man/scoria.conf.5)
export PYTHONDONTWRITEBYTECODE=1
python3 tests/lint/language.py --self-test && python3 tests/lint/language_tests.py --self-test || exit 1
[[ ${1:-} != --self-test ]] || exit 0
status=0
python3 tests/lint/language_tests.py || status=1
python3 tests/lint/language.py --held "${held[*]}" --documents "${documents[*]}" "${folders[@]}" || status=1
exit "$status"
