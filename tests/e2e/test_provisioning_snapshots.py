"""
Snapshots of declared volumes and volumes made of them, with real storage daemons: taken while a
client writes, or while the volume is unpublished, from their making to their end, with kills.
"""

import os
import threading

from block_storage import until
from nbd import Disk
from test_provisioning import BLOCKS, MARK, MIB, POOLS, PROBE, DeclaredCase

SNAPSHOTS = "/volume_config_snapshots"


class Snapshots(DeclaredCase):
    @classmethod
    def more_options(cls):
        return cls.storage("run", *POOLS)

    # ---- requests and state ----

    def snapshot(self, name):
        return self.api.ask("GET", f"{SNAPSHOTS}/{name}")["volume_config_snapshot"]

    def shoot(self, name, volume):
        self.api.ask("POST", SNAPSHOTS, {"volume_config_snapshot": {
            "metadata": {"name": name}, "spec": {"volumeName": volume}}})

    def await_ready(self, name, pools=3):
        def ready():
            status = self.snapshot(name)["status"]
            return status["phase"] == "Ready" and len(status["poolInfo"]) == pools
        until(ready, 120, f"snapshot {name} to be ready")

    def clone(self, name, source, replicas=3, size="64Mi"):
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": name},
            "spec": {"capacity": {"storage": size}, "provision": {"replicaCount": replicas},
                     "cstorVolumeSource": source}}})
        until(lambda: self.config(name)["status"]["phase"] == "Bound", 120, f"{name} to be Bound")

    def files(self):
        """Of snapshots, in all pools."""
        return sorted(os.path.join(pool, replica, name)
                      for pool in POOLS for replica in os.listdir(self.path(pool))
                      if replica not in (MARK, PROBE)
                      for name in os.listdir(os.path.join(self.path(pool), replica))
                      if name.startswith("snapshot-"))

    def drop(self, name):
        self.api.ask("DELETE", f"{SNAPSHOTS}/{name}")
        until(lambda: not [one for one in self.api.ask("GET", SNAPSHOTS)["volume_config_snapshots"]
                           if one["metadata"]["name"] == name], 60, f"{name} to go")

    def check_content(self, name, least, most):
        """Each block of that volume has a version in between."""
        disk = self.publish(name)
        disk.least, disk.most = dict(least), dict(most)
        disk.check()
        disk.write(BLOCKS)
        disk.check()
        return disk

    # ---- promises ----

    def test_a_clone_has_the_content_of_its_snapshot(self):
        self.declare("source")
        disk = self.publish("source")
        disk.write(BLOCKS)
        least = dict(disk.least)
        over = threading.Event()

        def write():
            while not over.is_set():
                disk.write(BLOCKS)
        writer = threading.Thread(target=write)
        writer.start()
        self.shoot("moment", "source")
        self.await_ready("moment")
        over.set()
        writer.join()
        most = dict(disk.most)
        for _ in range(3):
            disk.write(BLOCKS)

        self.clone("copy", "source@moment", size="96Mi")
        self.assertEqual(self.api.call("DELETE", "/volume_configs/source").status, 409)
        cloned = self.check_content("copy", least, most)
        self.assertEqual(cloned.size, 96 * MIB)
        disk.check()  # neither has seen the other
        self.drop("moment")
        self.assertEqual(self.files(), [])
        cloned.check()
        self.end("copy", cloned)
        self.end("source", disk)

    def test_an_unpublished_volume_is_served_for_the_time_of_a_snapshot(self):
        self.declare("idle")
        disk = self.publish("idle")
        disk.write(BLOCKS)
        disk.close()
        self.change("idle", publish={"nodeId": ""})
        until(lambda: "target" not in self.volume_of("idle").get("status", {}), 60, "an end")
        self.shoot("still", "idle")
        self.await_ready("still")
        until(lambda: "target" not in self.volume_of("idle")["status"], 60, "the target to end")
        self.assertEqual(self.config("idle")["publish"], {"nodeId": ""})
        self.assertEqual(len(self.files()), 3)
        self.clone("still-copy", "idle@still", replicas=1)
        self.end("still-copy", self.check_content("still-copy", disk.least, disk.most))
        self.drop("still")
        self.assertEqual(self.files(), [])
        self.end("idle", disk)

    def test_a_pool_that_missed_a_snapshot_gets_it_when_it_returns(self):
        self.declare("misser")
        disk = self.publish("misser")
        disk.write(BLOCKS)
        self.lose("pool-c")
        self.await_phase("misser", "Degraded")
        self.shoot("missed", "misser")
        self.await_ready("missed", 2)
        self.assertEqual(self.snapshot("missed")["status"]["pendingPoolInfo"], ["pool-c"])
        least, most = dict(disk.least), dict(disk.most)
        disk.write(BLOCKS)
        with open(os.path.join(self.path("pool-c"), MARK), "w", encoding="ascii"):
            pass
        self.await_ready("missed", 3)
        self.await_phase("misser", "Healthy")
        self.clone("misser-copy", "misser@missed")
        self.end("misser-copy", self.check_content("misser-copy", least, most))
        self.drop("missed")
        self.end("misser", disk)

    def test_kills_during_snapshots_take_each_once_and_leave_nothing(self):
        self.declare("mortal")
        disk = self.publish("mortal")
        disk.write(BLOCKS)
        for turn in range(4):
            name = f"turn-{turn}"
            self.shoot(name, "mortal")
            if turn == 1:
                os.kill(self.daemon("mortal"), 9)
            if turn >= 2:
                self.service.kill()
                self.restarted()
            self.await_ready(name)
            disk.connected().check()
        self.assertEqual(len(self.files()), 12)
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": "mortal-copy"},
            "spec": {"capacity": {"storage": "64Mi"}, "provision": {"replicaCount": 3},
                     "cstorVolumeSource": "mortal@turn-3"}}})
        self.service.kill()
        self.restarted()
        until(lambda: self.config("mortal-copy")["status"]["phase"] == "Bound", 120, "a clone")
        self.end("mortal-copy", self.check_content("mortal-copy", disk.least, disk.most))
        for turn in range(4):
            self.api.ask("DELETE", f"{SNAPSHOTS}/turn-{turn}")
            self.service.kill()
            self.restarted()
        until(lambda: not self.api.ask("GET", SNAPSHOTS)["volume_config_snapshots"], 60, "an end")
        self.assertEqual(self.files(), [])
        self.end("mortal", disk)
