"""
Volumes that are made from a policy, through the CSI driver: declared, served by a real storage agent and
its daemons, with the kernel's own FUSE mounts, loop devices and file systems; killed on the way, grown,
and nothing of them left.
"""

import glob
import os
import signal
import random
import subprocess
import threading
import time
import unittest
import uuid

import program
from block_storage import until
from case import GIB, NODE
from csi_client import Code, Driver, Refused, capability, csi, reclaimspace, sizes
from mounts import can_mount, own_mounts
from test_provisioning import POOLS, DeclaredCase

PLAIN, BLOCK = capability(), capability(block=True)
XFS = csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(fs_type="xfs"),
                           access_mode=PLAIN.access_mode)
READERS = csi.VolumeCapability(
    mount=csi.VolumeCapability.MountVolume(),
    access_mode=csi.VolumeCapability.AccessMode(mode="MULTI_NODE_READER_ONLY"))
CLASS = {"cstorVolumePolicy": "spread"}


MIB = 1 << 20


class Pod(threading.Thread):
    """Writes files of random contents and sizes, over one another and again, until it is ended."""

    def __init__(self, directory):
        super().__init__()
        self.directory, self.files, self.ending = directory, {}, threading.Event()

    def run(self):
        while not self.ending.is_set():
            name, data = f"file-{random.randrange(16)}", os.urandom(random.randrange(4 * MIB))
            with open(os.path.join(self.directory, name), "wb") as file:
                file.write(data)
                os.fsync(file.fileno())
            self.files[name] = data

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join()


def setUpModule():
    if not can_mount() or not os.path.exists("/dev/fuse"):
        raise unittest.SkipTest("mounting needs root, loop devices and FUSE")
    own_mounts()


class Halves:
    """The driver of the controller, and that of a node, which knows no volume API."""

    def __init__(self, sockets):
        self.drivers = [Driver(path) for path in sockets]
        self.controller, self.node = self.drivers[0].controller, self.drivers[1].node

    def close(self):
        for driver in self.drivers:
            driver.close()


