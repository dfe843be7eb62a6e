"""
The blocks of docs/kubernetes.md work when pasted; and the driver that runs as etc/kubernetes has it
offers all that the CSIDriver and the sidecars there expect.
"""

import os
import shutil
import unittest

import manifests
import program
from case import ServiceCase, Workplace
from csi_client import Driver, csi, identity
from mounts import can_mount, own_mounts
from pages import blocks, paste

UNPRIVILEGED = 65532


def setUpModule():
    if not can_mount():
        raise unittest.SkipTest("mounting needs root and loop devices")
    own_mounts()


class Page(Workplace):
    def test_pasted_blocks_work(self):
        place = os.path.join(self.directory, "kube")
        status, output = paste("".join(blocks("kubernetes.md", "With a gRPC client")),
                             {"/var/tmp/kube": place})
        self.assertEqual(status, 0, output)
        self.assertIn("csi.scoria.io", output)
        self.assertIn("\nhello\n", output)
        self.assertRegex(output, r"usage_bytes")
        self.assertFalse(os.path.exists(place))


class AsManifests(ServiceCase):
    """Controller and node, each started with the arguments of its container."""

    def start(self, kind):
        os.chmod(self.directory, 0o755)
        place = os.path.join(self.directory, kind)
        os.mkdir(place)
        with open(os.path.join(place, "scoria.conf"), "w", encoding="utf-8") as file:
            file.write(f"[csi]\nvolume_endpoint = {self.service.endpoint}\n")
        words = " ".join(manifests.driver(kind)["args"][1:])
        for path, there in (("/csi/csi.sock", "csi.sock"), ("/etc/scoria", ""),
                            ("/var/lib/kubelet", "kubelet"), ("/run/scoria-csi", "shares")):
            words = words.replace(path, os.path.join(place, there).rstrip("/"))
        driver = program.Program("csi", f"{place}.log", *words.replace("$(NODE_NAME)",
                                                                       "node-1").split())
        context = manifests.pod(kind)["spec"].get("securityContext", {})
        if "runAsUser" in context:
            self.as_user(driver, place, context["runAsUser"])
        driver.start()
        self.addCleanup(driver.kill)
        client = Driver(os.path.join(place, "csi.sock"))
        self.addCleanup(client.close)
        return client

    def as_user(self, driver, place, user):
        binary = shutil.copy(program.BINARY, f"{place}-scoria")
        driver.arguments[0] = binary
        driver.arguments[:0] = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        os.chown(place, user, user)

    def kinds(self, answer):
        return {row.rpc.type for row in answer.capabilities}

    def test_the_controller_serves_the_calls_of_the_sidecars(self):
        self.assertEqual(manifests.pod("Deployment")["spec"]["securityContext"]["runAsUser"],
                         UNPRIVILEGED)
        client = self.start("Deployment")
        self.assertTrue(client.call(csi, "Identity", "Probe").ready.value)
        described = manifests.of_kind("CSIDriver")[0]
        self.assertEqual(client.call(csi, "Identity", "GetPluginInfo").name,
                         described["metadata"]["name"])
        can = csi.ControllerServiceCapability.RPC
        kinds = self.kinds(client.controller("ControllerGetCapabilities"))
        containers = manifests.pod("Deployment")["containers"]
        for sidecar, kind in (("provisioner", can.CREATE_DELETE_VOLUME),
                              ("attacher", can.PUBLISH_UNPUBLISH_VOLUME),
                              ("resizer", can.EXPAND_VOLUME),
                              ("snapshotter", can.CREATE_DELETE_SNAPSHOT)):
            self.assertEqual(sidecar in containers, kind in kinds, sidecar)
        spec = described["spec"]
        self.assertEqual(spec["attachRequired"], can.PUBLISH_UNPUBLISH_VOLUME in kinds)
        self.assertIn(can.GET_CAPACITY, kinds)
        self.assertEqual(spec["storageCapacity"],
                         "--enable-capacity" in containers["provisioner"]["args"])
        self.assertGreater(client.controller("GetCapacity").available_capacity, 0)
        groups = client.snapshots("GroupControllerGetCapabilities").capabilities
        self.assertTrue(groups and manifests.of_kind("VolumeGroupSnapshotClass"))
        services = client.call(csi, "Identity", "GetPluginCapabilities").capabilities
        self.assertNotIn(csi.PluginCapability.Service.VOLUME_ACCESSIBILITY_CONSTRAINTS,
                         [row.service.type for row in services])

    def test_a_node_serves_the_calls_of_the_kubelet(self):
        client = self.start("DaemonSet")
        self.assertEqual(client.node("NodeGetInfo").node_id, "node-1")
        self.assertEqual(client.call(csi, "Identity", "GetPluginInfo").name,
                         manifests.of_kind("CSIDriver")[0]["metadata"]["name"])
        can = csi.NodeServiceCapability.RPC
        kinds = self.kinds(client.node("NodeGetCapabilities"))
        self.assertIn(can.STAGE_UNSTAGE_VOLUME, kinds)
        # The kubelet applies fsGroup unless the driver does.
        self.assertEqual(manifests.of_kind("CSIDriver")[0]["spec"]["fsGroupPolicy"] == "File",
                         can.VOLUME_MOUNT_GROUP not in kinds)
        self.assertEqual("addons" in manifests.pod("DaemonSet")["containers"],
                         bool(client.call(identity, "Identity", "GetCapabilities").capabilities))


if __name__ == "__main__":
    unittest.main()
