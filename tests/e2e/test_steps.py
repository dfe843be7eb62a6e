"""
The wall's clock of one process, of all, or of the database server is set, in either direction:
leases, fences, deadlines and take-overs keep their pace.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import postgresql
import program
from block_storage import until
from compute_side import INSTANCE, MICROVERSION, ComputeSide
from test_roles import GIB, LEASE_S, NEVER_MS, Roles

SOURCE = os.path.join(program.REPOSITORY, "tests/lib/wall.c")
HOUR_S = 3600
DELAY_S = 5  # of a driver's call, within which the manager is put to sleep
TAKEN_S = LEASE_S + 57
PLACE = {}


def setUpModule():
    PLACE["directory"] = tempfile.mkdtemp(prefix="scoria-steps-")
    os.chmod(PLACE["directory"], 0o755)  # a database server has a user of its own
    PLACE["library"] = os.path.join(PLACE["directory"], "wall.so")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", PLACE["library"],
                    SOURCE], check=True)


def tearDownModule():
    shutil.rmtree(PLACE["directory"])


class Wall:
    """The wall's clock of programs started within `around`."""

    def __init__(self, name):
        self.path = os.path.join(PLACE["directory"], name)
        self.ahead = 0
        self.step(0)

    def step(self, seconds):
        self.ahead += seconds
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(str(self.ahead))
        os.chmod(self.path + ".new", 0o644)
        os.replace(self.path + ".new", self.path)

    @contextlib.contextmanager
    def around(self):
        before = dict(os.environ)
        os.environ["LD_PRELOAD"] = " ".join(filter(None, (before.get("LD_PRELOAD"),
                                                          PLACE["library"])))
        os.environ["WALL_FILE"] = self.path
        os.environ["ASAN_OPTIONS"] = ":".join(filter(None, (before.get("ASAN_OPTIONS"),
                                                            "verify_asan_link_order=0")))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


class Steps(Roles):
    """Each process has a wall's clock of its own."""

    lease_s = LEASE_S

    def setUp(self):
        self.walls = {}
        super().setUp()

    def role(self, name, command, *options):
        part = super().role(name, command, *options)
        wall = self.walls.setdefault(name, Wall(f"{name}-{len(self.walls)}"))
        start = part.start

        def start_there(*arguments):
            with wall.around():
                return start(*arguments)
        part.start = start_there
        return part

    def step_all(self, seconds):
        for wall in self.walls.values():
            wall.step(seconds)


class OnSqlite(Steps):
    def late_delete(self, seconds):
        one = self.manager("node-1", plan=f"delete_volume:delay:1:{DELAY_S * 1000}").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.delete(volume_id)
        self.wait_claimed("node-1")
        begin = time.monotonic()
        self.put_to_sleep(one)
        two = self.manager("node-2", plan="delete_volume:fail:1").start()
        self.wait("error_deleting", 1)
        self.api.reset(volume_id, "available")
        until(lambda: time.monotonic() > begin + DELAY_S, 60, "what it will do when it wakes up")
        self.walls["node-1"].step(seconds)
        os.kill(one.process.pid, signal.SIGCONT)
        until(lambda: "operation interrupted" in one.log(), 60, "the late one gave up")
        self.end(one, two)
        self.assertEqual(self.size_of(volume_id), GIB)

    def test_a_late_delete_takes_nothing_when_its_clock_went_back(self):
        self.late_delete(-30)

    def test_a_late_delete_takes_nothing_when_its_clock_went_far_back(self):
        self.late_delete(-365 * 24 * HOUR_S)

    def test_a_take_over_waits_for_no_clock_that_went_back(self):
        one = self.manager("node-1", plan=f"extend_volume:delay:1:{NEVER_MS}").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.wait_claimed("node-1")
        two = self.manager("node-2").start()
        one.kill()
        self.step_all(-HOUR_S)
        self.wait("available", 1, timeout=TAKEN_S)
        self.end(two)


