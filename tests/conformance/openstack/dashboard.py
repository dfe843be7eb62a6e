"""
The volume panels of Horizon, in a browser: each step is seen on a page and in the volume API.
"""

import unittest

from block_storage import BlockStorage, until
from cloud import COMPUTE_VERSION, TIMEOUT_S, Cloud, Service
from horizon import Browser, Horizon

VOLUMES, SNAPSHOTS = "/project/volumes/", "/project/snapshots/"
GROUPS, GROUP_SNAPSHOTS = "/project/volume_groups/", "/project/vg_snapshots/"
TYPES, GROUP_TYPES = "/admin/volume_types/", "/admin/group_types/"

horizon = browser = None


def setUpModule():
    global horizon, browser
    horizon = Horizon(Cloud.only)
    horizon.start()
    unittest.addModuleCleanup(horizon.stop)
    browser = Browser(Cloud.only, horizon.url)
    unittest.addModuleCleanup(browser.end)


class Panels(unittest.TestCase):
    """Of a user that is logged in."""

    user = project = None

    @classmethod
    def setUpClass(cls):
        cls.cloud = Cloud.only
        browser.log_in(cls.user)
        cls.addClassCleanup(browser.log_out)
        cls.token = cls.cloud.keystone.token(cls.user, cls.project)
        cls.volumes = BlockStorage(cls.cloud.volumes_url, timeout=TIMEOUT_S, token=cls.token)
        cls.administrator = cls.cloud.volumes()

    def setUp(self):
        self.position = horizon.log_size()
        self.last = []  # requests, when the volumes have gone
        self.addCleanup(lambda: [self.administrator.ask(*words) for words in self.last])
        self.addCleanup(self.remove_all)
        self.addCleanup(self.assert_no_fault)

    def at_last(self, *words):
        self.last.append(words)

    def assert_no_fault(self):
        self.assertEqual(horizon.faults(self.position), [])

    # ---- the volume API ----

    def named(self, kind, name):
        """The id of the one with this name."""
        def found():
            return [row["id"] for row in self.volumes.ask("GET", f"/{kind}/detail")[kind]
                    if row["name"] == name]
        row, = until(found, TIMEOUT_S, f"{name} in {kind}", 0.1)
        return row

    def show(self, kind, row):
        return self.volumes.ask("GET", f"/{kind}s/{row}")[kind]

    def exists(self, kind, row):
        return self.volumes.call("GET", f"/{kind}s/{row}").status != 404

    def wait_gone(self, kind, row):
        until(lambda: not self.exists(kind, row), TIMEOUT_S, f"{kind} {row} gone", 0.1)

    def remove_all(self):
        """Of the projects of this file, also after a failure."""
        for kind, delete in (
                ("os-volume-transfer", lambda ask, row: ask("DELETE", f"/os-volume-transfer/{row}")),
                ("group_snapshots", lambda ask, row: ask("DELETE", f"/group_snapshots/{row}")),
                ("groups", lambda ask, row: ask("POST", f"/groups/{row}/action", {
                    "delete": {"delete-volumes": True}})),
                ("volumes", lambda ask, row: ask("DELETE", f"/volumes/{row}?cascade=true"))):
            def left():
                rows, = self.administrator.ask("GET", f"/{kind}?all_tenants=1").values()
                return [row["id"] for row in rows]
            for row in left():
                delete(self.administrator.ask, row)
            until(lambda: not left(), TIMEOUT_S, f"no {kind} left", 0.1)

    def volume(self, name, size_gb=1, **fields):
        fields = {"volume_type": "share", **fields}
        return self.volumes.create_available(size_gb, name=name, **fields)["id"]

    # ---- pages ----

    def appears(self, name):
        """The id of a volume with this name that the page has as available."""
        volume = self.named("volumes", name)
        browser.wait_row("volumes", volume, name, "Available")
        return volume

    def create(self, name, **fields):
        browser.open(VOLUMES)
        browser.open_form("#volumes__action_create")
        browser.send(name=name, **fields)
        return self.appears(name)


