"""The blocks of docs/provisioning.md and docs/drivers.md that a reader pastes work as the page
promises."""

import json
import os
import re
import threading
import unittest
from xml.etree import ElementTree

import pages
import program
from block_storage import BlockStorage, until
from case import NODE, Workplace
from certificates import Certificates
from clients import run_client
from ports import free_port
from test_provisioning import MARK, POOLS, DeclaredCase

PROVISIONING, DRIVERS = "provisioning.md", "drivers.md"
PASTED = {  # each heading with blocks to paste, and the class that pastes them
    PROVISIONING: {
        "Declared volumes": "Sections",
        "Snapshots, and volumes made of them": "Sections",
        "Reverting to a snapshot": "Sections",
        "Reclaiming space": "Sections",
        "Nodes and pools": "Sections",
        "Too many replicas are lost": "Sections",
        "From the command line": "Sections",
        "Watching": "Sections",
        "In Kubernetes": "tests/conformance/kubernetes",
        "Pools and the agent of a node": "Configurations",
        "Replicas that are replaced": "Sections",
        "From beginning to end": "Page",
        "Several hosts": "Configurations",
    },
    DRIVERS: {
        "file": "Configurations",
        "nfs": "Whole, its options: it needs a server",
        "quobyte": "Whole, its options: it needs a server",
        "replicated": "Configurations",
        "Overlays": "no commands: names of files",
        "Drills": "Configurations",
    },
}


def healthy(table):
    return set(re.findall(r"^(\S+) +Healthy ", table, re.M))


def configurations(page):
    return [block for heading in pages.headings(page) for block in pages.blocks(page, heading)
            if block.startswith("[")]


class Page(Workplace):
    def test_pasted_blocks_work(self):
        place = os.path.join(self.directory, "declared")
        heading = "From beginning to end"
        status, output = pages.paste("".join(pages.blocks(PROVISIONING, heading)), {
            "/var/tmp/declared": place, "8776": str(free_port()),
            "build/plain/scoria": program.BINARY})
        self.assertEqual(status, 0, output)
        self.assertNotIn("verification failed", output)
        self.assertIsNone(pages.missing(pages.shown(PROVISIONING, heading), output), output)
        for was_read in ("67108864/67108864", "33554432/33554432"):
            self.assertIn(f"read {was_read} bytes at offset", output)
        self.assertEqual(healthy(output.rpartition("CStorVolumeConfig/db is Bound\n")[2]),
                         {"db-pool-b", "db-pool-c", "db-pool-d"})
        self.assertIn("\n0 findings\n", output)
        self.assertEqual(re.findall(rf"^{place}/(\S+)$", output, re.M),
                         [f"pool-{pool}/scoria-pool" for pool in "abcd"])
        self.assertFalse(os.path.exists(place))


class Whole(unittest.TestCase):
    def test_each_block_of_a_page_is_pasted_by_a_test(self):
        for page, pasted in PASTED.items():
            self.assertEqual(set(pages.headings(page)), set(pasted), page)

    def test_each_option_of_a_page_is_one_of_the_sample(self):
        sample = os.path.join(program.REPOSITORY, "etc/scoria.conf.sample")
        with open(sample, encoding="utf-8") as file:
            known = set(re.findall(r"^#?(\w+) =", file.read(), re.M))
        for page in PASTED:
            for block in configurations(page):
                self.assertLessEqual(set(re.findall(r"^(\w+) =", block, re.M)), known, page)


