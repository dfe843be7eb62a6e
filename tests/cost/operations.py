"""
The operations whose cost is counted. Each is requested one at a time and waited for without a request:
its end is read from the database.
"""

import contextlib
import os
import sqlite3
import time
import uuid

import program
from block_storage import BlockStorage, until
from compute_side import MICROVERSION, ComputeSide

HOST = "cost"
OPTIONS = (f"--host={HOST}", "--quota_volumes=-1", "--quota_gigabytes=-1", "--quota_snapshots=-1",
           "--max_over_subscription_ratio=1000000", "--compute_agent.enabled=false",
           # as many threads on a machine with any number of processors
           "--osapi_volume_threads=2", "--database.max_pool_size=6")
POPULATION = 120  # volumes: more than a page of 100
BUSY = ("SELECT (SELECT COUNT(*) FROM operations WHERE phase <> 'answered') + "
        "(SELECT COUNT(*) FROM outbox)")
FAILED = ("SELECT (SELECT COUNT(*) FROM volumes WHERE status LIKE 'error%') + "
          "(SELECT COUNT(*) FROM snapshots WHERE status LIKE 'error%')")
REST_S = 0.05  # the rest of the last transaction's way through the threads


class Service:
    """`make`: the process of given options, counted or not."""

    def __init__(self, directory, make):
        self.state = os.path.join(directory, "state")
        self.compute = ComputeSide(lambda: self.process.endpoint)
        self.process = make("serve", f"--state-dir={self.state}", "--listen=127.0.0.1:0", *OPTIONS,
                            "--compute.service=nova", f"--compute.endpoint={self.compute.endpoint}",
                            f"--compute.extend_completion_microversion={MICROVERSION}")
        self.api = self.database = None
        self.volumes = []

    def start(self):
        self.process.start()
        self.api = BlockStorage(self.process.endpoint)
        self.api.list()
        self.database = sqlite3.connect(f"file:{self.state}/scoria.db?mode=ro", uri=True)
        return self

    def populate(self):
        self.volumes = [self.api.create(1)["id"] for _ in range(POPULATION)]
        self.settle()

    def number(self, sql):
        return self.database.execute(sql).fetchall()[0][0]

    def settle(self):
        """Until nothing is queued or runs."""
        until(lambda: self.number(BUSY) == 0, 300, "an idle service", pause=0.002)
        time.sleep(REST_S)

    def check(self):
        """A failed operation costs less."""
        failed = self.number(FAILED)
        if failed:
            raise RuntimeError(f"{failed} operations failed: {self.process.log()[-2000:]}")

    def stop(self):
        self.compute.close()
        if self.api:
            self.api.close()
        if self.database:
            self.database.close()
        self.process.kill()


class Operation:
    """`count` of them are counted together."""

    count = 8

    def __init__(self, service):
        self.service = service
        self.api = service.api

    def prepare(self):
        """The objects of the next ones; not counted."""
        return self.service.volumes[:self.count]

    def act(self, volume_id):
        raise NotImplementedError

    def settle(self):
        self.service.settle()

    def check(self):
        self.service.check()


class Show(Operation):
    count = 20

    def act(self, volume_id):
        self.api.show(volume_id)


class ListOf100(Operation):
    count = 4

    def act(self, volume_id):
        found = self.api.list("?limit=100")
        if len(found) != 100:
            raise RuntimeError(f"a page of {len(found)} volumes")


class Create(Operation):
    def act(self, volume_id):
        self.api.create(1)
        self.settle()


class Extend(Operation):
    size_gb = 1

    def prepare(self):
        self.size_gb += 1
        return super().prepare()

    def act(self, volume_id):
        self.api.extend(volume_id, self.size_gb)
        self.settle()


class New(Operation):
    """On volumes that no other operation has."""

    def prepare(self):
        made = [self.api.create(1)["id"] for _ in range(self.count)]
        self.settle()
        return made


class ExtendDeferred(New):
    """A guest holds the image: the compute side grows it and reports."""

    count = 4

    def prepare(self):
        self.service.compute.forget()
        made = super().prepare()
        for volume_id in made:
            attachment = self.api.attach(volume_id, str(uuid.uuid4()), HOST)
            self.api.attach_complete(attachment["id"])
            path = os.path.join(self.service.state, "volumes", f"volume-{volume_id}")
            self.service.compute.hold(volume_id, path, qcow2=False)
        return made

    def act(self, volume_id):
        self.service.compute.unresponsive = False
        self.api.extend(volume_id, 2)
        self.settle()


class Delete(New):
    def act(self, volume_id):
        self.api.delete(volume_id)
        self.settle()


class Snapshot(New):
    count = 4

    def act(self, volume_id):
        self.api.ask("POST", "/snapshots", {"snapshot": {"volume_id": volume_id}})
        self.settle()


class Attachment(New):
    """All its life."""

    count = 4

    def act(self, volume_id):
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), HOST)
        self.api.attach_complete(attachment["id"])
        self.api.detach(attachment["id"])
        self.settle()


OPERATIONS = {
    "show": Show, "list of 100": ListOf100, "create": Create, "extend": Extend,
    "extend deferred": ExtendDeferred, "delete": Delete, "snapshot": Snapshot,
    "attachment": Attachment,
}


# ---- the driver for Kubernetes ----

class Probe:
    """A health check of the driver, which has them all the time."""

    count = 20

    def __init__(self, driver):
        import csi_client  # pylint: disable=import-outside-toplevel
        self.client, self.driver = csi_client, driver

    def prepare(self):
        return range(self.count)

    def act(self, _):
        self.driver.call(self.client.csi, "Identity", "Probe")

    def settle(self):
        time.sleep(REST_S)

    def check(self):
        """The driver's responses are refusals where it failed."""


class CreateVolume(Probe):
    count = 4

    def act(self, _):
        self.driver.controller("CreateVolume", name=f"pvc-{uuid.uuid4()}",
                               volume_capabilities=[self.client.capability()],
                               capacity_range=self.client.sizes(1 << 30))


DRIVER_OPERATIONS = {"csi probe": Probe, "csi create volume": CreateVolume}


@contextlib.contextmanager
def driver_before(service, directory, make):
    """The driver in front of a service: its process, and a client of it."""
    from csi_client import Driver  # pylint: disable=import-outside-toplevel
    path = os.path.join(directory, "csi.sock")
    process = make("csi", f"--endpoint=unix://{path}", f"--api={service.process.endpoint}",
                   "--controller", "--csi.nodes=node-1")
    try:
        process.start()
        client = Driver(path)
        try:
            yield process, client
        finally:
            client.close()
    finally:
        process.kill()
