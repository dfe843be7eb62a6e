#!/bin/bash
# Runs the phases of the devstack plugin (etc/devstack) in a directory of the test's own.
#
#     devstack.sh PLACE PHASE...        "stack install", "stack post-config", …
#
# SCORIA_DEVSTACK names a checkout of devstack, whose function library is used; without it the few
# functions that the plugin calls are those at the end. Either way nothing is installed, started or
# sent: such calls are lines of PLACE/calls.
set -eo pipefail

place=$1
shift
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# ---- devstack's variables ----

# shellcheck disable=SC2034
{
    DEST=$place/dest DATA_DIR=$place/data FILES=$place/files
    HOST_IP=192.0.2.5 SERVICE_HOST=192.0.2.5 SERVICE_LISTEN_ADDRESS=0.0.0.0 SERVICE_TIMEOUT=60
    SERVICE_IP_VERSION=4 SERVICE_PROTOCOL=http STACK_USER=$(id -un) HOST_IPV6=''
    ENABLED_SERVICES=${ENABLED_SERVICES-key,n-api,n-cpu,c-api,c-sch,c-vol,c-bak,tempest,tls-proxy}
    DISABLED_SERVICES='' DATABASE_BACKENDS=postgresql
    DATABASE_USER=root DATABASE_PASSWORD=secret DATABASE_HOST=127.0.0.1
    SERVICE_PASSWORD=pass SERVICE_PROJECT_NAME=service SERVICE_DOMAIN_NAME=Default
    REGION_NAME=RegionOne KEYSTONE_SERVICE_URI=https://192.0.2.5/identity
    SSL_BUNDLE_FILE=$place/ca.pem NOVA_CONF=$place/nova.conf TEMPEST_CONFIG=$place/tempest.conf
    VOLUME_TYPE_MULTIATTACH=multiattach ENABLE_VOLUME_MULTIATTACH=True CURL_GET=curl
    OS_BRICK_LOCK_PATH=$DATA_DIR/os_brick
    SCORIA_PROGRAM=${SCORIA:-$top/build/plain/scoria}
    SCORIA_CONF_DIR=$place/etc SCORIA_NFS_PATH=$place/export SCORIA_EXPORTS=$place/exports
}
mkdir -p "$DEST" "$DATA_DIR" "$FILES"
ln -sfn "$top" "$DEST/scoria"

# ---- the library ----

if [[ -n ${SCORIA_DEVSTACK:-} ]]; then
    TOP_DIR=$SCORIA_DEVSTACK
    GLOBAL_VENV=False
    export TOP_DIR GLOBAL_VENV
    # shellcheck source=/dev/null
    source "$TOP_DIR/functions"
    # Of whole files only the functions, as their first lines expect a host that is installed.
    for function in lib/keystone:create_service_user lib/keystone:configure_keystoneauth \
        lib/keystone:is_keystone_enabled \
        lib/cinder:create_one_type lib/cinder:init_os_brick lib/cinder:is_cinder_enabled \
        lib/nova:configure_cinder_access; do
        # shellcheck source=/dev/null
        source <(sed -n "/^function ${function#*:} {/,/^}/p" "$TOP_DIR/${function%%:*}")
    done
else
    # shellcheck source=tests/lib/devstack_doubles.sh
    source "$top/tests/lib/devstack_doubles.sh"
fi

# ---- the world outside ----

function called {
    printf '%s\n' "$*" >>"$place/calls"
}
function sudo {
    case $1 in
        exportfs) called "sudo $*" ;;
        umount)
            called "sudo $*"
            [[ -z ${SCORIA_TEST_BUSY:-} ]]
            ;;
        *) "$@" ;;
    esac
}
function findmnt {
    printf '%s\n' / ${SCORIA_TEST_MOUNT:+"$SCORIA_TEST_MOUNT"}
}
function openstack {
    called "openstack $*"
    # Lists are empty, no object is there until it is created, and has an id then.
    [[ " $* " != *" show "* ]] || return 1
    [[ " $* " != *" create "* ]] || echo an-id
}
for function in install_package run_process stop_process start_service wait_for_service \
    recreate_database install_scoria; do
    eval "function $function { called \"$function \$*\"; }"
done
function time_start { :; }
function time_stop { :; }

# ---- the plugin, as devstack loads it ----

# shellcheck source=etc/devstack/settings
source "$DEST/scoria/devstack/settings"
# As local.conf of a compute node has it.
# shellcheck disable=SC2086
[[ -z ${SCORIA_TEST_DISABLED:-} ]] || disable_service $SCORIA_TEST_DISABLED
for phase; do
    # shellcheck disable=SC2086 # a mode and a phase
    set -- $phase
    # devstack sources it for each phase; the functions that reach outside are replaced again
    # shellcheck source=etc/devstack/plugin.sh
    source <(sed 's/^function install_scoria {/function install_scoria_of_the_plugin {/' \
        "$DEST/scoria/devstack/plugin.sh") "$@"
done
echo "$ENABLED_SERVICES"
