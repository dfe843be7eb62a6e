"""
OpenStack of Debian's packages on one machine, in namespaces of its own: Keystone, Placement,
Glance and Nova with libvirt and QEMU, and scoria in the place of Cinder. A stand-in for the network
service has no objects: the servers have no network.
"""

import concurrent.futures
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import hypervisor
import machine
import program
from block_storage import BlockStorage, until
from glance import Glance
from keystone import PASSWORD, Keystone
from ports import free_port, free_ports
from rabbitmq import Broker

HERE = os.path.dirname(os.path.abspath(__file__))
HOST = "hypervisor"
# By name, with the driver: files of the first one share blocks, servers share volumes of the other.
SHARES = {"share": "nfs", "plain": "powerstore_nfs"}
# The backend whose volumes are files of this machine, which share blocks, and that of replicas.
FILES, DECLARED = "files", "declared"
POOLS = "pool-a", "pool-b", "pool-c"
KERNEL = os.path.join(program.REPOSITORY, "build/kernel")
MODULES = ("virtio_pci", "virtio_blk")
TIMEOUT_S = 600  # of a machine that has other things to do
COMPUTE_VERSION = "2.93"
COPIED = ("/etc/nova", "/etc/libvirt", "/var/cache/libvirt")
EMPTY = ("/var/lib/nova", "/var/lib/libvirt", "/var/lib/openstack-dashboard/secret-key",
         "/var/log/libvirt")

LIBVIRTD = """\
auth_unix_rw = "none"
unix_sock_group = "libvirt"
unix_sock_rw_perms = "0770"
"""

USER = """\
auth_type = password
auth_url = {keystone}
username = {name}
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
"""

NOVA = """\
[DEFAULT]
state_path = /var/lib/nova
log_dir = {logs}
host = {host}
my_ip = 127.0.0.1
transport_url = {broker}
compute_driver = libvirt.LibvirtDriver
enabled_apis = osapi_compute
osapi_compute_listen = 127.0.0.1
osapi_compute_listen_port = {port}
osapi_compute_workers = 1
allow_resize_to_same_host = true
shutdown_timeout = 3
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
[conductor]
workers = 1
[scheduler]
workers = 1
[filter_scheduler]
enabled_filters = ComputeFilter
[api_database]
connection = {database}/nova_api
[database]
connection = {database}/nova
[cinder]
catalog_info = volumev3::publicURL
{user}
[glance]
{user}
[keystone_authtoken]
{user}
[neutron]
{user}
[placement]
{user}
[service_user]
send_service_user_token = true
{user}
[libvirt]
virt_type = qemu
cpu_mode = none
[oslo_concurrency]
lock_path = /var/lib/nova/tmp
[spice]
enabled = false
[vnc]
enabled = false
"""

PLACEMENT = """\
[placement_database]
connection = sqlite:///{place}/placement.db
[keystone_authtoken]
{user}
"""

SCORIA = """\
[DEFAULT]
auth_strategy = keystone
enabled_backends = share, plain, files, declared
quota_volumes = -1
quota_gigabytes = -1
quota_snapshots = -1
glance_api_servers = {glance}
{shares}
[files]
volume_driver = file
volume_backend_name = files
file_volume_directory = {place}/files
file_connection_type = gpfs
[declared]
volume_driver = replicated
volume_backend_name = declared
replicated_connection_type = local
[storage]
enabled_pools = {pools}
run_directory = {place}/targets
{pool_sections}
[compute]
service = agent
snapshots = nova
[keystone_authtoken]
{user}
[nova]
auth_section = keystone_authtoken
[service_user]
auth_section = keystone_authtoken
send_service_user_token = true
"""

SHARE = """\
[{name}]
volume_driver = {driver}
volume_backend_name = {name}
nas_host = 127.0.0.1
nas_share_path = /{name}
nfs_mount_point_base = {place}/mnt
nfs_snapshot_support = true
"""

