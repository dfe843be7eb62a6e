"""
A declared volume from its declaration to its end, with real storage daemons: bound, published,
written to while everything dies in turn, a pool lost and replaced, grown, deleted, and nothing left.
"""

import contextlib
import glob
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import program
from block_storage import until
from case import NODE, ServiceCase
from nbd import BLOCK, Disk, Gone

MIB = 1 << 20
POOLS = ("pool-a", "pool-b", "pool-c")
BLOCKS = range(0, 64 * MIB // BLOCK, 256)
MARK = "scoria-pool"
PROBE = MARK + ".probe"  # there while an agent looks whether the disk takes writes


class DeclaredCase(ServiceCase):
    """Nothing is left of a volume when a test has ended it."""

    options = ("--compute_agent.enabled=false",)
    pools = POOLS

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.addClassCleanup(cls.kill_daemons)
        for pool in cls.pools:
            os.mkdir(cls.path(pool))
        cls.options += cls.more_options()
        super().setUpClass()

    @classmethod
    def more_options(cls):
        return ()

    @classmethod
    def kill_daemons(cls):
        """Those that a failed test has left: they outlive their agent."""
        for path in glob.glob(cls.path("run*/*/daemon")):
            pid = program.daemon_of(os.path.dirname(path))
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        for pool in cls.pools:
            left = {name for name in os.listdir(cls.path(pool)) if name != PROBE}
            assert left == {MARK}, left
        for name in os.listdir(cls.place):
            if name.startswith("run"):
                left = set(os.listdir(cls.path(name))) - {"tls"}
                assert left == {"lock"}, left

    @classmethod
    def path(cls, pool):
        return os.path.join(cls.place, pool)

    @classmethod
    def storage(cls, run, *pools):
        """Options of an agent with these pools."""
        return (f"--storage.enabled_pools={','.join(pools)}",
                f"--storage.run_directory={cls.path(run)}",
                *(f"--{pool}.path={cls.path(pool)}" for pool in pools))

    # ---- requests and state ----

    def config(self, name):
        return self.api.ask("GET", f"/volume_configs/{name}")["volume_config"]

    def change(self, name, **parts):
        self.api.ask("PATCH", f"/volume_configs/{name}", {"volume_config": parts})

    def reasons(self, name):
        return [event["reason"] for event in
                self.api.ask("GET", f"/volume_configs/{name}/events")["events"]]

    def volume_of(self, name):
        return self.api.ask("GET", f"/volume_configs/{name}/volume")["replicated_volume"]

    def declare(self, name, replicas=3, size="64Mi", pools=()):
        policy = {"policy": {"replicaPoolInfo": [{"poolName": pool} for pool in pools]}}
        until(lambda: len([pool for pool in self.api.ask("GET", "/replica_pools")["replica_pools"]
                           if pool["up"] and pool["state"] == "Online"]) == len(self.pools), 60,
              "all pools to be there")
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": name},
            "spec": {"capacity": {"storage": size}, "provision": {"replicaCount": replicas},
                     **(policy if pools else {})}}})
        until(lambda: self.config(name)["status"]["phase"] == "Bound", 60, f"{name} to be Bound")

    def await_phase(self, name, phase, node=NODE):
        def reached():
            status = self.volume_of(name).get("status", {})
            there = status.get("target", {}).get("nodeId") == node
            return status if status.get("phase") == phase and there else None
        return until(reached, 120, f"{name} to be {phase}")

    def publish(self, name, node=NODE):
        """A client of it."""
        self.change(name, publish={"nodeId": node})
        address = self.await_phase(name, "Healthy", node)["target"]["address"]
        disk = Disk(address.partition("socket=")[2])
        self.addCleanup(disk.close)
        return disk.connected()

    def run_of(self, name):
        return os.path.join(self.path("run"), self.volume_of(name)["metadata"]["uid"])

    def daemon(self, name):
        run = self.run_of(name)
        return until(lambda: program.daemon_of(run), 60, "a daemon")

    def lose(self, pool):
        """All that it had: at once, as its agent would put something there again."""
        lost = self.path("lost")
        os.rename(self.path(pool), lost)
        os.mkdir(self.path(pool))
        shutil.rmtree(lost)

    def end(self, name, disk):
        disk.close()
        self.change(name, publish={"nodeId": ""})
        until(lambda: "target" not in self.volume_of(name).get("status", {}), 60,
              "the target to end")
        self.api.ask("DELETE", f"/volume_configs/{name}")
        for collection in ("volume_configs", "replicated_volumes", "volume_replicas"):
            until(lambda which=collection: not [
                document for document in self.api.ask("GET", f"/{which}")[which]
                if document["metadata"]["name"].startswith(name)], 60, f"{collection} to go")

    def restarted(self):
        self.service.start()
        self.api = self.connect()


