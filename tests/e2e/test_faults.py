"""
A declared volume with one pool that fails, or hangs, on reads, writes or flushes alone: clients go
on with the others, the volume's status shows it, and all is whole again afterwards.
"""

import os
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


class Faults(DeclaredCase):
    """The last pool is on a disk with faults."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.unmount)

    @classmethod
    def more_options(cls):
        cls.control = os.path.join(cls.place, "control")
        cls.set_fault("", "")
        tool = os.path.join(cls.place, "fault_disk")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
                        "-I/usr/include/fuse3", "-o", tool, SOURCE, "-lfuse3"], check=True)
        os.mkdir(cls.path("behind"))
        cls.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [tool, cls.path("behind"), cls.control, cls.path(POOLS[2]), "-f", "-o",
             "max_threads=256"])
        until(lambda: os.path.ismount(cls.path(POOLS[2])), 60, "the disk with faults")
        return (*cls.storage("run", *POOLS), "--storage.heartbeat_interval=1",
                "--storage.daemon_timeout=5")

    @classmethod
    def unmount(cls):
        cls.set_fault("", "")
        subprocess.run(["umount", "-l", cls.path(POOLS[2])], check=False)
        cls.process.send_signal(signal.SIGTERM)
        cls.process.wait(60)

    @classmethod
    def set_fault(cls, kind, fault):
        with open(cls.control + ".new", "w", encoding="ascii") as file:
            file.write(f"{kind} {fault}\n")
        os.rename(cls.control + ".new", cls.control)

    def assert_reported(self, name):
        """Of the volume and of its replica: a phase that is not Healthy, and why."""
        def reported():
            status = self.volume_of(name)["status"]
            modes = {row["poolName"]: row["mode"] for row in status.get("replicaStatuses", [])}
            return status["phase"] == "Degraded" and modes.get(POOLS[2]) != "Healthy"
        until(reported, 120, "the volume to be Degraded")

    def suffer(self, kind, fault, name):
        self.declare(name)
        disk = self.publish(name, NODE)
        writer = Writer(disk)
        try:
            writer.goes_on()
            self.set_fault(kind, fault)
            self.assert_reported(name)
            writer.goes_on()
            self.set_fault("", "")
            self.await_phase(name, "Healthy")
            writer.goes_on()
        finally:
            self.set_fault("", "")
            writer.end()
        until(disk.connect, 60, "a connection")
        disk.check()
        self.end(name, disk)

    def test_a_pool_that_fails_on_writes_loses_only_its_replica(self):
        self.suffer("write", "fails", "unwritten")

    def test_a_pool_that_fails_on_flushes_loses_only_its_replica(self):
        self.suffer("fsync", "fails", "unflushed")

    def test_a_pool_that_fails_on_reads_loses_only_its_replica(self):
        self.suffer("read", "fails", "unread")

    def test_a_pool_that_hangs_on_flushes_loses_only_its_replica(self):
        self.suffer("fsync", "hangs", "waiting-flush")

    def test_a_pool_that_hangs_on_reads_loses_only_its_replica(self):
        self.suffer("read", "hangs", "waiting-read")

    def test_a_pool_that_hangs_on_writes_loses_only_its_replica(self):
        self.suffer("write", "hangs", "waiting-write")
