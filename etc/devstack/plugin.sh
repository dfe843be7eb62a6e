# shellcheck shell=bash disable=SC2154 # the variables are devstack's and those of settings
# The devstack plugin of scoria, sourced by devstack with the mode and the phase as arguments.

# Does this host export the share? A compute node does not.
function scoria_exports {
    [[ $SCORIA_BACKEND == nfs && $SCORIA_NFS_SERVER == True ]] && is_service_enabled scoria-manager
}

# ---- install ----

function scoria_packages {
    # shellcheck source=/dev/null
    source "$SCORIA_DIR/tests/lib/packages.sh"
    local packages=("${build_packages[@]}" qemu-utils)
    [[ $SCORIA_BACKEND != nfs ]] || packages+=(nfs-common)
    ! scoria_exports || packages+=(nfs-kernel-server)
    echo "${packages[@]}"
}

function install_scoria {
    # shellcheck disable=SC2046 # one word for each package
    install_package $(scoria_packages)
    (
        cd "$SCORIA_DIR" || exit 1
        autoreconf -fi && mkdir -p build/devstack && cd build/devstack &&
            ../../configure -q --prefix=/usr/local --sysconfdir=/etc && make -s -j"$(nproc)" &&
            sudo make -s install
    ) || die $LINENO "scoria cannot be built"
}

# ---- configure ----

# The address of the API; nova and tempest find it in the catalogue.
function scoria_url {
    echo "http://$SERVICE_HOST:$SCORIA_PORT/v3"
}

function scoria_database_url {
    # The password is that of devstack's server; database_connection_url has pymysql's form else.
    echo "postgresql://$DATABASE_USER:$DATABASE_PASSWORD@$DATABASE_HOST/scoria"
}

# The line of the share: root of these hosts is root there, as the manager and libvirt need it.
function scoria_export_line {
    local line=$SCORIA_NFS_PATH client
    for client in $SCORIA_NFS_CLIENTS; do
        line+=" $client(rw,sync,no_subtree_check,no_root_squash)"
    done
    echo "$line"
}

# A share of this host, or nothing where another one serves it.
function scoria_export {
    scoria_exports || return 0
    sudo mkdir -p "$SCORIA_NFS_PATH"
    sudo chown "$STACK_USER" "$SCORIA_NFS_PATH"
    local line
    line=$(scoria_export_line)
    grep -qsxF "$line" "$SCORIA_EXPORTS" || echo "$line" | sudo tee -a "$SCORIA_EXPORTS" >/dev/null
    start_service nfs-kernel-server
    sudo exportfs -ra
}

function configure_scoria_backend {
    local name=$SCORIA_BACKEND_NAME
    iniset "$SCORIA_CONF" DEFAULT enabled_backends "$name"
    iniset "$SCORIA_CONF" "$name" volume_backend_name "$name"
    iniset "$SCORIA_CONF" "$name" volume_driver "$SCORIA_BACKEND"
    case $SCORIA_BACKEND in
        file)
            iniset "$SCORIA_CONF" "$name" file_volume_directory "$SCORIA_STATE_PATH/volumes"
            # Nova takes the path of a plain file by this type alone.
            iniset "$SCORIA_CONF" "$name" file_connection_type gpfs
            ;;
        nfs)
            scoria_export
            iniset "$SCORIA_CONF" "$name" nas_host "$SCORIA_NFS_HOST"
            iniset "$SCORIA_CONF" "$name" nas_share_path "$SCORIA_NFS_PATH"
            iniset "$SCORIA_CONF" "$name" nfs_snapshot_support "$SCORIA_NFS_SNAPSHOTS"
            ;;
        *) die $LINENO "SCORIA_BACKEND is $SCORIA_BACKEND: it must be file or nfs" ;;
    esac
}

# Only the keys that scoria has: it refuses others.
function configure_scoria_auth {
    local section=keystone_authtoken
    iniset "$SCORIA_CONF" $section auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$SCORIA_CONF" $section username scoria
    iniset "$SCORIA_CONF" $section password "$SERVICE_PASSWORD"
    iniset "$SCORIA_CONF" $section user_domain_name "$SERVICE_DOMAIN_NAME"
    iniset "$SCORIA_CONF" $section project_name "$SERVICE_PROJECT_NAME"
    iniset "$SCORIA_CONF" $section project_domain_name "$SERVICE_DOMAIN_NAME"
    iniset "$SCORIA_CONF" $section region_name "$REGION_NAME"
    ! is_service_enabled tls-proxy || iniset "$SCORIA_CONF" $section cafile "$SSL_BUNDLE_FILE"
    local user
    for user in nova glance service_user; do
        iniset "$SCORIA_CONF" $user auth_section $section
    done
    ! is_service_enabled barbican || iniset "$SCORIA_CONF" barbican_service_user auth_section $section
    iniset "$SCORIA_CONF" service_user send_service_user_token true
}

function configure_scoria {
    sudo install -d -o "$STACK_USER" "$SCORIA_STATE_PATH"
    # The configuration has passwords.
    sudo install -d -o "$STACK_USER" -m 0750 "$SCORIA_CONF_DIR"
    rm -f "$SCORIA_CONF"
    iniset "$SCORIA_CONF" DEFAULT auth_strategy keystone
    iniset "$SCORIA_CONF" DEFAULT state_path "$SCORIA_STATE_PATH"
    iniset "$SCORIA_CONF" DEFAULT osapi_volume_listen "$(ipv6_unquote "$SERVICE_LISTEN_ADDRESS")"
    iniset "$SCORIA_CONF" DEFAULT osapi_volume_listen_port "$SCORIA_PORT"
    iniset "$SCORIA_CONF" compute service agent
    iniset "$SCORIA_CONF" compute snapshots nova
    iniset "$SCORIA_CONF" compute_agent host "$(hostname)"
    iniset "$SCORIA_CONF" compute_agent listen "$HOST_IP"
    iniset "$SCORIA_CONF" compute_agent port "$SCORIA_AGENT_PORT"
    iniset "$SCORIA_CONF" compute_agent endpoint "http://$HOST_IP:$SCORIA_AGENT_PORT/v2.1"
    [[ $SCORIA_DATABASE != postgresql ]] ||
        iniset "$SCORIA_CONF" database connection "$(scoria_database_url)"
    configure_scoria_auth
    configure_scoria_backend
}