class Provisioning(DeclaredCase):
    @classmethod
    def more_options(cls):
        return cls.storage("run", *POOLS)

    def test_data_survives_killed_daemons_and_services(self):
        self.declare("survivor")
        disk = self.publish("survivor")
        self.assertEqual(disk.size, 64 * MIB)
        disk.write(BLOCKS)

        os.kill(self.daemon("survivor"), signal.SIGKILL)
        with self.assertRaises(Gone):
            disk.write(BLOCKS)
        disk.connected().check()

        daemon = self.daemon("survivor")
        self.service.kill()  # API, controller and agent: the daemon serves on
        disk.write(BLOCKS)
        self.restarted()
        self.await_phase("survivor", "Healthy")
        disk.write(BLOCKS)
        disk.check()
        self.assertEqual(self.daemon("survivor"), daemon)
        self.assertEqual(self.service.stop(), 0)  # in good order it goes on as well
        disk.write(BLOCKS)
        self.restarted()
        self.await_phase("survivor", "Healthy")
        self.assertEqual(self.daemon("survivor"), daemon)
        disk.check()
        self.end("survivor", disk)

    def test_a_healthy_volume_has_its_socket_after_each_publish(self):
        self.declare("reached")
        uid = self.volume_of("reached")["metadata"]["uid"]
        path = os.path.join(self.path("run"), uid, "nbd")
        for _ in range(3):
            self.change("reached", publish={"nodeId": NODE})
            status, output = self.manage("wait", "replicated_volumes", "reached",
                                       "--for=phase=Healthy")
            self.assertEqual(status, 0, output)
            disk = Disk(path)
            self.assertTrue(disk.connect())
            disk.close()
            self.change("reached", publish={"nodeId": ""})
            until(lambda: "target" not in self.volume_of("reached").get("status", {}), 60,
                  "the target to end")
        self.api.ask("DELETE", "/volume_configs/reached")
        until(lambda: not self.api.ask("GET", "/volume_configs")["volume_configs"], 60, "an end")

    def test_an_id_of_an_ended_daemon_gets_no_signal(self):
        """It may be the id of any other process."""
        run = self.path("run-of-an-ended-one")
        self.addCleanup(shutil.rmtree, run)
        os.makedirs(os.path.join(run, "volume"))
        with subprocess.Popen(["sleep", "600"]) as other:
            with open(os.path.join(run, "volume", "daemon"), "w", encoding="ascii") as file:
                print(other.pid, file=file)
            self.kill_daemons()
            other.terminate()
            self.assertEqual(other.wait(60), -signal.SIGTERM)

    def test_a_published_volume_grows(self):
        self.declare("grower")
        disk = self.publish("grower")
        disk.write(BLOCKS)
        self.change("grower", spec={"capacity": {"storage": "128Mi"}})
        until(lambda: self.config("grower")["status"]["capacity"]["storage"] == "128Mi", 120,
              "the new size")
        self.assertEqual(disk.connected().size, 128 * MIB)
        disk.check()
        disk.write([128 * MIB // BLOCK - 1])
        self.end("grower", disk)

    def test_a_lost_pool_is_rebuilt(self):
        self.declare("loser")
        disk = self.publish("loser")
        disk.write(BLOCKS)
        away = self.path("away")
        os.rename(self.path("pool-b"), away)  # not mounted any more: the directory below is empty
        os.mkdir(self.path("pool-b"))
        status = self.await_phase("loser", "Degraded")
        self.assertEqual([replica["mode"] for replica in status["replicaStatuses"]
                          if replica["poolName"] == "pool-b"], ["Offline"])
        disk.write(BLOCKS)
        disk.check()
        self.assertEqual(os.listdir(self.path("pool-b")), [])

        os.rmdir(self.path("pool-b"))  # it comes back, and is stale
        os.rename(away, self.path("pool-b"))
        self.await_phase("loser", "Healthy")
        disk.write(BLOCKS)

        self.lose("pool-b")  # for good, and a new disk comes in its place
        self.await_phase("loser", "Degraded")
        disk.write(BLOCKS)
        with open(os.path.join(self.path("pool-b"), MARK), "w", encoding="ascii"):
            pass
        self.await_phase("loser", "Healthy")
        disk.check()

        self.lose("pool-a")  # so the rebuilt replica has all that counts
        self.await_phase("loser", "Degraded")
        disk.check()
        with open(os.path.join(self.path("pool-a"), MARK), "w", encoding="ascii"):
            pass
        self.await_phase("loser", "Healthy")
        self.end("loser", disk)

    def manage(self, *words):
        """The status and the output."""
        result = subprocess.run([program.BINARY, "manage", *words,
                                 f"--api={self.service.endpoint}"],
                                capture_output=True, text=True, timeout=60, check=False)
        return result.returncode, result.stdout + result.stderr

    def states(self, pool):
        return [os.path.join(self.path(pool), name, "state") for name in os.listdir(self.path(pool))
                if name not in (MARK, PROBE)]

    def advance(self, pool):
        """Its replica has come further than any that was seen last."""
        for path in self.states(pool):
            with open(path, encoding="ascii") as file:
                state = json.loads(file.readline())
            state["generation"] += 1000
            line = json.dumps(state, separators=(",", ":"))
            with open(path, "w", encoding="ascii") as file:
                file.write(f"{line}\n{hashlib.md5(line.encode()).hexdigest()}\n")

    def data(self, pool):
        """The content of the volume's replica there."""
        with open(os.path.join(os.path.dirname(self.states(pool)[0]), "data"), "rb") as file:
            return file.read(64 * MIB)

    def test_a_salvaged_volume_is_served_from_one_replica(self):
        self.declare("salvaged", 2, pools=("pool-a", "pool-b"))
        disk = self.publish("salvaged")
        disk.write(BLOCKS)
        status, output = self.manage("salvage", "salvaged-pool-a")
        self.assertEqual((status, "nothing is lost" in output), (1, True), output)

        away = self.path("away")
        os.rename(self.path("pool-b"), away)
        os.mkdir(self.path("pool-b"))
        self.await_phase("salvaged", "Offline")  # one is too few, and takes no writes
        status, output = self.manage("salvage", "salvaged-pool-b")
        self.assertEqual((status, "it is offline" in output), (1, True), output)
        status, output = self.manage("salvage", "salvaged-pool-a")
        self.assertEqual(status, 0, output)
        self.service.kill()
        self.restarted()
        self.await_phase("salvaged", "Degraded")
        disk.connected().check()
        disk.write(BLOCKS)
        until(lambda: "what replica salvaged-pool-a holds" in
              self.manage("describe", "volume_configs", "salvaged")[1], 60, "an event")

        os.rmdir(self.path("pool-b"))  # it comes back after all, and knows better
        os.rename(away, self.path("pool-b"))
        self.advance("pool-b")
        self.await_phase("salvaged", "Healthy")
        disk.connected().check()
        disk.write(BLOCKS)

        self.lose("pool-b")  # for good, and a new disk comes in its place
        self.await_phase("salvaged", "Offline")
        status, output = self.manage("salvage", "salvaged-pool-a")
        self.assertEqual(status, 0, output)
        with open(os.path.join(self.path("pool-b"), MARK), "w", encoding="ascii"):
            pass
        self.await_phase("salvaged", "Healthy")
        disk.connected().check()
        disk.write(BLOCKS)
        disk.close()
        self.change("salvaged", publish={"nodeId": ""})
        until(lambda: "target" not in self.volume_of("salvaged").get("status", {}), 60,
              "the target to end")
        self.assertEqual(self.data("pool-a"), self.data("pool-b"))
        self.end("salvaged", disk)

    def test_replicas_are_added_and_removed(self):
        self.declare("scaler", 1, pools=("pool-a",))
        disk = self.publish("scaler")
        disk.write(BLOCKS)
        for pools in (POOLS, ("pool-b", "pool-c"), ("pool-c",)):
            self.change("scaler", spec={"policy": {
                "replicaPoolInfo": [{"poolName": pool} for pool in pools]}})
            until(lambda wanted=pools: sorted(self.config("scaler")["status"]["poolInfo"])
                  == sorted(wanted), 120, f"replicas on {pools}")
            self.await_phase("scaler", "Healthy")
            disk.connected().check()
            disk.write(BLOCKS)
        self.end("scaler", disk)

    def test_reverted_requests_leave_nothing(self):
        """Whatever their requests, in whatever order, and whenever the service dies."""
        faults = []
        clients = [threading.Thread(target=self.be_fickle, args=(random.Random(seed), faults))
                   for seed in range(3)]
        for client in clients:
            client.start()
        for _ in range(2):
            time.sleep(1)
            self.service.kill()
            self.restarted()
        for client in clients:
            client.join()
        self.assertEqual(faults, [])

        def gone():
            configs = self.api.ask("GET", "/volume_configs")["volume_configs"]
            for config in configs:
                path = f"/volume_configs/{config['metadata']['name']}"
                self.api.call("PATCH", path, {"volume_config": {"publish": {"nodeId": ""}}})
                self.api.call("DELETE", path)
            return not configs
        until(gone, 120, "all to go", 0.5)
        for collection in ("replicated_volumes", "volume_replicas"):
            self.assertEqual(self.api.ask("GET", f"/{collection}")[collection], [])

    def be_fickle(self, chance, faults):
        api = self.connect()
        phases = {}
        for _ in range(30):
            name = f"whim-{chance.randrange(3)}"
            pools = chance.sample(POOLS, chance.randrange(4))
            method, part = chance.choice((
                ("POST", {"metadata": {"name": name}, "spec": {
                    "capacity": {"storage": chance.choice(("64Mi", "33554433", "10M"))},
                    "provision": {"replicaCount": chance.choice((1, 3))}}}),
                ("PATCH", {"publish": {"nodeId": chance.choice((NODE, NODE, ""))}}),
                ("PATCH", {"spec": {"capacity": {"storage": f"{chance.randrange(64, 300)}Mi"}}}),
                ("PATCH", {"spec": {"policy": {"target": {"luWorkers": chance.randrange(1, 9)}}}}),
                ("PATCH", {"spec": {"policy": {
                    "replicaPoolInfo": [{"poolName": pool} for pool in pools]}}}),
                ("DELETE", None)))
            try:
                api.call(method, "/volume_configs" + (f"/{name}" if method != "POST" else ""),
                         {"volume_config": part} if part else None)
                answer = api.call("GET", f"/volume_configs/{name}")
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
                api = self.connect()  # it died
                continue
            if answer.status == 200:
                config = answer.body["volume_config"]
                phase, uid = config["status"]["phase"], config["metadata"]["uid"]
                if phase == "Pending" and phases.get(uid, phase) != phase:
                    faults.append(config)
                phases[uid] = phase
            time.sleep(chance.random() / 5)

    def test_a_volume_with_too_few_pools_is_not_created(self):
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": "greedy"},
            "spec": {"capacity": {"storage": "64Mi"}, "provision": {"replicaCount": 5}}}})
        until(lambda: self.api.ask("GET", "/volume_configs/greedy/events")["events"], 60,
              "an event with the reason")
        self.assertEqual(self.config("greedy")["status"]["phase"], "Pending")
        self.api.ask("DELETE", "/volume_configs/greedy")
        until(lambda: not self.api.ask("GET", "/volume_configs")["volume_configs"], 60, "an end")


