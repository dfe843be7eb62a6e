# shellcheck shell=bash
# The Debian 12 packages: those of ./quickstart, and those of ./test beside them.
# shellcheck disable=SC2034 # used by the scripts that read this file

build_packages=(
    autoconf automake gcc libc6-dev make pkg-config
    libblkid-dev libcurl4-openssl-dev libgnutls28-dev libjansson-dev libmicrohttpd-dev libpq-dev
    libnghttp2-dev libprotobuf-c-dev librabbitmq-dev libsqlite3-dev libssl-dev libvirt-dev libxml2-dev libyaml-dev
    nettle-dev protobuf-c-compiler protobuf-compiler
)

# Programs that the service and the demonstration call.
run_packages=(
    curl e2fsprogs libvirt-clients libvirt-daemon libvirt-daemon-system python3-grpcio python3-minimal
    python3-protobuf python3 qemu-system-common qemu-system-x86 qemu-utils util-linux xfsprogs
)

test_packages=(
    busybox-static ccache check clang clang-format clang-tidy codespell cpio cppcheck kmod
    libclang-rt-14-dev libfuse3-dev libsubunit-dev shellcheck strace systemd valgrind xz-utils
    nfs-common nfs-kernel-server postgresql rpcbind
    python3-cinderclient python3-jsonschema python3-openstackclient python3-oslo.messaging
    python3-venv python3-yaml
    rabbitmq-server barbican-api glance-api keystone openssl uwsgi-core uwsgi-plugin-python3
)

# Of ./test conformance alone.
openstack_packages=(
    chromium chromium-driver cinder-common mariadb-server nova-api nova-compute nova-compute-qemu nova-conductor
    nova-scheduler openstack-dashboard placement-api python3-cinder python3-psycopg2 python3-pymysql python3-selenium
    sudo
)
