#!/bin/bash
# The program's own tables and the copies of their output in the tree must agree: the sample
# configuration, the sample policy, the description of the API, the definitions for Kubernetes, and the parts of
# documents between a line with "begin: scoria manage WHAT" and one with "end: scoria manage WHAT".
#
#     generated.sh BUILD-DIRECTORY            prints differences
#     generated.sh BUILD-DIRECTORY --write    brings the files up to date
set -uo pipefail

scoria=$1/scoria
write=${2:-}
status=0
[[ -x $scoria ]] || {
    echo "$scoria is not built"
    exit 77
}
new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT

# The default paths are those of a build for Debian, whatever this build's are.
print() {
    "$scoria" manage "$1" | sed -E 's|/[^ ]*/lib/scoria|/var/lib/scoria|'
}

compare() {
    cmp -s "$1" "$new" && return
    if [[ $write == --write ]]; then
        cat "$new" >"$1"
        echo "$1: written"
    else
        diff -u "$1" "$new" | head -n 40
        echo "$1: differs from what the program prints; make generated brings it up to date"
        status=1
    fi
}

# The file with the parts between its marks printed again.
refresh() {
    local line what='' fence=''

    [[ $1 == *.md ]] && fence='```'
    while IFS= read -r line; do
        [[ -n $what && $line != *"end: scoria manage $what"* ]] && continue
        what=''
        printf '%s\n' "$line"
        if [[ $line =~ begin:\ scoria\ manage\ ([a-z-]+) ]]; then
            what=${BASH_REMATCH[1]}
            [[ -z $fence ]] || printf '%s\n' "$fence"
            print "$what"
            [[ -z $fence ]] || printf '%s\n' "$fence"
        fi
    done <"$1"
}

print config >"$new"
compare etc/scoria.conf.sample
print policy >"$new"
compare etc/policy.yaml.sample
print openapi >"$new"
compare docs/openapi.json
print definitions >"$new"
compare etc/kubernetes/documents/definitions.yaml
for file in docs/api.md docs/drivers.md docs/provisioning.md man/scoria.conf.5; do
    refresh "$file" >"$new"
    compare "$file"
done
exit "$status"