class UserPanels(Panels):
    user, project = "demo", "demo"

    @classmethod
    def setUpClass(cls):
        for project in ("demo", "other"):
            Cloud.only.keystone.user("demo", project, ["member"])
        super().setUpClass()
        cls.projects = {name: cls.cloud.keystone.project(name) for name in ("demo", "other")}
        browser.switch_project(cls.projects["demo"])
        cls.image = cls.cloud.glance.image("small", b"small".ljust(1 << 20, b"\0"),
                                           owner=cls.projects["demo"])
        cls.addClassCleanup(cls.remove_image, cls.image)

    @classmethod
    def remove_image(cls, image):
        cls.cloud.glance.call("DELETE", f"/v2/images/{image}")

    # ---- volumes ----

    def test_a_volume_is_created_edited_extended_and_deleted(self):
        volume = self.create("blank", size=1, type="share", description="first")
        row = self.volumes.show(volume)
        self.assertEqual((row["size"], row["volume_type"], row["description"]),
                         (1, "share", "first"))
        browser.wait_row("volumes", volume, "1GiB", "share", "nova", "No")
        browser.act("volumes", volume, "edit", name="renamed", description="second",
                    bootable=True)
        browser.wait_row("volumes", volume, "renamed", "second", "Yes")
        row = self.volumes.show(volume)
        self.assertEqual((row["name"], row["description"], row["bootable"]),
                         ("renamed", "second", "true"))
        browser.act("volumes", volume, "extend", new_size=3)
        browser.wait_row("volumes", volume, "3GiB", "Available")
        self.assertEqual(self.volumes.show(volume)["size"], 3)
        browser.confirm("volumes", volume, "delete")
        browser.wait_no_row("volumes", volume)
        self.volumes.wait_gone(volume)

    def test_a_snapshot_is_created_edited_used_and_deleted(self):
        volume = self.volume("origin")
        browser.open(VOLUMES)
        browser.act("volumes", volume, "snapshots", name="moment", description="first")
        snapshot = self.named("snapshots", "moment")
        browser.wait_row("volume_snapshots", snapshot, "moment", "first", "1GiB", "Available",
                         "origin")
        browser.act("volume_snapshots", snapshot, "edit", name="later", description="second")
        browser.wait_row("volume_snapshots", snapshot, "later", "second")
        row = self.show("snapshot", snapshot)
        self.assertEqual((row["name"], row["description"], row["volume_id"]),
                         ("later", "second", volume))
        browser.act("volume_snapshots", snapshot, "create_from_snapshot", name="copy", size=2)
        copy = self.appears("copy")
        row = self.volumes.show(copy)
        self.assertEqual((row["snapshot_id"], row["size"]), (snapshot, 2))
        browser.open(f"{VOLUMES}{volume}/?tab=volume_details__snapshots_tab")
        browser.wait_row("volume_snapshots", snapshot, "later")
        browser.open(f"{SNAPSHOTS}{snapshot}")
        self.assertIn("second", browser.text())
        browser.open(SNAPSHOTS)
        browser.confirm("volume_snapshots", snapshot, "delete")
        browser.wait_no_row("volume_snapshots", snapshot)
        self.wait_gone("snapshot", snapshot)

    def test_a_volume_is_made_of_an_image_and_an_image_of_it(self):
        volume = self.create("system", size=1, volume_source_type="image_source",
                             image_source=self.image, type="share")
        row = self.volumes.show(volume)
        self.assertEqual((row["bootable"], row["volume_image_metadata"]["image_id"]),
                         ("true", self.image))
        browser.wait_row("volumes", volume, "Yes")
        browser.open(f"{VOLUMES}{volume}/")
        self.assertIn("small", browser.text())
        browser.open(VOLUMES)
        browser.act("volumes", volume, "upload_to_image", image_name="made", disk_format="qcow2")
        browser.wait_row("volumes", volume, "Available")
        _, found = self.cloud.glance.call("GET", "/v2/images?name=made")
        image, = found["images"]
        self.addCleanup(self.remove_image, image["id"])
        self.assertEqual((image["status"], image["disk_format"]), ("active", "qcow2"))
        browser.open("/project/images")
        browser.wait("the image", lambda: "made" in browser.text())

    def test_a_volume_is_copied_and_another_type_given_to_the_copy(self):
        volume = self.volume("origin")
        kind = self.administrator.ask("POST", "/types", {"volume_type": {
            "name": "alike", "extra_specs": {"volume_backend_name": "share"}}})["volume_type"]
        self.at_last("DELETE", f"/types/{kind['id']}")
        copy = self.create("copy", size=1, volume_source_type="volume_source",
                           volume_source=volume)
        self.assertEqual(self.volumes.show(copy)["source_volid"], volume)
        browser.act("volumes", copy, "retype", volume_type="alike")
        browser.wait_row("volumes", copy, "alike", "Available")
        self.assertEqual(self.volumes.show(copy)["volume_type"], "alike")

    def test_metadata_of_a_volume_and_of_a_snapshot_are_changed(self):
        volume = self.volume("described", metadata={"former": "1"})
        snapshot = self.volumes.snapshot(volume)
        for page, table, kind, row in ((VOLUMES, "volumes", "volume", volume),
                                       (SNAPSHOTS, "volume_snapshots", "snapshot", snapshot)):
            with self.subTest(kind=kind):
                browser.open(page)
                browser.add_metadata(table, row, "colour", "green")
                until(lambda: self.show(kind, row)["metadata"].get("colour") == "green",
                      TIMEOUT_S, "metadata")
        self.assertEqual(self.volumes.show(volume)["metadata"],
                         {"former": "1", "colour": "green"})
        browser.open(f"{VOLUMES}{volume}/")
        self.assertIn("colour green", browser.text())
        browser.open(VOLUMES)
        browser.remove_metadata("volumes", volume, "former")
        until(lambda: self.volumes.show(volume)["metadata"] == {"colour": "green"}, TIMEOUT_S,
              "metadata")

    def test_a_volume_that_cannot_be_made_has_a_message(self):
        kind = self.administrator.ask("POST", "/types", {"volume_type": {
            "name": "nowhere", "extra_specs": {"volume_backend_name": "none"}}})["volume_type"]
        self.at_last("DELETE", f"/types/{kind['id']}")
        browser.open(VOLUMES)
        browser.open_form("#volumes__action_create")
        browser.send(name="unplaced", size=1, type="nowhere")
        volume = self.named("volumes", "unplaced")
        browser.wait_row("volumes", volume, "Error")
        browser.open(f"{VOLUMES}{volume}/?tab=volume_details__messages_tab")
        message, = self.volumes.messages(volume)
        self.assertIn(message["user_message"], browser.text())
        browser.open(VOLUMES)
        browser.confirm("volumes", volume, "delete")
        browser.wait_no_row("volumes", volume)

    def test_pages_of_volumes_follow_each_other(self):
        names = [f"page-{number}" for number in range(5)]
        for name in names:
            self.volume(name)
        browser.open("/settings/")
        browser.fill("form:has([name=pagesize])", pagesize=2)
        with browser.next_page():
            browser.script("$('form:has([name=pagesize]) [type=submit]')[0].click()")
        self.addCleanup(browser.driver.delete_cookie, "API_RESULT_PAGE_SIZE")
        def shown():
            return [name for name in names if name in browser.text("#volumes")]
        browser.open(VOLUMES)
        self.assertEqual(shown(), names[3:])
        for step, expected in (("Next", names[1:3]), ("Next", names[:1]), ("Prev", names[1:3])):
            with browser.next_page():
                browser.script("Array.from(document.querySelectorAll('#volumes tfoot a'))"
                               ".find(link => link.innerText.includes(arguments[0])).click()",
                               step)
            self.assertEqual(shown(), expected)

    # ---- projects ----

    def test_a_volume_is_given_to_another_project(self):
        volume = self.volume("gift")
        browser.open(VOLUMES)
        browser.open_form(f"[id='volumes__row_{volume}__action_create_transfer']")
        transfer = browser.send_for_form(name="handover")
        browser.open(VOLUMES)
        browser.wait_row("volumes", volume, "Awaiting Transfer")
        shown, = self.volumes.ask("GET", "/os-volume-transfer/detail")["transfers"]
        self.assertEqual((shown["id"], shown["name"], shown["volume_id"]),
                         (transfer["id"], "handover", volume))
        browser.confirm("volumes", volume, "delete_transfer")
        browser.wait_row("volumes", volume, "Available")
        self.assertEqual(self.volumes.ask("GET", "/os-volume-transfer")["transfers"], [])
        browser.open_form(f"[id='volumes__row_{volume}__action_create_transfer']")
        transfer = browser.send_for_form(name="handover")
        browser.switch_project(self.projects["other"])
        self.addCleanup(browser.switch_project, self.projects["demo"])
        browser.open(VOLUMES)
        browser.open_form("#volumes__action_accept_transfer")
        browser.send(transfer_id=transfer["id"], auth_key=transfer["auth_key"])
        browser.wait_row("volumes", volume, "gift", "Available")
        self.assertEqual(self.administrator.show(volume)["os-vol-tenant-attr:tenant_id"],
                         self.projects["other"])

    def test_the_overview_has_the_quotas(self):
        volume = self.volume("counted", 3)
        self.volumes.snapshot(volume)
        path = f"/os-quota-sets/{self.projects['demo']}"
        self.addCleanup(self.administrator.ask, "DELETE", path)
        self.administrator.ask("PUT", path, {"quota_set": {
            "volumes": 7, "snapshots": 5, "gigabytes": 20}})
        browser.open("/project/")
        text = browser.text()
        for words in ("Volumes Used 1 of 7", "Volume Snapshots Used 1 of 5",
                      "Volume Storage Used 6GB of 20GB"):
            self.assertIn(words, text)
        self.administrator.ask("PUT", path, {"quota_set": {"volumes": 1, "snapshots": 1}})
        browser.open(VOLUMES)
        self.assertIn("Create Volume (Quota exceeded)", browser.text("#volumes__action_create"))
        self.assertIn("(Quota exceeded)",
                      browser.content(f"[id='volumes__row_{volume}__action_snapshots']"))

    # ---- groups ----

    def group_type(self, name):
        kind = self.administrator.ask("POST", "/group_types", {
            "group_type": {"name": name}})["group_type"]["id"]
        self.at_last("DELETE", f"/group_types/{kind}")
        return kind

    def group_appears(self, name):
        group = self.named("groups", name)
        browser.wait_row("volume_groups", group, name, "Available")
        return group

    def members(self, group):
        return {row["id"] for row in self.volumes.list(f"?group_id={group}")}

    def test_a_group_is_created_filled_copied_and_deleted(self):
        kind = self.group_type("together")
        share = next(row["id"] for row in self.volumes.ask("GET", "/types")["volume_types"]
                     if row["name"] == "share")
        volume = self.volume("before")
        browser.open(GROUPS)
        browser.open_form("#volume_groups__action_create")
        browser.send(name="crew", description="first", group_type=kind,
                     add_vtypes_to_group_role_member=[share])
        group = self.group_appears("crew")
        browser.wait_row("volume_groups", group, "first", "share")
        browser.act("volume_groups", group, "edit", name="band", description="second")
        browser.wait_row("volume_groups", group, "band", "second")
        browser.act("volume_groups", group, "manage", add_volumes_to_group_role_member=[volume])
        browser.wait_row("volume_groups", group, "Available")
        self.assertEqual(self.members(group), {volume})
        within = self.create("within", size=1, type="share", group=group)
        self.assertEqual(self.members(group), {volume, within})
        browser.wait_row("volumes", volume, "band")
        browser.open(f"{GROUPS}{group}")
        self.assertIn("within", browser.text())
        browser.open(GROUPS)
        browser.act("volume_groups", group, "create_snapshot", name="moment")
        snapshot = self.named("group_snapshots", "moment")
        browser.wait_row("volume_vg_snapshots", snapshot, "moment", "Available", "band")
        browser.act("volume_vg_snapshots", snapshot, "create_group", name="revived")
        revived = self.group_appears("revived")
        self.assertEqual(len(self.members(revived)), 2)
        browser.act("volume_groups", group, "clone_group", name="twin")
        twin = self.group_appears("twin")
        self.assertEqual(len(self.members(twin)), 2)
        browser.act("volume_groups", twin, "remove_vols")
        browser.wait_row("volume_groups", twin, "Available")
        loose = [row["id"] for row in self.volumes.list() if row["group_id"] is None]
        self.assertEqual((self.members(twin), len(loose)), (set(), 2))
        browser.act("volume_groups", twin, "deletecg")
        browser.wait_no_row("volume_groups", twin)
        self.wait_gone("group", twin)
        browser.open(GROUP_SNAPSHOTS)
        browser.confirm("volume_vg_snapshots", snapshot, "delete_vg_snapshot")
        browser.wait_no_row("volume_vg_snapshots", snapshot)
        self.wait_gone("group_snapshot", snapshot)
        browser.open(GROUPS)
        browser.act("volume_groups", group, "deletecg", delete_volumes=True)
        browser.wait_no_row("volume_groups", group)
        self.wait_gone("group", group)
        self.volumes.wait_gone(volume)

    # ---- servers ----

    def test_a_volume_is_attached_extended_and_detached(self):
        nova = Service(self.cloud.nova_url, self.token, f"compute {COMPUTE_VERSION}")
        server = nova.ask("POST", "/servers", {"server": {
            "name": "guest", "flavorRef": self.cloud.flavor, "imageRef": self.cloud.image,
            "networks": "none"}})["server"]["id"]
        self.addCleanup(until, lambda: nova.call("GET", f"/servers/{server}").status == 404,
                        TIMEOUT_S, "the server gone", 0.2)
        self.addCleanup(nova.call, "DELETE", f"/servers/{server}")
        until(lambda: nova.ask("GET", f"/servers/{server}")["server"]["status"] == "ACTIVE",
              TIMEOUT_S, "an active server", 0.2)
        volume = self.volume("attached")
        browser.open(VOLUMES)
        browser.act("volumes", volume, "attachments", instance=server)
        browser.wait_row("volumes", volume, "In-use", "/dev/vdb on guest")
        attachment, = self.volumes.show(volume)["attachments"]
        self.assertEqual((attachment["server_id"], attachment["device"]), (server, "/dev/vdb"))
        browser.open(f"{VOLUMES}{volume}/")
        self.assertIn("guest on /dev/vdb", browser.text())
        browser.open(VOLUMES)
        browser.act("volumes", volume, "extend", new_size=2)
        browser.wait_row("volumes", volume, "2GiB", "In-use")
        browser.act("volumes", volume, "snapshots", name="live")
        snapshot = self.named("snapshots", "live")
        browser.wait_row("volume_snapshots", snapshot, "live", "Available")
        self.volumes.ask("DELETE", f"/snapshots/{snapshot}")
        self.wait_gone("snapshot", snapshot)
        browser.open(VOLUMES)
        browser.open_form(f"[id='volumes__row_{volume}__action_attachments']")
        browser.confirm("attachments", attachment["attachment_id"], "detach")
        browser.wait_row("volumes", volume, "Available")
        self.assertEqual(self.volumes.show(volume)["attachments"], [])


