"""
Controller and node of the CSI driver together, in front of the real service, with the kernel's own
devices and mounts in a namespace of this test: the whole way of a volume, growth beneath a running
pod, and a driver that is killed on the way.
"""

import glob
import os
import unittest
import uuid

import program
from block_storage import until
from case import GIB, ServiceCase
from csi_client import (Code, Driver, Modes, Refused, capability, csi, identity, reclaimspace, sizes)
from mounts import can_mount, own_mounts

PLAIN = capability()
XFS = csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(fs_type="xfs"),
                           access_mode=PLAIN.access_mode)
BLOCK = capability(block=True)


def setUpModule():
    if not can_mount():
        raise unittest.SkipTest("mounting needs root and loop devices")
    own_mounts()


class Node(ServiceCase):
    options = ("--file.file_snapshot_overlays=true",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubelet = os.path.join(cls.directory, "kubelet")
        cls.staging = os.path.join(cls.kubelet, "staging")
        cls.target = os.path.join(cls.kubelet, "target")
        cls.images = os.path.join(cls.state, "volumes")
        os.makedirs(cls.staging)
        os.mkdir(os.path.join(cls.directory, "csi"))
        os.mkdir(os.path.join(cls.directory, "pods"))
        cls.limits = os.path.join(cls.directory, "pods", "io.max")
        with open(cls.limits, "w", encoding="utf-8"):
            pass
        cls.socket = os.path.join(cls.directory, "csi", "csi.sock")
        cls.csi = program.Program("csi", cls.socket + ".log", "--endpoint", f"unix://{cls.socket}",
                                  "--api", cls.service.endpoint, "--csi.node_id=node-1",
                                  "--csi.topology=example.com/zone=a",
                                  f"--csi.kubelet_directory={cls.kubelet}",
                                  f"--csi.share_directory={cls.directory}/shares",
                                  f"--csi.throttle_group={cls.directory}/pods",
                                  f"--csi.local_directories={cls.images}").start()
        cls.addClassCleanup(cls.csi.kill)

    def setUp(self):
        super().setUp()
        self.driver = Driver(self.socket)
        self.addCleanup(lambda: self.driver.close())
        self.addCleanup(self.assert_nothing_is_left)

    def devices(self):
        found = []
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            try:
                with open(path, encoding="utf-8") as file:
                    found += [path] if self.directory in file.read() else []
            except FileNotFoundError:
                pass
        return found

    def assert_nothing_is_left(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            self.assertNotIn(self.directory, file.read())
        self.assertEqual(self.devices(), [])
        self.assertFalse(os.path.lexists(self.target))

    def refuses(self, code, method, /, **fields):
        with self.assertRaises(Refused) as caught:
            self.driver.node(method, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)

    def create(self, mode):
        volume_id = self.driver.controller("CreateVolume", name=f"pvc-{uuid.uuid4()}",
                                           capacity_range=sizes(GIB),
                                           volume_capabilities=[mode]).volume.volume_id
        self.addCleanup(self.forget, volume_id)
        return volume_id

    def forget(self, volume_id):
        self.unpublish(volume_id)
        self.unstage(volume_id)
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id="node-1")
        self.driver.controller("DeleteVolume", volume_id=volume_id)

    def attach(self, volume_id, mode):
        return dict(self.driver.controller("ControllerPublishVolume", volume_id=volume_id,
                                           node_id=self.driver.node("NodeGetInfo").node_id,
                                           volume_capability=mode).publish_context)

    def stage(self, volume_id, mode, context):
        self.driver.node("NodeStageVolume", volume_id=volume_id, staging_target_path=self.staging,
                         volume_capability=mode, publish_context=context)

    def publish(self, volume_id, mode, context):
        self.driver.node("NodePublishVolume", volume_id=volume_id, target_path=self.target,
                         staging_target_path=self.staging, volume_capability=mode,
                         publish_context=context)

    def unpublish(self, volume_id):
        self.driver.node("NodeUnpublishVolume", volume_id=volume_id, target_path=self.target)

    def unstage(self, volume_id):
        self.driver.node("NodeUnstageVolume", volume_id=volume_id,
                         staging_target_path=self.staging)

    def up(self, mode):
        volume_id = self.create(mode)
        context = self.attach(volume_id, mode)
        self.stage(volume_id, mode, context)
        self.publish(volume_id, mode, context)
        return volume_id, context

    def reclaim(self, **fields):
        return self.driver.call(reclaimspace, "ReclaimSpaceNode", "NodeReclaimSpace", **fields)

    def usage(self, volume_id):
        rows = self.driver.node("NodeGetVolumeStats", volume_id=volume_id,
                                volume_path=self.target).usage
        return {row.unit: row for row in rows}[csi.VolumeUsage.BYTES]

    def fault(self, volume_id):
        """Its reported condition; None: healthy."""
        condition = self.driver.node("NodeGetVolumeStats", volume_id=volume_id,
                                     volume_path=self.target).volume_condition
        self.assertTrue(condition.message)
        return condition.message if condition.abnormal else None

    def another(self, *options):
        """One more driver, at a path of its own."""
        path = os.path.join(self.directory, "csi", f"{uuid.uuid4().hex[:8]}.sock")
        driver = program.Program("csi", path + ".log", "--endpoint", f"unix://{path}", "--node",
                                 "--csi.node_id=node-1", *options)
        self.addCleanup(driver.kill)
        return driver

    def limited(self, text):
        def is_so():
            with open(self.limits, encoding="utf-8") as file:
                return file.read().partition(" ")[2].strip() == text
        until(is_so, 60, text, pause=0.2)

    def test_pods_are_limited_by_the_specs_of_the_volume_type(self):
        def specs(name, **members):
            made = self.api.ask("POST", "/types", {"volume_type": {"name": name}})["volume_type"]
            qos = self.api.ask("POST", "/qos-specs", {"qos_specs": {"name": name, **members}})
            self.api.ask("GET", f"/qos-specs/{qos['qos_specs']['id']}/associate"
                                f"?vol_type_id={made['id']}")

        specs("slow", total_iops_sec="50", write_bytes_sec="1000000")
        specs("fast", read_iops_sec="9000")
        volume_id = self.create(PLAIN)
        self.driver.controller("ControllerModifyVolume", volume_id=volume_id,
                               mutable_parameters={"type": "slow"})
        self.stage(volume_id, PLAIN, self.attach(volume_id, PLAIN))
        self.limited("rbps=max wbps=1000000 riops=50 wiops=50")
        self.driver.controller("ControllerModifyVolume", volume_id=volume_id,
                               mutable_parameters={"type": "fast"})
        self.limited("rbps=max wbps=max riops=9000 wiops=max")
        self.unstage(volume_id)
        self.limited("rbps=max wbps=max riops=max wiops=max")

    def test_a_kubelet_has_one_driver_of_a_name(self):
        here = f"--csi.kubelet_directory={self.kubelet}"
        with self.assertRaises(program.NotStarted) as caught:
            self.another(here).start()
        self.assertIn(f"another driver csi.scoria.io already serves {self.kubelet}",
                      str(caught.exception))
        self.assertEqual(self.another(here, "--csi.driver_name=other.scoria.io").start().stop(), 0)
        for place in os.path.join(self.directory, "missing"), self.directory:
            first, second = (self.another(f"--csi.kubelet_directory={place}") for _ in range(2))
            first.start()
            if place == self.directory:
                with self.assertRaises(program.NotStarted):
                    second.start()
                first.kill()  # leftovers of a dead one delay no other
            second.start()
            self.assertEqual(second.stop(), 0)
            first.kill()

    def test_an_unhealthy_volume_is_reported(self):
        for mode in PLAIN, BLOCK:
            with self.subTest(block=mode is BLOCK):
                volume_id, _ = self.up(mode)
                self.assertIsNone(self.fault(volume_id))
                if mode is PLAIN:
                    loop = os.minor(os.stat(self.target).st_dev)
                    with open(f"/sys/fs/ext4/loop{loop}/trigger_fs_error", "w",
                              encoding="ascii") as file:
                        file.write("of a test")
                    self.assertIn("has recorded errors", self.fault(volume_id))
                else:
                    os.unlink(os.path.join(self.images, f"volume-{volume_id}"))
                    self.assertIn("was replaced, or is unreachable", self.fault(volume_id))
                self.unpublish(volume_id)
                self.unstage(volume_id)
                self.forget(volume_id)

    def test_the_node_reports_its_id_and_limit(self):
        info = self.driver.node("NodeGetInfo")
        self.assertEqual((info.node_id, info.max_volumes_per_node), ("node-1", 0))
        self.assertEqual(dict(info.accessible_topology.segments), {"example.com/zone": "a"})
        kinds = {row.rpc.type for row in self.driver.node("NodeGetCapabilities").capabilities}
        self.assertEqual(kinds, {1, 2, 3, 4, 5})
        addons = self.driver.call(identity, "Identity", "GetCapabilities").capabilities
        self.assertIn(2, [row.service.type for row in addons])
        self.assertIn(2, [row.reclaim_space.type for row in addons])

    def test_a_detached_volume_is_not_staged(self):
        volume_id, other = self.create(PLAIN), self.create(PLAIN)
        context, others = self.attach(volume_id, PLAIN), self.attach(other, PLAIN)
        self.stage(volume_id, PLAIN, context)
        self.unstage(volume_id)
        fields = {"volume_id": volume_id, "staging_target_path": self.staging,
                  "volume_capability": PLAIN}
        self.refuses(Code.INVALID_ARGUMENT, "NodeStageVolume", **fields, publish_context={
            **context, "attachment_id": others["attachment_id"]})
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id="node-1")
        self.refuses(Code.FAILED_PRECONDITION, "NodeStageVolume", **fields,
                     publish_context=context)

    def test_a_node_without_the_api_leaves_an_image_below_a_snapshot_alone(self):
        """The publish context is out of date: by now the file is the snapshot's content."""
        volume_id = self.create(PLAIN)
        context = self.attach(volume_id, PLAIN)
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id="node-1")
        snapshot = self.driver.controller("CreateSnapshot", source_volume_id=volume_id,
                                          name=str(uuid.uuid4())).snapshot.snapshot_id
        alone = self.another(*[option for option in self.csi.arguments if "_directo" in option],
                             "--csi.driver_name=alone.scoria.io").start()
        others, self.driver = self.driver, Driver(alone.arguments[3].removeprefix("unix://"))
        try:
            self.refuses(Code.FAILED_PRECONDITION, "NodeStageVolume", volume_id=volume_id,
                         staging_target_path=self.staging, volume_capability=PLAIN,
                         publish_context=context)
            others.controller("DeleteSnapshot", snapshot_id=snapshot)
            self.stage(volume_id, PLAIN, context)
            self.unstage(volume_id)
        finally:
            self.driver.close()
            self.driver = others

    def test_pods_start_while_the_api_is_away(self):
        volume_id = self.create(PLAIN)
        context = self.attach(volume_id, PLAIN)
        alone = os.path.join(self.directory, "csi", "alone.sock")
        lonely = program.Program("csi", alone + ".log", *[
            option.replace(self.socket, alone).replace(self.service.endpoint, "http://127.0.0.1:1")
            for option in self.csi.arguments[2:]], "--csi.driver_name=alone.scoria.io").start()
        self.addCleanup(lonely.kill)
        others, self.driver = self.driver, Driver(alone)
        self.stage(volume_id, PLAIN, context)
        self.driver.close()
        self.driver = others

    def restart(self):
        self.csi.kill()
        self.csi.start()
        self.driver.close()
        self.driver = Driver(self.socket)

    def test_a_file_system_survives_the_driver_and_the_pod(self):
        volume_id, context = self.up(PLAIN)
        with open(os.path.join(self.target, "file"), "w", encoding="utf-8") as file:
            file.write("data")
        self.restart()
        self.stage(volume_id, PLAIN, context)
        self.publish(volume_id, PLAIN, context)
        self.assertEqual(len(self.devices()), 1)
        self.restart()
        for _ in range(2):
            self.unpublish(volume_id)
        for _ in range(2):
            self.unstage(volume_id)
        self.stage(volume_id, PLAIN, context)
        self.publish(volume_id, PLAIN, context)
        with open(os.path.join(self.target, "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "data")

    def grow(self, volume_id, mode):
        answer = self.driver.controller("ControllerExpandVolume", volume_id=volume_id,
                                        capacity_range=sizes(2 * GIB), volume_capability=mode)
        self.assertEqual(answer.capacity_bytes, 2 * GIB)
        return self.driver.node("NodeExpandVolume", volume_id=volume_id, volume_path=self.target,
                                capacity_range=sizes(2 * GIB)).capacity_bytes

    def test_xfs_grows_beneath_a_pod(self):
        volume_id, _ = self.up(XFS)
        before = self.usage(volume_id)
        self.assertEqual(self.grow(volume_id, XFS), 2 * GIB)
        self.assertGreater(self.usage(volume_id).total, before.total + GIB * 9 // 10)

    def test_a_block_volume_grows_beneath_a_pod(self):
        volume_id, _ = self.up(BLOCK)
        self.assertEqual(self.usage(volume_id).total, GIB)
        self.assertEqual(self.grow(volume_id, BLOCK), 2 * GIB)
        self.assertEqual(self.usage(volume_id).total, 2 * GIB)

    def test_space_is_reclaimed(self):
        volume_id, _ = self.up(PLAIN)
        path = os.path.join(self.target, "file")
        with open(path, "wb") as file:
            file.write(os.urandom(64 << 20))
            os.fsync(file.fileno())
        os.unlink(path)
        answer = self.reclaim(volume_id=volume_id, staging_target_path=self.staging)
        self.assertGreater(answer.pre_usage.usage_bytes - answer.post_usage.usage_bytes, 60 << 20)
        again = self.reclaim(volume_id=volume_id, volume_path=self.target, volume_capability=PLAIN)
        # its kernel may have put something into the journal meanwhile
        self.assertLess(again.post_usage.usage_bytes, answer.post_usage.usage_bytes + (1 << 20))

    def test_refusals_of_a_reclaim(self):
        volume_id, _ = self.up(BLOCK)
        for code, ask in (
                (Code.INVALID_ARGUMENT, {}),
                (Code.INVALID_ARGUMENT, {"volume_id": volume_id}),
                (Code.INVALID_ARGUMENT, {"staging_target_path": self.staging}),
                (Code.NOT_FOUND, {"volume_id": "x", "staging_target_path": self.staging}),
                (Code.NOT_FOUND, {"volume_id": volume_id, "volume_path": "some/path"}),
                (Code.UNIMPLEMENTED, {"volume_id": volume_id, "volume_path": self.target})):
            with self.subTest(ask=ask):
                with self.assertRaises(Refused) as caught:
                    self.reclaim(**ask)
                self.assertEqual(caught.exception.code, code, caught.exception)

    def test_refusals_have_their_codes(self):
        volume_id, context = self.up(PLAIN)
        path = {"staging_target_path": self.staging}
        rows = (
            (Code.INVALID_ARGUMENT, "NodeStageVolume", {}),
            (Code.INVALID_ARGUMENT, "NodeStageVolume", {"volume_id": volume_id}),
            (Code.INVALID_ARGUMENT, "NodeStageVolume", {"volume_id": volume_id, **path}),
            (Code.ALREADY_EXISTS, "NodeStageVolume",
             {"volume_id": volume_id, **path, "volume_capability": XFS,
              "publish_context": context}),
            (Code.INVALID_ARGUMENT, "NodeStageVolume",
             {"volume_id": volume_id, **path, "volume_capability": csi.VolumeCapability(
                 mount=csi.VolumeCapability.MountVolume(mount_flags=["suid"]),
                 access_mode=Modes(mode=Modes.SINGLE_NODE_WRITER)), "publish_context": context}),
            (Code.INVALID_ARGUMENT, "NodeUnstageVolume", {}),
            (Code.INVALID_ARGUMENT, "NodeUnstageVolume", {"volume_id": volume_id}),
            (Code.INVALID_ARGUMENT, "NodePublishVolume", {}),
            (Code.INVALID_ARGUMENT, "NodePublishVolume", {"volume_id": volume_id}),
            (Code.FAILED_PRECONDITION, "NodePublishVolume",
             {"volume_id": volume_id, "target_path": self.target, "volume_capability": PLAIN}),
            (Code.FAILED_PRECONDITION, "NodePublishVolume",
             {"volume_id": volume_id, "target_path": self.kubelet + "/other", **path,
              "volume_capability": PLAIN}),
            (Code.ALREADY_EXISTS, "NodePublishVolume",
             {"volume_id": volume_id, "target_path": self.target, **path, "readonly": True,
              "volume_capability": PLAIN}),
            (Code.INVALID_ARGUMENT, "NodeUnpublishVolume", {"volume_id": volume_id}),
            (Code.FAILED_PRECONDITION, "NodeUnstageVolume", {"volume_id": "another", **path}),
            (Code.INVALID_ARGUMENT, "NodeGetVolumeStats", {"volume_id": volume_id}),
            (Code.NOT_FOUND, "NodeGetVolumeStats",
             {"volume_id": volume_id, "volume_path": "some/path"}),
            (Code.NOT_FOUND, "NodeGetVolumeStats", {"volume_id": "x", "volume_path": self.target}),
            (Code.INVALID_ARGUMENT, "NodeExpandVolume", {"volume_id": volume_id}),
            (Code.NOT_FOUND, "NodeExpandVolume", {"volume_id": "x", "volume_path": "some/path"}),
            (Code.OUT_OF_RANGE, "NodeExpandVolume",
             {"volume_id": volume_id, "volume_path": self.target,
              "capacity_range": sizes(9 * GIB)}),
        )
        for code, method, fields in rows:
            with self.subTest(method=method, fields=fields):
                self.refuses(code, method, **fields)


if __name__ == "__main__":
    unittest.main()
