"""
Claims where there are two nodes: a volume goes where its pod goes and is never on both, a node that is gone
keeps none, and of volumes of hosts each is where its pod may run. A mixin of the tests of claims.
"""

import contextlib
import os

from block_storage import until
from cluster import ADDRESS, NODE, TIMEOUT_S

VOLUMES = "/var/lib/scoria/volumes"  # of etc/kubernetes/local-directory
WRITE = "echo hello >/claim/file; sync; sleep 1000000"
GONE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
SEGMENT = "topology.csi.scoria.io/host"
SHARE = f"{ADDRESS}:/export"


def of_hosts(**hosts):
    """Backends, each with a directory of its own, as if a manager were on each node; their options."""
    options = [word for name, host in hosts.items() for word in (
        f"--{name}.volume_driver=file", f"--{name}.backend_host={host}",
        f"--{name}.file_volume_directory={VOLUMES}/{name}")]
    return ({f"{host}@{name}" for name, host in hosts.items()},
            f"--enabled_backends={','.join(hosts)}", *options)


class Nodes:
    images = None  # parts of a node

    # ---- state ----

    @contextlib.contextmanager
    def two_nodes(self):
        """The second one takes no pods of other tests."""
        second = self.cluster.others[0] if self.cluster.others else self.add_node()
        self.cluster.kubectl("uncordon", second.name)
        try:
            yield second
        finally:
            if second in self.cluster.others:
                self.cluster.kubectl("cordon", second.name)

    def add_node(self):
        """Which has the directory of volumes as if it were on a share."""
        second = self.cluster.add_node(self.images, VOLUMES)
        until(lambda: self.driver_of(second.name), TIMEOUT_S, "the driver of the second node")
        return second

    def driver_of(self, name):
        found = self.cluster.get("csinode", name) or {"spec": {}}
        return next((row for row in found["spec"].get("drivers") or ()), None)

    def hosts_of(self, claim):
        """To which the service has attached it."""
        volume = self.api.show(self.volume_of(claim))
        return [row["host_name"] for row in volume["attachments"]]

    def attached(self):
        """Nodes that have a volume, in Kubernetes' view."""
        return [row["spec"]["nodeName"] for row in self.cluster.list("volumeattachment")
                if row.get("status", {}).get("attached")]

    def wait_event(self, pod, reason):
        uid = self.cluster.get("pod", pod)["metadata"]["uid"]
        until(lambda: reason in self.events_of(uid), TIMEOUT_S, reason, 0.2)

    def assert_on(self, claim, node):
        self.assertEqual(self.hosts_of(claim), [node])
        self.assertEqual(self.attached(), [node])

    # ---- tests ----

    def test_a_volume_follows_its_pod_to_another_node(self):
        with self.two_nodes() as second:
            self.cluster.apply(self.claim("claim"), self.pod("first", ["claim"], WRITE, on=NODE))
            self.wait_ready("first")
            self.cluster.apply(self.pod("second", ["claim"], on=second.name))
            self.wait_event("second", "FailedAttachVolume")
            self.refuse_by_hand("claim", second.name)
            self.assert_on("claim", NODE)
            self.assertEqual(second.mounts(), [])
            self.cluster.kubectl("delete", "pod", "first", "--grace-period=1")
            self.wait_ready("second")
            self.assertEqual(self.run_in("second", "cat /claim/file"), "hello\n")
            self.assert_on("claim", second.name)
            self.assertEqual(self.cluster.node.mounts(), [])
            self.clean()

    def refuse_by_hand(self, claim, node):
        """Whatever Kubernetes thinks of it, the driver attaches no volume that another node has."""
        name = self.cluster.get("pvc", claim)["spec"]["volumeName"]
        self.cluster.apply({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                            "metadata": {"name": "by-hand"}, "spec": {
                                "attacher": "csi.scoria.io", "nodeName": node,
                                "source": {"persistentVolumeName": name}}})
        until(lambda: f"published on node {NODE} already" in self.refusal(), TIMEOUT_S, "refused")
        self.cluster.kubectl("delete", "volumeattachment", "by-hand")

    def refusal(self):
        status = self.cluster.get("volumeattachment", "by-hand").get("status", {})
        self.assertFalse(status.get("attached"))
        return status.get("attachError", {}).get("message", "")

    def test_a_volume_is_attached_elsewhere_when_its_node_is_gone(self):
        with self.two_nodes() as second:
            self.cluster.apply(self.claim("claim"), self.pod("lost", ["claim"], WRITE, on=second.name))
            self.wait_ready("lost")
            until(lambda: self.run_in("lost", "cat /claim/file") == "hello\n", TIMEOUT_S, "a file")
            self.run_in("lost", "sync")
            self.cluster.apply(self.pod("heir", ["claim"], on=NODE))
            self.wait_event("heir", "FailedAttachVolume")
            second.power_off()
            self.assert_on("claim", second.name)
            self.cluster.kubectl("taint", "node", second.name, GONE)
            self.cluster.kubectl("delete", "pod", "lost", "--force", "--grace-period=0")
            self.wait_ready("heir")
            self.assertEqual(self.run_in("heir", "cat /claim/file"), "hello\n")
            self.assert_on("claim", NODE)
            self.cluster.forget_node(second)
            self.forget_in_addons(second)

    def forget_in_addons(self, node):
        """CSI-Addons calls it in vain before any other, at each pod that it has had, and jobs fail."""
        manager = ["-n", "csi-addons-system", "deployment/csi-addons-controller-manager"]
        self.cluster.kubectl("delete", "csiaddonsnode", "-n", "scoria-csi",
                             f"{node.name}-scoria-csi-daemonset-scoria-csi-node")
        self.cluster.kubectl("rollout", "restart", *manager)
        self.cluster.kubectl("rollout", "status", *manager)

    def test_a_claim_of_hosts_is_bound_where_its_pod_runs(self):
        with self.two_nodes() as second:
            directories = {"here": NODE, "there": second.name}
            self.serve_for_a_while(*of_hosts(**directories))
            self.take_for_a_while("volumes-of-hosts", [NODE, second.name])
            for claim, node in directories.items():
                self.cluster.apply(self.claim(claim, storageClassName="scoria-host"),
                                   self.pod(f"on-{claim}", [claim], on=node))
            self.wait_ready("on-here", "on-there")
            for claim, node in directories.items():
                self.assert_is_of(claim, node)
            self.cluster.kubectl("delete", "pod", "on-there", "--grace-period=1")
            self.cluster.apply(self.pod("anywhere", ["there"]), self.pod("wrong", ["there"], on=NODE))
            self.wait_ready("anywhere")
            self.assertEqual(self.cluster.get("pod", "anywhere")["spec"]["nodeName"], second.name)
            self.wait_event("wrong", "FailedScheduling")
            self.assertNotIn("nodeName", self.cluster.get("pod", "wrong")["spec"])
            self.clean()

    def assert_is_of(self, claim, node):
        name = self.cluster.get("pvc", claim)["spec"]["volumeName"]
        terms = self.cluster.get("pv", name)["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        self.assertEqual([row["matchExpressions"] for row in terms],
                         [[{"key": SEGMENT, "operator": "In", "values": [node]}]])
        self.assertEqual(self.hosts_of(claim), [node])
        self.assertEqual([name for name in os.listdir(f"{VOLUMES}/{claim}")
                          if self.volume_of(claim) in name],
                         [f"volume-{self.volume_of(claim)}"])

    def test_a_share_is_mounted_where_its_volume_is(self):
        with self.two_nodes() as second:
            self.serve_for_a_while(
                {f"{NODE}@share"}, "--enabled_backends=share", "--share.volume_driver=nfs",
                f"--share.nfs_shares_config={self.cluster.write('shares', SHARE)}")
            self.cluster.apply(self.claim("claim"), self.pod("first", ["claim"], WRITE, on=NODE))
            self.wait_ready("first")
            self.assertEqual(self.cluster.node.shares(), [SHARE])
            self.kill_driver("--node")
            self.assertEqual(self.run_in("first", "cat /claim/file"), "hello\n")
            self.grow("claim")
            self.cluster.kubectl("delete", "pod", "first", "--grace-period=1")
            self.cluster.apply(self.pod("second", ["claim"], on=second.name))
            self.wait_ready("second")
            self.assertEqual(self.run_in("second", "cat /claim/file"), "hello\n")
            self.assertRegex(self.run_in("second", "df -h /claim"), r" (1\.9|2\.0)G ")
            self.assert_on("claim", second.name)
            self.assertEqual([node.shares() for node in (self.cluster.node, second)], [[], [SHARE]])
            self.clean()

    def grow(self, claim):
        self.cluster.kubectl("patch", "pvc", claim, "-p",
                             '{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}')
        self.wait("jsonpath={.status.capacity.storage}=2Gi", f"pvc/{claim}")

    # ---- another way to have it ----

    def serve_for_a_while(self, backends, *options):
        """By these backends; the others, which have gone a moment ago, are disabled."""
        def serve(hosts, *words):
            self.clean()
            self.assertEqual(self.service.stop(), 0)
            self.serve(*words)
            self.api = self.new_api()
            until(lambda: hosts <= set(self.backends()), TIMEOUT_S, "the backends")
            for host in self.backends():
                self.api.ask("PUT", f"/os-services/{'enable' if host in hosts else 'disable'}",
                             {"binary": "cinder-volume", "host": host})
        self.addCleanup(serve, {f"{NODE}@file"})
        serve(backends, *options)

    def backends(self):
        """That take volumes, or did so."""
        return [row["host"] for row in self.api.ask("GET", "/os-services")["services"]
                if row["binary"] == "cinder-volume"]

    def take_for_a_while(self, component, nodes):
        """One that reports segments; when it is removed, none are known."""
        def deploy(before, after, keys):
            self.clean()
            self.edit(lambda text: text.replace(before, after))
            self.deploy()
            until(lambda: all(bool((self.driver_of(node) or {}).get("topologyKeys")) == keys
                              for node in nodes), TIMEOUT_S, "what nodes say")
        self.addCleanup(deploy, f"  - {component}", f"  # - {component}", False)
        deploy(f"  # - {component}", f"  - {component}", True)
