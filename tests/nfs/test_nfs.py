"""
Volumes on shares of the kernel's own NFS server. Runs as root in a machine of its own (see run).
"""

import json
import os
import subprocess
import time
import unittest
import uuid

from block_storage import BlockStorage, until
from case import GIB, NODE, DomainCase
from hypervisor import Disk, Domain, LockHolder

EXPORTS = "/srv/exports"
SHARES = ("sparse", "thick", "qcow", "tiny", "shared")
TINY_MIB = 300
WORKERS = 16  # threads of a backend

CONFIG = """\
[DEFAULT]
enabled_backends = sparse, thick, qcow, tiny, shared, local
osapi_volume_threads = 4

[sparse]
volume_driver = nfs
volume_backend_name = sparse
nfs_shares_config = {directory}/sparse
nfs_mount_options = vers=4.2,timeo=50

[thick]
volume_driver = nfs
volume_backend_name = thick
nfs_shares_config = {directory}/thick
nfs_sparsed_volumes = false

[qcow]
volume_driver = nfs
volume_backend_name = qcow
nfs_shares_config = {directory}/qcow
nfs_qcow2_volumes = true
nfs_mount_options = vers=3

[tiny]
volume_driver = nfs
volume_backend_name = tiny
nas_host = 127.0.0.1
nas_share_path = /tiny
nfs_sparsed_volumes = false
max_over_subscription_ratio = 100

[shared]
volume_driver = nfs
volume_backend_name = shared
nas_host = 127.0.0.1
nas_share_path = /shared
nfs_mount_options = vers=4.2

[local]
volume_driver = file
volume_backend_name = local
"""


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def make_disk(path, size_mib, *mkfs):
    """A file system of its own: an overlay or a tmpfs is no export like those of real servers."""
    image = f"/run/{os.path.basename(path)}.img"
    run("truncate", "-s", f"{size_mib}M", image)
    run(*(mkfs or ("mkfs.ext4", "-q", "-F")), image)
    os.makedirs(path, exist_ok=True)
    run("mount", "-o", "loop", image, path)


def serve_nfs():
    run("rpc.nfsd", "--grace-time", "10", "--lease-time", "10", "8")


def setUpModule():
    make_disk(EXPORTS, 65536)
    for share in SHARES:
        os.makedirs(f"{EXPORTS}/{share}", exist_ok=True)
    make_disk(f"{EXPORTS}/tiny", TINY_MIB)
    make_disk(f"{EXPORTS}/shared", 8192, "mkfs.xfs", "-q")
    with open("/etc/exports", "w", encoding="ascii") as exports:
        options = "rw,no_root_squash,no_subtree_check,insecure"
        exports.write(f"{EXPORTS} *({options},fsid=0)\n{EXPORTS}/tiny *({options},fsid=1)\n"
                      f"{EXPORTS}/shared *({options},fsid=2)\n")
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    run("rpcbind", "-w")
    run("exportfs", "-ra")
    serve_nfs()
    run("rpc.mountd")
    run("rpc.statd")
    DomainCase.start_hypervisor()


def tearDownModule():
    DomainCase.stop_hypervisor()


def unmount_below(directory):
    """Mounts of a killed service stay: the next one uses them as they are, and leaves them."""
    for point in mounts():
        if point.startswith(directory):
            run("umount", point)


def mounts():
    """Mounted NFS shares: {point: (source, version)}."""
    found = {}
    with open("/proc/self/mounts", encoding="utf-8") as table:
        for line in table:
            source, point, kind, options = line.split()[:4]
            if kind.startswith("nfs") and kind != "nfsd":
                version = [o for o in options.split(",") if o.startswith("vers=")][0]
                found[point] = (source, version)
    return found


