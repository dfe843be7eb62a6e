"""
Debian's own clients, without authentication: the openstack and cinder commands, and cinder's Python
library for calls without a command.
"""

import json
import os

from block_storage import until
from case import ServiceCase
from clients import ClientFailed, run_client

INSTANCE = "3f0b2c3e-5a51-4d7c-9d8e-0c2f0a4a6b11"
PROJECT = "5f1d2c9a8b7e4d3c9a8b7e6d5c4f3a2b"  # only hexadecimal digits may stand in a path


class OpenStack(ServiceCase):
    def openstack(self, *arguments, output=True):
        words = ["/usr/bin/openstack", "--os-auth-type", "none",
                 "--os-endpoint", self.service.endpoint, *arguments]
        text = run_client(words + (["-f", "json"] if output else []))
        return json.loads(text) if output else text

    def status(self, volume):
        return self.openstack("volume", "show", volume)["status"]

    def test_the_lifecycle_of_a_volume(self):
        made = self.openstack("volume", "create", "--size", "1", "--description", "some words",
                              "--property", "colour=blue", "first")
        self.assertEqual((made["name"], made["size"], made["properties"]),
                         ("first", 1, {"colour": "blue"}))
        self.api.wait_status(made["id"], "available")
        listed = self.openstack("volume", "list", "--long")
        self.assertEqual([(row["ID"], row["Status"], row["Size"]) for row in listed],
                         [(made["id"], "available", 1)])
        self.openstack("volume", "set", "--size", "3", "first", output=False)
        self.api.wait_status(made["id"], "available")
        self.openstack("volume", "set", "--name", "second", "--description", "others",
                       "--property", "shape=round", made["id"], output=False)
        self.openstack("volume", "unset", "--property", "colour", "second", output=False)
        shown = self.openstack("volume", "show", "second")
        self.assertEqual((shown["size"], shown["name"], shown["description"], shown["properties"]),
                         (3, "second", "others", {"shape": "round"}))
        self.openstack("volume", "delete", "second", output=False)
        self.api.wait_gone(made["id"])
        self.assertEqual(self.openstack("volume", "list"), [])

    def snapshot_status(self, name, status):
        until(lambda: self.openstack("volume", "snapshot", "show", name)["status"] == status, 60,
              f"snapshot {name} {status}", pause=0.2)

    def test_a_file_is_managed_as_a_snapshot(self):
        self.volume(1, name="origin")
        with open(os.path.join(self.state, "volumes", "existing"), "wb") as file:
            file.truncate(1 << 30)
        made = self.openstack("volume", "snapshot", "create", "--volume", "origin",
                              "--remote-source", "source-name=existing", "moment")
        self.snapshot_status("moment", "available")
        self.api.ask("POST", f"/snapshots/{made['id']}/action", {"os-unmanage": {}})
        until(lambda: self.openstack("volume", "snapshot", "list") == [], 60, "no snapshot",
              pause=0.2)
        os.unlink(os.path.join(self.state, "volumes", f"unmanaged-{made['id']}"))

    def test_the_lifecycle_of_a_snapshot_and_its_clones(self):
        volume_id = self.volume(1, name="origin")
        made = self.openstack("volume", "snapshot", "create", "--volume", "origin",
                              "--description", "words", "--property", "colour=blue", "moment")
        self.assertEqual((made["name"], made["size"], made["volume_id"], made["properties"]),
                         ("moment", 1, volume_id, {"colour": "blue"}))
        self.snapshot_status("moment", "available")
        listed = self.openstack("volume", "snapshot", "list", "--volume", "origin")
        self.assertEqual([(row["ID"], row["Status"]) for row in listed],
                         [(made["id"], "available")])
        self.openstack("volume", "snapshot", "set", "--name", "later", "--property", "shape=round",
                       "moment", output=False)
        self.openstack("volume", "snapshot", "unset", "--property", "colour", "later",
                       output=False)
        shown = self.openstack("volume", "snapshot", "show", "later")
        self.assertEqual((shown["name"], shown["properties"]), ("later", {"shape": "round"}))
        with self.assertRaises(ClientFailed):
            self.openstack("volume", "delete", "origin", output=False)
        for source, name in (("--snapshot", "later"), ("--source", "origin")):
            copy = self.openstack("volume", "create", source, name, "copy")
            self.api.wait_status(copy["id"], "available")
            self.api.delete_and_wait(copy["id"])
        self.openstack("volume", "snapshot", "delete", "later", output=False)
        until(lambda: not self.openstack("volume", "snapshot", "list"), 60, "no snapshot",
              pause=0.2)

    def test_a_cascading_delete_removes_snapshots(self):
        volume_id = self.volume(1, name="purged")
        for name in ("one", "two"):
            self.openstack("volume", "snapshot", "create", "--volume", "purged", name)
        for name in ("one", "two"):
            self.snapshot_status(name, "available")
        self.openstack("volume", "delete", "--purge", "purged", output=False)
        self.api.wait_gone(volume_id)
        self.assertEqual(self.openstack("volume", "snapshot", "list"), [])

    def test_states_and_flags_set_by_an_administrator(self):
        volume_id = self.volume(name="flags")
        self.openstack("volume", "set", "--state", "error", "flags", output=False)
        self.assertEqual(self.status("flags"), "error")
        self.openstack("volume", "set", "--state", "available", "--bootable", "--read-only",
                       "flags", output=False)
        shown = self.openstack("volume", "show", "flags")
        self.assertEqual((shown["status"], shown["bootable"], shown["properties"]["readonly"]),
                         ("available", "true", "True"))
        self.openstack("volume", "delete", "--force", volume_id, output=False)
        self.api.wait_gone(volume_id)

    def test_volume_types(self):
        made = self.openstack("volume", "type", "create", "--description", "swift ones",
                              "--property", "disk=fast", "quick")
        self.openstack("volume", "type", "set", "--property", "level=9", "--name", "rapid",
                       "quick", output=False)
        self.openstack("volume", "type", "unset", "--property", "disk", "rapid", output=False)
        shown = self.openstack("volume", "type", "show", "rapid")
        self.assertEqual((shown["id"], shown["properties"]), (made["id"], {"level": "9"}))
        self.openstack("volume", "type", "unset", "--property", "level", "rapid", output=False)
        volume = self.openstack("volume", "create", "--size", "1", "--type", "rapid", "typed")
        self.assertEqual(volume["type"], "rapid")
        self.api.wait_status(volume["id"], "available")
        with self.assertRaises(ClientFailed):
            self.openstack("volume", "type", "delete", "rapid", output=False)
        self.api.delete_and_wait(volume["id"])
        self.openstack("volume", "type", "delete", "rapid", output=False)
        self.assertNotIn("rapid",
                         [row["Name"] for row in self.openstack("volume", "type", "list")])

    def test_qos_specs(self):
        def qos(*words, output=False):
            return self.openstack("volume", "qos", *words, output=output)

        def listed():
            return [(row["Name"], row["Consumer"], row["Associations"], row["Properties"])
                    for row in qos("list", output=True)]

        self.openstack("volume", "type", "create", "held", output=False)
        made = qos("create", "--consumer", "front-end", "--property", "total_iops_sec=100",
                   "--property", "colour=blue", "gold", output=True)
        qos("set", "--property", "total_iops_sec=200", "gold")
        qos("unset", "--property", "colour", "gold")
        qos("associate", "gold", "held")
        self.assertEqual(listed(), [("gold", "front-end", ["held"], {"total_iops_sec": "200"})])
        shown = qos("show", "gold", output=True)
        self.assertEqual((shown["id"], shown["associations"], shown["properties"]),
                         (made["id"], ["held"], {"total_iops_sec": "200"}))
        qos("disassociate", "--volume-type", "held", "gold")
        qos("disassociate", "--all", "gold")
        qos("delete", "--force", "gold")
        self.assertEqual(listed(), [])

    def test_groups_and_their_types(self):
        def group(*words, output=True):
            return self.openstack("--os-volume-api-version", "3.58", "volume", "group", *words,
                                  output=output)

        group("type", "create", "--description", "words", "together")
        group("type", "set", "--property", "colour=blue", "together")
        types = {row["Name"]: row["Properties"] for row in group("type", "list")}
        self.assertEqual(types["together"], {"colour": "blue"})
        self.openstack("volume", "type", "create", "grouped")
        made = group("create", "--name", "pair", "--description", "two", "together", "grouped")
        self.assertEqual((made["Status"], made["Name"]), ("available", "pair"))
        self.assertEqual([row["Name"] for row in group("list")], ["pair"])
        volume_id = self.volume(1, name="member", volume_type="grouped", group_id=made["ID"])
        group("set", "--name", "couple", "pair")
        with self.assertRaises(ClientFailed):
            self.openstack("volume", "delete", "member", output=False)
        with self.assertRaises(ClientFailed):
            group("delete", "couple", output=False)
        group("delete", "--force", "couple", output=False)
        self.api.wait_gone(volume_id)
        self.assertEqual(group("list"), [])
        group("type", "delete", "together", output=False)
        self.openstack("volume", "type", "delete", "grouped", output=False)

    def test_consistency_groups(self):
        def group(*words, output=True):
            return self.openstack("consistency", "group", *words, output=output)

        def listed(*kind):
            return [(row["Name"], row["Status"]) for row in group(*kind, "list")]

        self.openstack("volume", "type", "create", "copper")
        made = group("create", "--volume-type", "copper", "--description", "two", "pair")
        self.assertEqual(made["name"], "pair")
        volume = self.openstack("volume", "create", "--size", "1", "--type", "copper",
                                "--consistency-group", "pair", "member")
        self.assertEqual(volume["consistencygroup_id"], made["id"])
        self.api.wait_status(volume["id"], "available")
        self.assertEqual(listed(), [("pair", "available")])
        group("remove", "volume", "pair", "member", output=False)
        group("add", "volume", "pair", "member", output=False)
        group("set", "--name", "couple", "--description", "words", "pair", output=False)
        self.assertEqual(group("show", "couple")["description"], "words")
        group("snapshot", "create", "--consistency-group", "couple", "moment")
        until(lambda: group("snapshot", "show", "moment")["status"] == "available", 60, "snapshot",
              pause=0.2)
        self.assertEqual(group("snapshot", "list", "--status", "error"), [])
        self.assertEqual(listed("snapshot"), [("moment", "available")])
        group("snapshot", "delete", "moment", output=False)
        until(lambda: listed("snapshot") == [], 60, "no snapshot", pause=0.2)
        with self.assertRaises(ClientFailed):
            group("delete", "couple", output=False)
        group("delete", "--force", "couple", output=False)
        self.api.wait_gone(volume["id"])
        self.assertEqual(listed(), [])
        self.openstack("volume", "type", "delete", "copper", output=False)

    def test_services_zones_and_limits(self):
        services = self.openstack("volume", "service", "list")
        self.assertEqual({row["Binary"] for row in services},
                         {"cinder-scheduler", "cinder-volume", "scoria-compute"})
        self.assertEqual({row["State"] for row in services}, {"up"})
        zones = self.openstack("availability", "zone", "list", "--volume")
        self.assertEqual([row["Zone Name"] for row in zones], ["nova"])
        limits = {row["Name"]: row["Value"]
                  for row in self.openstack("limits", "show", "--absolute")}
        self.assertEqual(limits["maxTotalVolumes"], -1)

    def test_errors_have_their_reason(self):
        self.volume(name="small")
        for words, message in (
                (("volume", "show", "nothing"), "No volume with a name or ID of 'nothing'"),
                (("volume", "set", "--size", "1", "small"), "must be greater"),
                (("volume", "create", "--size", "1", "--type", "nothing", "x"), "nothing")):
            with self.subTest(words=words), self.assertRaises(ClientFailed) as caught:
                self.openstack(*words, output=words[1] != "set")
            if words[1] != "set":
                self.assertIn(message, str(caught.exception))


