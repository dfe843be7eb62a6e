"""
A volume over CSI, as the sidecars of Kubernetes and the kubelet call for it: made, mounted,
written, grown below its mount, its unused space reclaimed, deleted. The mounts are in a namespace
of this process.
"""

import glob
import hashlib
import os
import shutil
import tempfile

from csi_client import Driver, Refused, capability, csi, reclaimspace, sizes
from mounts import can_mount, own_mounts
from program import Program

GIB, MIB = 1 << 30, 1 << 20
NAME, NODE = "pvc-quickstart", "quickstart"
MODE = csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(fs_type="xfs"),
                            access_mode=capability().access_mode)


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class CsiDemonstration:
    """The driver, a client of it, and the directories that a kubelet would have."""

    def __init__(self, story, api, state):
        own_mounts()
        self.story, self.api, self.state = story, api, state
        self.place = tempfile.mkdtemp(prefix="scoria-csi-")
        self.kubelet = os.path.join(self.place, "kubelet")
        self.paths = {name: os.path.join(self.kubelet, name) for name in ("staging", "target")}
        os.makedirs(self.paths["staging"])
        socket = os.path.join(self.place, "socket", "csi.sock")
        os.mkdir(os.path.dirname(socket))
        self.program = Program("csi", os.path.join(self.place, "log"),
                               "--endpoint", f"unix://{socket}", "--api", api.endpoint,
                               f"--csi.node_id={NODE}", f"--csi.kubelet_directory={self.kubelet}",
                               f"--csi.share_directory={self.place}/shares",
                               f"--csi.local_directories={state}/volumes").start()
        self.driver = Driver(socket)

    # ---- steps ----

    def create(self):
        self.story.line(f"CreateVolume {NAME}: 1 GiB with XFS")
        answers = [self.driver.controller("CreateVolume", name=NAME, capacity_range=sizes(GIB),
                                          volume_capabilities=[MODE]).volume for _ in range(2)]
        volume_id = answers[0].volume_id
        volume = self.api.show(volume_id)
        self.story.check((volume["status"], volume["size"]) == ("available", 1)
                         and answers[1].volume_id == volume_id,
                         f"status=available size=1 id={volume_id}; asked again, the same answer")
        return volume_id

    def mount(self, volume_id):
        self.story.line("ControllerPublishVolume, NodeStageVolume, NodePublishVolume")
        context = dict(self.driver.controller("ControllerPublishVolume", volume_id=volume_id,
                                              node_id=NODE, volume_capability=MODE).publish_context)
        fields = {"volume_id": volume_id, "publish_context": context, "volume_capability": MODE,
                  "staging_target_path": self.paths["staging"]}
        self.driver.node("NodeStageVolume", **fields)
        self.driver.node("NodePublishVolume", target_path=self.paths["target"], **fields)
        self.story.check(os.path.ismount(self.paths["target"])
                         and self.api.show(volume_id)["status"] == "in-use",
                         "in-use; the file system is mounted where a pod would have it")

    def write(self):
        path = os.path.join(self.paths["target"], "data")
        for name in (path, path + "-2"):
            with open(name, "wb") as file:
                file.write(os.urandom(64 * MIB))
                os.fsync(file.fileno())
        self.story.line("wrote two files of 64 MiB")
        return path

    def total(self, volume_id):
        rows = self.driver.node("NodeGetVolumeStats", volume_id=volume_id,
                                volume_path=self.paths["target"]).usage
        return next(row.total for row in rows if row.unit == csi.VolumeUsage.BYTES)

    def grow(self, volume_id, path):
        self.story.line("ControllerExpandVolume to 2 GiB, NodeExpandVolume")
        before, data = self.total(volume_id), checksum(path)
        self.driver.controller("ControllerExpandVolume", volume_id=volume_id,
                               capacity_range=sizes(2 * GIB), volume_capability=MODE)
        self.driver.node("NodeExpandVolume", volume_id=volume_id, capacity_range=sizes(2 * GIB),
                         volume_path=self.paths["target"])
        after = self.total(volume_id)
        self.story.check(self.api.show(volume_id)["size"] == 2 and after > before + GIB * 9 // 10
                         and checksum(path) == data,
                         f"the mounted file system grew from {before // MIB} to {after // MIB} MiB, "
                         "and the data is there")

    def reclaim(self, volume_id, path):
        self.story.line("one file deleted; NodeReclaimSpace")
        os.unlink(path)
        answer = self.driver.call(reclaimspace, "ReclaimSpaceNode", "NodeReclaimSpace",
                                  volume_id=volume_id, staging_target_path=self.paths["staging"])
        before, after = (usage.usage_bytes for usage in (answer.pre_usage, answer.post_usage))
        self.story.check(before - after > 60 * MIB,
                         f"the image took {before // MIB} MiB of the disk and takes {after // MIB}")

    def forget(self, volume_id):
        """However far it has come."""
        self.driver.node("NodeUnpublishVolume", volume_id=volume_id,
                         target_path=self.paths["target"])
        self.driver.node("NodeUnstageVolume", volume_id=volume_id,
                         staging_target_path=self.paths["staging"])
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id=NODE)
        self.driver.controller("DeleteVolume", volume_id=volume_id)

    def delete(self, volume_id):
        self.story.line("NodeUnpublishVolume, NodeUnstageVolume, ControllerUnpublishVolume, "
                        "DeleteVolume")
        self.forget(volume_id)
        self.story.check(not self.api.exists(volume_id) and not self.leftovers(),
                         "it is gone; no mount and no loop device is left")

    # ---- leftovers of an earlier run, or of this one ----

    def leftovers(self):
        found = []
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            found += [line for line in file if self.place in line]
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            try:
                with open(path, encoding="utf-8") as file:
                    found += [line for line in file if line.startswith(self.state)]
            except FileNotFoundError:
                pass
        return found

    def forget_all(self):
        for volume in self.api.list(f"?name={NAME}"):
            self.forget(volume["id"])

    def close(self):
        try:
            self.forget_all()
        except Refused as refused:
            self.story.check(False, f"{NAME}: {refused}")
        self.driver.close()
        self.story.check(self.program.stop() == 0, "the driver ends in order")
        if not self.leftovers():
            shutil.rmtree(self.place)


def demonstrate(story, api, state):
    story.title("A volume over CSI, as Kubernetes asks for one")
    if not can_mount():
        story.line("left out: here are no loop devices")
        return
    part = CsiDemonstration(story, api, state)
    try:
        part.forget_all()
        volume_id = part.create()
        part.mount(volume_id)
        path = part.write()
        part.grow(volume_id, path)
        part.reclaim(volume_id, path + "-2")
        part.delete(volume_id)
    finally:
        part.close()