class NfsCase(DomainCase):
    start_seconds = 120  # everything is emulated here
    more = ()  # options

    @classmethod
    def setUpClass(cls):
        cls.place = f"/run/{cls.__name__}"
        os.makedirs(cls.place)
        for share in SHARES:
            text = f"{EXPORTS}/{share}" if share == "qcow" else f"/{share}"
            with open(f"{cls.place}/{share}", "w", encoding="ascii") as file:
                file.write(f"# {share}\n127.0.0.1:{text}\n")
        with open(f"{cls.place}/scoria.conf", "w", encoding="ascii") as file:
            file.write(CONFIG.format(directory=cls.place))
        cls.options = (f"--config-file={cls.place}/scoria.conf", *cls.more)
        super().setUpClass()
        cls.addClassCleanup(unmount_below, cls.directory)  # before the directory is removed
        cls.await_backends()
        api = BlockStorage(cls.service.endpoint)
        for share in (*SHARES, "local"):
            api.ask("POST", "/types", {"volume_type": {
                "name": share, "extra_specs": {"volume_backend_name": share}}})
        api.close()

    @classmethod
    def await_backends(cls):
        """The service starts without those that take longer than 10 s; emulated, that may be all."""
        api = BlockStorage(cls.service.endpoint)

        def are_there():
            rows = api.ask("GET", "/os-services?binary=cinder-volume")["services"]
            return len(mounts()) >= len(SHARES) and len(rows) == len(SHARES) + 1 and \
                all(row["state"] == "up" for row in rows)
        until(are_there, 300, "the backends", pause=0.2)
        api.close()

    def volume(self, size_gb=1, share="sparse", **fields):
        return super().volume(size_gb, volume_type=share, **fields)

    @staticmethod
    def served(share, volume_id):
        """The file as the server has it."""
        return f"{EXPORTS}/{share}/volume-{volume_id}"

    def domain_of(self, volume_id):
        """A volume in use by a running domain whose disk is the file on the share."""
        attachment = self.attach(volume_id)
        info = attachment["connection_info"]
        points = {source: point for point, (source, _) in mounts().items()}
        path = os.path.join(points[info["export"]], info["name"])
        domain = Domain(f"nfs-{uuid.uuid4().hex[:8]}",
                        [Disk(volume_id, path, info["format"])],
                        attachment["instance"])
        self.addCleanup(domain.destroy)
        domain.start()
        self.api.attach_complete(attachment["id"])
        self.api.wait_status(volume_id, "in-use")
        return domain


class Shares(NfsCase):
    def test_shares_are_mounted_as_configured(self):
        versions = {source: version for source, version in mounts().values()}
        self.assertEqual(versions["127.0.0.1:/sparse"], "vers=4.2")
        self.assertEqual(versions["127.0.0.1:/thick"], "vers=4.2")
        self.assertEqual(versions[f"127.0.0.1:{EXPORTS}/qcow"], "vers=3")

    def test_a_stop_unmounts_only_mounts_of_the_service(self):
        points = {source: point for point, (source, _) in mounts().items()}
        self.assertEqual(self.service.stop(60), 0)
        self.assertEqual(mounts(), {})
        run("mount", "-t", "nfs", "-o", "vers=4.1", "127.0.0.1:/sparse",
            points["127.0.0.1:/sparse"])
        self.service.start(self.start_seconds)
        self.await_backends()
        self.api = self.connect()
        self.volume()
        self.assertEqual(mounts()[points["127.0.0.1:/sparse"]], ("127.0.0.1:/sparse", "vers=4.1"))
        self.assertEqual(self.service.stop(60), 0)
        self.assertEqual(list(mounts()), [points["127.0.0.1:/sparse"]])
        run("umount", points["127.0.0.1:/sparse"])
        self.service.start(self.start_seconds)
        self.await_backends()
        self.api = self.connect()


class Detached(NfsCase):
    def test_a_sparse_volume_grows(self):
        volume_id = self.volume()
        self.api.extend(volume_id, 3)
        self.api.wait_status(volume_id, "available")
        status = os.stat(self.served("sparse", volume_id))
        self.assertEqual(status.st_size, 3 * GIB)
        self.assertLess(status.st_blocks * 512, 1 << 20)

    def test_a_thick_volume_has_all_its_blocks(self):
        volume_id = self.volume(share="thick")
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "available")
        status = os.stat(self.served("thick", volume_id))
        self.assertEqual(status.st_size, 2 * GIB)
        self.assertGreaterEqual(status.st_blocks * 512, 2 * GIB)

    def test_a_qcow2_volume_grows(self):
        volume_id = self.volume(share="qcow")
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "available")
        info = json.loads(run("qemu-img", "info", "--output=json", self.served("qcow", volume_id)))
        self.assertEqual((info["format"], info["virtual-size"]), ("qcow2", 2 * GIB))

    def test_a_full_share_is_an_error_that_changes_nothing(self):
        usage = self.api.gigabytes()
        volume = self.api.create(1, volume_type="tiny")
        until(lambda: self.api.show(volume["id"])["status"] == "error", 120, "the refusal")
        until(lambda: set(os.listdir(f"{EXPORTS}/tiny")) == {"lost+found", ".scoria-tiny"}, 60,
              "nothing left but the share's marker")
        self.assertTrue(self.api.messages(volume["id"]))
        self.api.delete_and_wait(volume["id"])
        self.assertEqual(self.api.gigabytes(), usage)

    def test_a_lock_of_another_client_is_seen_and_nothing_is_done(self):
        """Another mount of the share with a client state of its own stands for another host."""
        usage = self.api.gigabytes()
        volume_id = self.volume()
        elsewhere = f"{self.place}/elsewhere"
        os.makedirs(elsewhere, exist_ok=True)
        run("mount", "-t", "nfs", "-o", "vers=4.2,nosharecache", "127.0.0.1:/sparse", elsewhere)
        self.addCleanup(run, "umount", elsewhere)
        holder = LockHolder(f"{elsewhere}/volume-{volume_id}", "raw")
        self.addCleanup(holder.stop)
        self.api.extend(volume_id, 2)
        until(lambda: self.api.show(volume_id)["status"] == "error_extending", 120, "the refusal")
        self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, GIB)
        self.assertEqual(self.api.gigabytes(), {**usage, "in_use": usage["in_use"] + 1})
        holder.stop()
        self.api.reset(volume_id, "available")
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "available")
        self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, 2 * GIB)