class Nodes(DeclaredCase):
    """Agents of two nodes, whose pools both reach by their paths, and a service without any."""

    def setUp(self):
        super().setUp()
        self.agents = [self.agent("node-1", "run-1", "pool-a", "pool-b"),
                       self.agent("node-2", "run-2", "pool-c")]

    def agent(self, node, run, *pools):
        agent = program.role(self.place, node, "storage",
                             f"--storage.volume_endpoint={self.service.endpoint}",
                             *self.storage(run, *pools))
        self.addCleanup(agent.kill)
        return agent.start()

    def test_a_volume_moves_from_node_to_node(self):
        self.declare("mover")
        disk = self.publish("mover", "node-1")
        disk.write(BLOCKS)
        for node in ("node-2", "node-1"):
            disk.close()
            versions = disk.least, disk.most
            self.change("mover", publish={"nodeId": ""})
            disk = self.publish("mover", node)
            disk.least, disk.most = versions
            disk.check()
            disk.write(BLOCKS)
        self.agents[1].kill()  # its pool's data are reached all the same
        os.kill(self.agents[0].process.pid, signal.SIGSTOP)
        disk.write(BLOCKS)
        os.kill(self.agents[0].process.pid, signal.SIGCONT)
        self.agents[1].start()
        self.end("mover", disk)
        for agent in self.agents:
            self.assertEqual(agent.stop(), 0)
