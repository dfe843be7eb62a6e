"""
A declared volume with one pool that fails, or hangs, on reads, writes or flushes alone: clients go
on with the others, the volume's status shows it, and all is whole again afterwards. With two of
three at once no answered write is lost, and the volume recovers by itself: $FAULT_ROUNDS times, in
an order that $FAULT_SEED decides. Replicas of a pool that takes no writes are replaced on another. Two
pools that are full refuse writes, and nothing else; with space again all recovers by itself.
"""

import errno
import os
import random
import signal
import subprocess
import threading
import time

import program
from block_storage import until
from case import NODE
from nbd import BLOCK, Gone
from test_provisioning import MIB, POOLS, DeclaredCase

SOURCE = os.path.join(program.REPOSITORY, "tests/lib/fault_disk.c")
BLOCKS = range(0, 64 * MIB // BLOCK, 512)
FAULTY = POOLS[1:3]
ROUNDS = int(os.environ.get("FAULT_ROUNDS", "4"))
SEED = int(os.environ.get("FAULT_SEED", "1"))


class Writer:
    """A client that writes until it is stopped, and repeats requests that a lost connection has
    cost."""

    def __init__(self, disk):
        self.disk, self.rounds, self.stops, self.wrong = disk, 0, False, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def round(self):
        try:
            self.disk.write(BLOCKS)
            self.disk.check()
            self.rounds += 1
        except (Gone, OSError):
            time.sleep(0.05)
            self.disk.connect()

    def run(self):
        try:
            while not self.stops:
                if self.disk.socket or self.disk.connect():
                    self.round()
        except BaseException as wrong:  # pylint: disable=broad-except
            self.wrong = wrong

    def goes_on(self):
        """A round begins and ends from here on."""
        reached = self.rounds + 2
        until(lambda: self.wrong or self.rounds >= reached, 120, "the client to go on")
        if self.wrong:
            raise self.wrong

    def end(self):
        self.stops = True
        self.thread.join()
        if self.wrong:
            raise self.wrong


class FaultCase(DeclaredCase):
    """Two pools are on disks with faults."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.unmount)

    @classmethod
    def more_options(cls):
        tool = os.path.join(cls.place, "fault_disk")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
                        "-I/usr/include/fuse3", "-o", tool, SOURCE, "-lfuse3"], check=True)
        cls.processes = []
        for pool in FAULTY:
            behind = cls.path(f"behind-{pool}")
            os.mkdir(behind)
            cls.set_fault("", "", pool)
            cls.processes.append(subprocess.Popen(  # pylint: disable=consider-using-with
                [tool, behind, cls.control(pool), cls.path(pool), "-f", "-o", "max_threads=256"]))
        until(lambda: all(os.path.ismount(cls.path(pool)) for pool in FAULTY), 60,
              "the disks with faults")
        return (*cls.storage("run", *cls.pools), "--storage.heartbeat_interval=1",
                "--storage.daemon_timeout=5")

    @classmethod
    def unmount(cls):
        for pool, process in zip(FAULTY, cls.processes):
            cls.set_fault("", "", pool)
            subprocess.run(["umount", "-l", cls.path(pool)], check=False)
            process.send_signal(signal.SIGTERM)
            process.wait(60)

    @classmethod
    def control(cls, pool):
        return os.path.join(cls.place, f"control-{pool}")

    @classmethod
    def set_fault(cls, kind, fault, pool=FAULTY[-1]):
        control = cls.control(pool)
        with open(control + ".new", "w", encoding="ascii") as file:
            file.write(f"{kind} {fault}\n")
        os.rename(control + ".new", control)


class Faults(FaultCase):
    def assert_reported(self, name):
        """Of the volume and of its replica: a phase that is not Healthy, and why."""
        def reported():
            status = self.volume_of(name)["status"]
            modes = {row["poolName"]: row["mode"] for row in status.get("replicaStatuses", [])}
            return status["phase"] == "Degraded" and modes.get(POOLS[2]) != "Healthy"
        until(reported, 120, "the volume to be Degraded")

    def suffer(self, kind, fault, name, check=lambda name: None):
        self.declare(name)
        disk = self.publish(name, NODE)
        writer = Writer(disk)
        try:
            writer.goes_on()
            self.set_fault(kind, fault)
            self.assert_reported(name)
            writer.goes_on()
            check(name)
            self.set_fault("", "")
            self.await_phase(name, "Healthy")
            writer.goes_on()
        finally:
            self.set_fault("", "")
            writer.end()
        until(disk.connect, 60, "a connection")
        disk.check()
        self.end(name, disk)

    def condition(self, name, kind):
        return next((row["status"], row["reason"]) for row in self.config(name)["status"]["conditions"]
                    if row["type"] == kind)

    def assert_without_space(self, name):
        """Its node retries, and reports why in vain."""
        until(lambda: self.condition(name, "Rebuilding") == ("False", "NoSpace"), 120,
              "the reason for which the replica is not rebuilt")

    def assert_full(self, name):
        self.assert_without_space(name)
        until(lambda: self.condition(name, "NearFull") == ("True", "PoolNearFull"), 60,
              "the pool to be reported as full")
        self.assertEqual(self.condition(name, "Redundant"), ("False", "OutOfSync"))

    def assert_read_only(self, name):
        """No replica is placed there, and after its time the present one is replaced."""
        until(lambda: {pool["name"]: pool["state"] for pool in self.api.ask(
            "GET", "/replica_pools")["replica_pools"]}[POOLS[2]] == "ReadOnly", 60,
              "the pool to be reported as read-only")
        until(lambda: self.condition(name, "Redundant") == ("False", "PoolOffline"), 60,
              "the replica to be reported")

    def test_a_pool_that_fails_on_writes_loses_only_its_replica(self):
        self.suffer("write", "fails", "unwritten", self.assert_read_only)

    def test_a_pool_that_fails_on_flushes_loses_only_its_replica(self):
        self.suffer("fsync", "fails", "unflushed", self.assert_read_only)

    def test_a_pool_that_fails_on_reads_loses_only_its_replica(self):
        self.suffer("read", "fails", "unread")

    def test_a_pool_that_is_full_loses_only_its_replica(self):
        self.suffer("write", "is-full", "filled", self.assert_full)

    def test_a_pool_whose_quota_is_used_up_loses_only_its_replica(self):
        self.suffer("write", "is-over-quota", "limited", self.assert_without_space)

    def test_a_pool_that_is_read_only_loses_only_its_replica(self):
        self.suffer("write", "is-read-only", "unchangeable", self.assert_read_only)

    def test_a_pool_that_hangs_on_flushes_loses_only_its_replica(self):
        self.suffer("fsync", "hangs", "waiting-flush")

    def test_a_pool_that_hangs_on_reads_loses_only_its_replica(self):
        self.suffer("read", "hangs", "waiting-read")

    def test_a_pool_that_hangs_on_writes_loses_only_its_replica(self):
        self.suffer("write", "hangs", "waiting-write")

    # ---- two at once ----

    def test_two_pools_that_fail_some_writes_lose_no_answered_write(self):
        """The one below half of the volume, the other above it."""
        name, half = "halves", len(BLOCKS) // 2
        self.declare(name)
        disk = self.publish(name, NODE)
        disk.write(BLOCKS)
        try:
            for pool, part in zip(FAULTY, ("fails-low", "fails-high")):
                self.set_fault("write", part, pool)
            for _ in range(5):
                for pair in zip(BLOCKS[:half], BLOCKS[half:]):
                    try:
                        disk.write(pair)
                    except OSError:
                        pass
                    except Gone:
                        until(disk.connect, 60, "a connection")
                time.sleep(1)
            self.await_phase(name, "Degraded")
        finally:
            self.end_faults(FAULTY)
        self.await_phase(name, "Healthy")
        until(lambda: self.condition(name, "Redundant") == ("True", "AllReplicas"), 120,
              "the replicas to be equal")
        until(disk.connect, 60, "a connection")
        disk.check()
        self.end(name, disk)

    def write_pairs(self, disk, pairs):
        for pair in pairs:
            try:
                disk.write(pair)
            except OSError:
                pass
            except Gone:
                until(disk.connect, 60, "a connection")

    def fail_again(self, name, fail_first, waits):
        """All three differ in blocks; the one pool recovers, and the other one later."""
        half = len(BLOCKS) // 2
        pairs = list(zip(BLOCKS[:half], BLOCKS[half:]))
        self.declare(name)
        disk = self.publish(name, NODE)
        disk.write(BLOCKS)
        try:
            fail_first(lambda: self.write_pairs(disk, pairs))
            self.set_fault("write", "fails", FAULTY[1])
            self.write_pairs(disk, pairs[::2])
            self.set_fault("", "", FAULTY[0])

            def written_and_waits():
                self.write_pairs(disk, pairs[1::2])
                return waits()
            until(written_and_waits, 120, "the volume to wait for the other pool")
        finally:
            self.end_faults(FAULTY)
        self.await_phase(name, "Healthy")
        until(lambda: self.condition(name, "Redundant") == ("True", "AllReplicas"), 120,
              "the replicas to be equal")
        until(disk.connect, 60, "a connection")
        disk.check()
        self.end(name, disk)

    def test_a_pool_that_fails_again_recovers_though_blocks_have_no_majority(self):
        """Both replicas are seen to fail at once, and keep their votes."""
        def fail_first(write):
            program.stop_and_wait(self.service.process.pid)
            try:
                for pool, part in zip(FAULTY, ("fails-low", "fails-high")):
                    self.set_fault("write", part, pool)
                write()
            finally:
                self.service.process.send_signal(signal.SIGCONT)

        self.fail_again("again", fail_first, lambda: self.volume_of("again")["status"].get(
            "scrub", {}).get("undecidedBlocks"))

    def test_a_replica_that_left_is_rebuilt_though_the_others_differ(self):
        """The first one to fail has lost its vote; until the other pool recovers, blocks cannot be
        read that only one of the two has."""
        def fail_first(write):
            self.set_fault("write", "fails-low", FAULTY[0])
            write()
            self.await_phase("left", "Degraded")
            self.set_fault("write", "fails-high", FAULTY[1])
            write()

        self.fail_again("left", fail_first, lambda: self.condition("left", "Rebuilding") == (
            "False", "RebuildFailed"))

    def end_faults(self, pools):
        for pool in pools:
            self.set_fault("", "", pool)

    def suffer_two(self, drawn, name):
        """The second may fail before the first is excluded, or later; the daemon may be killed."""
        pools = drawn.sample(FAULTY, 2)
        kinds = [(drawn.choice(("read", "write", "fsync")), drawn.choice(("fails", "fails", "hangs")))
                 for _ in pools]
        late, killed = drawn.random() < 0.5, drawn.random() < 0.4
        with self.subTest(pools=pools, kinds=kinds, late=late, killed=killed):
            self.set_fault(*kinds[0], pools[0])
            if late:
                until(lambda: self.volume_of(name)["status"]["phase"] != "Healthy", 120,
                      "the first fault to be reported")
            self.set_fault(*kinds[1], pools[1])
            time.sleep(drawn.random() * 3)
            daemon = program.daemon_of(self.run_of(name))  # none, where it is restarted
            if killed and daemon:
                os.kill(daemon, signal.SIGKILL)
            self.end_faults(drawn.sample(FAULTY, 2))
            self.await_phase(name, "Healthy")

    def test_two_pools_that_fail_together_lose_no_answered_write(self):
        drawn, name = random.Random(SEED), "both"
        self.declare(name)
        disk = self.publish(name, NODE)
        writer = Writer(disk)
        try:
            for _ in range(ROUNDS):
                writer.goes_on()
                self.suffer_two(drawn, name)
            writer.goes_on()
        finally:
            self.end_faults(FAULTY)
            writer.end()
        until(disk.connect, 60, "a connection")
        disk.check()
        self.end(name, disk)


class ReadOnly(FaultCase):
    """A fourth pool takes the replica of one that takes no writes."""

    pools = (*POOLS, "pool-d")

    @classmethod
    def more_options(cls):
        return (*super().more_options(), "--document_resync_interval=1")

    def test_a_replica_of_a_read_only_pool_is_replaced_on_another(self):
        name = "moved"
        self.declare(name, pools=POOLS)
        self.change(name, spec={"policy": {"replica": {"autoReplaceSeconds": 3}}})
        disk = self.publish(name, NODE)
        writer = Writer(disk)
        try:
            writer.goes_on()
            self.set_fault("write", "is-read-only")
            until(lambda: "ReplacementFinished" in self.reasons(name), 180, "a replacement")
            self.await_phase(name, "Healthy")
            writer.goes_on()
            self.set_fault("", "")
            until(lambda: sorted(self.config(name)["status"]["poolInfo"]) == [*POOLS[:2], "pool-d"]
                  and self.config(name)["status"]["phase"] == "Bound", 120,
                  "the replica of the read-only pool to be removed")
            writer.goes_on()
        finally:
            self.set_fault("", "")
            writer.end()
        self.assertEqual(self.reasons(name).count("ReplacementStarted"), 1)
        self.assertEqual(os.listdir(self.path("behind-" + POOLS[2])), ["scoria-pool"])
        until(disk.connect, 60, "a connection")
        disk.check()
        self.end(name, disk)


class FullPools(DeclaredCase):
    """Two of three pools are small file systems, which another file fills."""

    pools = POOLS

    @classmethod
    def more_options(cls):
        for pool in FAULTY:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", cls.path(pool)],
                           check=True)
            cls.addClassCleanup(subprocess.run, ["umount", "-l", cls.path(pool)], check=False)
        return (*cls.storage("run", *cls.pools), "--storage.heartbeat_interval=1")

    def filler(self, pool):
        return os.path.join(self.path(pool), "filler")

    def fill(self, pool):
        with open(self.filler(pool), "wb", buffering=0) as file:
            try:
                while file.write(bytes(MIB)):
                    pass
            except OSError as failure:
                self.assertEqual(failure.errno, errno.ENOSPC)

    def make_space(self):
        for pool in FAULTY:
            if os.path.exists(self.filler(pool)):
                os.unlink(self.filler(pool))

    def refuse(self, disk, blocks):
        for block in blocks:
            with self.assertRaises(OSError) as caught:
                disk.write([block])
            self.assertIn(caught.exception.errno, (errno.ENOSPC, errno.EIO))

    def await_reason(self, name):
        def reported():
            conditions = {row["type"]: row for row in self.config(name)["status"]["conditions"]}
            return conditions["Redundant"]["status"] == "False" and \
                conditions["Rebuilding"]["reason"] == "NoSpace"
        until(reported, 60, "the reason to be reported")
        self.assertEqual(self.volume_of(name)["status"]["phase"], "Degraded")

    def recover(self, name, disk):
        self.make_space()

        def healthy():
            conditions = {row["type"]: row["status"]
                          for row in self.config(name)["status"]["conditions"]}
            status = self.volume_of(name)["status"]
            scrub = status.get("scrub", {})
            return status["phase"] == "Healthy" and conditions["Redundant"] == "True" and \
                not scrub.get("resynchronizing") and not scrub.get("undecidedBlocks")

        until(healthy, 120, "all to be healthy")
        until(disk.connect, 60, "a connection")
        disk.check()

    def test_two_full_pools_refuse_writes_and_no_reads(self):
        name = "crowded"
        self.addCleanup(self.make_space)
        self.declare(name)
        disk = self.publish(name, NODE)
        disk.write(BLOCKS[::2])
        for pool in FAULTY:
            self.fill(pool)
        self.refuse(disk, BLOCKS[1::2])
        disk.check()
        self.await_reason(name)
        disk.write(BLOCKS[::2])  # these have their space
        time.sleep(3)
        disk.check()
        self.recover(name, disk)
        self.end(name, disk)

    def test_pools_that_fill_up_one_after_the_other_recover(self):
        name = "filling"
        self.addCleanup(self.make_space)
        self.declare(name)
        disk = self.publish(name, NODE)
        disk.write(BLOCKS[::4])
        self.fill(FAULTY[1])
        disk.write(BLOCKS[1::4])
        self.await_reason(name)
        self.fill(FAULTY[0])
        self.refuse(disk, BLOCKS[2::4])
        self.recover(name, disk)
        self.end(name, disk)

    def test_a_snapshot_in_full_pools_is_taken_when_there_is_space(self):
        name, path = "waiting", "/volume_config_snapshots"
        self.addCleanup(self.make_space)
        self.declare(name)
        disk = self.publish(name, NODE)
        disk.write(BLOCKS)
        for pool in FAULTY:
            self.fill(pool)
        self.api.ask("POST", path, {"volume_config_snapshot": {
            "metadata": {"name": name}, "spec": {"volumeName": name}}})

        def status():
            return self.api.ask("GET", f"{path}/{name}")["volume_config_snapshot"].get("status", {})
        until(lambda: "space" in status().get("message", ""), 60, "the reason to be reported")
        time.sleep(20)  # several attempts
        self.assertEqual(status()["phase"], "Pending")
        self.recover(name, disk)
        until(lambda: status()["phase"] == "Ready", 15, "the snapshot")
        self.api.ask("DELETE", f"{path}/{name}")
        until(lambda: not self.api.ask("GET", path)["volume_config_snapshots"], 60, "an end")
        self.end(name, disk)