class Attached(NfsCase):
    def grow(self, share):
        volume_id = self.volume(share=share)
        domain = self.domain_of(volume_id)
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)
        self.assertEqual(self.api.gigabytes(), {**usage, "in_use": usage["in_use"] + 1})
        return volume_id, domain

    def test_a_running_domain_sees_its_raw_disk_grow(self):
        volume_id, _ = self.grow("sparse")
        self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, 2 * GIB)

    def test_a_running_domain_sees_its_qcow2_disk_grow(self):
        volume_id, _ = self.grow("qcow")
        info = json.loads(run("qemu-img", "info", "-U", "--output=json",
                              self.served("qcow", volume_id)))
        self.assertEqual((info["format"], info["virtual-size"]), ("qcow2", 2 * GIB))

    def test_a_refusal_leaves_all_as_it_was_and_the_next_extend_works(self):
        volume_id = self.volume()
        domain = self.domain_of(volume_id)
        usage = self.api.gigabytes()
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        pending = self.pending(volume_id, 2)
        self.assertEqual((pending["status"], pending["size"]), ("extending", 1))
        self.assert_refused(volume_id, 1, usage)
        self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, GIB)
        domain.abort_copy(volume_id)
        self.api.reset(volume_id, "in-use")
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)

    def test_a_killed_service_finishes_after_its_restart(self):
        volume_id = self.volume()
        domain = self.domain_of(volume_id)
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        self.service.kill()
        domain.abort_copy(volume_id)
        self.service.start(self.start_seconds)
        self.api = self.connect()
        self.assert_grown(volume_id, domain, 2)
        self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, 2 * GIB)


class Snapshots(NfsCase):
    """The real behaviour of client and server with shared blocks, holes, and a file's replacement."""

    def served_bytes(self, name, share):
        with open(f"{EXPORTS}/{share}/{name}", "rb") as file:
            file.seek(1 << 20)
            return file.read(65536)

    def write(self, volume_id, share, byte):
        """As a guest on another host does it."""
        with open(self.served(share, volume_id), "r+b") as file:
            file.seek(1 << 20)
            file.write(byte * 65536)
            os.fsync(file.fileno())

    def written(self, share):
        volume_id = self.volume(share=share)
        self.write(volume_id, share, b"a")
        return volume_id

    def snapshot(self, volume_id, status="available"):
        snapshot_id = self.api.ask("POST", "/snapshots", {
            "snapshot": {"volume_id": volume_id}})["snapshot"]["id"]
        path = f"/snapshots/{snapshot_id}"
        self.addCleanup(self.discard_snapshot, path)
        until(lambda: self.api.ask("GET", path)["snapshot"]["status"] == status, 300,
              f"a snapshot that is {status}", pause=0.2)
        return snapshot_id

    def discard_snapshot(self, path):
        self.api.ask("DELETE", path)
        until(lambda: self.api.call("GET", path).status == 404, 300, "the snapshot's end", pause=0.2)

    def test_blocks_are_shared_below_a_domain(self):
        volume_id = self.written("shared")
        domain = self.domain_of(volume_id)
        snapshot_id = self.snapshot(volume_id)
        self.assertIn("shared", run("filefrag", "-v", f"{EXPORTS}/shared/snapshot-{snapshot_id}"))
        self.write(volume_id, "shared", b"b")
        self.assertEqual(self.served_bytes(f"snapshot-{snapshot_id}", "shared"), b"a" * 65536)
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)

    def test_elsewhere_a_snapshot_is_copied_with_its_holes(self):
        volume_id = self.written("sparse")
        snapshot_id = self.snapshot(volume_id)
        status = os.stat(f"{EXPORTS}/sparse/snapshot-{snapshot_id}")
        self.assertEqual(status.st_size, GIB)
        self.assertLess(status.st_blocks * 512, 1 << 20)
        self.assertEqual(self.served_bytes(f"snapshot-{snapshot_id}", "sparse"), b"a" * 65536)

    def test_elsewhere_no_snapshot_is_taken_below_a_domain(self):
        volume_id = self.written("sparse")
        self.domain_of(volume_id)
        self.snapshot(volume_id, "error")
        self.assertFalse([name for name in os.listdir(f"{EXPORTS}/sparse")
                          if name.lstrip(".").startswith("snapshot-")])

    def test_a_volume_is_reverted(self):
        for share in ("shared", "sparse"):
            volume_id = self.written(share)
            snapshot_id = self.snapshot(volume_id)
            self.write(volume_id, share, b"b")
            self.api.action(volume_id, "revert", {"snapshot_id": snapshot_id})
            self.api.wait_status(volume_id, "available")
            self.assertEqual(self.served_bytes(f"volume-{volume_id}", share), b"a" * 65536)