# devstack writes it for Cinder's own services alone. Servers' disks are let go only for a caller
# that acts for servers, by Nova's service token.
function configure_scoria_nova {
    is_service_enabled nova || return 0
    configure_cinder_access
    init_os_brick
    iniset "$NOVA_CONF" cinder catalog_info block-storage::publicURL
    configure_keystoneauth "$NOVA_CONF" nova service_user
    iniset "$NOVA_CONF" service_user send_service_user_token True
}

function create_scoria_accounts {
    create_service_user scoria admin
    get_or_create_service cinder block-storage "Volume Service"
    get_or_create_endpoint block-storage "$REGION_NAME" "$(scoria_url)"
    # The name that older clients look for.
    get_or_create_service cinderv3 volumev3 "Volume Service"
    get_or_create_endpoint volumev3 "$REGION_NAME" "$(scoria_url)"
}

function init_scoria {
    [[ $SCORIA_DATABASE != postgresql ]] || recreate_database scoria
    [[ $SCORIA_DATABASE == postgresql ]] || rm -f "$SCORIA_STATE_PATH"/scoria.db*
    "$SCORIA_PROGRAM" manage db sync --config-file "$SCORIA_CONF"
}

# ---- run ----

function start_scoria {
    run_process scoria-api "$SCORIA_PROGRAM api --config-file $SCORIA_CONF"
    run_process scoria-manager "$SCORIA_PROGRAM manager --config-file $SCORIA_CONF" "" root
    wait_for_service "$SERVICE_TIMEOUT" "$(scoria_url)/" || die $LINENO "scoria did not start"
}

# Beside nova-compute on every hypervisor host.
function start_scoria_agent {
    ! is_service_enabled n-cpu ||
        run_process scoria-agent "$SCORIA_PROGRAM compute --config-file $SCORIA_CONF" "" root
}

# The manager mounts shares below its state directory; a mount stays when it was killed, or busy.
function umount_scoria_shares {
    local mounts mount state
    state=$(realpath -m "$SCORIA_STATE_PATH")
    mounts=$(findmnt --list --noheadings --output TARGET | tac)
    while read -r mount; do
        [[ $mount != "$state"/* ]] || sudo umount "$mount" ||
            die $LINENO "the share at $mount is still mounted"
    done <<<"$mounts"
}

function stop_scoria {
    stop_process scoria-agent
    stop_process scoria-manager
    stop_process scoria-api
    umount_scoria_shares
}

function create_scoria_types {
    create_one_type "$SCORIA_BACKEND_NAME" volume_backend_name "$SCORIA_BACKEND_NAME"
    [[ ${ENABLE_VOLUME_MULTIATTACH:-False} != True ]] ||
        create_one_type "$VOLUME_TYPE_MULTIATTACH" multiattach "<is> True"
}

# devstack sets these from the services of Cinder.
function configure_scoria_tempest {
    is_service_enabled tempest || return 0
    iniset "$TEMPEST_CONFIG" service_available cinder True
    iniset "$TEMPEST_CONFIG" volume catalog_type block-storage
    iniset "$TEMPEST_CONFIG" volume-feature-enabled backup False
    iniset "$TEMPEST_CONFIG" volume-feature-enabled manage_volume True
    iniset "$TEMPEST_CONFIG" volume-feature-enabled extend_attached_volume "$TEMPEST_EXTEND_ATTACHED_VOLUME"
    iniset "$TEMPEST_CONFIG" volume-feature-enabled extend_attached_encrypted_volume False
    iniset "$TEMPEST_CONFIG" compute-feature-enabled attach_encrypted_volume False
}

function cleanup_scoria {
    # Through a mount that stayed, all volumes of the share would be deleted.
    umount_scoria_shares
    sudo rm -rf --one-file-system "$SCORIA_CONF_DIR" "$SCORIA_STATE_PATH"
    scoria_exports && [[ -r $SCORIA_EXPORTS ]] || return 0
    local others
    others=$(grep -vxF "$(scoria_export_line)" "$SCORIA_EXPORTS") || true # or there are none
    echo -n "${others:+$others$'\n'}" | sudo tee "$SCORIA_EXPORTS" >/dev/null
    sudo exportfs -ra
}

case "$1 ${2:-}" in
    "stack install")
        if is_service_enabled scoria-api scoria-agent; then
            install_scoria
        fi
        ;;
    "stack post-config")
        if is_service_enabled scoria-api scoria-agent; then
            configure_scoria
            configure_scoria_nova
        fi
        if is_service_enabled scoria-api; then
            create_scoria_accounts
            init_scoria
        fi
        ;;
    "stack extra")
        if is_service_enabled scoria-api; then
            start_scoria
            create_scoria_types
        fi
        if is_service_enabled scoria-agent; then
            start_scoria_agent
        fi
        ;;
    "stack test-config")
        if is_service_enabled scoria-api; then
            configure_scoria_tempest
        fi
        ;;
    "unstack "*) stop_scoria ;;
    "clean "*) cleanup_scoria ;;
esac
