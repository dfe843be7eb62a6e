# shellcheck shell=bash disable=SC2154 # the variables are those of devstack.sh
# The functions of devstack that the plugin calls, in our own words: for tests without its library.

function define_plugin { :; }
function die {
    shift
    echo "$*" >&2
    exit 1
}
function trueorfalse {
    local value=${!2:-$1}
    case ${value,,} in
        1 | yes | true | enabled) echo True ;;
        *) echo False ;;
    esac
}
function is_service_enabled {
    local service
    for service; do
        [[ ,$ENABLED_SERVICES, != *",$service,"* ]] || return 0
        [[ $service != nova || ,$ENABLED_SERVICES != *",n-"* ]] || return 0
    done
    return 1
}
function enable_service {
    local service
    for service; do
        is_service_enabled "$service" || ENABLED_SERVICES+=,$service
    done
}
function disable_service {
    local service
    for service; do
        ENABLED_SERVICES=,$ENABLED_SERVICES,
        ENABLED_SERVICES=${ENABLED_SERVICES/,$service,/,}
        ENABLED_SERVICES=${ENABLED_SERVICES#,}
        ENABLED_SERVICES=${ENABLED_SERVICES%,}
    done
}
# The key behind the line of its section, before the lines of an earlier value, of which the last
# would count: those are removed.
function iniset {
    local file=$1 section=$2 key=$3 value=$4
    touch "$file"
    grep -qxF "[$section]" "$file" || printf '[%s]\n' "$section" >>"$file"
    awk -v section="[$section]" -v key="$key" -v value="$value" '
        /^\[/ { within = $0 == section }
        within && index($0, key " = ") == 1 { next }
        { print }
        $0 == section { print key " = " value }' "$file" >"$file.new"
    mv "$file.new" "$file"
}
function ipv6_unquote {
    echo "$1" | tr -d '[]'
}
function configure_keystoneauth {
    iniset "$1" "$3" auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$1" "$3" username "$2"
}
function configure_cinder_access {
    configure_keystoneauth "$NOVA_CONF" nova cinder
}
function init_os_brick { :; }
function create_service_user {
    openstack user create "$1"
    openstack role add --user "$1" "${2:-service}"
}
function get_or_create_service {
    openstack service create "$2" --name "$1"
}
function get_or_create_endpoint {
    openstack endpoint create "$1" public "$3" --region "$2"
}
function create_one_type {
    openstack volume type create --property "$2=$3" "$1"
}