class ServerAway(NfsCase):
    def test_operations_on_a_missing_server_wait_and_others_continue(self):
        first = self.volume()
        run("rpc.nfsd", "0")
        try:
            self.api.extend(first, 2)
            second = self.api.create(1, volume_type="sparse")["id"]
            self.addCleanup(self.discard, second)
            for _ in range(3):
                local = self.api.create(1, volume_type="local")["id"]
                self.api.wait_status(local, "available")
                self.api.delete_and_wait(local)
            self.assertEqual(self.api.show(first)["status"], "extending")
            self.assertEqual(self.api.show(second)["status"], "creating")
        finally:
            serve_nfs()
        self.api.wait_status(first, "available", timeout=300)
        self.api.wait_status(second, "available", timeout=300)
        self.assertEqual(os.stat(self.served("sparse", first)).st_size, 2 * GIB)
        self.assertEqual(os.stat(self.served("sparse", second)).st_size, GIB)

    def test_a_kill_while_the_server_is_away_loses_nothing(self):
        volume_id = self.volume()
        run("rpc.nfsd", "0")
        try:
            self.api.extend(volume_id, 2)
            time.sleep(1)
            self.service.kill()
        finally:
            serve_nfs()
        self.service.start(self.start_seconds)
        self.api = self.connect()
        self.api.wait_status(volume_id, "available", timeout=300)
        self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, 2 * GIB)


class ServerAwayForLong(NfsCase):
    """Longer than leases and reports last, with more to do there than the backend has threads."""

    more = ("--service_down_time=30", "--graceful_shutdown_timeout=5")

    def states(self):
        services = self.api.ask("GET", "/os-services")["services"]
        return {service["host"].partition("@")[2]: service["state"] for service in services}

    def assert_local_works(self):
        local = self.api.create(1, volume_type="local")["id"]
        self.api.wait_status(local, "available")
        self.api.delete_and_wait(local)

    def test_only_its_own_operations_wait_also_over_a_restart(self):
        volumes = [self.volume() for _ in range(WORKERS + 2)]
        run("rpc.nfsd", "0")
        self.addCleanup(serve_nfs)
        for volume_id in volumes:
            self.api.extend(volume_id, 2)
        self.assert_local_works()
        until(lambda: self.states()["sparse"] == "down", 120, "the backend's silence", 0.5)
        self.assertEqual((self.states()["local"], self.states()[""]), ("up", "up"))
        self.assert_local_works()

        self.assertEqual(self.service.stop(60), 0)
        self.service.start(self.start_seconds)
        self.api = self.connect()
        self.assert_local_works()
        self.assertEqual({self.api.show(volume_id)["status"] for volume_id in volumes},
                         {"extending"})

        serve_nfs()
        until(lambda: self.states()["sparse"] == "up", 300, "the backend", 0.5)
        for volume_id in volumes:
            self.api.wait_status(volume_id, "available", timeout=300)
            self.assertEqual(os.stat(self.served("sparse", volume_id)).st_size, 2 * GIB)


if __name__ == "__main__":
    unittest.main()
