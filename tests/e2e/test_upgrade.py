"""
API and manager of the previous release ($SCORIA_PREVIOUS) beside those of this one: begun
operations go on when the newer program migrates the database, and every operation ends whichever of
them takes it. No part of the rest: ./test upgrade builds the previous release from the history.
"""

import glob
import json
import os
import shutil
import subprocess

import postgresql
import program
from block_storage import BlockStorage, until
from case import Workplace

PREVIOUS = os.environ.get("SCORIA_PREVIOUS", "")


def schema(binary, *options):
    output = subprocess.run([binary, "manage", "db", "version", "--format=json", *options],
                          capture_output=True, text=True, check=True)
    return json.loads(output.stdout)["schema"]


class Upgrade(Workplace):
    rounds = 1  # processes that share an SQLite file look for messages each second

    def setUp(self):
        super().setUp()
        if not PREVIOUS:
            self.fail("SCORIA_PREVIOUS names no program")
        self.database = self.make_database()
        self.options = ["--quota_volumes=-1", "--quota_gigabytes=-1", "--quota_snapshots=-1",
                        "--enabled_backends=shared", "--shared.backend_host=shared-host",
                        f"--shared.file_volume_directory={self.directory}/volumes",
                        f"--database.connection={self.database}"]

    def make_database(self):
        return f"sqlite://{self.directory}/scoria.db"

    def part(self, name, command, *options, binary=program.BINARY):
        part = program.role(self.directory, name, command, *self.options, *options)
        part.arguments[0] = binary
        self.addCleanup(part.kill)
        return part

    def manager(self, name, **binary):
        return self.part(name, "manager", **binary).start()

    def api(self, name, **binary):
        part = self.part(name, "api", "--listen=127.0.0.1:0", **binary).start()
        client = BlockStorage(part.endpoint)
        self.addCleanup(client.close)
        return part, client

    def life(self, api):
        """Of a volume, from its create to its delete."""
        volume_id = api.create_available(1)["id"]
        snapshot = api.snapshot(volume_id)
        api.extend(volume_id, 2)
        api.wait_status(volume_id, "available")
        self.assertEqual(api.show(volume_id)["size"], 2)
        api.ask("DELETE", f"/snapshots/{snapshot}")
        until(lambda: not api.snapshots(), 120, "the snapshot is gone")
        api.delete_and_wait(volume_id)

    def lives(self, *apis):
        for _ in range(self.rounds):
            for api in apis:
                self.life(api)

    def test_the_previous_release_works_beside_this_one(self):
        old_api, by_old = self.api("old-api", binary=PREVIOUS)
        old_manager = self.manager("old-manager", binary=PREVIOUS)
        by_old.wait_manager()
        kept = by_old.create_available(1)["id"]
        self.life(by_old)
        before = schema(PREVIOUS, *self.options, f"--state-dir={self.directory}/old-api")
        new_api, by_new = self.api("new-api")
        self.lives(by_old, by_new)  # the manager before does it
        new_manager = self.manager("new-manager")
        self.lives(by_old, by_new)
        self.assertEqual(old_manager.stop(), 0)
        self.lives(by_old, by_new)  # this one's
        self.assertEqual(new_manager.stop(), 0)
        new_manager = self.manager("new-manager")  # it counts values that the one before did not
        until(lambda: not self.findings(), 60, "nothing is found")
        self.assertEqual(by_new.show(kept)["status"], "available")
        self.assertEqual(by_old.show(kept)["status"], "available")
        for part in (old_api, new_api, new_manager):
            self.assertEqual(part.stop(), 0)
        self.assertEqual(self.findings(), [])
        self.back(before)

    def findings(self):
        return program.check(f"{self.directory}/new-api", *self.options)

    def back(self, before):
        """Stopped processes start again with the older schema alone."""
        after = schema(program.BINARY, *self.options, f"--state-dir={self.directory}/new-api")
        if before == after:
            return
        with self.assertRaises(program.NotStarted) as refusal:
            self.part("old-api", "api", "--listen=127.0.0.1:0", binary=PREVIOUS).start()
        self.assertIn(f"number {after}, newer than {before}", str(refusal.exception))
        self.restore(before)

    def restore(self, before):
        for path in glob.glob(f"{self.directory}/scoria.db-*"):
            os.unlink(path)
        shutil.move(f"{self.directory}/scoria.db.schema-{before}", f"{self.directory}/scoria.db")
        _, api = self.api("old-api", binary=PREVIOUS)
        self.assertEqual(len(api.list_all()), 1)


class OnPostgreSQL(Upgrade):
    rounds = 5

    def make_database(self):
        cluster = postgresql.Cluster()
        self.addCleanup(cluster.stop)
        return cluster.start().create("upgraded")

    def restore(self, before):
        """By the means of the server."""