class AdministratorPanels(Panels):
    user, project = "admin", "admin"

    def find(self, path, name):
        """The id of the type, the spec or the like with this name."""
        rows, = (value for value in self.volumes.ask("GET", path).values()
                 if isinstance(value, list))
        return next(row["id"] for row in rows if row["name"] == name)

    def type_named(self, name, **fields):
        """A new one, until the end of the test."""
        kind = self.volumes.ask("POST", "/types", {"volume_type": {"name": name, **fields}})
        kind = kind["volume_type"]["id"]
        self.at_last("DELETE", f"/types/{kind}")
        return kind

    def type_shown(self, kind):
        return self.volumes.ask("GET", f"/types/{kind}")["volume_type"]

    # ---- types ----

    def test_a_volume_type_is_described_and_deleted(self):
        browser.open(TYPES)
        browser.open_form("#volume_types__action_create")
        browser.send(name="fast", vol_type_description="first")
        kind = self.find("/types?is_public=none", "fast")
        browser.wait_row("volume_types", kind, "fast", "first", "Yes")
        browser.act("volume_types", kind, "edit", name="faster", description="second",
                    is_public=False)
        browser.wait_row("volume_types", kind, "faster", "second", "No")
        row = self.type_shown(kind)
        self.assertEqual((row["name"], row["description"], row["is_public"]),
                         ("faster", "second", False))
        browser.confirm("volume_types", kind, "delete")
        browser.wait_no_row("volume_types", kind)
        self.wait_gone("type", kind)

    def test_specs_of_a_volume_type_are_changed(self):
        kind = self.type_named("described")
        path = f"{TYPES}{kind}/extras/"
        browser.open(path)
        browser.open_form("#extras__action_create")
        browser.send(key="note", value="first")
        browser.open(path)
        browser.wait_row("extras", "note", "first")
        browser.act("extras", "note", "edit", value="second")
        self.assertEqual(self.type_shown(kind)["extra_specs"], {"note": "second"})
        browser.open(path)
        browser.confirm("extras", "note", "delete")
        self.assertEqual(self.type_shown(kind)["extra_specs"], {})

    def test_a_volume_type_has_an_encryption(self):
        kind = self.type_named("sealed")
        browser.open(TYPES)
        browser.act("volume_types", kind, "create_encryption", provider="luks",
                    control_location="front-end", cipher="aes-xts-plain64", key_size=256)
        path = f"/types/{kind}/encryption"
        self.assertEqual(self.volumes.ask("GET", path)["key_size"], 256)
        browser.wait_row("volume_types", kind, "luks")
        browser.open(f"{TYPES}{kind}/type_encryption_detail/")
        self.assertIn("aes-xts-plain64", browser.text())
        browser.open(TYPES)
        browser.act("volume_types", kind, "update_encryption", key_size=512)
        self.assertEqual(self.volumes.ask("GET", path)["key_size"], 512)
        browser.confirm("volume_types", kind, "delete_encryption")
        self.assertEqual(self.volumes.ask("GET", path), {})

    def test_a_private_type_is_shared_with_projects(self):
        kind = self.type_named("private", **{"os-volume-type-access:is_public": False})
        browser.open(TYPES)
        browser.act("volume_types", kind, "edit_access", member=True)
        rows = self.volumes.ask("GET", f"/types/{kind}/os-volume-type-access")
        projects = {row["project_id"] for row in rows["volume_type_access"]}
        self.assertIn(self.cloud.keystone.project("admin"), projects)
        browser.act("volume_types", kind, "edit_access", member=False)
        rows = self.volumes.ask("GET", f"/types/{kind}/os-volume-type-access")
        self.assertEqual(rows["volume_type_access"], [])

    def test_limits_of_io_are_described_and_given_to_a_type(self):
        kind = self.type_named("limited")
        browser.open(TYPES)
        browser.open_form("#qos_specs__action_create")
        browser.send(name="slow", consumer="back-end")
        specs = self.find("/qos-specs", "slow")
        self.at_last("DELETE", f"/qos-specs/{specs}?force=true")
        def shown():
            return self.volumes.ask("GET", f"/qos-specs/{specs}")["qos_specs"]
        browser.wait_row("qos_specs", specs, "slow", "back-end")
        browser.act("qos_specs", specs, "edit_consumer", consumer_choice="front-end")
        self.assertEqual(shown()["consumer"], "front-end")
        path = f"{TYPES}qos_specs/{specs}/"
        browser.open(path)
        browser.open_form("#specs__action_create")
        browser.send(key="total_iops_sec", value="100")
        browser.open(path)
        browser.act("specs", "total_iops_sec", "edit", value="200")
        self.assertEqual(shown()["specs"], {"total_iops_sec": "200"})
        browser.open(TYPES)
        browser.act("volume_types", kind, "associate", qos_spec_choice=specs)
        browser.wait_row("volume_types", kind, "slow")
        self.assertEqual(self.type_shown(kind)["qos_specs_id"], specs)
        browser.act("volume_types", kind, "associate", qos_spec_choice="-1")
        self.assertIsNone(self.type_shown(kind)["qos_specs_id"])
        browser.open(path)
        browser.confirm("specs", "total_iops_sec", "delete")
        self.assertEqual(shown()["specs"], {})

    def test_a_group_type_is_described_and_deleted(self):
        browser.open(GROUP_TYPES)
        browser.open_form("#group_types__action_create")
        browser.send(name="together", group_type_description="first")
        kind = self.find("/group_types?is_public=none", "together")
        def shown():
            return self.volumes.ask("GET", f"/group_types/{kind}")["group_type"]
        browser.wait_row("group_types", kind, "together", "first", "Yes")
        browser.act("group_types", kind, "edit", name="apart", description="second",
                    is_public=False)
        browser.wait_row("group_types", kind, "apart", "second", "No")
        path = f"{GROUP_TYPES}{kind}/specs/"
        browser.open(path)
        browser.open_form("#specs__action_create")
        browser.send(key="note", value="first")
        browser.open(path)
        browser.act("specs", "note", "edit", value="second")
        self.assertEqual((shown()["name"], shown()["group_specs"]), ("apart", {"note": "second"}))
        browser.open(path)
        browser.confirm("specs", "note", "delete")
        self.assertEqual(shown()["group_specs"], {})
        browser.open(GROUP_TYPES)
        browser.confirm("group_types", kind, "delete")
        browser.wait_no_row("group_types", kind)
        self.wait_gone("group_type", kind)

    def test_a_volume_is_reset_unmanaged_and_managed(self):
        volume = self.volume("known")
        snapshot = self.volumes.snapshot(volume)
        browser.open("/admin/snapshots/")
        browser.act("volume_snapshots", snapshot, "update_status", status="error")
        browser.wait_row("volume_snapshots", snapshot, "Error", "known")
        self.assertEqual(self.show("snapshot", snapshot)["status"], "error")
        browser.confirm("volume_snapshots", snapshot, "delete")
        self.wait_gone("snapshot", snapshot)
        browser.open("/admin/volumes/")
        for status, shown in (("error", "Error"), ("available", "Available")):
            browser.act("volumes", volume, "update_status", status=status)
            browser.wait_row("volumes", volume, shown, "known")
            self.assertEqual(self.volumes.show(volume)["status"], status)
        row = self.volumes.show(volume)
        browser.act("volumes", volume, "unmanage")
        self.volumes.wait_gone(volume)
        browser.open("/admin/volumes/")
        browser.open_form("#volumes__action_manage")
        browser.send(identifier=f"127.0.0.1:/share/volume-{volume}",
                     host=row["os-vol-host-attr:host"], name="found", volume_type="share",
                     metadata="a=b")
        found = self.named("volumes", "found")
        browser.wait_row("volumes", found, "found", "Available", "1GiB")
        self.assertEqual(self.volumes.show(found)["metadata"], {"a": "b"})

    # ---- the rest ----

    def test_default_quotas_and_those_of_a_project_are_changed(self):
        project = self.cloud.keystone.project("limited")
        self.at_last("DELETE", f"/os-quota-sets/{project}")
        self.at_last("PUT", "/os-quota-class-sets/default", {"quota_class_set": {"volumes": -1}})
        path = "/admin/defaults/?tab=defaults__volume_quotas"
        browser.open(path)
        browser.open_form("#volume_quotas__action_update_volume_defaults")
        browser.send(volumes=500)
        browser.open(path)
        self.assertIn("Volumes 500", browser.text("#volume_quotas"))
        shown = self.volumes.ask("GET", "/os-quota-class-sets/default")["quota_class_set"]
        self.assertEqual((shown["volumes"], shown["snapshots"]), (500, -1))
        browser.open("/identity/")
        browser.act("tenants", project, "quotas", volumes=7, snapshots=8, gigabytes=90)
        shown = self.volumes.ask("GET", f"/os-quota-sets/{project}")["quota_set"]
        self.assertEqual([shown[name] for name in ("volumes", "snapshots", "gigabytes")],
                         [7, 8, 90])

    def test_the_services_are_shown(self):
        browser.open("/admin/info/?tab=system_info__cinder_services")
        text = browser.text("#cinder_services")
        for row in self.volumes.ask("GET", "/os-services")["services"]:
            self.assertIn(f"{row['binary']} {row['host']} {row['zone']} Enabled Up", text)

    def test_every_page_opens(self):
        for path in ("/admin/", "/admin/volumes/", "/admin/snapshots/", TYPES, GROUP_TYPES,
                     "/admin/volume_groups/", "/admin/vg_snapshots/", "/admin/defaults/",
                     "/admin/defaults/?tab=defaults__volume_quotas", "/admin/info/",
                     "/admin/info/?tab=system_info__cinder_services", "/identity/"):
            with self.subTest(path=path):
                browser.open(path)
