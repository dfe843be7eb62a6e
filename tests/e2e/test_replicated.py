"""
Volumes of a type that names a policy: declared, in copies on pools, and volumes as any other for clients
of Block Storage.
"""

import hashlib
import os
import shutil
import signal
import tempfile
import uuid

import program
from block_storage import until
from case import GIB, NODE, DomainCase, ServiceCase
from hypervisor import virsh
from nbd import BLOCK, Disk

POOLS = ("pool-a", "pool-b", "pool-c")
BLOCKS = range(0, GIB // BLOCK, 8192)
ZEROS = 1024  # blocks


def digest(path):
    """Of the written part of a replica's file."""
    with open(path, "rb") as data:
        return hashlib.sha256(data.read(64 << 20)).hexdigest()


def setUpModule():
    DomainCase.start_hypervisor()


def tearDownModule():
    DomainCase.stop_hypervisor()


class ReplicatedCase(ServiceCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        for pool in POOLS:
            os.mkdir(os.path.join(cls.place, pool))
        cls.options += ("--enabled_backends=declared", "--declared.volume_driver=replicated",
                        f"--storage.enabled_pools={','.join(POOLS)}",
                        f"--storage.run_directory={cls.place}/run",
                        *(f"--{pool}.path={cls.place}/{pool}" for pool in POOLS))
        super().setUpClass()
        api = cls.client()
        until(lambda: len([pool for pool in api.ask("GET", "/replica_pools")["replica_pools"]
                           if pool["up"]]) == len(POOLS), 60, "the pools")
        api.close()

    @classmethod
    def tearDownClass(cls):
        # The pools of the backend are known to the API.
        found = program.check(cls.state, f"--host={NODE}", *cls.options,
                              f"--declared.volume_endpoint={cls.service.endpoint}")
        assert not found, f"manage check: {found}"
        assert cls.service.stop() == 0, cls.service.log()[-2000:]
        for pool in POOLS:
            left = set(os.listdir(os.path.join(cls.place, pool))) - {"scoria-pool.probe"}
            assert left == {"scoria-pool"}, (pool, left)

    def setUp(self):
        super().setUp()
        # A pool reports every ten seconds, and there was no capacity before the replica pools came.
        until(lambda: any(pool["capabilities"]["free_capacity_gb"] for pool in self.api.ask(
            "GET", "/scheduler-stats/get_pools?detail=true")["pools"]), 60, "room")

    def type_of(self, **specs):
        name = f"type-{uuid.uuid4().hex[:8]}"
        made = self.api.ask("POST", "/types", {"volume_type": {"name": name, "extra_specs": specs}})
        # The service may have been started again by then.
        self.addCleanup(lambda: self.api.ask("DELETE", f"/types/{made['volume_type']['id']}"))
        return name

    def policy(self, name, **spec):
        self.api.ask("POST", "/volume_policies", {"volume_policy": {
            "metadata": {"name": name}, "spec": spec}})
        self.addCleanup(lambda: self.api.ask("DELETE", f"/volume_policies/{name}"))

    def config(self, volume_id):
        return self.api.ask("GET", f"/volume_configs/volume-{volume_id}")["volume_config"]

    def configs(self):
        return self.api.ask("GET", "/volume_configs")["volume_configs"]

    def published(self, volume_id):
        return self.config(volume_id)["publish"].get("nodeId", "")


class Replicated(ReplicatedCase):
    options = ("--compute_agent.enabled=false",)

    def test_a_type_names_a_policy(self):
        self.policy("two", replicaPoolInfo=[{"poolName": "pool-a"}, {"poolName": "pool-c"}])
        volume_id = self.volume(volume_type=self.type_of(cstorVolumePolicy="two"))
        config = self.config(volume_id)
        self.assertEqual(config["status"]["poolInfo"], ["pool-a", "pool-c"])
        self.assertEqual(config["status"]["capacity"]["storage"], "1Gi")
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "available")
        self.assert_volume(volume_id, "available", 2)
        self.assertEqual(self.config(volume_id)["status"]["capacity"]["storage"], "2Gi")
        self.discard(volume_id)
        self.assertEqual(self.configs(), [])

    def test_a_type_has_a_number_of_replicas(self):
        volume_id = self.volume(volume_type=self.type_of(replicaCount="1"))
        self.assertEqual(len(self.config(volume_id)["status"]["poolInfo"]), 1)
        plain = self.volume()
        self.assertEqual(len(self.config(plain)["status"]["poolInfo"]), 3)

    def test_a_missing_policy_is_an_error_and_leaves_nothing(self):
        volume_id = self.api.create(1, volume_type=self.type_of(cstorVolumePolicy="none"))["id"]
        self.addCleanup(self.discard, volume_id)
        self.api.wait_status(volume_id, "error")
        self.assertEqual(self.configs(), [])
        self.discard(volume_id)

    def test_a_volume_is_served_to_each_attachment(self):
        volume_id = self.volume()
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), NODE)
        info = attachment["connection_info"]
        self.assertEqual((info["driver_volume_type"], info["transport"], info["export"],
                          info["format"]), ("nbd", "unix", "volume", "raw"))
        disk = Disk(info["socket"]).connected()
        self.addCleanup(disk.close)
        self.assertEqual(disk.size, GIB)
        disk.write(BLOCKS)
        self.api.attach_complete(attachment["id"])

        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", 2)
        self.assertEqual(disk.connected().size, 2 * GIB)
        disk.check()
        disk.close()

        self.assertEqual(self.published(volume_id), NODE)
        refused = self.api.call("POST", "/attachments", {"attachment": {
            "volume_uuid": volume_id, "instance_uuid": attachment["instance"],
            "connector": {"host": "another"}}})
        self.assertEqual((refused.status, len(self.api.show(volume_id)["attachments"])), (409, 1))
        self.api.detach(attachment["id"])
        until(lambda: self.published(volume_id) == "", 60, "the end of the connection")
        until(lambda: not os.path.exists(info["socket"]), 60, "the target to end")
        self.assert_volume(volume_id, "available", 2)

        again = self.api.attach(volume_id, str(uuid.uuid4()), NODE)
        disk.path = again["connection_info"]["socket"]
        disk.connected().check()
        disk.close()
        self.api.detach(again["id"])

    def test_unsupported_operations_are_refused(self):
        volume_id = self.volume()
        snapshot_id = self.api.snapshot(volume_id)
        for action, arguments in (("os-extend", {"new_size": 1025}),
                                  ("os-unmanage", None),
                                  ("os-retype", {"new_type": self.type_of(replicaCount="2")}),
                                  ("os-initialize_connection", {"connector": {"host": "no-node"}})):
            answer = self.api.call("POST", f"/volumes/{volume_id}/action", {action: arguments})
            self.assertEqual(answer.status, 400, (action, answer.message))
            self.assert_volume(volume_id, "available", 1)
        self.assertEqual(self.published(volume_id), "")
        self.api.ask("DELETE", f"/snapshots/{snapshot_id}")
        until(lambda: not self.api.snapshots(), 60, "the snapshot to go")

    def serve(self, volume_id):
        """Its attachment, and a client."""
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), NODE)
        self.api.attach_complete(attachment["id"])
        disk = Disk(attachment["connection_info"]["socket"]).connected()
        self.addCleanup(disk.close)
        return attachment["id"], disk

    def assert_holds(self, volume_id, byte):
        attachment_id, disk = self.serve(volume_id)
        self.assertEqual(disk.read(7), bytes([byte]) * BLOCK)
        disk.close()
        self.api.detach(attachment_id)

    def test_snapshots_and_clones(self):
        volume_id = self.volume(volume_type=self.type_of(replicaCount="1"))
        attachment_id, disk = self.serve(volume_id)
        disk.put(7, bytes([1]) * BLOCK)
        below = self.api.snapshot(volume_id)
        disk.put(7, bytes([2]) * BLOCK)
        disk.close()
        self.api.detach(attachment_id)
        until(lambda: self.published(volume_id) == "", 60, "the end of the connection")
        beside = self.api.snapshot(volume_id)
        old = self.volume(snapshot_id=below)
        new = self.volume(size_gb=2, snapshot_id=beside)
        clone = self.volume(source_volid=volume_id)
        for snapshot_id in (below, beside):
            self.api.ask("DELETE", f"/snapshots/{snapshot_id}")
        until(lambda: not self.api.snapshots(), 60, "the snapshots to go")
        self.api.delete_and_wait(volume_id)
        self.assertEqual(self.api.ask("GET", "/volume_config_snapshots")[
            "volume_config_snapshots"], [])
        self.assert_holds(old, 1)
        self.assert_holds(new, 2)
        self.assert_holds(clone, 2)
        self.assert_volume(new, "available", 2)

    def revert(self, volume_id, snapshot_id):
        self.api.ask("POST", f"/volumes/{volume_id}/action",
                     {"revert": {"snapshot_id": snapshot_id}})

    def test_a_revert_survives_kills(self):
        volume_id = self.volume()
        attachment_id, disk = self.serve(volume_id)
        disk.put(7, bytes([1]) * BLOCK)
        disk.put(9, bytes([1]) * BLOCK)
        snapshot_id = self.api.snapshot(volume_id)
        for kills in (False, True):
            disk.put(7, bytes([2]) * BLOCK)
            disk.put(8, bytes([2]) * BLOCK)
            refused = self.api.call("POST", f"/volumes/{volume_id}/action",
                                    {"revert": {"snapshot_id": snapshot_id}})
            self.assertEqual((refused.status, disk.read(7)), (409, bytes([2]) * BLOCK))
            disk.close()
            self.api.detach(attachment_id)
            self.api.wait_status(volume_id, "available")
            self.revert(volume_id, snapshot_id)
            if kills:
                until(lambda: self.config(volume_id)["status"]["revert"]["number"] == 2, 60,
                      "the config to hear of it")
                self.service.kill()
                self.service.start()
                self.api = self.connect()
            self.api.wait_status(volume_id, "available")
            attachment_id, disk = self.serve(volume_id)
            self.assertEqual([disk.read(block)[0] for block in (7, 8, 9)], [1, 0, 1])
        disk.close()
        self.api.detach(attachment_id)
        self.api.wait_status(volume_id, "available")
        self.assertEqual([(one["id"], one["status"]) for one in self.api.snapshots()],
                         [(snapshot_id, "available")])
        self.api.ask("DELETE", f"/snapshots/{snapshot_id}")
        until(lambda: not self.api.snapshots(), 60, "the snapshot to go")

    def files(self, volume_id):
        """The data of its replicas."""
        replicas = self.api.ask("GET", f"/volume_configs/volume-{volume_id}/replicas")
        return [os.path.join(self.place, replica["spec"]["poolName"], replica["metadata"]["uid"],
                             "data") for replica in replicas["volume_replicas"]]

    def used(self, volume_id):
        return sum(os.stat(path).st_blocks * 512 for path in self.files(volume_id))

    def fill(self, volume_id):
        """Two blocks of data, with zeros between them that take space."""
        attachment_id, disk = self.serve(volume_id)
        for block in (0, ZEROS + 1):
            disk.put(block, bytes([block % 255 + 1]) * BLOCK)
        for block in range(1, ZEROS + 1):
            disk.put(block, bytes(BLOCK))
        return attachment_id, disk

    def assert_filled(self, disk):
        for block in (0, ZEROS + 1):
            self.assertEqual(disk.read(block), bytes([block % 255 + 1]) * BLOCK)
        for block in (1, ZEROS):
            self.assertEqual(disk.read(block), bytes(BLOCK))

    def detached(self, volume_id, attachment_id, disk):
        disk.close()
        self.api.detach(attachment_id)
        self.api.wait_status(volume_id, "available")
        until(lambda: self.published(volume_id) == "", 60, "the end of the connection")

    def reclaim(self, volume_id):
        return self.api.call("POST", f"/volumes/{volume_id}/action", {"os-reclaim_space": {}})

    def reclaimed(self, volume_id):
        def last():
            found = self.api.ask("GET", f"/volumes/{volume_id}/reclaim_space")["reclaim_space"]
            return found["finished_at"] and found
        return until(last, 120, "an end of giving back room")

    def test_space_of_a_detached_volume_is_reclaimed(self):
        volume_id = self.volume()
        attachment_id, disk = self.fill(volume_id)
        snapshot_id = self.api.snapshot(volume_id)
        refused = self.reclaim(volume_id)
        self.assertEqual(refused.status, 400, refused.message)
        self.assertIn("detached", refused.message)
        self.assert_filled(disk)
        self.detached(volume_id, attachment_id, disk)

        before = self.used(volume_id)
        sums = [digest(path) for path in self.files(volume_id)]
        self.assertEqual(self.reclaim(volume_id).status, 202)
        last = self.reclaimed(volume_id)
        self.assertEqual((last["status"], last["progress"], last["reason"]), ("done", 100, None))
        self.assertEqual((last["pre_usage"], last["post_usage"]), (before, self.used(volume_id)))
        self.assertGreaterEqual(before - last["post_usage"], 3 * ZEROS * BLOCK * 95 // 100)
        self.assertEqual([digest(path) for path in self.files(volume_id)], sums)
        self.assert_volume(volume_id, "available", 1)
        config = self.config(volume_id)
        self.assertEqual((config["status"]["reclaim"]["phase"], config["status"]["phase"]),
                         ("Done", "Bound"))

        attachment_id, disk = self.serve(volume_id)
        self.assert_filled(disk)
        self.detached(volume_id, attachment_id, disk)
        made = self.volume(snapshot_id=snapshot_id)
        attachment_id, disk = self.serve(made)
        self.assert_filled(disk)
        self.detached(made, attachment_id, disk)
        self.api.ask("DELETE", f"/snapshots/{snapshot_id}")
        until(lambda: not self.api.snapshots(), 60, "the snapshot to go")

    def test_an_attach_takes_precedence_over_a_reclaim(self):
        volume_id = self.volume()
        attachment_id, disk = self.fill(volume_id)
        for _ in range(4):
            self.detached(volume_id, attachment_id, disk)
            for path in self.files(volume_id):  # so that it takes its time
                with open(path, "r+b") as data:
                    os.posix_fallocate(data.fileno(), GIB // 4, GIB // 2)
            before = self.used(volume_id)
            self.assertEqual(self.reclaim(volume_id).status, 202)
            until(lambda before=before: self.used(volume_id) < before, 60, "room")
            attachment_id, disk = self.serve(volume_id)
            self.assertIn(self.reclaimed(volume_id)["reason"], (None, "cancelled"))
            self.assert_filled(disk)
            disk.put(ZEROS // 2, bytes([7]) * BLOCK)
            self.assertEqual(disk.read(ZEROS // 2), bytes([7]) * BLOCK)
            self.assert_volume(volume_id, "in-use", 1)
        volume = self.api.ask("GET", f"/volume_configs/volume-{volume_id}/volume")
        self.assertEqual(volume["replicated_volume"]["status"]["phase"], "Healthy")
        self.detached(volume_id, attachment_id, disk)
        self.assertEqual(self.reclaim(volume_id).status, 202)
        self.assertEqual(self.reclaimed(volume_id)["status"], "done")
        self.assertLess(self.used(volume_id), 3 * ZEROS * BLOCK // 2)

    def test_a_reclaim_survives_a_kill_of_the_service(self):
        volume_id = self.volume()
        self.detached(volume_id, *self.fill(volume_id))
        self.assertEqual(self.reclaim(volume_id).status, 202)
        until(lambda: "reclaim" in self.config(volume_id)["status"], 60, "the config to hear of it")
        self.service.kill()
        self.service.start()
        self.api = self.connect()
        self.assertEqual(self.reclaimed(volume_id)["status"], "done")
        self.api.wait_status(volume_id, "available")
        self.assertLess(self.used(volume_id), 3 * ZEROS * BLOCK // 2)
        attachment_id, disk = self.serve(volume_id)
        self.assert_filled(disk)
        self.detached(volume_id, attachment_id, disk)

    def test_a_missing_pool_is_reclaimed_later(self):
        volume_id = self.volume()
        self.detached(volume_id, *self.fill(volume_id))
        before = self.used(volume_id)
        pool, away = os.path.join(self.place, "pool-b"), os.path.join(self.place, "away")
        os.rename(pool, away)
        until(lambda: "Gone" in self.states(), 60, "the pool to be missed")
        self.assertEqual(self.reclaim(volume_id).status, 202)
        last = self.reclaimed(volume_id)
        self.assertEqual(last["status"], "done", last)
        self.assertIn("pool-b (unreachable)", self.config(volume_id)["status"]["reclaim"]["message"])
        os.rename(away, pool)
        until(lambda: self.states() == ["Online"] * 3, 60, "the pool to be back")
        self.assertGreater(self.used(volume_id), before // 3)
        self.assertEqual(self.reclaim(volume_id).status, 202)
        self.assertEqual(self.reclaimed(volume_id)["status"], "done")
        self.assertLess(self.used(volume_id), before // 4)
        attachment_id, disk = self.serve(volume_id)
        self.assert_filled(disk)
        self.detached(volume_id, attachment_id, disk)

    def states(self):
        return [pool["state"] for pool in self.api.ask("GET", "/replica_pools")["replica_pools"]]

    def test_a_detached_volume_can_be_attached_immediately(self):
        volume_id = self.volume()
        for _ in range(5):
            attachment = self.api.attach(volume_id, str(uuid.uuid4()), NODE)
            Disk(attachment["connection_info"]["socket"]).connected().close()
            self.api.detach(attachment["id"])
        until(lambda: self.published(volume_id) == "", 60, "the end of the connection")

    def test_a_stop_of_the_service_fails_no_create(self):
        volume_id = self.api.create(1, volume_type=self.type_of(replicaCount="5"))["id"]
        until(self.configs, 60, "the config")
        self.assertEqual(self.service.stop(), 0)
        self.service.start()
        self.api = self.connect()
        self.assertEqual(self.api.show(volume_id)["status"], "creating")
        self.api.reset(volume_id, "error")
        self.discard(volume_id)
        self.assertEqual(self.configs(), [])

    def test_a_config_is_resumed_after_a_kill_of_the_service(self):
        volume_ids = [self.api.create(1)["id"] for _ in range(3)]
        for volume_id in volume_ids:
            self.addCleanup(self.discard, volume_id)
        self.service.kill()
        self.service.start()
        self.api = self.connect()
        for volume_id in volume_ids:
            self.api.wait_status(volume_id, "available")
            self.api.delete(volume_id)
        self.service.kill()
        self.service.start()
        self.api = self.connect()
        for volume_id in volume_ids:
            self.api.wait_gone(volume_id)
        self.assertEqual(self.configs(), [])


class Domains(ReplicatedCase, DomainCase):
    options = ("--compute_agent.heartbeat_interval=1",)

    def running(self):
        volume_id = self.volume()
        attachment = self.attach(volume_id)
        domain = self.domain(attachment).start()
        self.api.attach_complete(attachment["id"])
        return volume_id, attachment, domain

    def grow(self, volume_id, domain, size_gb):
        self.api.extend(volume_id, size_gb)
        self.api.wait_status(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", size_gb)
        until(lambda: domain.capacity(volume_id) == size_gb * GIB, 60, "the domain to see it")

    def state_of(self, domain):
        return virsh("domstate", domain.name, "--reason").split()[0]

    def stand_still(self):
        """All of the service, at the longest until the test ends."""
        process = self.service.process
        self.addCleanup(process.send_signal, signal.SIGCONT)
        program.stop_and_wait(process.pid)

    def test_a_running_domain_sees_the_new_size(self):
        volume_id, attachment, domain = self.running()
        self.assertEqual(domain.capacity(volume_id), GIB)
        domain.write_disk(volume_id, 7, BLOCK)
        for size_gb in (2, 3):
            self.grow(volume_id, domain, size_gb)
        self.assertEqual(self.state_of(domain), "running")
        domain.write_disk(volume_id, 9, BLOCK, 2 * GIB)
        disk = Disk(attachment["connection_info"]["socket"]).connected()
        self.addCleanup(disk.close)
        self.assertEqual(disk.read(0), bytes([7]) * BLOCK)
        self.assertEqual(disk.read(2 * GIB // BLOCK), bytes([9]) * BLOCK)
        domain.destroy()
        self.api.detach(attachment["id"])

    def test_a_domain_stopped_by_an_error_is_resumed(self):
        _, quiet_attachment, quiet = self.running()
        quiet.suspend()
        volume_id, attachment, domain = self.running()
        uid = self.api.ask("GET", f"/volume_configs/volume-{volume_id}/volume")[
            "replicated_volume"]["metadata"]["uid"]
        self.stand_still()  # no target serves it again before the domain has met the error
        os.kill(program.daemon_of(f"{self.place}/run/{uid}"), signal.SIGKILL)
        virsh("reset", domain.name)  # and the firmware reads where a boot sector might be
        until(lambda: self.state_of(domain) == "paused", 120, "the error to stop the domain")
        self.service.process.send_signal(signal.SIGCONT)
        until(lambda: f"instance resumed after an I/O error instance_uuid={domain.uuid}" in self.service.log(), 120,
              "the domain to be resumed")
        until(lambda: self.state_of(domain) == "running", 120, "the domain to go on")
        domain.write_disk(volume_id, 5, BLOCK)
        self.grow(volume_id, domain, 2)
        self.assertEqual(self.state_of(quiet), "paused")  # as its owner wants
        for one, its in ((domain, attachment), (quiet, quiet_attachment)):
            one.destroy()
            self.api.detach(its["id"])