def table(text):
    """Rows of a client's table."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in text.splitlines() if line.startswith("|")]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def properties(text):
    return {row["Property"]: row["Value"] for row in table(text)}


class Cinder(ServiceCase):
    def cinder(self, *arguments):
        return run_client(["/usr/bin/cinder", "--os-auth-type", "noauth",
                           "--os-endpoint", self.service.endpoint, "--os-user-id", "admin",
                           "--os-project-id", "admin", *arguments], OS_VOLUME_API_VERSION="3.70")

    def test_the_lifecycle_of_a_volume(self):
        made = properties(self.cinder("create", "--name", "first", "--metadata", "a=b",
                                      "--poll", "1"))
        volume_id = made["id"]
        self.assertEqual(made["metadata"], "{'a': 'b'}")
        self.cinder("extend", "first", "2")
        self.api.wait_status(volume_id, "available")
        self.cinder("rename", "first", "second", "--description", "words")
        self.cinder("metadata", "second", "set", "c=d")
        self.cinder("metadata", "second", "unset", "a")
        self.cinder("set-bootable", "second", "true")
        self.cinder("readonly-mode-update", "second", "False")
        shown = properties(self.cinder("show", "second"))
        self.assertEqual((shown["size"], shown["description"], shown["bootable"]),
                         ("2", "words", "true"))
        self.assertEqual(self.api.show(volume_id)["metadata"], {"c": "d", "readonly": "False"})
        self.assertEqual([row["ID"] for row in table(self.cinder("list", "--name", "second"))],
                         [volume_id])
        self.cinder("reset-state", "--state", "error", "second")
        self.cinder("force-delete", "second")
        self.api.wait_gone(volume_id)

    def test_a_file_is_managed_and_unmanaged(self):
        self.api.wait_manager()
        host = self.api.ask("GET", "/scheduler-stats/get_pools")["pools"][0]["name"]
        folder = os.path.join(self.state, "volumes")
        with open(os.path.join(folder, "existing"), "wb") as file:
            file.write(b"words")
            file.truncate(3 << 29)
        listed = table(self.cinder("manageable-list", host))
        self.assertEqual([(row["reference"], row["size"], row["safe_to_manage"])
                          for row in listed], [("{'source-name': 'existing'}", "2", "True")])
        made = properties(self.cinder("manage", "--name", "mine", host, "existing"))
        self.api.wait_status(made["id"], "available")
        self.assertEqual(self.api.show(made["id"])["size"], 2)
        self.assertEqual([(row["size"], row["safe_to_manage"], row["cinder_id"])
                          for row in table(self.cinder("manageable-list", host))],
                         [("2", "False", made["id"])])
        with self.assertRaises(ClientFailed):
            self.cinder("manage", "nowhere@else#pool", "existing")
        self.cinder("unmanage", "mine")
        self.api.wait_gone(made["id"])
        with open(os.path.join(folder, f"unmanaged-{made['id']}"), "rb") as file:
            self.assertEqual((file.read(5), os.fstat(file.fileno()).st_size), (b"words", 2 << 30))
        os.unlink(file.name)
        self.assertEqual(os.listdir(folder).count("existing"), 0)

    def snapshot_status(self, name, status):
        until(lambda: properties(self.cinder("snapshot-show", name))["status"] == status, 60,
              f"snapshot {name} {status}", pause=0.2)

    def test_the_lifecycle_of_a_snapshot(self):
        volume_id = self.volume(1, name="kept")
        made = properties(self.cinder("snapshot-create", "kept", "--name", "first", "--metadata",
                                      "a=b"))
        self.snapshot_status("first", "available")
        self.assertEqual((made["volume_id"], made["metadata"]), (volume_id, "{'a': 'b'}"))
        self.assertEqual([(row["Name"], row["Status"])
                          for row in table(self.cinder("snapshot-list"))],
                         [("first", "available")])
        self.cinder("revert-to-snapshot", "first")
        self.api.wait_status(volume_id, "available")
        self.cinder("snapshot-metadata", "first", "set", "c=d")
        self.cinder("snapshot-metadata", "first", "unset", "a")
        self.assertIn("'c': 'd'", self.cinder("snapshot-metadata-show", "first") +
                      self.cinder("snapshot-show", "first"))
        self.cinder("snapshot-rename", "first", "second", "--description", "words")
        copy = properties(self.cinder("create", "--snapshot-id", made["id"], "--name", "copy",
                                      "--poll", "2"))
        self.assertEqual((copy["snapshot_id"], copy["size"]), (made["id"], "2"))
        clone = properties(self.cinder("create", "--source-volid", volume_id, "--poll"))
        self.assertEqual(clone["source_volid"], volume_id)
        self.cinder("snapshot-reset-state", "--state", "error", "second")
        self.cinder("snapshot-delete", "--force", "second")
        until(lambda: not table(self.cinder("snapshot-list")), 60, "no snapshot", pause=0.2)
        self.cinder("snapshot-create", "kept", "--name", "third")
        self.snapshot_status("third", "available")
        self.cinder("delete", "--cascade", "kept")
        self.api.wait_gone(volume_id)
        self.assertEqual(table(self.cinder("snapshot-list")), [])

    def test_a_snapshot_is_managed_and_unmanaged(self):
        volume_id = self.volume(1, name="whole")
        host = self.api.ask("GET", "/scheduler-stats/get_pools")["pools"][0]["name"]
        folder = os.path.join(self.state, "volumes")
        with open(os.path.join(folder, "existing"), "wb") as file:
            file.write(b"words")
            file.truncate(1 << 30)
        listed = table(self.cinder("snapshot-manageable-list", host))
        self.assertEqual([(row["reference"], row["size"], row["safe_to_manage"],
                           row["source_reference"]) for row in listed],
                         [("{'source-name': 'existing'}", "1", "True", "{}")])
        made = properties(self.cinder("snapshot-manage", "--name", "mine", volume_id, "existing"))
        self.snapshot_status("mine", "available")
        self.assertEqual((made["volume_id"], made["size"]), (volume_id, "1"))
        with self.assertRaises(ClientFailed):
            self.cinder("snapshot-manage", INSTANCE, "existing")
        self.cinder("snapshot-unmanage", "mine")
        until(lambda: not table(self.cinder("snapshot-list")), 60, "no snapshot", pause=0.2)
        with open(os.path.join(folder, f"unmanaged-{made['id']}"), "rb") as file:
            self.assertEqual((file.read(5), os.fstat(file.fileno()).st_size), (b"words", 1 << 30))
        os.unlink(file.name)
        self.assertEqual(os.listdir(folder).count("existing"), 0)

    def test_types_and_their_extra_specs(self):
        self.cinder("type-create", "--description", "words", "gold")
        self.cinder("type-key", "gold", "set", "level=9", "colour=red")
        self.cinder("type-key", "gold", "unset", "level")
        self.assertIn("colour", self.cinder("extra-specs-list"))
        gold = next(row["ID"] for row in table(self.cinder("type-list")) if row["Name"] == "gold")
        self.cinder("type-update", "--name", "silver", gold)
        self.assertIn("__DEFAULT__", self.cinder("type-default"))
        self.cinder("type-delete", "silver")
        self.assertEqual([row["Name"] for row in table(self.cinder("type-list"))], ["__DEFAULT__"])

    def test_groups_and_their_types(self):
        self.cinder("type-create", "iron")
        self.cinder("group-type-create", "--description", "words", "plain")
        self.cinder("group-type-key", "plain", "set", "level=9", "colour=red")
        self.cinder("group-type-key", "plain", "unset", "level")
        self.assertIn("colour", self.cinder("group-specs-list"))
        self.assertIn("plain", [row["Name"] for row in table(self.cinder("group-type-list"))])
        made = properties(self.cinder("group-create", "--name", "all", "plain", "iron"))
        self.assertEqual((made["name"], made["status"]), ("all", "available"))
        member = properties(self.cinder("create", "--group-id", made["id"], "--volume-type", "iron",
                                        "--name", "member", "--poll", "1"))
        single = properties(self.cinder("create", "--volume-type", "iron", "--poll", "1"))
        self.cinder("group-update", "all", "--name", "most", "--add-volumes", single["id"],
                    "--remove-volumes", member["id"])
        shown = properties(self.cinder("group-show", "most", "--list-volume"))
        self.assertEqual((shown["status"], shown["volumes"]),
                         ("available", f"['{single['id']}']"))
        self.cinder("delete", "member")
        with self.assertRaises(ClientFailed):
            self.cinder("group-enable-replication", "most")
        with self.assertRaises(ClientFailed):
            self.cinder("group-type-delete", "plain")
        self.cinder("group-delete", "--delete-volumes", "most")
        until(lambda: not table(self.cinder("group-list")), 60, "no group", pause=0.2)
        self.api.wait_gone(single["id"])
        self.api.wait_gone(member["id"])
        self.cinder("group-type-delete", "plain")
        self.cinder("type-delete", "iron")

    def test_consistency_groups(self):
        self.cinder("type-create", "zinc")
        made = properties(self.cinder("consisgroup-create", "--name", "all", "zinc"))
        self.assertEqual((made["name"], made["status"]), ("all", "available"))
        volume_id = self.volume(1, volume_type="zinc", consistencygroup_id=made["id"])
        self.cinder("consisgroup-update", "all", "--remove-volumes", volume_id)
        self.cinder("consisgroup-update", "all", "--name", "most", "--add-volumes", volume_id)
        self.cinder("cgsnapshot-create", "--name", "moment", "most")
        until(lambda: properties(self.cinder("cgsnapshot-show", "moment"))["status"] == "available",
              60, "cgsnapshot", pause=0.2)
        shown = table(self.cinder("cgsnapshot-list", "--consistencygroup-id", made["id"]))
        self.assertEqual([row["Name"] for row in shown], ["moment"])
        self.cinder("consisgroup-create-from-src", "--cgsnapshot", "moment", "--name", "copy")
        until(lambda: properties(self.cinder("consisgroup-show", "copy"))["status"] == "available",
              60, "copy", pause=0.2)
        self.cinder("cgsnapshot-delete", "moment")
        until(lambda: not table(self.cinder("cgsnapshot-list")), 60, "no snapshot", pause=0.2)
        with self.assertRaises(ClientFailed):
            self.cinder("consisgroup-delete", "most")
        self.cinder("consisgroup-delete", "--force", "most", "copy")
        until(lambda: not table(self.cinder("consisgroup-list")), 60, "no group", pause=0.2)
        self.api.wait_gone(volume_id)
        self.cinder("type-delete", "zinc")

    def test_quotas(self):
        self.cinder("quota-update", "--volumes", "7", "--gigabytes", "70", "another")
        shown = properties(self.cinder("quota-show", "another"))
        self.assertEqual((shown["volumes"], shown["gigabytes"]), ("7", "70"))
        before = self.api.gigabytes()["in_use"]
        self.volume(2)
        usage = {row["Type"]: row for row in table(self.cinder("quota-usage", "admin"))}
        self.assertEqual((usage["gigabytes"]["In_use"], usage["gigabytes"]["Reserved"]),
                         (str(before + 2), "0"))
        self.assertEqual(properties(self.cinder("quota-defaults", "admin"))["volumes"], "-1")
        self.cinder("quota-delete", "another")
        self.assertEqual(properties(self.cinder("quota-show", "another"))["volumes"], "-1")
        limits = {row["Name"]: row["Value"] for row in table(self.cinder("absolute-limits"))}
        self.assertEqual(limits["totalGigabytesUsed"], str(before + 2))

    def test_attachments(self):
        volume_id = self.volume(name="carried")
        made = properties(self.cinder("attachment-create", "carried", INSTANCE))
        self.assertEqual(made["status"], "reserved")
        self.cinder("attachment-update", made["id"], "--host", "somewhere", "--ip", "127.0.0.1",
                    "--mountpoint", "/dev/vdb")
        self.cinder("attachment-complete", made["id"])
        self.assertEqual(self.api.show(volume_id)["status"], "in-use")
        rows = table(self.cinder("attachment-list"))
        self.assertEqual([(row["ID"], row["Status"], row["Server ID"]) for row in rows],
                         [(made["id"], "attached", INSTANCE)])
        shown = self.cinder("attachment-show", made["id"])
        self.assertIn(f"volume-{volume_id}", shown)
        self.cinder("extend", "carried", "2")
        self.api.wait_status(volume_id, "in-use")
        self.cinder("attachment-delete", made["id"])
        self.assert_volume(volume_id, "available", 2)

    def test_views_of_administrators(self):
        services = table(self.cinder("service-list"))
        self.assertEqual({row["Binary"] for row in services},
                         {"cinder-scheduler", "cinder-volume", "scoria-compute"})
        host = next(row["Host"] for row in services if row["Binary"] == "cinder-volume")
        self.cinder("service-disable", host, "cinder-volume", "--reason", "a rest")
        self.assertIn("a rest", self.cinder("service-list", "--withreplication"))
        self.cinder("service-enable", host, "cinder-volume")
        pools = properties(self.cinder("get-pools", "--detail"))
        self.assertEqual(pools["name"], f"{host}#file")
        self.assertEqual([row["Name"] for row in table(self.cinder("availability-zone-list"))],
                         ["nova"])
        self.assertEqual(table(self.cinder("message-list")), [])
        self.assertIn("3.71", self.cinder("version-list"))

    def test_errors_have_their_reason(self):
        self.volume(2, name="two")
        for words, message in ((("show", "nothing"), "No volume with a name or ID of 'nothing'"),
                               (("extend", "two", "1"), "must be greater"),
                               (("create", "0"), "0")):
            with self.subTest(words=words), self.assertRaises(ClientFailed) as caught:
                self.cinder(*words)
            self.assertIn(message, str(caught.exception))


class CinderLibrary(ServiceCase):
    """The attach calls before the attachments API have no commands."""

    connector = {"host": "somewhere", "ip": "127.0.0.1"}

    def setUp(self):
        super().setUp()
        try:
            from cinderclient import client
            from cinderclient.contrib.noauth import CinderNoAuthPlugin
            from keystoneauth1 import session
        except ImportError:
            self.skipTest("cinderclient is not there for this Python")
        auth = CinderNoAuthPlugin("admin", PROJECT, endpoint=self.service.endpoint)
        self.volumes = client.Client("3.70", session=session.Session(auth=auth)).volumes

    def test_a_volume_is_attached_to_a_server_and_detached(self):
        volume_id = self.volume()
        self.volumes.reserve(volume_id)
        self.assertEqual(self.volumes.get(volume_id).status, "attaching")
        self.volumes.unreserve(volume_id)
        self.assertEqual(self.volumes.get(volume_id).status, "available")
        self.volumes.reserve(volume_id)
        info = self.volumes.initialize_connection(volume_id, self.connector)
        self.assertEqual(info["driver_volume_type"], "local")
        self.assertTrue(info["data"]["device_path"].endswith(f"volume-{volume_id}"))
        self.volumes.attach(volume_id, INSTANCE, "/dev/vdb", "rw")
        attached = self.volumes.get(volume_id)
        self.assertEqual((attached.status, attached.attachments[0]["server_id"]),
                         ("in-use", INSTANCE))
        self.volumes.begin_detaching(volume_id)
        self.assertEqual(self.volumes.get(volume_id).status, "detaching")
        self.volumes.roll_detaching(volume_id)
        self.assertEqual(self.volumes.get(volume_id).status, "in-use")
        self.volumes.begin_detaching(volume_id)
        self.volumes.terminate_connection(volume_id, self.connector)
        self.volumes.detach(volume_id)
        self.assert_status(volume_id, "available")

    def assert_status(self, volume_id, status):
        self.assertEqual(self.volumes.get(volume_id).status, status)


