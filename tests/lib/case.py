"""
Test cases with a service of their own: started once for a class, gone with it.  At the end of every
class the service ends in order and `scoria manage check` finds nothing.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import threading
import unittest
import uuid

import program
from block_storage import BlockStorage, until
from hypervisor import Daemons, Domain, disk_of

GIB = 1 << 30
NODE = "e2e-node"


def agent_endpoint(state):
    """Where the managers reach the one agent that has registered; None before it has."""
    with contextlib.closing(sqlite3.connect(os.path.join(state, "scoria.db"))) as base:
        rows = base.execute("SELECT endpoint FROM services "
                            "WHERE binary_name = 'scoria-compute'").fetchall()
    if len(rows) > 1:
        raise AssertionError(f"{len(rows)} agents: {rows}")
    return rows[0][0] if rows else None


class Workplace(unittest.TestCase):
    """A directory for each test, removed afterwards."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="scoria-e2e-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.state = os.path.join(self.directory, "state")


class ServiceCase(unittest.TestCase):
    options = ()
    listen = "127.0.0.1:0"
    start_seconds = 60

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.state = os.path.join(cls.directory, "state")
        cls.service = program.serve(cls.state, f"--host={NODE}", "--quota_volumes=-1",
                                    "--quota_gigabytes=-1", *cls.options, listen=cls.listen)
        cls.addClassCleanup(cls.service.kill)
        cls.service.start(cls.start_seconds)

    @classmethod
    def tearDownClass(cls):
        status = cls.service.stop()
        assert status == 0, f"scoria serve ended with {status}: {cls.service.log()[-2000:]}"
        found = program.check(cls.state, f"--host={NODE}", *cls.options)
        assert not found, f"manage check: {found}"

    def setUp(self):
        self.api = self.connect()

    @classmethod
    def client(cls):
        return BlockStorage(cls.service.endpoint)

    def connect(self):
        """A client of its own, for a thread."""
        api = self.client()
        self.addCleanup(api.close)
        return api

    def volume(self, size_gb=1, **fields):
        """An available volume that is gone after the test, whatever became of it."""
        volume = self.api.create_available(size_gb, **fields)
        self.addCleanup(self.discard, volume["id"])
        return volume["id"]

    def discard(self, volume_id):
        """Waits for the end: until then it counts in the quota that the next test checks, and files
        on a share outlive this service and its database."""
        api = self.client()
        if api.exists(volume_id):
            api.remove(volume_id)
            api.wait_gone(volume_id)
        api.close()

    def assert_volume(self, volume_id, status, size_gb):
        volume = self.api.show(volume_id)
        self.assertEqual((volume["status"], volume["size"], volume["metadata"]),
                         (status, size_gb, {}))

    def assert_answers(self):
        """The service is alive and does its work."""
        api = self.client()
        volume_id = api.create_available(1)["id"]
        api.delete_and_wait(volume_id)
        api.close()


class DomainCase(ServiceCase):
    """Volumes as disks of real domains. Needs start_hypervisor() in setUpModule()."""

    daemons = Daemons()

    @classmethod
    def start_hypervisor(cls):
        cls.daemons.start()

    @classmethod
    def stop_hypervisor(cls):
        cls.daemons.stop()

    def start_agent(self):
        """As a process of its own, where the service has none in it."""
        agent = program.Program("compute", os.path.join(self.directory, "compute.log"),
                                "--listen", "127.0.0.1:0", f"--host={NODE}",
                                f"--compute_agent.volume_endpoint={self.service.endpoint}")
        self.addCleanup(agent.kill)
        agent.start()
        until(lambda: agent_endpoint(self.state) == agent.endpoint, 120,
              "the agent's first heartbeat")
        return agent

    def attach(self, volume_id, instance=None, host=NODE):
        """The attachment of a new instance; not complete yet."""
        return self.api.attach(volume_id, instance or str(uuid.uuid4()), host)

    def domain(self, attachment, shareable=False):
        """A domain with the attachment's disk; not started yet."""
        domain = Domain(f"scoria-e2e-{uuid.uuid4().hex[:8]}", [disk_of(attachment, shareable)],
                        attachment["instance"])
        self.addCleanup(domain.destroy)
        return domain

    def running(self, size_gb=1):
        """A volume in use by a running domain: (volume id, domain)."""
        volume_id = self.volume(size_gb)
        attachment = self.attach(volume_id)
        domain = self.domain(attachment).start()
        self.api.attach_complete(attachment["id"])
        self.api.wait_status(volume_id, "in-use")
        return volume_id, domain

    def hold(self, volume_id, domain):
        """From now on the domain's disk cannot be resized, until domain.abort_copy()."""
        copy = os.path.join(self.directory, f"copy-{volume_id}")
        self.addCleanup(lambda: os.path.exists(copy) and os.unlink(copy))
        domain.copy_disk(volume_id, copy)

    def pending(self, volume_id, target_gb):
        """Waits until the compute side has the extend; its target is seen before that."""
        def is_pending():
            return program.phase(self.state, volume_id, *self.options) == "waiting"
        until(is_pending, 120, "the extend to be handed over")
        volume = self.api.show(volume_id)
        self.assertEqual(volume["metadata"], {"extend_new_size": str(target_gb)})
        return volume

    def end_of_extend(self, volume_id):
        """The volume when it is not extending any more."""
        def ended():
            volume = self.api.show(volume_id)
            return volume if volume["status"] != "extending" else None
        return until(ended, 180, "an end of the extend")

    def assert_grown(self, volume_id, domain, size_gb):
        self.api.wait_status(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", size_gb)
        self.assertEqual(domain.capacity(volume_id), size_gb * GIB)

    def assert_refused(self, volume_id, size_gb, usage):
        """The extend has failed, and everything is as before it."""
        self.api.wait_status(volume_id, "error_extending")
        self.assert_volume(volume_id, "error_extending", size_gb)
        self.assertEqual(self.api.gigabytes(), usage)
        self.assertEqual(self.api.messages(volume_id)[0]["event_id"][:17], "VOLUME_VOLUME_007")


def in_threads(functions):
    """Runs the functions at the same time; raises the first failure."""
    failures = []

    def run(function):
        try:
            function()
        except BaseException as failure:  # pylint: disable=broad-except
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
