"""
A name has one group, and one snapshot of a group, however many clients request it at once: at the
API, and through two drivers; on both engines of the database.
"""

import concurrent.futures
import unittest

import postgresql
from block_storage import until
from csi_client import Code, Refused
from test_csi_controller import DriverCase

UNIQUE = {"X-Scoria-Unique": "name"}
AT_ONCE = 8
NO_QUOTA = ("--quota_groups=-1", "--quota_snapshots=-1")


class Names:
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.second = cls.start_driver(cls.socket + "2")
        api = cls.client()
        api.ask("POST", "/group_types", {"group_type": {"name": "csi"}})
        api.close()

    @classmethod
    def tearDownClass(cls):
        assert cls.second.stop() == 0
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.drivers = [self.driver, self.new_driver(self.socket + "2")]

    def at_once(self, ask):
        """The response of each, with one of the two drivers."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(ask, self.drivers * (AT_ONCE // 2)))

    def rows(self, path, name):
        return [row["id"] for row in self.api.ask("GET", f"/{path}?name={name}")[path]]

    def requested(self, call, **fields):
        """None: another one is at it."""
        try:
            return call(**fields)
        except Refused as refusal:
            self.assertEqual(refusal.code, Code.ABORTED, refusal)
            return None

    def group(self, driver, name, ids):
        answer = self.requested(lambda **fields: driver.groups("CreateVolumeGroup", **fields),
                            name=name, volume_ids=ids)
        return answer and answer.volume_group.volume_group_id

    def snapshots(self, driver, name, ids):
        answer = self.requested(lambda **fields: driver.snapshots("CreateVolumeGroupSnapshot", **fields),
                            name=name, source_volume_ids=ids)
        return answer and answer.group_snapshot.group_snapshot_id

    def forget_group(self, group_id):
        self.driver.groups("ModifyVolumeGroupMembership", volume_group_id=group_id, volume_ids=[])
        self.driver.groups("DeleteVolumeGroup", volume_group_id=group_id)

    def test_concurrent_creates_make_one_group(self):
        ids = [self.create().volume_id for _ in range(2)]
        for members in [], [], ids:
            name = self.name()
            made = set(self.at_once(
                lambda driver, name=name, members=members: self.group(driver, name, members)))
            made.add(self.group(self.driver, name, members))
            made.discard(None)
            self.assertEqual(self.rows("groups", name), list(made))
            self.forget_group(made.pop())

    def test_concurrent_creates_make_one_group_snapshot(self):
        ids = sorted(self.create().volume_id for _ in range(2))
        group_id = self.group(self.driver, self.name(), ids)
        self.addCleanup(self.forget_group, group_id)
        for _ in range(3):
            name = self.name()
            made = set(self.at_once(
                lambda driver, name=name: self.snapshots(driver, name, ids)))
            made.add(self.snapshots(self.driver, name, ids))
            made.discard(None)
            self.assertEqual(self.rows("group_snapshots", name), list(made))
            self.assertEqual(len(self.api.snapshots()), 2)
            self.driver.snapshots("DeleteVolumeGroupSnapshot", group_snapshot_id=made.pop())

    # ---- at the API ----

    def request_all(self, path, bodies):
        """Statuses of requests at once, each by a client of its own; created objects are deleted
        again."""
        apis = [self.connect() for _ in bodies]

        def ask(pair):
            return pair[0].call("POST", path, pair[1], headers=UNIQUE)
        with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            answers = list(pool.map(ask, zip(apis, bodies)))
        return [answer.status for answer in answers], [
            next(iter(answer.body.values()))["id"] for answer in answers if answer.status == 202]

    def delete(self, path, made):
        for made_id in made:
            if path == "/groups":
                self.api.ask("POST", f"{path}/{made_id}/action", {"delete": {}})
            else:
                until(lambda made_id=made_id: self.api.ask("GET", f"{path}/{made_id}")
                      ["group_snapshot"]["status"] == "available", 60, "it is made")
                self.api.ask("DELETE", f"{path}/{made_id}")
            until(lambda made_id=made_id: self.api.call("GET", f"{path}/{made_id}").status == 404, 60,
                  "it is gone")

    def body(self, kind, group_id, **fields):
        if kind == "group":
            return {kind: {"group_type": "csi", "volume_types": ["__DEFAULT__"], **fields}}
        return {kind: {"group_id": group_id, **fields}}

    def test_of_concurrent_requests_one_is_accepted(self):
        group_id = self.group(self.driver, self.name(), [self.create().volume_id])
        self.addCleanup(self.forget_group, group_id)
        for kind in "group", "group_snapshot":
            same = self.body(kind, group_id, name=self.name(), description="mine")
            statuses, made = self.request_all(f"/{kind}s", [same] * AT_ONCE)
            self.assertEqual(sorted(statuses), [202] + [409] * (AT_ONCE - 1))
            others = [self.body(kind, group_id, name=self.name(), description="mine"),
                      self.body(kind, group_id, name=same[kind]["name"], description="another"),
                      self.body(kind, group_id, name=same[kind]["name"]),
                      self.body(kind, group_id)]
            statuses, more = self.request_all(f"/{kind}s", others)
            self.assertEqual(statuses, [202] * len(others))
            answer = self.api.call("POST", f"/{kind}s", same)  # without the header
            self.assertEqual(answer.status, 202)
            self.delete(f"/{kind}s", [*made, *more, answer.body[kind]["id"]])


class OnSqlite(Names, DriverCase):
    options = NO_QUOTA


class OnPostgresql(Names, DriverCase):
    @classmethod
    def setUpClass(cls):
        cluster = postgresql.Cluster()
        cls.addClassCleanup(cluster.stop)
        cluster.start()
        cls.options = (*NO_QUOTA, f"--database.connection={cluster.create('names')}")
        super().setUpClass()


if __name__ == "__main__":
    unittest.main()
