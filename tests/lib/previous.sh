# shellcheck shell=bash
# The previous release, built from the history: that of the newest tag, or, where there is no
# tag, of the last commit with the schema of the release before. The reader has read setup.sh.
: "${top:?}" "${logs:?}"

# The number of the newest schema of the release before; each release sets it to its own.
previous_schema=41

of_history() {
    git -c safe.directory="$top" -C "$top" "$@" 2>/dev/null
}

# Its commit; fails where the history is missing, as in a distributed tree or a shallow clone.
previous_commit() {
    local commit

    commit=$(of_history describe --tags --abbrev=0 HEAD^) && of_history rev-parse --verify -q "$commit^{commit}" && return
    commit=$(of_history log -1 --diff-filter=A --format=%H -- \
        "db/schema/$(printf %04d $((previous_schema + 1)))_*") && [[ -n $commit ]] &&
        of_history rev-parse --verify -q "$commit^"
}

build_previous_in() {
    local tree=$1 commit=$2

    rm -rf "$tree"
    mkdir -p "$tree/source"
    of_history archive "$commit" | tar -x -C "$tree/source" &&
        (cd "$tree/source" && autoreconf -fi) &&
        (cd "$tree" && source/configure CFLAGS=-O1 --without-libvirt --without-csi) &&
        make -C "$tree" -j"$(nproc)" scoria && echo "$commit" >"$tree/commit"
}

# Builds build/previous/scoria, unless it is that of the commit already.
build_previous() {
    local tree=$top/build/previous log=$logs/build-previous.log commit

    commit=$(previous_commit) || {
        printf 'no previous program: the history is missing\n' >&2
        return 1
    }
    [[ $(cat "$tree/commit" 2>/dev/null) != "$commit" ]] || return 0
    build_previous_in "$tree" "$commit" >"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        printf 'build/previous failed; see %s\n' "$log" >&2
        return 1
    }
}
