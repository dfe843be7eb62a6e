"""
Replicas that go to other pools, with an agent for each node: pools that are drained while clients
write and everything is killed in turn, and replicas whose pools stay away.
"""

import glob
import hashlib
import os
import shutil
import signal
import subprocess
import time

import program
from block_storage import until
from nbd import BLOCK, Gone
from ports import free_port
from test_provisioning import MIB, DeclaredCase

DATA = range(0, 16 * MIB // BLOCK)  # without a hole: its rebuild takes its time
NODES = {"pool-a": "host-a", "pool-b": "host-b", "pool-c": "host-c", "pool-d": "host-d",
         "pool-e": "host-e", "pool-f": "host-a"}
AWAY_S = 4  # autoReplaceSeconds of a replica that is replaced soon


class Replacement(DeclaredCase):
    """Nodes reach all pools by their paths, so host-a serves whatever is there."""

    pools = tuple(NODES)

    @classmethod
    def setUpClass(cls):
        cls.listen = f"127.0.0.1:{free_port()}"  # also after the service was killed
        super().setUpClass()

    @classmethod
    def more_options(cls):
        return ("--replica_pool_down_time=3", "--document_resync_interval=1",
                "--replica_replacements=1")

    def setUp(self):
        super().setUp()
        self.agents = {node: self.agent(node) for node in dict.fromkeys(NODES.values())}

    def agent(self, node):
        agent = program.role(self.place, node, "storage",
                             f"--storage.volume_endpoint={self.service.endpoint}",
                             "--storage.heartbeat_interval=1", "--storage.rebuild_speed=8",
                             *self.storage(f"run-{node}", *(pool for pool, at in NODES.items()
                                                            if at == node)))
        self.addCleanup(agent.kill)
        return agent.start()

    def finish(self, *volumes):
        """Each with its client."""
        for name, disk in volumes:
            if disk:
                self.end(name, disk)
            else:
                self.api.ask("DELETE", f"/volume_configs/{name}")
                until(lambda gone=name: gone not in [
                    row["metadata"]["name"] for row in
                    self.api.ask("GET", "/volume_configs")["volume_configs"]], 60, "its end")
        for agent in self.agents.values():
            self.assertEqual(agent.stop(), 0)

    # ---- state ----

    def places(self, name):
        return sorted(self.config(name)["status"]["poolInfo"])

    def moved(self, name, places):
        def there():
            status = self.config(name)["status"]
            return status["phase"] == "Bound" and sorted(status["poolInfo"]) == sorted(places)
        until(there, 120, f"{name} on {places}")

    def contents(self, name):
        """Digests of its replicas, the only ones on their pools."""
        found = set()
        for pool in self.places(name):
            [path] = glob.glob(self.path(f"{pool}/*/data"))
            with open(path, "rb") as data:
                found.add(hashlib.sha256(data.read(64 * MIB)).hexdigest())
        return found

    def replacement(self, name):
        return self.config(name)["status"].get("replacement")

    def write(self, disk):
        """As a client that connects again, and repeats unanswered requests."""
        try:
            disk.write(DATA[::64])
        except Gone:
            disk.connected()

    def write_until(self, disk, happened, what):
        def look():
            self.write(disk)
            return happened()
        until(look, 180, what)

    def drain(self, pool, *words):
        command = subprocess.Popen([program.BINARY, "manage", "drain", pool, *words,
                                    f"--api={self.service.endpoint}"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        return command

    def published(self, name, pools):
        self.declare(name, len(pools), pools=pools)
        disk = self.publish(name, "host-a")
        disk.write(DATA)
        return disk

    # ---- pools that are drained ----

    def test_a_drain_moves_replicas_one_by_one_whatever_is_killed(self):
        disk = self.published("first", ("pool-a", "pool-b", "pool-c"))
        self.declare("second", 2, pools=("pool-a", "pool-b"))  # which no node serves
        command = self.drain("pool-b")
        self.assertRegex(command.stdout.readline(),
                         r"^pool pool-b is drained: 2 replicas left, \d+\.\d of \d+\.\d MiB moved")
        self.write_until(disk, lambda: self.replacement("first") or self.replacement("second"),
                         "a replacement")
        command.send_signal(signal.SIGINT)  # the service does it all the same
        command.wait()

        self.agents["host-a"].kill()
        self.write(disk)
        self.agents["host-a"].start()
        self.service.kill()  # the controller
        self.write(disk)
        self.restarted()
        self.agents["host-b"].kill()
        self.write(disk)
        self.agents["host-b"].start()

        command = self.drain("pool-b")
        self.write_until(disk, lambda: command.poll() is not None, "the end of the drain")
        lines = command.stdout.read().splitlines()
        self.assertEqual((command.returncode, lines[-1]),
                         (0, "pool pool-b is drained: 0 replicas left"))
        for name in ("first", "second"):
            self.write_until(disk, lambda of=name: self.config(of)["status"]["phase"] == "Bound",
                             f"{name} to be Bound")
            self.assertNotIn("pool-b", self.places(name))
            self.assertIn("ReplacementFinished", self.reasons(name))
        self.assertEqual(len(set(NODES[pool] for pool in self.places("first"))), 3)
        disk.connected().check()
        self.assertEqual(self.drain("pool-b", "--stop").wait(60), 0)
        self.finish(("first", disk), ("second", None))

    def test_a_stopped_drain_leaves_the_replica_in_place(self):
        disk = self.published("stays", ("pool-a", "pool-b", "pool-c"))
        command = self.drain("pool-c")
        self.write_until(disk, lambda: self.replacement("stays"), "a replacement")
        self.assertEqual(self.drain("pool-c", "--stop").wait(60), 0)
        self.assertEqual(command.wait(60), 1)
        self.assertIn("pool pool-c is no longer draining", command.stdout.read())
        self.write_until(disk, lambda: not self.replacement("stays"), "its end")
        self.moved("stays", ("pool-a", "pool-b", "pool-c"))
        self.assertIn("ReplacementCancelled", self.reasons("stays"))
        self.await_phase("stays", "Healthy", "host-a")
        disk.connected().check()
        self.finish(("stays", disk))

    # ---- pools that stay away ----

    def replace_after(self, name, seconds):
        self.change(name, spec={"policy": {"replica": {"autoReplaceSeconds": seconds}}})

    def take_away(self, pool):
        """The node and its disk."""
        self.agents[NODES[pool]].kill()
        os.rename(self.path(pool), self.path(f"{pool}.away"))

    def bring_back(self, pool):
        os.rename(self.path(f"{pool}.away"), self.path(pool))
        self.agents[NODES[pool]].start()

    def test_a_replica_of_a_missing_pool_is_replaced_apart_from_the_others(self):
        places = ("pool-a", "pool-b", "pool-c")
        soon, never = self.published("soon", places), self.published("never", places)
        self.replace_after("soon", AWAY_S)
        self.replace_after("never", 0)
        self.take_away("pool-c")
        self.write_until(soon, lambda: "ReplacementFinished" in self.reasons("soon"),
                         "a replacement")
        new = set(self.places("soon")) - {*places}
        self.assertLessEqual(new, {"pool-d", "pool-e"})  # pool-f is of a node with a replica
        self.await_phase("soon", "Healthy", "host-a")
        soon.connected().check()
        self.assertNotIn("ReplacementStarted", self.reasons("never"))
        self.assertEqual(self.places("never"), sorted(places))

        self.bring_back("pool-c")  # its data of the one goes, and of the other is rebuilt
        self.moved("soon", ("pool-a", "pool-b", *new))
        self.await_phase("never", "Healthy", "host-a")
        never.connected().check()
        self.finish(("soon", soon), ("never", never))

    def test_no_replica_is_replaced_while_half_of_the_pools_are_missing(self):
        disk = self.published("outage", ("pool-a", "pool-b", "pool-c"))
        self.replace_after("outage", AWAY_S)
        for pool in ("pool-c", "pool-d", "pool-e"):
            self.take_away(pool)
        self.await_phase("outage", "Degraded", "host-a")
        for _ in range(2 * AWAY_S + 4):
            time.sleep(1)
            self.write(disk)
        self.assertNotIn("ReplacementStarted", self.reasons("outage"))
        self.bring_back("pool-e")
        self.write_until(disk, lambda: "ReplacementFinished" in self.reasons("outage"),
                         "a replacement")
        self.assertEqual(set(self.places("outage")) - {"pool-c"}, {"pool-a", "pool-b", "pool-e"})
        for pool in ("pool-c", "pool-d"):
            self.bring_back(pool)
        self.moved("outage", ("pool-a", "pool-b", "pool-e"))
        disk.connected().check()
        self.finish(("outage", disk))

    def test_a_replica_goes_elsewhere_when_its_new_pool_is_lost_too(self):
        disk = self.published("twice", ("pool-a", "pool-b", "pool-c"))
        self.replace_after("twice", AWAY_S)
        self.take_away("pool-c")
        self.write_until(disk, lambda: self.replacement("twice"), "a replacement")
        new = self.replacement("twice")["newReplicaId"]
        [lost] = [row["spec"]["poolName"] for row in
                  self.api.ask("GET", "/volume_replicas")["volume_replicas"]
                  if row["metadata"]["uid"] == new]
        self.take_away(lost)
        self.write_until(disk, lambda: "ReplacementFinished" in self.reasons("twice"),
                         "another replacement")
        self.assertIn("ReplacementCancelled", self.reasons("twice"))
        [place] = {"pool-d", "pool-e"} - {lost}
        self.await_phase("twice", "Healthy", "host-a")
        disk.connected().check()
        for pool in ("pool-c", lost):
            self.bring_back(pool)
        self.moved("twice", ("pool-a", "pool-b", place))
        disk.connected().check()
        self.finish(("twice", disk))

    def test_an_agent_that_was_suspended_takes_its_replica_back(self):
        """Meanwhile its disk is missing, and its replica is copied to another pool."""
        places = ("pool-a", "pool-b", "pool-c")
        disk = self.published("suspended", places)
        self.replace_after("suspended", AWAY_S)
        agent = self.agents["host-c"]
        program.stop_and_wait(agent.process.pid)
        os.rename(self.path("pool-c"), self.path("pool-c.away"))
        self.write_until(disk, lambda: self.replacement("suspended"), "a replacement")
        os.rename(self.path("pool-c.away"), self.path("pool-c"))
        agent.process.send_signal(signal.SIGCONT)
        self.write_until(disk, lambda: not self.replacement("suspended"), "its end")
        outcome = {"ReplacementCancelled", "ReplacementFinished"} & {*self.reasons("suspended")}
        self.assertEqual(len(outcome), 1)
        if outcome == {"ReplacementCancelled"}:
            self.moved("suspended", places)
        else:
            until(lambda: self.config("suspended")["status"]["phase"] == "Bound"
                  and "pool-c" not in self.places("suspended"), 120, "the replica to go")
        self.await_phase("suspended", "Healthy", "host-a")
        disk.connected().check()
        self.finish(("suspended", disk))

    def test_an_old_copy_of_a_pool_is_rebuilt(self):
        """Its node and the one of the volume die, and it comes back with the content of before."""
        disk = self.published("restored", ("pool-a", "pool-b", "pool-c"))
        subprocess.run(["cp", "-a", self.path("pool-c"), self.path("pool-c.copy")], check=True)
        disk.write(DATA[::16])
        self.take_away("pool-c")
        self.await_phase("restored", "Degraded", "host-a")
        disk.connected().write(DATA[::8])
        shutil.rmtree(self.path("pool-c.away"))
        os.rename(self.path("pool-c.copy"), self.path("pool-c.away"))
        self.bring_back("pool-c")
        self.await_phase("restored", "Healthy", "host-a")
        disk.connected().check()
        self.assertEqual(len(self.contents("restored")), 1)
        self.finish(("restored", disk))
