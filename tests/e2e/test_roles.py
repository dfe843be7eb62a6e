"""
Roles as processes of their own: two APIs and two managers of one backend; managers that die, sleep
beyond their leases, or are stopped. Whatever happens, every operation is done once.
"""

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import time
import unittest

import program
from block_storage import BlockStorage, until
from case import Workplace

GIB = 1 << 30
LEASE_S = 3
NEVER_MS = 3600 * 1000


class Roles(Workplace):
    """Processes of one database and one directory of volumes, each with a state of its own."""

    lease_s = 60  # no live manager loses it

    def setUp(self):
        super().setUp()
        self.volumes = os.path.join(self.directory, "volumes")
        self.database = os.path.join(self.directory, "scoria.db")
        self.options = ["--quota_volumes=-1", "--quota_gigabytes=-1",
                        f"--operation_lease={self.lease_s}", "--enabled_backends=shared",
                        "--shared.backend_host=shared-host",
                        f"--shared.file_volume_directory={self.volumes}",
                        f"--database.connection=sqlite://{self.database}"]
        self.api_program = self.role("api", "api", "--listen", "127.0.0.1:0").start()
        self.api = BlockStorage(self.api_program.endpoint)
        self.addCleanup(self.api.close)

    def role(self, name, command, *options):
        part = program.role(self.directory, name, command, *self.options, *options)
        self.addCleanup(part.kill)
        return part

    def manager(self, name, *options, plan=None):
        """`plan`: of the driver fault in front of the volumes."""
        fault = ["--shared.volume_driver=fault", "--shared.fault_driver=file",
                 f"--shared.fault_plan={plan}"] if plan else []
        return self.role(name, "manager", *fault, *options)

    def create(self, count, size_gb=1):
        ids = [self.api.create(size_gb)["id"] for _ in range(count)]
        self.wait("available", count)
        return ids

    def wait(self, status, count, timeout=120):
        until(lambda: sum(row["status"] == status for row in self.api.list_all()) == count, timeout,
              f"{count} volumes {status}", pause=0.05)

    def wait_claimed(self, node, count=1):
        """Until managers of this name work on so many operations."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as database:
            until(lambda: database.execute("SELECT COUNT(*) FROM operations WHERE owner LIKE ?",
                                           (f"{node}:%",)).fetchone() >= (count,), 60,
                  f"{count} operations of {node}")

    @staticmethod
    def done(manager, what):
        """Ids of the volumes that this manager, which has ended, logged as done."""
        return re.findall(rf"{what} done.*?volume_id=(\S+)", manager.log())

    def put_to_sleep(self, part):
        """Stops the process, but not while it has SQLite's lock: no other process could write
        beside it."""
        deadline = time.monotonic() + 60
        while True:
            program.stop_and_wait(part.process.pid)
            with contextlib.closing(sqlite3.connect(self.database, timeout=0)) as database:
                try:
                    database.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
            os.kill(part.process.pid, signal.SIGCONT)
            time.sleep(0.01)

    def images(self):
        return [name for name in os.listdir(self.volumes) if not name.startswith(".")]

    def size_of(self, volume_id):
        images = self.images()
        name = f"volume-{volume_id}"
        if name not in images:  # a delete that was taken up again has given it another
            name, = images
        return os.stat(os.path.join(self.volumes, name)).st_size

    def end(self, *managers):
        for part in (*managers, self.api_program):
            if part.running:
                self.assertEqual(part.stop(), 0)
        found = program.check(os.path.join(self.directory, "api"), *self.options)
        self.assertEqual(found, [])


class ActiveActive(Roles):
    COUNT = 60
    DELAY_MS = 600
    WORKERS = 2
    MANY = 300

    def grown(self, size_gb, timeout, pause):
        until(lambda: all(row["size"] == size_gb for row in self.api.list_all()), timeout,
              "all extended", pause)

    def beside_each_other(self):
        """Do both work, and on more than one of them could?"""
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as database:
            owners, claimed = database.execute(
                "SELECT COUNT(DISTINCT owner), COUNT(owner) FROM operations").fetchone()
        return owners == 2 and claimed > self.WORKERS

    def test_two_managers_share_operations_and_never_a_volume(self):
        one, two = (self.manager(name, f"--manager_workers={self.WORKERS}",
                                 plan=f"extend_volume:delay:1:{self.DELAY_MS}")
                    for name in ("node-1", "node-2"))
        one.start()
        self.api.wait_manager()
        ids = self.create(self.COUNT)
        two.start()
        for volume_id in ids:
            self.api.extend(volume_id, 2)
        until(self.beside_each_other, 120, "both at work")
        self.grown(2, 180, 0.05)
        self.end(one, two)
        shares = [self.done(part, "extend") for part in (one, two)]
        self.assertEqual(sorted(shares[0] + shares[1]), sorted(ids))
        self.assertTrue(all(len(share) > self.COUNT / 5 for share in shares), shares)

    def counted(self, name, *options):
        """A manager whose runs of qemu-img are written down, one line each, as they begin."""
        tool, runs = (os.path.join(self.directory, f"{name}.{what}") for what in ("sh", "runs"))
        with open(tool, "w", encoding="ascii") as script:
            script.write(f'#!/bin/sh\necho "$@" >>{runs}\nexec qemu-img "$@"\n')
        os.chmod(tool, 0o755)
        return self.manager(name, "--shared.file_qcow2_volumes=true",
                            f"--shared.qemu_img_program={tool}", *options), runs

    def resized(self, runs):
        """Ids of the volumes that qemu-img was run to grow, as often as it was."""
        with open(runs, encoding="ascii") as lines:
            return re.findall(r"^resize .*/volume-(\S+)", lines.read(), re.MULTILINE)

    def test_hundreds_of_extends_are_done_once_each_and_shared_fairly(self):
        one, one_runs = self.counted("node-1")
        two, two_runs = self.counted("node-2")
        for part in (one, two):
            part.start()
        self.api.wait_manager()
        ids = [self.api.create(1)["id"] for _ in range(self.MANY)]
        self.wait("available", self.MANY, timeout=400)
        for volume_id in ids:
            self.api.extend(volume_id, 2)
        self.grown(2, 400, 0.2)
        self.wait("available", self.MANY)
        shares = [self.resized(one_runs), self.resized(two_runs)]
        self.assertEqual(sorted(shares[0] + shares[1]), sorted(ids))
        for share in shares:
            self.assertGreaterEqual(len(share), self.MANY // 5)
        self.end(one, two)

    def assert_left_alone(self, *options):
        """node-1 ends its work itself, even if another one starts with these options meanwhile."""
        one = self.manager("node-1", plan="extend_volume:delay:1:5000").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.wait_claimed("node-1")
        two = self.manager("node-2", *options).start()
        self.wait("available", 1)
        self.end(one, two)
        self.assertEqual(self.done(one, "extend"), [volume_id])
        self.assertEqual(self.done(two, "extend"), [])

    def test_a_start_leaves_operations_of_the_other_manager_alone(self):
        self.assert_left_alone()

    def test_two_managers_of_one_host_name_are_distinguished(self):
        self.assert_left_alone("--host=node-1")

    def test_a_stopped_manager_finishes_running_operations_and_leaves_the_rest(self):
        one = self.manager("node-1", "--manager_workers=2",
                           plan="extend_volume:delay:1:3000").start()
        self.api.wait_manager()
        ids = self.create(8)
        for volume_id in ids:
            self.api.extend(volume_id, 2)
        self.wait_claimed("node-1", 2)
        self.assertEqual(one.stop(), 0)
        finished = self.done(one, "extend")
        self.assertTrue(0 < len(finished) < len(ids), finished)
        two = self.manager("node-2").start()
        self.wait("available", len(ids), timeout=self.lease_s * 2 / 3)  # waits for no lease
        self.end(two)
        self.assertEqual(sorted(finished + self.done(two, "extend")), sorted(ids))


class TakeOver(Roles):
    lease_s = LEASE_S
    TAKEN_S = LEASE_S + 27

    def test_operations_of_a_dead_manager_are_taken_over_in_time(self):
        one = self.manager("node-1", "--manager_workers=6",
                           plan=f"extend_volume:delay:1:{NEVER_MS}").start()
        self.api.wait_manager()
        ids = self.create(10)
        for volume_id in ids:
            self.api.extend(volume_id, 2)
        self.wait_claimed("node-1", 5)
        two = self.manager("node-2").start()
        one.kill()
        self.wait("available", len(ids), timeout=self.TAKEN_S)
        self.end(two)
        self.assertEqual(sorted(self.done(two, "extend")), sorted(ids))

    def test_an_endless_job_does_not_prevent_a_stop(self):
        one = self.manager("node-1", "--graceful_shutdown_timeout=1",
                           plan=f"extend_volume:delay:1:{NEVER_MS}").start()
        self.api.wait_manager()
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.wait_claimed("node-1")
        begin = time.monotonic()
        self.assertEqual(one.stop(), 0)
        self.assertLess(time.monotonic() - begin, 30)
        two = self.manager("node-2").start()
        self.wait("available", 1, timeout=self.TAKEN_S)
        self.end(two)


class Serving(Roles):
    """API and manager in one process, whose requests claim operations for its manager, and a second
    manager of the backend in another one."""

    COUNT = 8

    def serve(self, delay_ms):
        """The process, and volumes that its requests extend: it has claimed all, and works on two
        of them."""
        one = self.role("node-1", "serve", "--listen", "127.0.0.1:0", "--manager_workers=2",
                        "--compute_agent.enabled=false", "--shared.volume_driver=fault",
                        "--shared.fault_driver=file",
                        f"--shared.fault_plan=extend_volume:delay:1:{delay_ms}").start()
        api = BlockStorage(one.endpoint)
        self.addCleanup(api.close)
        api.wait_manager()
        ids = [api.create(1)["id"] for _ in range(self.COUNT)]
        self.wait("available", self.COUNT)
        for volume_id in ids:
            api.extend(volume_id, 2)
        return one, ids

    def check_claims(self, least):
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as database:
            claimed, = database.execute("SELECT COUNT(*) FROM operations "
                                        "WHERE owner LIKE 'node-1:%'").fetchone()
        self.assertGreaterEqual(claimed, least)

    def check_done(self, one, two, ids):
        """Each once, and some by each of them."""
        self.assertEqual({row["size"] for row in self.api.list_all()}, {2})
        self.end(two)
        shares = [self.done(part, "extend") for part in (one, two)]
        self.assertEqual(sorted(shares[0] + shares[1]), sorted(ids))
        self.assertTrue(all(shares), shares)


class AtOnce(Serving):
    def test_a_stopped_process_leaves_operations_not_begun_to_others_at_once(self):
        one, ids = self.serve(3000)
        self.check_claims(3)
        self.assertEqual(one.stop(), 0)
        two = self.manager("node-2").start()
        self.wait("available", len(ids), timeout=self.lease_s * 2 / 3)  # waits for no lease
        self.check_done(one, two, ids)


class AtOnceTakeOver(Serving):
    lease_s = LEASE_S
    TAKEN_S = LEASE_S + 27

    def test_operations_claimed_by_a_dead_process_are_taken_over(self):
        one, ids = self.serve(NEVER_MS)
        self.check_claims(3)
        two = self.manager("node-2").start()
        one.kill()
        self.wait("available", len(ids), timeout=self.TAKEN_S)
        self.end(two)
        self.assertEqual(sorted(self.done(two, "extend")), sorted(ids))

    def test_a_process_suspended_beyond_its_leases_begins_none_that_another_has(self):
        one, ids = self.serve(1000)
        self.put_to_sleep(one)
        self.check_claims(3)
        two = self.manager("node-2").start()
        self.wait("available", len(ids), timeout=self.TAKEN_S)
        os.kill(one.process.pid, signal.SIGCONT)
        time.sleep(2)
        self.assertEqual({row["size"] for row in self.api.list_all()}, {2})
        self.assertEqual(one.stop(), 0)
        self.end(two)
        self.assertEqual(sorted(self.done(one, "extend") + self.done(two, "extend")), sorted(ids))


class Fencing(Roles):
    """node-1 is stopped inside of a driver's call, before its effect; node-2 takes over."""

    lease_s = LEASE_S

    def sleeper(self, call):
        one = self.manager("node-1", plan=f"{call}:delay:1:5000").start()
        self.api.wait_manager()
        return one

    def pause(self, one):
        self.wait_claimed("node-1")
        self.put_to_sleep(one)

    def wake(self, one, *others):
        os.kill(one.process.pid, signal.SIGCONT)
        time.sleep(2)
        self.end(one, *others)

    def test_a_late_extend_does_not_shrink(self):
        one = self.sleeper("extend_volume")
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        self.pause(one)
        two = self.manager("node-2").start()
        self.wait("available", 1)
        self.api.extend(volume_id, 5)
        self.wait("available", 1)
        self.wake(one, two)
        self.assertEqual(self.size_of(volume_id), 5 * GIB)

    def test_a_late_create_recreates_nothing(self):
        one = self.sleeper("create_volume")
        volume_id = self.api.create(1)["id"]
        self.pause(one)
        two = self.manager("node-2").start()
        self.wait("available", 1)
        self.api.delete_and_wait(volume_id)
        self.wake(one, two)
        self.assertEqual(self.images(), [])

    def test_a_late_create_leaves_the_volume_of_another_manager(self):
        one = self.sleeper("create_volume")
        volume_id = self.api.create(1)["id"]
        self.pause(one)
        two = self.manager("node-2").start()
        self.wait("available", 1)
        with open(os.path.join(self.volumes, f"volume-{volume_id}"), "r+b") as image:
            image.write(b"data of a guest")
        self.api.extend(volume_id, 3)
        self.wait("available", 1)
        self.wake(one, two)
        with open(os.path.join(self.volumes, f"volume-{volume_id}"), "rb") as image:
            self.assertEqual(image.read(15), b"data of a guest")
        self.assertEqual(self.size_of(volume_id), 3 * GIB)

    def test_a_late_delete_removes_no_kept_volume(self):
        one = self.sleeper("delete_volume")
        volume_id, = self.create(1)
        self.api.delete(volume_id)
        self.pause(one)
        two = self.manager("node-2", plan="delete_volume:fail:1").start()
        self.wait("error_deleting", 1)
        self.api.reset(volume_id, "available")
        self.wake(one, two)
        image, = self.images()
        self.assertNotEqual(image, f"volume-{volume_id}")
        self.assertEqual(os.stat(os.path.join(self.volumes, image)).st_size, GIB)


