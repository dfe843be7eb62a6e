# shellcheck shell=bash
# Common to ./quickstart and ./test: packages and builds. The reader has set `top`, the top of the
# sources, and `logs`, a directory, and `set -euo pipefail`.
: "${top:?}" "${logs:?}"
# shellcheck source=tests/lib/packages.sh
source "$top/tests/lib/packages.sh"

# Objects that were compiled before, in any directory, are taken from there.
[[ ! -d /usr/lib/ccache ]] || export PATH=/usr/lib/ccache:$PATH CCACHE_NOHASHDIR=1

# Standard output is for the reader: a title, and its lines indented.
say() {
    printf '\n== %s\n' "$*"
}

note() {
    printf '   %s\n' "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Packages, libvirt and QEMU need root: starts the script again through sudo when it is not.
become_root() {
    [[ $EUID -eq 0 ]] && return
    command -v sudo >/dev/null || die "must run as root, or sudo must be installed"
    exec sudo -- "$0" "$@"
}

# Installs those of the packages that are missing; leaves apt alone when none is.
install_packages() {
    local package missing=()

    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    if [[ ${#missing[@]} -eq 0 ]]; then
        note "all $# packages are installed"
        return
    fi
    note "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get update &&
            apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}"
    } >"$logs/apt.log" 2>&1 || {
        tail -n 20 "$logs/apt.log" >&2
        die "apt-get failed; see $logs/apt.log"
    }
}

# Makes ./configure when it is missing or older than its sources.
make_configure() {
    if [[ -f $top/configure && -f $top/Makefile.in ]] &&
        [[ -z $(cd "$top" && find configure.ac Makefile.am ./*/local.mk -newer configure) ]]; then
        return
    fi
    (cd "$top" && autoreconf -fi) >"$logs/autoreconf.log" 2>&1 || {
        tail -n 20 "$logs/autoreconf.log" >&2
        die "autoreconf failed; see $logs/autoreconf.log"
    }
}

# build_tree NAME TARGET... -- CONFIGURE-ARGUMENT...: builds in build/NAME, again when it exists; a
# concurrent build waits.
build_tree() {
    local name=$1 tree=$top/build/$1 targets=() target log=$logs/build-$1.log

    shift
    while [[ $1 != -- ]]; do
        targets+=("$1")
        shift
    done
    shift
    mkdir -p "$tree"
    (
        flock 9
        if [[ ! -f $tree/config.status || $(cat "$tree/configured-with" 2>/dev/null) != "$*" ]]; then
            (cd "$tree" && ../../configure "$@") && printf '%s' "$*" >"$tree/configured-with"
        fi && for target in "${targets[@]}"; do # side by side they would build one library twice
            make -C "$tree" -j"$(nproc)" "$target" || exit 1
        done
    ) 9>"$tree.lock" >"$log" 2>&1 || {
        grep -E -A 5 'error:|undefined reference|\*\*\*' "$log" >&2 || tail -n 30 "$log" >&2
        printf 'build/%s failed; see %s\n' "$name" "$log" >&2
        return 1
    }
}