class Sections(DeclaredCase):
    """The sections of docs/provisioning.md before its walk from beginning to end."""

    @classmethod
    def more_options(cls):
        return (*cls.storage("run", *POOLS), "--document_resync_interval=1")

    def setUp(self):
        super().setUp()
        until(lambda: len([pool for pool in self.api.ask("GET", "/replica_pools")["replica_pools"]
                           if pool["up"] and pool["state"] == "Online"]) == len(POOLS), 60,
              "all pools to be there")

    def paste(self, text, **words):
        """In a directory of the test, with `scoria` and the address of its service."""
        prelude = f'scoria() {{ "{program.BINARY}" "$@" --api="{self.service.endpoint}"; }}\n'
        words = {"http://127.0.0.1:8776/v3": self.service.endpoint, **words}
        status, output = pages.paste(text, words, prelude, 300, self.directory)
        self.assertEqual(status, 0, output)
        return output

    def section(self, heading, first=0, end=None, **words):
        return self.paste("".join(pages.blocks(PROVISIONING, heading)[first:end]), **words)

    def document(self, path):
        return next(iter(self.api.ask("GET", path).values()))

    def grow(self, name, size):
        self.change(name, spec={"capacity": {"storage": size}})

    def lose_all_but_one(self):
        """The two others of db; its node has checked the remaining ones then."""
        self.change("db", publish={"nodeId": NODE})
        self.await_phase("db", "Healthy")
        for pool in ("pool-b", "pool-c"):
            self.lose(pool)
        self.await_phase("db", "Offline")

    def replace_disks(self):
        for pool in ("pool-b", "pool-c"):
            with open(os.path.join(self.path(pool), MARK), "w", encoding="ascii"):
                pass
        self.await_phase("db", "Healthy")

    def unresponsive_node(self):
        """The uid of a replica that is deleted, of a node that never answers."""
        self.api.ask("PUT", "/replica_pools/pool-far", {"replica_pool": {
            "node": "host-a", "path": "/far", "total_bytes": 1 << 40, "free_bytes": 1 << 40}})
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": "far"}, "spec": {
                "capacity": {"storage": "1Gi"}, "provision": {"replicaCount": 1},
                "policy": {"replicaPoolInfo": [{"poolName": "pool-far"}]}}}})
        until(lambda: self.api.ask("GET", "/volume_configs/far/replicas")["volume_replicas"], 60,
              "a replica")
        self.api.ask("DELETE", "/volume_configs/far")
        return self.document("/volume_replicas/far-pool-far")["metadata"]["uid"]

    def gone(self, collection, name):
        until(lambda: name not in [row["metadata"]["name"] for row in
                                   self.api.ask("GET", f"/{collection}")[collection]], 60,
              f"{name} to go")

    def test_sections_work_from_top_to_bottom(self):
        output = self.section("Declared volumes")
        policy = self.document("/volume_policies/fast")["spec"]
        self.assertEqual(policy["target"]["queueDepth"], "32")
        self.assertTrue(output.endswith("CStorVolumeConfig/db is Bound\n"), output)

        output = self.section("Snapshots, and volumes made of them")
        self.assertIn("CStorVolumeSnapshot/monday is Ready\n", output)
        self.assertIn("CStorVolumeConfig/db-of-monday is Bound\n", output)
        self.section("Reverting to a snapshot")
        self.assertEqual(self.config("db")["status"]["revert"]["request"], "after the upgrade")
        self.section("Reclaiming space")
        self.assertEqual(self.config("db")["status"]["reclaim"]["request"], "november")

        self.section("Nodes and pools", UID=self.unresponsive_node())
        self.gone("volume_configs", "far")
        self.api.ask("DELETE", "/replica_pools/pool-far")

        self.lose_all_but_one()
        output = self.section("Too many replicas are lost")
        self.assertRegex(output, r"(?m)^db-pool-a +\S+ ")
        self.await_phase("db", "Degraded")
        self.replace_disks()

        self.command_line()
        self.watching()

    def command_line(self):
        output = self.section("From the command line")
        for words in ("CStorVolumePolicy/fast would be configured\n"
                      "  spec.target.luWorkers: 6 -> 8\n",
                      "CStorVolumePolicy/fast configured\n", "CStorVolumePolicy/fast deleted\n",
                      "CStorVolumeSnapshot/monday is Ready\n", "\nreplicas:\n", "\nevents:\n"):
            self.assertIn(words, output)
        self.assertIn("\npool-a ", output)
        self.gone("volume_policies", "fast")

    def watching(self):
        """Each of its commands goes on until something happens that the test sees to."""
        watch, commands = pages.blocks(PROVISIONING, "Watching")
        curl, *lines = watch.splitlines()
        number = self.api.ask("GET", "/volume_configs")["metadata"]["resourceVersion"]
        outputs = {}

        def run(key, text):
            outputs[key] = self.paste(text, **{"resourceVersion=42": f"resourceVersion={number}"})

        listed, bound, grown, deleted = commands.splitlines()
        threads = [threading.Thread(target=run, args=row) for row in (
            ("watch", f"timeout 60 {curl} | sed /BOOKMARK/q || true\n"), ("list", f"export -f scoria; "
             f"timeout 5 bash -c '{listed}' || true\n"), ("bound", bound), ("grown", grown))]
        for thread in threads:
            thread.start()
        self.declare("one", 1, "16Mi")
        self.grow("db", "2Gi")
        self.change("db", publish={"nodeId": ""})
        self.api.ask("DELETE", "/volume_configs/one")
        for thread in threads:
            thread.join()
        self.assertEqual(outputs.keys(), {"watch", "list", "bound", "grown"})
        self.assertRegex(outputs["list"], r"(?m)^\S+ +db ")
        kinds = [json.loads(line)["type"] for line in outputs["watch"].splitlines()]
        for line in lines:
            kind = json.loads(line.replace("{…}", "{}").replace("…,", ""))["type"]
            # An event after the creation may show a document as changed alone.
            self.assertIn(kind, {*kinds, "ADDED"}, outputs["watch"])
        self.end_all(deleted)

    def end_all(self, wait):
        for name in ("db-of-monday", "db"):
            until(lambda: "target" not in self.volume_of(name).get("status", {}), 60, "its end")
            if name == "db":
                self.api.ask("DELETE", "/volume_config_snapshots/monday")
                self.gone("volume_config_snapshots", "monday")
            self.api.ask("DELETE", f"/volume_configs/{name}")
            if name == "db":
                self.assertEqual(self.paste(wait), "CStorVolumeConfig/db is gone\n")
            self.gone("volume_configs", name)

    def test_a_pool_is_drained(self):
        self.declare("drained", 1, "16Mi", pools=("pool-a",))
        drain, stop = "".join(pages.blocks(PROVISIONING, "Replicas that are replaced")).splitlines()
        output = self.paste(drain)
        self.assertIn("pool pool-a is drained: 0 replicas left\n", output)
        self.paste(stop)
        self.api.ask("DELETE", "/volume_configs/drained")
        self.gone("volume_configs", "drained")