# The guest system prints each disk with its size when it has appeared, grown or gone, and writes
# serial number and size to its last sector.
INIT = """\
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /nodes /seen
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module; done
echo "guest: up"
while :; do
    for disk in /sys/block/vd*; do
        serial=$(cat $disk/serial) size=$(cat $disk/size)
        [ "$serial" ] && [ "$(cat /seen/$serial 2>/dev/null)" != "$size" ] || continue
        echo "$size" >/seen/$serial
        rm -f /nodes/$serial
        mknod /nodes/$serial b $(tr : ' ' <$disk/dev)
        printf 'guest %s %s\\n' "$serial" "$size" |
            dd of=/nodes/$serial bs=512 seek=$((size - 1)) conv=notrunc,fsync 2>/dev/null
        echo "guest: disk $serial $size"
    done
    for file in /seen/*; do
        [ -e "$file" ] && ! grep -qs "^${file##*/}" /sys/block/vd*/serial || continue
        rm $file
        echo "guest: gone ${file##*/}"
    done
    sleep 1
done
"""


class Nothing(http.server.BaseHTTPRequestHandler):
    """Of each kind of object there is none, and no quota."""

    def do_GET(self):
        kind = self.path.partition("?")[0].rstrip("/").rpartition("/")[2]
        answer = {"quota": {}} if "/quotas/" in self.path else {kind.replace("-", "_"): []}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *unused):
        pass


class Service(BlockStorage):
    """Another service than that of volumes, called in the same way."""

    def __init__(self, endpoint, token, version):
        super().__init__(endpoint, timeout=TIMEOUT_S, token=token)
        self.version = version

    def call(self, method, path, body=None, version=None, headers=None):
        return super().call(method, path, body, None, {
            "OpenStack-API-Version": self.version, **(headers or {})})


