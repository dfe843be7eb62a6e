"""
The life of two claims, of a file system and of a device, while each call that the driver gets is
written down.
"""


import claims
import recording
from cluster import NODE


class Story(claims.Claims):
    """The tests that it inherits are not run."""

    @classmethod
    def edit(cls, change):
        super().edit(lambda text: recording.add_to(change(text)))

    def setUp(self):
        super().setUp()
        self.names, self.seen, self.rows = recording.Names(), len(recording.calls()), []
        for name, value in (("node", NODE), ("kubelet", "/var/lib/kubelet"),
                            ("driver", "csi.scoria.io")):
            self.names.add(name, value)

    def know(self, name, claim):
        found = self.cluster.get("pvc", claim)["spec"]["volumeName"]
        self.names.add(f"{name} pv", found)
        self.names.add(name, self.volume_of(claim))
        self.names.add("identity", self.cluster.get("pv", found)["spec"]["csi"]["volumeAttributes"][
            "storage.kubernetes.io/csiProvisionerIdentity"])

    def tell(self, what):
        """The calls since the last time."""
        found = recording.calls()
        self.rows += [{"what": what}, *found[self.seen:]]
        self.seen = len(found)

    def save(self, name):
        recording.save(self.cluster.path("logs", f"{name}.calls"), self.names.put(self.rows))

    def start_pod(self, *pods):
        self.cluster.apply(*pods)
        names = [pod["metadata"]["name"] for pod in pods]
        self.wait_ready(*names)
        for name in names:
            self.names.add(name, self.cluster.get("pod", name)["metadata"]["uid"])

    def test_of_a_file_system(self):
        self.seen = 0
        self.tell("the sidecars begin")
        self.cluster.apply(self.claim("p1"))
        self.wait_bound("p1")
        self.know("volume", "p1")
        self.tell("a claim")
        self.start_pod(self.pod("pod-1", ["p1"]))
        self.tell("a pod")
        self.grow("p1")
        self.tell("it grows")
        self.kill_driver("--node")
        self.kill_driver("--controller")
        self.cluster.node.stop_kubelet()
        self.cluster.node.start_kubelet()
        self.cluster.wait("the node", lambda: self.cluster.condition("node", NODE, "Ready"))
        for kind in "deployment/scoria-csi-controller", "daemonset/scoria-csi-node":
            self.cluster.kubectl("rollout", "status", "-n", claims.NAMESPACE, kind)
        self.tell("the driver is killed, and the kubelet begins anew")
        self.cut()
        claims.until(lambda: self.reclaimed("p1"), claims.TIMEOUT_S, "a job that succeeds", 1)
        self.tell("a job")
        self.cluster.kubectl("delete", "pod", "pod-1", "--grace-period=1")
        claims.until(lambda: not self.cluster.list("volumeattachment"), 180, "detached")
        self.tell("the pod goes")
        self.clean()
        self.tell("all is deleted")
        self.save("filesystem")

    def cut(self):
        self.cluster.apply({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
                            "metadata": {"name": "s1"}, "spec": {
                                "volumeSnapshotClassName": "scoria",
                                "source": {"persistentVolumeClaimName": "p1"}}})
        self.wait("jsonpath={.status.readyToUse}=true", "volumesnapshot/s1")
        found = self.cluster.get("volumesnapshot", "s1")
        content = found["status"]["boundVolumeSnapshotContentName"]
        self.names.add("snapshot uid", found["metadata"]["uid"])
        self.names.add("snapshot", self.cluster.get("volumesnapshotcontent", content)["status"][
            "snapshotHandle"])
        self.tell("a snapshot")
        self.cluster.apply(self.claim("p2", "2Gi", "VolumeSnapshot/s1", "snapshot.storage.k8s.io"))
        self.wait_bound("p2")
        self.know("restored", "p2")
        self.cluster.apply(self.claim("p3", "2Gi", "PersistentVolumeClaim/p2"))
        self.wait_bound("p3")
        self.know("cloned", "p3")
        self.tell("claims of a snapshot and of a claim")

    def test_of_a_device(self):
        self.cluster.apply(self.claim("p4", volumeMode="Block", accessModes=["ReadWriteOncePod"]))
        self.wait_bound("p4")
        self.know("volume", "p4")
        self.tell("a claim")
        self.start_pod(self.pod("pod-2", ["p4"], block=True))
        self.tell("a pod")
        self.grow("p4")
        self.tell("it grows")
        self.clean()
        self.tell("all is deleted")
        self.save("block")


def load_tests(loader, _tests, _pattern):
    names = [name for name in vars(Story) if name.startswith("test_")]
    return loader.suiteClass(map(Story, names))


# The steps that `run` starts.
Claims = Story