class Configurations(Workplace):
    """Files that the pages show start the service, with directories of the test in them."""

    def start(self, text, *options, **words):
        for word, other in {"/srv": self.directory, **words}.items():
            text = text.replace(word, other)
        path = os.path.join(self.directory, "scoria.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        service = program.serve(self.state, "--config-file", path, "--compute_agent.enabled=false",
                                f"--host={NODE}", *options)
        self.addCleanup(service.kill)
        service.start()
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        return service, api

    def directories(self, *names):
        for name in names:
            os.mkdir(os.path.join(self.directory, name))

    def pools(self, api, state, count=1):
        def found():
            rows = [row for row in api.ask("GET", "/replica_pools")["replica_pools"]
                    if row["state"] == state]
            return rows if len(rows) == count else None
        return until(found, 60, f"{count} pools {state}")

    def test_volumes_of_a_directory(self):
        self.directories("volumes")
        service, api = self.start(pages.blocks(DRIVERS, "file")[0])
        volume = api.create_available(1)["id"]
        self.assertIn(f"volume-{volume}", os.listdir(os.path.join(self.directory, "volumes")))
        self.assertEqual(service.stop(), 0)

    def test_a_salvage_drill_works(self):
        text = pages.blocks(DRIVERS, "Drills")[0]
        service, api = self.start(text, "--enabled_backends=drill")
        api.create_available(1)
        self.assertEqual(service.stop(), 0)

    def test_replicated_volumes_of_a_type(self):
        self.directories("pool-a", "pool-b", "pool-c")
        text, command, disk, source = pages.blocks(DRIVERS, "replicated")
        service, api = self.start(text, f"--storage.run_directory={self.directory}/run")
        self.pools(api, "Online", 3)
        api.ask("POST", "/volume_policies", {"volume_policy": {"metadata": {"name": "fast"},
                                                               "spec": {}}})
        run_client(["/usr/bin/openstack", "--os-auth-type", "none", "--os-endpoint",
                    service.endpoint, *command.split()[1:]])
        until(lambda: any(pool["capabilities"]["free_capacity_gb"] for pool in api.ask(
            "GET", "/scheduler-stats/get_pools?detail=true")["pools"]), 60, "room")
        volume = api.create_available(1, volume_type="fast")["id"]
        config = api.ask("GET", f"/volume_configs/volume-{volume}")["volume_config"]
        self.assertEqual(sorted(config["status"]["poolInfo"]), ["pool-a", "pool-b", "pool-c"])
        api.delete_and_wait(volume)
        self.assertEqual(service.stop(), 0)
        self.assertEqual(ElementTree.fromstring(disk).find("source/host").get("transport"), "unix")
        self.assertEqual(ElementTree.fromstring(source).get("tls"), "yes")

    def test_a_disk_of_a_pool_is_replaced(self):
        self.directories("pool-a")
        text, touch = pages.blocks(PROVISIONING, "Pools and the agent of a node")
        service, api = self.start(text, f"--storage.run_directory={self.directory}/run")
        self.assertEqual(self.pools(api, "Online")[0]["labels"], {"disk": "ssd"})
        lost = os.path.join(self.directory, "lost")
        os.rename(os.path.join(self.directory, "pool-a"), lost)
        os.mkdir(os.path.join(self.directory, "pool-a"))
        self.pools(api, "Gone")
        status, output = pages.paste(touch, {"/srv": self.directory})
        self.assertEqual(status, 0, output)
        self.pools(api, "Online")
        self.assertEqual(service.stop(), 0)

    def test_a_node_that_listens(self):
        self.directories("pool-a", "certificates")
        directory = os.path.join(self.directory, "certificates")
        Certificates(directory)
        address = f"127.0.0.1:{free_port()}"
        text = pages.blocks(PROVISIONING, "Several hosts")[0]
        service, api = self.start(
            text, f"--storage.run_directory={self.directory}/run",
            f"--pool-a.path={self.directory}/pool-a",
            **{"192.0.2.11:10810": address, "/etc/scoria/node.pem": f"{directory}/server.pem",
               "/etc/scoria/node.key": f"{directory}/server.key",
               "/etc/scoria/nodes-ca.pem": f"{directory}/ca.pem"})
        self.assertEqual(self.pools(api, "Online")[0]["address"], address)
        self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