class FencingOfPrograms(Roles):
    """node-1 sleeps while its qemu-img works, with it, or before its finish."""

    lease_s = LEASE_S

    def setUp(self):
        super().setUp()
        self.options.append("--shared.file_qcow2_volumes=true")
        self.tools = os.path.join(self.directory, "tools")
        os.mkdir(self.tools)

    def sleeper_with(self, *lines):
        """A manager whose qemu-img resize is this script. `real` is the program itself."""
        script = os.path.join(self.tools, "qemu-img")
        with open(script, "w", encoding="ascii") as file:
            real = shutil.which("qemu-img")
            print("#!/bin/sh", f'real() {{ {real} "$@"; }}',
                  '[ "$1" = resize ] || exec ' + real + ' "$@"', f"cd {self.tools}", *lines,
                  sep="\n", file=file)
        os.chmod(script, 0o755)
        one = self.role("node-1", "manager")
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{self.tools}:{path}"
        try:
            one.start()
        finally:
            os.environ["PATH"] = path
        self.api.wait_manager()
        return one

    wake = Fencing.wake

    def virtual_size(self, volume_id):
        with open(os.path.join(self.volumes, f"volume-{volume_id}"), "rb") as image:
            return int.from_bytes(image.read(32)[24:], "big")

    def go(self):
        open(os.path.join(self.tools, "go"), "wb").close()

    def taken_over(self, *lines, program_sleeps=False):
        one = self.sleeper_with(*lines)
        volume_id, = self.create(1)
        self.api.extend(volume_id, 2)
        until(lambda: os.path.exists(os.path.join(self.tools, "here")), 60, "qemu-img")
        self.put_to_sleep(one)
        if not program_sleeps:
            self.go()
        two = self.manager("node-2").start()
        self.wait("available", 1)
        self.api.extend(volume_id, 5)
        self.wait("available", 1)
        self.go()
        self.wake(one, two)
        self.assertEqual(self.virtual_size(volume_id), 5 * GIB)
        self.assertEqual(self.done(two, "extend"), [volume_id] * 2)
        self.assertEqual(self.done(one, "extend"), [])

    def test_a_manager_suspended_before_the_finish_changes_nothing(self):
        self.taken_over('real "$@"', "touch here", "while [ ! -e go ]; do sleep 0.05; done")

    def test_a_manager_suspended_with_its_program_changes_nothing(self):
        self.taken_over("touch here", "while [ ! -e go ]; do sleep 0.05; done", 'real "$@"',
                        program_sleeps=True)

    def test_a_manager_suspended_while_its_program_works_changes_nothing(self):
        self.taken_over("touch here", "while [ ! -e go ]; do sleep 0.05; done", 'real "$@"')


if __name__ == "__main__":
    unittest.main()