class LeftAlone(Steps):
    lease_s = 60

    def test_a_manager_with_a_fast_clock_leaves_live_ones_alone(self):
        one = self.manager("node-1", plan="extend_volume:delay:1:5000").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.wait_claimed("node-1")
        two = self.manager("node-2")
        self.walls["node-2"].step(24 * HOUR_S)
        two.start()
        self.wait("available", 1)
        self.end(one, two)
        self.assertEqual(self.done(one, "extend"), [volume_id])
        self.assertEqual(self.done(two, "extend"), [])


class Pending(Steps):
    """An extend that the compute side has accepted and never reports."""

    DEADLINE_S = 5

    def setUp(self):
        super().setUp()
        self.side = ComputeSide(lambda: self.api_program.endpoint)
        self.addCleanup(self.side.close)
        self.side.unresponsive = True
        self.options += [f"--extend_deadline={self.DEADLINE_S}", "--compute.service=nova",
                         f"--compute.endpoint={self.side.endpoint}",
                         f"--compute.extend_completion_microversion={MICROVERSION}"]
        self.one = self.manager("node-1").start()
        self.api.wait_manager()
        self.volume_id, = self.create(1)
        attachment = self.api.attach(self.volume_id, INSTANCE, "host-1")
        self.api.attach_complete(attachment["id"])
        self.side.hold(self.volume_id,
                       os.path.join(self.volumes, f"volume-{self.volume_id}"), False)
        self.addCleanup(self.side.forget)
        self.api.extend(self.volume_id, 2)
        until(lambda: self.side.heard(self.volume_id), 60, "the event")

    def test_a_deadline_comes_when_the_clock_went_back(self):
        self.step_all(-HOUR_S)
        self.wait("error_extending", 1)
        self.end(self.one)

    def test_a_deadline_comes_after_a_restart_when_the_clock_went_back(self):
        self.one.stop()
        self.step_all(-HOUR_S)
        self.one.start()
        self.wait("error_extending", 1)
        self.end(self.one)


class OnPostgresql(Steps):
    """With a server whose clock is set: every process goes by it."""

    def setUp(self):
        self.server_wall = Wall("server")
        self.cluster = postgresql.Cluster()
        self.addCleanup(self.cluster.stop)
        with self.server_wall.around():
            self.cluster.start()
        self.url = self.cluster.create("steps")
        super().setUp()

    def role(self, name, command, *options):
        self.options[-1] = f"--database.connection={self.url}"
        return super().role(name, command, *options)

    def wait_claimed(self, node, count=1):
        until(lambda: int(self.cluster.sql("SELECT COUNT(*) FROM operations WHERE owner LIKE "
                                           f"'{node}:%'", "steps")) >= count, 60,
              f"{count} operations of {node}")

    def take_over(self, seconds):
        one = self.manager("node-1", plan=f"extend_volume:delay:1:{NEVER_MS}").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.wait_claimed("node-1")
        two = self.manager("node-2").start()
        one.kill()
        self.server_wall.step(seconds)
        self.wait("available", 1, timeout=TAKEN_S)
        until(lambda: "the clock of the database server was set" in two.log() +
              self.api_program.log(), 60, "the step to be detected")
        self.end(two)

    def test_a_take_over_waits_for_no_server_whose_clock_went_back(self):
        self.take_over(-HOUR_S)

    def test_live_managers_keep_their_leases_when_the_server_clock_goes_ahead(self):
        self.options = [option.replace(f"lease={LEASE_S}", "lease=60") for option in self.options]
        one = self.manager("node-1", plan="extend_volume:delay:1:5000").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.wait_claimed("node-1")
        self.server_wall.step(24 * HOUR_S)
        two = self.manager("node-2").start()
        self.wait("available", 1)
        self.end(one, two)
        self.assertEqual(self.done(one, "extend"), [volume_id])
        self.assertEqual(self.done(two, "extend"), [])


if __name__ == "__main__":
    unittest.main()