class Policy(DeclaredCase):
    @classmethod
    def more_options(cls):
        return cls.storage("run", *POOLS)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubelet = cls.path("kubelet")
        cls.staging, cls.target = (os.path.join(cls.kubelet, name) for name in ("staging", "target"))
        os.makedirs(cls.staging)
        os.mkdir(cls.path("csi"))
        cls.sockets = [os.path.join(cls.path("csi"), f"{half}.sock") for half in ("controller", "node")]
        cls.csi = [
            cls.half("--controller", "--api", cls.service.endpoint),
            cls.half("--node", f"--csi.node_id={NODE}", f"--csi.kubelet_directory={cls.kubelet}",
                     f"--csi.share_directory={cls.path('shares')}",
                     f"--csi.target_directory={cls.path('run')}")]

    @classmethod
    def half(cls, option, *options, socket=None):
        socket = socket or cls.sockets[option == "--node"]
        half = program.Program("csi", socket + ".log", option, "--endpoint", f"unix://{socket}",
                               *options).start()
        cls.addClassCleanup(half.kill)
        return half

    def setUp(self):
        super().setUp()
        if not self.api.ask("GET", "/volume_policies")["volume_policies"]:
            self.api.ask("POST", "/volume_policies", {"volume_policy": {
                "metadata": {"name": "spread"},
                "spec": {"replicaPoolInfo": [{"poolName": pool} for pool in POOLS]}}})
        self.driver = Halves(self.sockets)
        self.addCleanup(lambda: self.driver.close())
        self.addCleanup(self.assert_nothing_is_left)
        self.made = []
        self.addCleanup(lambda: [self.forget(one) for one in self.made])

    def devices(self):
        found = []
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            try:
                with open(path, encoding="utf-8") as file:
                    found += [path] if self.place in file.read() else []
            except FileNotFoundError:
                pass
        return found

    def assert_nothing_is_left(self):
        until(lambda: not self.api.ask("GET", "/volume_configs")["volume_configs"], 60,
              "the configs to go")
        self.assertEqual(self.api.ask("GET", "/volume_config_snapshots")["volume_config_snapshots"], [])
        self.assertEqual(os.listdir(self.path("run")), ["lock"])
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            self.assertNotIn(self.place, file.read())
        self.assertEqual(self.devices(), [])

    def refuses(self, code, method, /, **fields):
        with self.assertRaises(Refused) as caught:
            self.driver.controller(method, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)

    def create(self, mode=PLAIN, name=None, **fields):
        volume = self.driver.controller(
            "CreateVolume", name=name or f"pvc-{uuid.uuid4()}", volume_capabilities=[mode],
            **{"capacity_range": sizes(GIB), "parameters": CLASS, **fields}).volume
        self.made += [volume.volume_id] if volume.volume_id not in self.made else []
        return volume

    def forget(self, volume_id):
        self.down(volume_id)
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id=NODE)
        self.driver.controller("DeleteVolume", volume_id=volume_id)

    def down(self, volume_id):
        self.driver.node("NodeUnpublishVolume", volume_id=volume_id, target_path=self.target)
        self.driver.node("NodeUnstageVolume", volume_id=volume_id,
                         staging_target_path=self.staging)

    def attach(self, volume_id, mode=PLAIN, node=NODE):
        return dict(self.driver.controller("ControllerPublishVolume", volume_id=volume_id,
                                           node_id=node, volume_capability=mode).publish_context)

    def mount(self, volume_id, mode, context):
        fields = {"volume_id": volume_id, "staging_target_path": self.staging,
                  "volume_capability": mode, "publish_context": context}
        self.driver.node("NodeStageVolume", **fields)
        self.driver.node("NodePublishVolume", target_path=self.target, **fields)

    def up(self, mode=PLAIN):
        volume_id = self.create(mode).volume_id
        context = self.attach(volume_id, mode)
        self.mount(volume_id, mode, context)
        return volume_id, context

    def run_of(self, volume_id):
        uid = self.volume_of(volume_id.removeprefix("config-"))["metadata"]["uid"]
        return os.path.join(self.path("run"), uid)

    @staticmethod
    def kill(run):
        """Until it is gone: its open files, too."""
        pid = until(lambda: program.daemon_of(run), 60, "a daemon")
        os.kill(pid, signal.SIGKILL)
        until(lambda: program.is_gone(pid), 60, "the end of a daemon")

    @staticmethod
    def size_of(path):
        """As a new open sees it; None: it cannot be opened."""
        try:
            with open(path, "rb") as file:
                return os.stat(file.fileno()).st_size
        except OSError:
            return None

    def condition(self, volume_id):
        return self.driver.node("NodeGetVolumeStats", volume_id=volume_id,
                                volume_path=self.target).volume_condition.abnormal

    def write(self, data):
        with open(os.path.join(self.target, "file"), "wb") as file:
            file.write(data)
            os.fsync(file.fileno())

    def read(self):
        subprocess.run(["sync", "-f", self.target], check=True)
        with open(os.path.join(self.target, "file"), "rb") as file:
            return file.read()

    def test_killed_daemons_and_drivers_fail_no_io_of_a_pod(self):
        volume_id, context = self.up()
        data = os.urandom(4 << 20)
        self.write(data)
        with open(self.devices()[0].replace("loop/backing_file", "queue/logical_block_size"),
                  encoding="ascii") as file:
            self.assertEqual(file.read(), "4096\n")
        self.kill(self.run_of(volume_id))
        data += os.urandom(4 << 20)
        self.write(data)  # waits for the next daemon
        for half in self.csi:
            half.kill()
            half.start()
        self.driver.close()
        self.driver = Halves(self.sockets)
        self.mount(volume_id, PLAIN, context)
        self.assertEqual(len(self.devices()), 1)
        self.assertEqual(self.read(), data)
        self.assertFalse(self.condition(volume_id))
        self.down(volume_id)
        self.mount(volume_id, PLAIN, self.attach(volume_id))
        self.assertEqual(self.read(), data)

    def test_a_killed_file_daemon_is_reported_and_replaced(self):
        volume_id, context = self.up()
        self.write(b"data")
        subprocess.run(["sync", "-f", self.target], check=True)
        run = self.run_of(volume_id)
        self.kill(os.path.join(run, "file"))
        until(lambda: self.size_of(os.path.join(run, "volume")) == GIB, 60,
              "the file to be there again")
        self.assertTrue(self.condition(volume_id))
        self.driver.node("NodeUnpublishVolume", volume_id=volume_id, target_path=self.target)
        # The staged mount is dead, and goes: the kubelet stages no volume a second time.
        fields = {"volume_id": volume_id, "staging_target_path": self.staging,
                  "volume_capability": PLAIN, "target_path": self.target}

        def is_refused():  # the kernel caches attributes of the file for a second
            try:
                self.driver.node("NodePublishVolume", **fields)
            except Refused as refusal:
                return refusal.code == Code.FAILED_PRECONDITION
            self.driver.node("NodeUnpublishVolume", volume_id=volume_id, target_path=self.target)
            return False

        until(is_refused, 20, "the dead mount to be noticed")
        # The new device cannot be attached: the old one stays staged.
        with self.assertRaises(Refused):
            self.driver.node("NodePublishVolume", **fields,
                             publish_context={**context, "target": str(uuid.uuid4())})
        self.assertTrue(os.path.ismount(self.staging))
        self.driver.node("NodePublishVolume", publish_context=context, **fields)
        self.assertEqual(self.read(), b"data")
        self.assertFalse(self.condition(volume_id))
        self.assertEqual(len(self.devices()), 1)

    def test_a_volume_with_a_policy_grows_beneath_a_pod(self):
        for mode in XFS, BLOCK:
            with self.subTest(block=mode is BLOCK):
                volume_id, _ = self.up(mode)
                grown = self.driver.controller("ControllerExpandVolume", volume_id=volume_id,
                                               capacity_range=sizes(2 * GIB))
                self.assertEqual((grown.capacity_bytes, grown.node_expansion_required),
                                 (2 * GIB, True))
                self.assertEqual(self.driver.node(
                    "NodeExpandVolume", volume_id=volume_id, volume_path=self.target,
                    capacity_range=sizes(2 * GIB)).capacity_bytes, 2 * GIB)
                total = self.driver.node("NodeGetVolumeStats", volume_id=volume_id,
                                         volume_path=self.target).usage[0].total
                self.assertGreater(total, 19 * GIB // 10)
                self.refuses(Code.OUT_OF_RANGE, "ControllerExpandVolume", volume_id=volume_id,
                             capacity_range=sizes(GIB // 2, GIB))
                self.down(volume_id)

    def stored(self):
        """Bytes that each replica takes."""
        paths = [path for pool in POOLS for path in glob.glob(os.path.join(self.path(pool), "*/data"))]
        self.assertEqual(len(paths), 3)
        return [os.stat(path).st_blocks * 512 for path in paths]

    def reclaim(self, volume_id, **fields):
        return self.driver.drivers[1].call(reclaimspace, "ReclaimSpaceNode", "NodeReclaimSpace",
                                           volume_id=volume_id, **fields)

    def delete_much(self):
        big = os.path.join(self.target, "big")
        with open(big, "wb") as file:
            for _ in range(300):
                file.write(os.urandom(MIB))
        subprocess.run(["sync", "-f", self.target], check=True)
        os.remove(big)

    def assert_files(self, files):
        for name, data in files.items():
            with open(os.path.join(self.target, name), "rb") as file:
                self.assertTrue(file.read() == data, name)

    def test_space_of_deleted_files_is_reclaimed_in_all_replicas_below_a_pod(self):
        for mode in PLAIN, XFS:
            with self.subTest(type=mode.mount.fs_type):
                volume_id, context = self.up(mode)
                self.delete_much()
                before = self.stored()
                self.assertGreater(min(before), 300 * MIB)
                with Pod(self.target) as pod:
                    answer = self.reclaim(volume_id, staging_target_path=self.staging)
                self.assertGreater(answer.pre_usage.usage_bytes, 300 * MIB)
                # The pod replaces its files meanwhile, on a busy machine many times.
                self.assertLess(answer.post_usage.usage_bytes,
                                answer.pre_usage.usage_bytes - 50 * MIB)
                self.reclaim(volume_id, staging_target_path=self.staging)
                for was, now in zip(before, self.stored()):
                    self.assertLess(now, was - 200 * MIB)
                self.down(volume_id)
                self.mount(volume_id, mode, context)
                self.assert_files(pod.files)
                self.assertEqual(set(os.listdir(self.target)) - {"lost+found"}, set(pod.files))
                self.forget(volume_id)

    def reclaim_until(self, volume_id, kill):
        """Ended by a kill as soon as much of the space is reclaimed; false: it fails."""
        space = os.statvfs(self.target).f_bavail
        outcome = []
        def ask():
            try:
                outcome.append(self.reclaim(volume_id, staging_target_path=self.staging))
            except Refused:
                outcome.append(None)
        asking = threading.Thread(target=ask)
        asking.start()
        while not outcome and os.statvfs(self.target).f_bavail > 3 * space // 4:
            time.sleep(0.001)
        kill()
        asking.join()
        return outcome[0] is not None

    def test_a_kill_during_a_reclaim_changes_no_byte(self):
        volume_id, context = self.up()
        self.delete_much()
        with Pod(self.target) as pod:
            self.assertTrue(self.reclaim_until(volume_id, lambda: self.kill(self.run_of(volume_id))))
        self.assert_files(pod.files)
        self.delete_much()
        with Pod(self.target) as pod:
            self.reclaim_until(volume_id, self.csi[1].kill)
        until(lambda: os.statvfs(self.target).f_bfree * 4096 > 800 * MIB, 60, "the room")
        self.csi[1].start()
        self.driver.close()
        self.driver = Halves(self.sockets)
        self.assertLess(self.reclaim(volume_id, volume_path=self.target).post_usage.usage_bytes,
                        220 * MIB)
        self.down(volume_id)
        self.mount(volume_id, PLAIN, context)
        self.assert_files(pod.files)

    def test_zeros_are_reclaimed_in_all_replicas_of_an_unpublished_volume(self):
        volume_id, _ = self.up()
        self.write(b"data")
        answer = self.driver.drivers[0].reclaim("ControllerReclaimSpace", volume_id=volume_id)
        self.assertFalse(answer.HasField("pre_usage") or answer.HasField("post_usage"))
        self.down(volume_id)
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id=NODE)
        for pool in POOLS:  # the same that stands there
            for path in glob.glob(os.path.join(self.path(pool), "*/data")):
                with open(path, "r+b") as file:
                    end = os.lseek(file.fileno(), 512 * MIB, os.SEEK_HOLE)
                    os.pwrite(file.fileno(), bytes(8 * MIB), end)
                    os.fsync(file.fileno())
        before = self.stored()
        answer = self.driver.drivers[0].reclaim("ControllerReclaimSpace", volume_id=volume_id)
        self.assertEqual((answer.pre_usage.usage_bytes, answer.post_usage.usage_bytes),
                         (sum(before), sum(self.stored())))
        self.assertLess(sum(self.stored()), sum(before) - 23 * MIB)
        self.mount(volume_id, PLAIN, self.attach(volume_id))
        self.assertEqual(self.read(), b"data")

    def test_a_device_is_found_whose_file_the_kernel_does_not_name(self):
        """As in the container of a driver, when the one that has made the device has gone."""
        volume_id = self.create().volume_id
        context = self.attach(volume_id)
        view, socket = self.path("view"), os.path.join(self.path("csi"), "view.sock")
        os.mkdir(view)
        subprocess.run(["mount", "--rbind", self.path("run"), view], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", view], check=True)
        self.half("--node", f"--csi.node_id={NODE}", f"--csi.kubelet_directory={self.kubelet}",
                  f"--csi.target_directory={view}", "--csi.driver_name=view.scoria.io",
                  socket=socket)
        self.driver.close()
        self.driver = Halves([self.sockets[0], socket])
        self.mount(volume_id, PLAIN, context)
        subprocess.run(["umount", "--lazy", view], check=True)
        subprocess.run(["mount", "--rbind", self.path("run"), view], check=True)
        number = os.minor(os.stat(self.target).st_dev)
        with open(f"/sys/block/loop{number}/loop/backing_file", encoding="utf-8") as file:
            self.assertNotIn(view, file.read())
        self.assertFalse(self.condition(volume_id))
        self.reclaim(volume_id, staging_target_path=self.staging)
        self.down(volume_id)

    def test_a_name_has_one_config_and_a_create_does_not_wait(self):
        name = f"A volume {uuid.uuid4()}"
        first = self.create(name=name)
        self.assertEqual(self.create(name=name).volume_id, first.volume_id)
        self.assertTrue(first.volume_id.startswith("config-"))
        self.assertEqual(first.capacity_bytes, GIB)
        fields = {"name": name, "volume_capabilities": [PLAIN], "capacity_range": sizes(GIB)}
        for other in ({"parameters": {"cstorVolumePolicy": "other"}},
                      {"parameters": {**CLASS, "replicaCount": "1"}},
                      {"parameters": CLASS, "capacity_range": sizes(2 * GIB)}):
            self.refuses(Code.ALREADY_EXISTS, "CreateVolume", **{**fields, **other})
        for wrong in ({"parameters": {"cstorVolumePolicy": "No Policy"}},
                      {"parameters": {**CLASS, "replicaCount": "8"}},
                      {"parameters": {**CLASS, "type": "x"}},
                      {"parameters": CLASS, "volume_capabilities": [READERS]},
                      {"parameters": CLASS, "name": ""}):
            self.refuses(Code.INVALID_ARGUMENT, "CreateVolume", **{**fields, **wrong})
        config = self.config(first.volume_id.removeprefix("config-"))
        self.assertEqual(config["spec"]["provision"]["replicaCount"], 3)
        space = min(pool["free_bytes"] for pool in self.api.ask("GET", "/replica_pools")["replica_pools"])
        for parameters, most in (CLASS, space), ({"cstorVolumePolicy": "none"}, 0):
            available = self.driver.controller("GetCapacity", parameters=parameters).available_capacity
            self.assertLess(abs(available - min(most, 1024 * GIB)), 8 * GIB)
        listed = self.driver.controller("ListVolumes").entries
        self.assertEqual([row.volume.volume_id for row in listed], [first.volume_id])
        shown = self.driver.controller("ControllerGetVolume", volume_id=first.volume_id)
        self.assertEqual(shown.volume.capacity_bytes, GIB)
        self.assertTrue(self.driver.controller(
            "ValidateVolumeCapabilities", volume_id=first.volume_id, parameters=CLASS,
            volume_capabilities=[PLAIN]).HasField("confirmed"))
        waits = self.create(parameters={"cstorVolumePolicy": "later", "replicaCount": "1"})
        self.refuses(Code.NOT_FOUND, "ControllerGetVolume", volume_id=f"config-{uuid.uuid4()}")
        pages = self.driver.controller("ListVolumes", max_entries=1)
        rest = self.driver.controller("ListVolumes", starting_token=pages.next_token)
        self.assertEqual({row.volume.volume_id for row in [*pages.entries, *rest.entries]},
                         {first.volume_id, waits.volume_id})
        for _ in range(2):
            self.driver.controller("DeleteVolume", volume_id=waits.volume_id)

    def test_a_node_with_the_api_reports_unhealthy_volumes(self):
        socket = os.path.join(self.path("csi"), "other.sock")
        self.half("--node", f"--csi.node_id={NODE}", f"--csi.kubelet_directory={self.kubelet}",
                  f"--csi.target_directory={self.path('run')}", "--csi.driver_name=other.scoria.io",
                  f"--csi.volume_endpoint={self.service.endpoint}", socket=socket)
        node = Driver(socket)
        self.addCleanup(node.close)
        volume_id, _ = self.up()
        def condition(abnormal):
            condition = node.node("NodeGetVolumeStats", volume_id=volume_id,
                                  volume_path=self.target).volume_condition
            return condition.message if condition.abnormal == abnormal else None
        until(lambda: condition(False), 60, "the volume to be well")
        away = self.path(POOLS[1]) + ".away"
        os.rename(self.path(POOLS[1]), away)
        try:
            self.write(b"data")
            self.assertEqual(until(lambda: condition(True), 60, "the loss to be reported"),
                             "Some of its replicas are missing, or are being rebuilt.")
            self.assertFalse(self.condition(volume_id))
        finally:
            os.rename(away, self.path(POOLS[1]))
        until(lambda: condition(False), 60, "the volume to be well again")

    # ---- snapshots ----

    def shoot(self, volume_id, name=None):
        """One that is ready."""
        fields = {"name": name or f"snapshot-{uuid.uuid4()}", "source_volume_id": volume_id,
                  "parameters": {"csi.storage.k8s.io/volumesnapshot/name": "x"}}
        def ready():
            shot = self.driver.controller("CreateSnapshot", **fields).snapshot
            return shot if shot.ready_to_use else None
        shot = until(ready, 60, "the snapshot to be ready")
        self.addCleanup(self.driver.controller, "DeleteSnapshot", snapshot_id=shot.snapshot_id)
        return shot

    def listed(self, **fields):
        answer = self.driver.controller("ListSnapshots", **fields)
        return [row.snapshot.snapshot_id for row in answer.entries], answer.next_token

    def restore(self, snapshot_id, **fields):
        return self.create(volume_content_source=csi.VolumeContentSource(
            snapshot=csi.VolumeContentSource.SnapshotSource(snapshot_id=snapshot_id)), **fields)

    def test_a_claim_of_a_snapshot_has_its_content(self):
        source, _ = self.up()
        then, now = os.urandom(4 << 20), os.urandom(4 << 20)
        self.write(then)
        subprocess.run(["sync", "-f", self.target], check=True)
        before = time.time()
        shot = self.shoot(source)
        self.assertRegex(shot.snapshot_id, "^configsnap-")
        self.assertEqual((shot.source_volume_id, shot.size_bytes), (source, GIB))
        self.assertLess(abs(shot.creation_time.seconds - before), 60)
        self.write(now)
        self.assertEqual(self.driver.controller(
            "GetSnapshot", snapshot_id=shot.snapshot_id).snapshot, shot)
        self.refuses(Code.OUT_OF_RANGE, "CreateVolume", name="small", parameters=CLASS,
                     volume_capabilities=[PLAIN], capacity_range=sizes(GIB // 2, GIB // 2),
                     volume_content_source={"snapshot": {"snapshot_id": shot.snapshot_id}})
        self.down(source)
        clone = self.restore(shot.snapshot_id, capacity_range=sizes(0))
        self.assertEqual(clone.content_source.snapshot.snapshot_id, shot.snapshot_id)
        self.assertEqual(clone.capacity_bytes, GIB)
        self.mount(clone.volume_id, PLAIN, self.attach(clone.volume_id))
        self.assertEqual(self.read(), then)
        self.forget(clone.volume_id)
        self.mount(source, PLAIN, self.attach(source))
        self.assertEqual(self.read(), now)

    def test_a_name_has_one_snapshot_and_lists_have_both_kinds(self):
        first, second = self.create().volume_id, self.create().volume_id
        name = f"A snapshot {uuid.uuid4()}"
        shots = [self.shoot(first, name), self.shoot(first), self.shoot(second)]
        ids = sorted(shot.snapshot_id for shot in shots)
        self.assertEqual(self.shoot(first, name), shots[0])
        self.refuses(Code.ALREADY_EXISTS, "CreateSnapshot", name=name, source_volume_id=second)
        self.refuses(Code.INVALID_ARGUMENT, "CreateSnapshot", name="", source_volume_id=second)
        self.refuses(Code.INVALID_ARGUMENT, "CreateSnapshot", name="n", source_volume_id=second,
                     parameters={"x": "y"})
        plain = self.driver.controller("CreateVolume", name=f"pvc-{uuid.uuid4()}",
                                       volume_capabilities=[PLAIN]).volume.volume_id
        self.addCleanup(self.driver.controller, "DeleteVolume", volume_id=plain)
        other = self.shoot(plain).snapshot_id
        self.assertEqual(self.listed(), ([other, *ids], ""))
        self.assertEqual(self.listed(max_entries=4), ([other, *ids], ""))
        found, token = [], ""
        for _ in range(4):
            page, token = self.listed(max_entries=1, starting_token=token)
            found += page
        self.assertEqual((found, token), ([other, *ids], ""))
        self.assertEqual(self.listed(source_volume_id=plain), ([other], ""))
        self.assertEqual(self.listed(source_volume_id=second), ([shots[2].snapshot_id], ""))
        page, token = self.listed(source_volume_id=first, max_entries=1)
        rest, end = self.listed(source_volume_id=first, starting_token=token)
        self.assertEqual(([*page, *rest], end),
                         (sorted(shot.snapshot_id for shot in shots[:2]), ""))
        self.assertEqual(self.listed(snapshot_id=ids[0]), ([ids[0]], ""))
        self.assertEqual(self.listed(snapshot_id=shots[0].snapshot_id, source_volume_id=second),
                         ([], ""))
        self.refuses(Code.FAILED_PRECONDITION, "DeleteVolume", volume_id=second)
        self.refuses(Code.ABORTED, "ListSnapshots", starting_token="configsnap-x")
        self.refuses(Code.INVALID_ARGUMENT, "ListSnapshots", source_volume_id=first, max_entries=-1)
        for _ in range(2):
            self.driver.controller("DeleteSnapshot", snapshot_id=shots[2].snapshot_id)
        self.assertEqual(self.listed(source_volume_id=second), ([], ""))
        self.assertEqual(len(self.listed()[0]), 3)

    def test_a_snapshot_of_a_missing_volume_is_not_found(self):
        for none in f"configsnap-{uuid.uuid4()}", "configsnap-x":
            self.refuses(Code.NOT_FOUND, "GetSnapshot", snapshot_id=none)
            self.refuses(Code.NOT_FOUND, "CreateVolume", name="n", volume_capabilities=[PLAIN],
                         parameters=CLASS,
                         volume_content_source={"snapshot": {"snapshot_id": none}})
            self.driver.controller("DeleteSnapshot", snapshot_id=none)
            self.assertEqual(self.listed(snapshot_id=none), ([], ""))
        for none in f"config-{uuid.uuid4()}", "config-x":
            self.refuses(Code.NOT_FOUND, "CreateSnapshot", name="n", source_volume_id=none)
            self.assertEqual(self.listed(source_volume_id=none), ([], ""))
            self.refuses(Code.NOT_FOUND, "CreateVolume", name="n", volume_capabilities=[PLAIN],
                         parameters=CLASS, volume_content_source={"volume": {"volume_id": none}})

    def test_a_claim_of_a_claim_is_a_volume_of_its_own(self):
        source, _ = self.up()
        then, now = os.urandom(4 << 20), os.urandom(4 << 20)
        self.write(then)
        subprocess.run(["sync", "-f", self.target], check=True)
        fields = {"name": f"pvc-{uuid.uuid4()}",
                  "volume_content_source": {"volume": {"volume_id": source}}}
        self.refuses(Code.OUT_OF_RANGE, "CreateVolume", parameters=CLASS,
                     volume_capabilities=[PLAIN], capacity_range=sizes(GIB // 2, GIB // 2), **fields)
        self.refuses(Code.INVALID_ARGUMENT, "CreateVolume", volume_capabilities=[PLAIN], **fields)
        clone = self.create(capacity_range=sizes(0), **fields)
        self.assertEqual(clone.content_source.volume.volume_id, source)
        self.assertEqual(clone.capacity_bytes, GIB)
        self.write(now)
        self.down(source)
        self.mount(clone.volume_id, PLAIN, self.attach(clone.volume_id))
        self.assertEqual(self.read(), then)
        self.assertEqual(self.listed(), ([], ""))
        self.driver.controller("ControllerUnpublishVolume", volume_id=source, node_id=NODE)
        self.driver.controller("DeleteVolume", volume_id=source)
        self.assertEqual(self.create(capacity_range=sizes(0), **fields), clone)
        self.refuses(Code.ALREADY_EXISTS, "CreateVolume", volume_capabilities=[PLAIN],
                     name=fields["name"])
        self.forget(clone.volume_id)

    def test_a_volume_with_a_policy_is_on_one_node_at_a_time(self):
        volume_id = self.create().volume_id
        context = self.attach(volume_id)
        self.assertEqual(self.attach(volume_id), context)
        self.refuses(Code.FAILED_PRECONDITION, "ControllerPublishVolume", volume_id=volume_id,
                     node_id="another", volume_capability=PLAIN)
        self.refuses(Code.FAILED_PRECONDITION, "DeleteVolume", volume_id=volume_id)
        shown = self.driver.controller("ControllerGetVolume", volume_id=volume_id).status
        self.assertEqual(list(shown.published_node_ids), [NODE])
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id="another")
        self.assertTrue(os.listdir(self.run_of(volume_id)))
        self.driver.controller("ControllerModifyVolume", volume_id=volume_id,
                               mutable_parameters={"iops": "1000"})
        until(lambda: self.volume_of(volume_id.removeprefix("config-"))["spec"]["qos"]["iops"] ==
              1000, 60, "the limit to be there")
        self.refuses(Code.INVALID_ARGUMENT, "ControllerModifyVolume", volume_id=volume_id,
                     mutable_parameters={"type": "x"})
        for _ in range(2):
            self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id=NODE)
        self.assertFalse(os.path.exists(self.run_of(volume_id)))
