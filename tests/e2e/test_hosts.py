"""
A declared volume whose replicas are at three nodes, reached over TLS: written to while services,
daemons and whole nodes die in turn, taken over from a node that stands still and wakes up again.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import tempfile
import uuid

import program
from block_storage import until
from certificates import Certificates
from nbd import BLOCK, Disk, Gone
from ports import free_ports
from test_provisioning import MIB, POOLS, DeclaredCase

BLOCKS = range(0, 64 * MIB // BLOCK, 512)
HOSTS = ("host-a", "host-b", "host-c")


class Hosts(DeclaredCase):
    """Agents of three nodes with a pool each, and a service without any."""

    @classmethod
    def more_options(cls):
        return ("--replica_pool_down_time=5", "--target_takeover_time=12",
                "--document_resync_interval=1")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = os.path.join(cls.place, "certificates")
        os.mkdir(directory)
        cls.certificates = Certificates(directory)
        cls.certificates.revoke()
        cls.ports = free_ports(len(HOSTS))

    def setUp(self):
        super().setUp()
        self.agents = [self.agent(i) for i in range(len(HOSTS))]

    def agent(self, i):
        agent = program.role(
            self.place, HOSTS[i], "storage",
            f"--storage.volume_endpoint={self.service.endpoint}",
            "--storage.heartbeat_interval=1", "--storage.daemon_timeout=8",
            f"--storage.listen=127.0.0.1:{self.ports[i]}", "--storage.replica_ports=9000-9999",
            f"--storage.cert_file={self.certificates.path('server.pem')}",
            f"--storage.key_file={self.certificates.path('server.key')}",
            f"--storage.ca_file={self.certificates.path('ca.pem')}",
            f"--storage.crl_file={self.certificates.path('crl.pem')}",
            *self.storage(f"run-{i}", POOLS[i]))
        self.addCleanup(agent.kill)
        return agent.start()

    def stop_agents(self):
        for agent in self.agents:
            self.assertEqual(agent.stop(), 0)

    # ---- processes of a node ----

    def daemons(self, i):
        """Pids of the storage daemons of a node, by the names of their directories."""
        run = self.path(f"run-{i}")
        found = {name: program.daemon_of(os.path.join(run, name)) for name in os.listdir(run)}
        return {name: pid for name, pid in found.items() if pid}

    def sessions(self, i):
        return {name: pid for name, pid in self.daemons(i).items() if name.startswith("s")}

    def modes(self, name):
        return {replica["poolName"]: replica["mode"]
                for replica in self.volume_of(name)["status"].get("replicaStatuses", [])}

    def impostor(self, run, **pools):
        """A storage agent with host-a's name, another run directory and these pools."""
        agent = program.role(
            self.place, run, "storage", "--storage.node=host-a",
            f"--storage.volume_endpoint={self.service.endpoint}", "--storage.heartbeat_interval=1",
            f"--storage.enabled_pools={','.join(pool.replace('_', '-') for pool in pools)}",
            f"--storage.run_directory={self.path(run)}",
            *(f"--{pool.replace('_', '-')}.path={path}" for pool, path in pools.items()))
        self.addCleanup(agent.kill)
        return agent

    def signal_node(self, i, number):
        """All that runs there. An agent that continues may end its daemons before they do."""
        gone = (ProcessLookupError,) if number == signal.SIGCONT else ()
        for pid in (self.agents[i].process.pid, *self.daemons(i).values()):
            with contextlib.suppress(*gone):
                os.kill(pid, number)

    # ---- tests ----

    def test_replicas_of_other_nodes_are_added_and_removed(self):
        self.declare("far")
        disk = self.publish("far", "host-a")
        self.assertEqual([len(self.sessions(i)) for i in range(3)], [0, 1, 1])
        disk.write(BLOCKS)

        self.agents[1].kill()  # its session serves on
        disk.write(BLOCKS)
        self.assertEqual(len(self.sessions(1)), 1)
        for pid in self.sessions(1).values():  # and now the whole node has gone
            os.kill(pid, signal.SIGKILL)
        disk.write(BLOCKS)
        disk.check()
        until(lambda: self.modes("far")["pool-b"] != "Healthy", 60, "a replica less")
        disk.write(BLOCKS)
        self.agents[1].start()
        self.await_phase("far", "Healthy", "host-a")

        for pid in self.sessions(2).values():  # so the rebuilt replica has all that counts
            os.kill(pid, signal.SIGKILL)
        disk.write(BLOCKS)
        disk.check()
        self.await_phase("far", "Healthy", "host-a")

        least, most = disk.least, disk.most
        disk.close()
        self.change("far", publish={"nodeId": "host-b"})
        disk = self.publish("far", "host-b")
        disk.least, disk.most = least, most
        disk.check()
        self.assertEqual([len(self.sessions(i)) for i in range(3)], [1, 0, 1])
        self.end("far", disk)
        self.stop_agents()

    def test_a_suspended_node_loses_the_volume(self):
        self.declare("near")
        old = self.publish("near", "host-a")
        old.write(BLOCKS)
        epoch = self.volume_of("near")["spec"]["epoch"]
        self.signal_node(0, signal.SIGSTOP)
        try:
            disk = self.publish_degraded("near", "host-b")
            disk.least, disk.most = dict(old.least), dict(old.most)
            disk.check()
            disk.write(BLOCKS)
            self.assertGreater(self.volume_of("near")["spec"]["epoch"], epoch)
        finally:
            self.signal_node(0, signal.SIGCONT)
        with self.assertRaises((Gone, OSError)):  # whatever the status: nothing is written there
            old.write(BLOCKS)
        disk.check()
        disk.write(BLOCKS)
        uid = self.volume_of("near")["metadata"]["uid"]
        until(lambda: uid not in os.listdir(self.path("run-0")), 60, "the old target to end")
        self.await_phase("near", "Healthy", "host-b")
        disk.check()
        for pid in self.sessions(2).values():  # the replaced replica has everything
            os.kill(pid, signal.SIGKILL)
        disk.check()
        reasons = [event["reason"] for event in
                   self.api.ask("GET", "/volume_configs/near/events")["events"]]
        self.assertIn("TakenOver", reasons)
        self.end("near", disk)
        self.stop_agents()

    def files(self):
        return [os.path.join(self.path(POOLS[i]), uid, "data") for i in range(len(HOSTS))
                for uid in os.listdir(self.path(POOLS[i])) if not uid.startswith("scoria-pool")]

    def used(self):
        return sum(os.stat(path).st_blocks * 512 for path in self.files())

    def take_space(self):
        """Blocks that hold nothing, behind all that was written."""
        for path in self.files():
            with open(path, "r+b") as data:
                os.posix_fallocate(data.fileno(), 512 * MIB, 256 * MIB)

    def reclaim(self, name, request):
        """Until something of it has come back."""
        self.take_space()
        before = self.used()
        self.change(name, spec={"reclaim": {"request": request}})
        until(lambda: self.used() < before, 60, "room")

    def reclaimed(self, name):
        def ended():
            reclaim = self.config(name)["status"]["reclaim"]
            return reclaim["phase"] != "Pending" and reclaim
        return until(ended, 120, "an end of giving back room")

    def unpublish(self, name, disk):
        disk.close()
        self.change(name, publish={"nodeId": ""})
        until(lambda: "target" not in self.volume_of(name)["status"], 60, "the target to end")

    def test_space_is_reclaimed_on_each_node_and_a_publish_cancels_it(self):
        self.declare("room", size="1Gi")
        disk = self.publish("room", "host-a")
        disk.write(BLOCKS)
        for node in ("host-b", "host-a", "host-c"):
            least, most = disk.least, disk.most
            self.unpublish("room", disk)
            self.reclaim("room", node)
            disk = self.publish("room", node)
            self.assertIn(self.reclaimed("room")["phase"], ("Stopped", "Done"))
            disk.least, disk.most = least, most
            disk.check()
            disk.write(BLOCKS)
            self.assertEqual(set(self.modes("room").values()), {"Healthy"})
        least, most = disk.least, disk.most
        self.unpublish("room", disk)

        os.kill(self.agents[1].process.pid, signal.SIGSTOP)
        try:
            self.reclaim("room", "without one")
            ended = self.reclaimed("room")
            self.assertEqual((ended["phase"], "pool-b (unreachable)" in ended["message"]), ("Done", True))
        finally:
            os.kill(self.agents[1].process.pid, signal.SIGCONT)
        until(lambda: all(pool["up"] for pool in self.api.ask("GET", "/replica_pools")[
            "replica_pools"]), 60, "the node to be back")
        self.reclaim("room", "all")
        ended = self.reclaimed("room")
        self.assertEqual((ended["phase"], ended["afterBytes"]), ("Done", self.used()))
        self.assertLess(self.used(), 3 * 80 * MIB)
        disk = self.publish("room", "host-a")
        disk.least, disk.most = least, most
        disk.check()
        self.end("room", disk)
        self.stop_agents()

    def publish_degraded(self, name, node):
        self.change(name, publish={"nodeId": node})
        def served():
            target = self.volume_of(name)["status"].get("target", {})
            return target.get("address") if target.get("nodeId") == node else None
        disk = Disk(until(served, 120, f"{node} to serve {name}").partition("socket=")[2])
        self.addCleanup(disk.close)
        return disk.connected()

    def test_a_second_agent_of_a_node_name_changes_nothing(self):
        self.declare("one")
        disk = self.publish("one", "host-a")
        disk.write(BLOCKS)
        daemons = self.daemons(0)

        # On the pools of the first one: refused when it starts.
        with self.assertRaisesRegex(program.NotStarted,
                                    "pool-a is in use by another storage agent"):
            self.impostor("same", pool_a=self.path("pool-a")).start()
        # With directories of its own: it has no volume and reports none.
        os.makedirs(self.path("cloned-pool"))
        cloned = self.impostor("cloned", pool_a=self.path("cloned-pool")).start()
        until(lambda: "belongs to another storage agent" in cloned.log() and
              "pool heartbeat failed" in cloned.log(), 60, "the second agent to be refused")
        # The first one is killed and started again meanwhile, and adopts its daemons.
        self.agents[0].kill()
        self.agents[0] = self.agent(0)
        disk.write(BLOCKS)
        self.assertEqual(self.volume_of("one")["status"]["phase"], "Healthy")
        self.assertEqual(set(self.modes("one").values()), {"Healthy"})
        self.assertEqual(self.daemons(0), daemons)
        self.assertEqual(os.listdir(self.path("cloned-pool")), [])
        pool = self.api.ask("GET", "/replica_pools/pool-a")["replica_pool"]
        self.assertEqual((pool["path"], pool["state"], pool["up"]),
                         (self.path("pool-a"), "Online", True))
        self.assertEqual(cloned.stop(), 0)
        disk.check()
        self.end("one", disk)
        self.stop_agents()

    def test_unauthenticated_clients_reach_nothing(self):
        self.declare("closed")
        disk = self.publish("closed", "host-a")
        disk.write(BLOCKS)
        volume = self.volume_of("closed")
        replica = next(replica for replica in volume["spec"]["replicas"]
                       if replica["poolName"] == "pool-b")
        good = {"volume": volume["metadata"]["uid"], "epoch": 2}

        directory = tempfile.mkdtemp(dir=self.place)
        self.addCleanup(shutil.rmtree, directory)
        foreign = Certificates(directory)
        for context in (self.certificates.context(), self.foreign_context(foreign)):
            try:
                self.assertEqual(self.request_node(context, replica["uid"], "open", good), 403)
            except (ssl.SSLError, OSError, http.client.HTTPException):
                pass
        node = self.certificates.context("client")
        self.assertEqual(self.request_node(node, str(uuid.uuid4()), "open", good), 404)
        self.assertEqual(self.request_node(node, replica["uid"], "open", {**good, "epoch": 0}), 400)
        self.assertEqual(self.request_node(node, replica["uid"], "open", {
            **good, "volume": str(uuid.uuid4())}), 404)
        self.assertEqual(self.request_node(node, replica["uid"], "open", {
            **good, "pool": "/etc"}), 400)
        self.assertEqual(self.request_node(node, replica["uid"], "open", "x" * 200000), 413)
        self.certificates.make("former")
        former = self.certificates.context("former")
        self.assertEqual(self.request_node(former, replica["uid"], "open", {**good, "epoch": 0}), 400)
        self.certificates.revoke("former")
        with self.assertRaises((OSError, http.client.HTTPException)):
            self.request_node(former, replica["uid"], "open", {**good, "epoch": 0})
        self.assertEqual(self.modes("closed")["pool-b"], "Healthy")
        disk.write(BLOCKS)

        # The later node of the volume excludes the earlier one.
        sessions = self.sessions(1)
        disk.close()
        self.change("closed", publish={"nodeId": "host-c"})
        disk = self.publish("closed", "host-c")
        self.assertEqual(self.request_node(node, replica["uid"], "open", {**good, "epoch": 1}), 409)
        self.assertEqual(self.request_node(node, replica["uid"], "close", {"epoch": 1}), 200)
        self.assertNotEqual(self.sessions(1), sessions)
        disk.write(BLOCKS)
        disk.check()
        self.assertEqual(self.modes("closed")["pool-b"], "Healthy")
        self.end("closed", disk)
        self.stop_agents()

    def foreign_context(self, foreign):
        """Of a client that trusts our authority and has a certificate of another."""
        context = self.certificates.context()
        context.load_cert_chain(foreign.path("client.pem"), foreign.path("client.key"))
        return context

    def request_node(self, context, uid, call, body):
        """Of host-b: the status."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.ports[1], context=context,
                                                 timeout=60)
        try:
            connection.request("POST", f"/v1/replicas/{uid}/{call}",
                               body if isinstance(body, str) else json.dumps(body),
                               {"Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()
