"""
Declared documents, from the command line: applied, described, changed, tried, deleted.
"""

import json
import os
import subprocess
import threading
import urllib.parse

import program
from case import ServiceCase

POLICY = """\
# what databases want
apiVersion: cstor.openebs.io/v1
kind: CStorVolumePolicy
metadata:
  name: {name}
  labels: {{disk: ssd}}
spec:
  target:
    luWorkers: {workers}
    queueDepth: 64
  replica:
    compression: on
---
"""

CONFIG = """\
apiVersion: cstor.openebs.io/v1
kind: CStorVolumeConfig
metadata:
  name: {name}
spec:
  capacity:
    storage: {size}
  provision:
    replicaCount: 3
    capacity:
      storage: 10Gi
"""


class Documents(ServiceCase):
    options = ("--compute_agent.enabled=false", "--osapi_max_limit=25")

    def port(self):
        return urllib.parse.urlsplit(self.service.endpoint).port

    def manage(self, *words, text=None):
        """The status and the output; the API is found by the configuration."""
        result = subprocess.run(
            [program.BINARY, "manage", *words, f"--osapi_volume_listen_port={self.port()}"],
            input=text, capture_output=True, text=True, timeout=60, check=False)
        return result.returncode, result.stdout + result.stderr

    def done(self, *words, text=None):
        status, output = self.manage(*words, text=text)
        self.assertEqual(status, 0, output)
        return output

    def refused(self, reason, *words, text=None):
        status, output = self.manage(*words, text=text)
        self.assertEqual(status, 1, output)
        self.assertIn(reason, output)

    def test_a_file_may_be_applied_repeatedly(self):
        path = os.path.join(self.directory, "policies.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(POLICY.format(name="one", workers=2) + POLICY.format(name="two", workers=3))
        self.assertEqual(self.done("apply", "-f", path),
                         "CStorVolumePolicy/one created\nCStorVolumePolicy/two created\n")
        self.assertEqual(self.done("apply", "--file", path),
                         "CStorVolumePolicy/one unchanged\nCStorVolumePolicy/two unchanged\n")
        self.assertEqual(
            self.done("apply", "-f", "-", text=POLICY.format(name="two", workers=4)),
            "CStorVolumePolicy/two configured\n")
        listed = json.loads(self.done("get", "volume_policies", "--format", "json"))
        self.assertEqual(sorted((row["metadata"]["name"], row["spec"]["target"]["luWorkers"],
                                 row["spec"]["replica"]["compression"]) for row in listed),
                         [("one", 2, "on"), ("two", 4, "on")])
        two = json.loads(self.done("get", "cvp", "two", "--format=json"))
        self.assertEqual(two["metadata"]["name"], "two")
        self.assertIn("queueDepth: 64", self.done("describe", "cvp", "two"))
        for name in ("one", "two"):
            self.assertEqual(self.done("delete", "cvp", name),
                             f"CStorVolumePolicy/{name} deleted\n")
        self.refused("Volume policy one could not be found", "get", "cvp", "one")

    def test_a_dry_run_reports_and_changes_nothing(self):
        text = POLICY.format(name="tried", workers=2)
        output = self.done("apply", "-f", "-", "--dry-run", text=text)
        self.assertTrue(output.startswith("CStorVolumePolicy/tried would be created\n"), output)
        self.assertEqual(json.loads(self.done("get", "cvp", "--format=json")), [])
        self.done("apply", "-f", "-", text=text)
        self.assertEqual(
            self.done("apply", "-f", "-", "--dry-run", text=POLICY.format(name="tried", workers=5)),
            "CStorVolumePolicy/tried would be configured\n  spec.target.luWorkers: 2 -> 5\n")
        self.assertIn("would be deleted", self.done("delete", "cvp", "tried", "--dry-run"))
        self.assertIn("luWorkers: 2", self.done("describe", "cvp", "tried"))
        self.done("delete", "cvp", "tried")

    def test_a_config_is_described_with_its_volume(self):
        output = self.done("apply", "-f", "-", text=CONFIG.format(name="db", size="10Gi"))
        self.assertEqual(output, "CStorVolumeConfig/db created\n")
        self.assertEqual(self.done("apply", "-f", "-", text=CONFIG.format(name="db", size="10Gi")),
                         "CStorVolumeConfig/db unchanged\n")
        self.refused("spec.capacity.storage can only grow: it is 10Gi.",
                     "apply", "-f", "-", text=CONFIG.format(name="db", size="1Gi"))
        self.assertIn("  storage: 10Gi\n", self.done("describe", "cvc", "db"))
        self.assertRegex(self.done("get", "cvc"), r"(?m)^db +Pending +10Gi ")
        for kind in ("replicated_volumes", "cvr"):
            self.assertEqual(json.loads(self.done("get", kind, "--format=json")), [])
            self.refused("the service makes and removes them by itself", "delete", kind, "db")
        self.refused("volume_replicas: the service makes and removes them by itself", "apply",
                     "-f", "-", text="kind: CStorVolumeReplica\nmetadata: {name: x}\nspec: {}\n")
        self.assertEqual(self.done("delete", "cvc", "db"), "CStorVolumeConfig/db deleted\n")

    def test_control_characters_of_other_clients_reach_no_terminal(self):
        text = "a\x1b[2J\u009b1m\x7f\n\u00e9"
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": "loud", "annotations": {"a": text}},
            "spec": {"capacity": {"storage": "1Gi"}, "provision": {"replicaCount": 1}},
            "versionDetails": {text: [text]}}})
        described = self.done("describe", "cvc", "loud")
        self.assertIn("a?[2J?1m??\u00e9", described)
        for output in (self.done("get", "cvc"), described):
            self.assertFalse(any(c != "\n" and (c < " " or "\x7f" <= c <= "\x9f") for c in output),
                             repr(output))
        self.done("delete", "cvc", "loud")

    def test_concurrent_edits_by_version_lose_nothing(self):
        self.done("apply", "-f", "-", text=CONFIG.format(name="race", size="10Gi"))
        done = []

        def edit():
            api = self.connect()
            for _ in range(10):
                config = api.ask("GET", "/volume_configs/race")["volume_config"]["metadata"]
                number = int(config["annotations"].get("n", 0)) + 1
                answer = api.call("PATCH", "/volume_configs/race", {"volume_config": {"metadata": {
                    "resourceVersion": config["resourceVersion"],
                    "annotations": {"n": str(number)}}}})
                done.append(answer.status)

        threads = [threading.Thread(target=edit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(done) - {200, 409}, set())
        config = self.api.ask("GET", "/volume_configs/race")["volume_config"]
        self.assertEqual(int(config["metadata"]["annotations"]["n"]), done.count(200))
        self.done("delete", "cvc", "race")

    def test_pools_are_described_as_reported_by_their_nodes(self):
        self.api.ask("PUT", "/replica_pools/pool-a", {"replica_pool": {
            "node": "host-a", "path": "/pools/a", "total_bytes": 2000, "free_bytes": 1000}})
        self.assertRegex(self.done("get", "replica_pools"),
                         r"(?m)^pool-a +host-a +Online +1000 +2000 +/pools/a$")
        self.assertIn("free_bytes: 1000\n", self.done("describe", "rp", "pool-a"))
        self.assertEqual(self.done("delete", "rp", "pool-a"), "ReplicaPool/pool-a deleted\n")
        self.assertEqual(json.loads(self.done("get", "rp", "--format=json")), [])

    def test_a_list_has_more_than_a_page(self):
        text = "".join(POLICY.format(name=f"many-{i}", workers=1) for i in range(60))
        self.assertEqual(self.done("apply", "-f", "-", text=text).count(" created"), 60)
        listed = json.loads(self.done("get", "cvp", "--format=json"))
        self.assertEqual(len({row["metadata"]["name"] for row in listed}), 60)
        for row in listed:
            self.api.ask("DELETE", f"/volume_policies/{row['metadata']['uid']}")

    def test_errors_name_their_place(self):
        for reason, text in (
                ("spec.target: 'luWorker' is not a known field; did you mean luWorkers?",
                 POLICY.format(name="bad", workers=1).replace("luWorkers", "luWorker")),
                ("line 2, column 4: aliases are not understood", "a: 1\nb: *a\n"),
                ("there is no document", "---\n"),
                ("metadata.name is missing", "kind: CStorVolumePolicy\nspec: {}\n"),
                ('no such kind "Pod"', "kind: Pod\nmetadata: {name: x}\n")):
            self.refused(reason, "apply", "-f", "-", text=text)
        self.refused("no file given", "apply")
        self.refused("No such file", "apply", "-f", os.path.join(self.directory, "nothing"))
        self.refused('no such kind "pods"', "get", "pods")
        self.refused("no name given", "delete", "cvp")
        self.assertEqual(json.loads(self.done("get", "cvp", "--format=json")), [])
