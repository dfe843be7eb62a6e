"""
Declared volumes in a real Kubernetes: the definitions, the commands of docs/provisioning.md, edits
that are refused by either side, namespaces, deaths. A mixin of the tests of claims.
"""

import json
import os
import re
import textwrap

import program
from block_storage import until
from cluster import NODE, TIMEOUT_S
from programs import read

PAGE = os.path.join(program.REPOSITORY, "docs/provisioning.md")
GROUP = "cstor.openebs.io"
KINDS = ("cstorvolumepolicies", "cstorvolumeconfigs", "cstorvolumesnapshots", "cstorvolumes",
         "cstorvolumereplicas")
POOLS = ("pool-a", "pool-b", "pool-c")


def page_commands():
    """The commands of the page for a cluster."""
    section = re.search(r"^## In Kubernetes\n(.*?)(?=^## )", read(PAGE), re.M | re.S)[1]
    return textwrap.dedent("\n".join(re.findall(r"^    .*$", section, re.M)))


def config(name, namespace="default", size="1Gi", **more):
    return {"apiVersion": f"{GROUP}/v1", "kind": "CStorVolumeConfig",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"capacity": {"storage": size}, "provision": {"replicaCount": 3}, **more}}


def snapshot(name, volume):
    return {"apiVersion": f"{GROUP}/v1", "kind": "CStorVolumeSnapshot",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": volume}}


class Declared:
    # ---- state ----

    @staticmethod
    def options_of_pools(cluster):
        """Of the service, which has the pools itself."""
        paths = {pool: cluster.path("pools", pool) for pool in POOLS}
        for path in paths.values():
            os.makedirs(path, exist_ok=True)
        return (f"--storage.enabled_pools={','.join(POOLS)}", f"--storage.node={NODE}",
                *(f"--{pool}.path={path}" for pool, path in paths.items()))

    def documents(self):
        """Of the service, by name."""
        found = self.api.ask("GET", "/volume_configs")["volume_configs"]
        return {row["metadata"]["name"]: row for row in found}

    def volume_of_config(self, name, namespace="default"):
        path = f"/volume_configs/{namespace}.{name}/volume"
        return self.api.ask("GET", path)["replicated_volume"]

    def wait_config(self, what, name, namespace="default"):
        self.wait(what, f"cvc/{name}", namespace=namespace)

    def wait_config_bound(self, name, namespace="default"):
        self.wait_config("jsonpath={.status.phase}=Bound", name, namespace)

    def applied(self, name):
        """The condition: (status, reason, message)."""
        rows = self.cluster.get("cvc", name)["status"]["conditions"]
        row = next(row for row in rows if row["type"] == "Applied")
        return row["status"], row["reason"], row["message"]

    def patch_config(self, name, check=True, **parts):
        return self.cluster.kubectl("patch", "cvc", name, "--type=merge", "-p", json.dumps(parts),
                                    check=check)

    # ---- tests ----

    def test_definitions_are_accepted(self):
        for kind in KINDS:
            found = self.cluster.get("crd", f"{kind}.{GROUP}")["status"]["conditions"]
            states = {row["type"]: row["status"] for row in found}
            self.assertEqual(states.get("Established"), "True", found)
            self.assertEqual(states.get("NonStructuralSchema", "False"), "False", found)

    def test_all_commands_of_the_page_work_for_declared_volumes(self):
        self.bash(page_commands())
        self.assertEqual(self.documents(), {})

    def test_an_edit_is_refused_by_the_definition_or_by_the_service(self):
        self.cluster.apply(config("data", size="2Gi"))
        self.wait_config_bound("data")
        for part, field in (({"capacity": {"storage": "1Gi"}}, "spec.capacity.storage"),
                           ({"provision": {"replicaCount": 1}}, "spec.provision.replicaCount"),
                           ({"policy": {"replicaPoolInfo": [{"poolName": "a"}] * 2}},
                            "Duplicate value")):
            answer = self.patch_config("data", check=False, spec=part)
            self.assertNotEqual(answer.returncode, 0)
            self.assertIn(field, answer.stderr)
        before = self.documents()["default.data"]["spec"]
        self.patch_config("data", spec={"policy": {"replicaPoolInfo": [
            {"poolName": POOLS[0]}, {"poolName": POOLS[1]}, {"poolName": "elsewhere"}]}})
        until(lambda: self.applied("data")[:2] == ("False", "Refused"), TIMEOUT_S, "a refusal")
        self.assertIn("spec.policy.replicaPoolInfo", self.applied("data")[2])
        self.assertEqual(self.documents()["default.data"]["spec"], before)
        self.patch_config("data", spec={"policy": {"replicaPoolInfo": None}})
        until(lambda: self.applied("data")[0] == "True", TIMEOUT_S, "no refusal")

    def test_two_namespaces_never_meet(self):
        self.cluster.kubectl("create", "namespace", "shop")
        self.addCleanup(self.cluster.kubectl, "delete", "namespace", "shop")
        self.cluster.apply(config("data"), config("data", "shop"))
        self.wait_config_bound("data")
        self.wait_config_bound("data", "shop")
        self.assertEqual(set(self.documents()), {"default.data", "shop.data"})
        self.cluster.kubectl("delete", "-n", "shop", "cvc", "data")
        self.assertEqual(set(self.documents()), {"default.data"})

    def test_a_snapshot_is_an_object_and_clones_are_made_of_it(self):
        self.cluster.apply(config("data"), snapshot("monday", "data"))  # in whatever order
        self.wait("jsonpath={.status.phase}=Ready", "cvsnap/monday")
        self.cluster.apply(config("copy", cstorVolumeSource="data@monday"))
        self.wait_config_bound("copy")
        self.cluster.kubectl("delete", "cvc", "data", "copy", "--wait=false")
        self.wait_config("delete", "copy")
        until(lambda: self.applied("data")[1] == "DeletionRefused", TIMEOUT_S, "a refusal")
        self.cluster.kubectl("delete", "cvsnap", "monday")
        self.wait_config("delete", "data")
        found = self.api.ask("GET", "/volume_config_snapshots")
        self.assertEqual(found["volume_config_snapshots"], [])
        self.assertEqual(self.documents(), {})

    def test_volumes_are_kept_while_published(self):
        self.cluster.apply(config("data"))
        self.wait_config_bound("data")
        self.patch_config("data", publish={"nodeId": NODE})
        until(lambda: self.volume_of_config("data")["status"].get("target", {}).get("state") ==
              "Serving", TIMEOUT_S, "served")
        self.cluster.kubectl("delete", "cvc", "data", "--wait=false")
        until(lambda: self.applied("data")[1] == "DeletionRefused", TIMEOUT_S, "a refusal")
        self.assertIn(f"published on node {NODE}", self.applied("data")[2])
        self.api.ask("PATCH", "/volume_configs/default.data",
                     {"volume_config": {"publish": {"nodeId": ""}}})
        self.wait_config("delete", "data")
        self.assertEqual(self.documents(), {})

    def test_bridge_and_service_are_killed_while_volumes_are_declared(self):
        names = [f"data-{number}" for number in range(6)]
        self.cluster.apply(*map(config, names))
        until(self.documents, TIMEOUT_S, "a document", 0.01)
        self.kill_driver("--controller")
        self.kill_service()
        for name in names:
            self.wait_config_bound(name)
        self.assertEqual(set(self.documents()), {f"default.{name}" for name in names})
        self.cluster.kubectl("delete", "cvc", "--all", "--wait=false")
        self.kill_driver("--controller")
        for name in names:
            self.wait_config("delete", name)
        self.assertEqual(self.documents(), {})