class Cloud:
    only = None  # that of this process

    def __init__(self, place):
        self.place = place
        self.processes, self.roles = {}, {}
        self.with_completion = None  # the program of such a nova-compute
        self.broker = self.keystone = self.glance = None
        self.nova_port, self.agent_port = free_ports(2)
        self.nova_url = f"http://127.0.0.1:{self.nova_port}/v2.1"
        self.placement_url = f"http://127.0.0.1:{free_port()}"
        self.volumes_url = f"http://127.0.0.1:{free_port()}/v3"

    def path(self, *names):
        return os.path.join(self.place, *names)

    def write(self, path, text):
        with open(self.path(path), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(path)

    def run(self, *words, **options):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=TIMEOUT_S, check=False, **options)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout[-3000:]}")
        return done.stdout

    def launch(self, name, *words, **variables):
        with open(self.path("logs", f"{name}.output"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **variables}, start_new_session=True)

    def wait(self, what, condition):
        def alive():
            for name, process in list(self.processes.items()):
                if process.poll() is not None:
                    raise RuntimeError(f"{name} has ended: {process.returncode}")
            return condition()
        return until(alive, TIMEOUT_S, what, 0.2)

    # ---- the machine ----

    def own_machine(self):
        """A running QEMU has a namespace of mounts of its own, and sees those that come later."""
        self.run("mount", "--make-rshared", "/")
        self.run("mount", "-t", "tmpfs", "tmpfs", "/run")
        self.run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/tmp")
        self.run("ip", "link", "set", "lo", "up")
        self.run("hostname", HOST)
        for path in (*COPIED, *EMPTY):
            own = self.path("private" + path)
            os.makedirs(own)
            if path in COPIED:  # except files that another process removes meanwhile
                subprocess.run(["cp", "--archive", f"{path}/.", own], check=False)
            self.run("mount", "--bind", own, path)
        for path in (self.path("logs"), "/var/lib/nova", "/var/lib/nova/instances"):
            os.makedirs(path, exist_ok=True)
            shutil.chown(path, "nova", "nova")
        self.run("mount", "--bind", self.path("mount.nfs"), "/usr/sbin/mount.nfs")
        for name in (FILES, *POOLS):
            os.mkdir(self.path(name))
        self.run("mount", os.path.realpath(self.path("disk")), self.path(FILES))
        with open("/etc/libvirt/libvirtd.conf", "a", encoding="ascii") as file:
            file.write(LIBVIRTD)

    # ---- services ----

    def start(self):
        """Services without dependencies start side by side."""
        self.own_machine()
        self.broker, self.keystone, self.glance = Broker(), Keystone(), Glance()
        self.user = USER.format(keystone=self.keystone.url, name="nova", password=PASSWORD)
        self.launch("libvirt", sys.executable, hypervisor.Daemons.PROGRAM)
        self.threads = concurrent.futures.ThreadPoolExecutor()  # whose processes end with them
        for work in [self.threads.submit(start) for start in (
                self.start_identity, self.start_database, self.broker.start, self.start_images,
                self.prepare_placement)]:
            work.result()
        self.start_placement()
        self.start_nova()
        self.start_scoria()
        self.wait("Nova's hypervisor", self.hypervisors)
        self.nova_manage("cell_v2", "discover_hosts")
        self.fill()

    def start_identity(self):
        self.keystone.start()
        for name in ("nova", "scoria"):
            self.keystone.user(name, "service", ("admin", "service"))
        network = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
        threading.Thread(target=network.serve_forever, daemon=True).start()
        for service, url in (("network", f"http://127.0.0.1:{network.server_port}"),
                             ("image", self.glance.url), ("placement", self.placement_url),
                             ("compute", self.nova_url), ("volumev3", self.volumes_url)):
            self.keystone.service(service, url)

    def start_database(self):
        data, socket = self.path("database"), self.path("database.socket")
        self.run("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root",
                 "--auth-root-authentication-method=normal", "--skip-test-db")
        port = free_port()
        self.launch("database", "mariadbd", "--no-defaults", f"--datadir={data}", "--user=root",
                    f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1",
                    "--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0",
                    "--innodb-buffer-pool-size=64M", "--max-connections=200")
        database = f"mysql+pymysql://root@127.0.0.1:{port}"
        self.write("private/etc/nova/nova.conf", NOVA.format(
            logs=self.path("logs"), host=HOST, broker=self.broker.url(), port=self.nova_port,
            database=database, user=self.user))
        self.wait("the database", lambda: os.path.exists(socket))
        self.run("mariadb", "--no-defaults", f"--socket={socket}", "-e", "; ".join(
            f"create database {name}" for name in ("nova_api", "nova", "nova_cell0")))
        self.nova_manage("api_db", "sync")
        self.nova_manage("cell_v2", "map_cell0", "--database_connection", f"{database}/nova_cell0")
        self.nova_manage("db", "sync")
        self.nova_manage("cell_v2", "create_cell", "--name", "cell")

    def prepare_placement(self):
        directory = self.path("placement")
        os.mkdir(directory)
        self.write("placement/placement.conf", PLACEMENT.format(place=self.place, user=self.user))
        self.run("placement-manage", "--config-file", f"{directory}/placement.conf", "db", "sync")

    def start_placement(self):
        self.launch("placement", "uwsgi_python3", "--master", "--die-on-term", "--http-socket",
                    self.placement_url[7:], "--add-header", "Connection: close", "--buffer-size",
                    "32768", "--wsgi-file", "/usr/bin/placement-api",
                    OS_PLACEMENT_CONFIG_DIR=self.path("placement"))

    def nova_manage(self, *words):
        return self.run("nova-manage", "--config-file", "/etc/nova/nova.conf", *words)

    def start_nova(self):
        for name in ("api", "conductor", "scheduler", "compute"):
            self.launch_nova(name)
        self.wait("Nova's API", lambda: self.answers(self.compute()))

    def launch_nova(self, name, program_path=None):
        self.launch(f"nova-{name}", "setpriv", "--reuid=nova", "--regid=nova", "--init-groups",
                    program_path or f"nova-{name}", "--config-file", "/etc/nova/nova.conf")

    def kill_nova(self, name):
        process = self.processes.pop(f"nova-{name}", None)
        if process is not None:
            process.kill()
            process.wait()

    def answers(self, service):
        try:
            return service.call("GET", "/").status == 200
        except OSError:
            return False

    def hypervisors(self):
        """Nova's services on them that are up."""
        rows = self.compute().ask("GET", "/os-services?binary=nova-compute")["services"]
        return [row for row in rows if row["state"] == "up"]

    def start_scoria(self):
        self.configuration = self.write("scoria.conf", SCORIA.format(
            place=self.place, pools=", ".join(POOLS), pool_sections="\n".join(
                f"[{pool}]\npath = {self.path(pool)}" for pool in POOLS), glance=self.glance.url, user=self.user.replace("username = nova", "username = scoria"),
            shares="\n".join(SHARE.format(name=name, driver=driver, place=self.place)
                             for name, driver in SHARES.items())))
        for name in ("api", "manager", "compute"):
            self.start_role(name)

    def start_role(self, name, *more):
        options = [*more, *{"api": [f"--listen={self.volumes_url[7:-3]}"],
                            "compute": [f"--listen=127.0.0.1:{self.agent_port}"]}.get(name, [])]
        self.roles[name] = program.Program(
            name, self.path("logs", f"scoria-{name}.log"), f"--config-file={self.configuration}",
            f"--state-dir={self.path('state')}", *options)
        self.roles[name].start()

    def phase(self, volume):
        return program.phase(self.path("state"), volume, f"--config-file={self.configuration}")

    def kill_role(self, name):
        self.roles.pop(name).kill()

    def have_role(self, name):
        if name not in self.roles:
            self.start_role(name)

    def restart_roles(self, *options):
        for name in ("api", "manager"):
            self.roles.pop(name).stop()
            self.start_role(name, *options)

    def use_nova(self, test, completing=None, more=()):
        """Until the end of the test Nova grows the disks, and the agent is gone; with the name of a
        nova-compute that reports it. The options of API and manager."""
        options = ["--compute.service=nova", *more]
        self.with_completion = completing and os.path.join(HERE, completing)
        self.kill_role("compute")
        test.addCleanup(self.start_role, "compute")
        if completing:
            options.append("--compute.extend_completion_microversion=2.93")
            self.replace_compute(self.with_completion)
            test.addCleanup(self.replace_compute)
        self.restart_roles(*options)
        test.addCleanup(self.restart_roles)
        return options

    def replace_compute(self, program_path=None):
        self.kill_nova("compute")
        self.start_compute(program_path)

    def start_compute(self, program_path=None):
        """Nova takes a dead one for alive for a minute; the new one may need longer to report."""
        def reports():
            return [row["updated_at"] for row in self.hypervisors()]
        before = reports()
        self.launch_nova("compute", program_path)
        self.wait("the new nova-compute", lambda: reports() not in (before, []))

    # ---- contents ----

    def start_images(self):
        """With the image of a guest system."""
        self.glance.start()
        kernel = machine.Kernel(KERNEL)
        machine.make_initramfs(kernel, self.path("initramfs"), MODULES, INIT)
        files = {}
        for name, path in (("aki", kernel.image), ("ari", self.path("initramfs"))):
            with open(path, "rb") as file:
                files[name] = self.glance.image(name, file.read(), name, container_format=name)
        self.system = {"kernel_id": files["aki"], "ramdisk_id": files["ari"],
                       "os_command_line": "console=ttyS0 quiet panic=-1 no_timer_check"}
        self.image, self.other_image = (self.glance.image(
            name, name.encode().ljust(16 << 20, b"\0"), **self.system)
            for name in ("system", "other"))

    def fill(self):
        volumes = self.volumes()
        default, = volumes.ask("GET", "/types")["volume_types"]
        volumes.ask("POST", f"/types/{default['id']}/extra_specs", {
            "extra_specs": {"volume_backend_name": next(iter(SHARES))}})
        for name in (*SHARES, FILES, DECLARED):
            volumes.ask("POST", "/types", {"volume_type": {
                "name": name, "extra_specs": {"volume_backend_name": name}}})
        self.flavor = self.compute().ask("POST", "/flavors", {"flavor": {
            "name": "small", "ram": 128, "vcpus": 1, "disk": 1}})["flavor"]["id"]

    # ---- clients ----

    def token(self, user="admin", project="admin"):
        return self.keystone.token(user, project)

    def compute(self):
        return Service(self.nova_url, self.token(),
                       f"compute {COMPUTE_VERSION}")

    def volumes(self, *user):
        return BlockStorage(self.volumes_url, timeout=TIMEOUT_S, token=self.token(*user))

    # ---- the end ----

    def end(self):
        """Every process of the namespace but this one and the first is killed."""
        assert os.getppid() == 1, "every process of the machine would be killed"
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for process in self.processes.values():
            process.wait()
