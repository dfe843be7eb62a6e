"""
The controller of the CSI driver, called by a real gRPC client, in front of the real service: every
call and every refusal with its code, names that come twice, and drivers and services that die in
between: nothing is left over and nothing is there twice.
"""

import concurrent.futures
import os
import uuid

import ports
import program
from block_storage import until
from case import GIB, ServiceCase
from csi_client import (Code, Driver, Modes, Refused, capability, csi, identity, of_snapshot,
                        of_volume, sizes)

PLAIN = capability()
UNKNOWN_ID = str(uuid.UUID(int=0x1234))
ROUTES = ("detail", "summary", "action", "metadata")  # of the API, where an id may stand
FOREIGN = ("fake-vol-id", "a/b", "..", "ü" * 40, UNKNOWN_ID, *ROUTES)
NODE_1, NODE_2 = "node-1", "node-2"
FAULT = ("--file.volume_driver=fault", "--file.fault_driver=file")


class DriverCase(ServiceCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.socket = os.path.join(cls.directory, "csi", "csi.sock")
        os.mkdir(os.path.dirname(cls.socket))
        cls.csi = cls.start_driver(cls.socket)

    @classmethod
    def start_driver(cls, path, *options):
        driver = program.Program("csi", path + ".log", "--endpoint", f"unix://{path}", "--api",
                                 cls.service.endpoint, "--controller",
                                 f"--csi.nodes={NODE_1},{NODE_2},node-3", *options).start()
        cls.addClassCleanup(driver.kill)
        return driver

    def setUp(self):
        super().setUp()
        self.driver = self.new_driver(self.socket)

    def new_driver(self, path):
        driver = Driver(path)
        self.addCleanup(driver.close)
        return driver

    def refuses(self, code, call, method, /, **fields):
        with self.assertRaises(Refused) as caught:
            call(method, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertTrue(caught.exception.message)
        return caught.exception.message

    # ---- helpers of most tests ----

    def name(self):
        return f"pvc-{uuid.uuid4()}"

    def create(self, name=None, required=GIB, **fields):
        fields.setdefault("volume_capabilities", [PLAIN])
        fields.setdefault("capacity_range", sizes(required))
        volume = self.driver.controller("CreateVolume", name=name or self.name(), **fields).volume
        self.addCleanup(self.forget, volume.volume_id)
        return volume

    def forget(self, volume_id):
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id)
        self.driver.controller("DeleteVolume", volume_id=volume_id)

    def snapshot(self, volume_id, name=None):
        snapshot = self.driver.controller("CreateSnapshot", source_volume_id=volume_id,
                                          name=name or self.name()).snapshot
        self.addCleanup(self.driver.controller, "DeleteSnapshot", snapshot_id=snapshot.snapshot_id)
        return snapshot

    def publish(self, volume_id, node=NODE_1, mode=PLAIN, readonly=False):
        return dict(self.driver.controller("ControllerPublishVolume", volume_id=volume_id,
                                           node_id=node, volume_capability=mode,
                                           readonly=readonly).publish_context)

    def unpublish(self, volume_id, node=NODE_1):
        self.driver.controller("ControllerUnpublishVolume", volume_id=volume_id, node_id=node)

    def named(self, name):
        return [volume for volume in self.api.list_all() if volume["name"] == name]

    def nodes(self, volume_id):
        return list(self.driver.controller("ControllerGetVolume", volume_id=volume_id)
                    .status.published_node_ids)


class Volumes(DriverCase):
    def test_announced_capabilities_are_served(self):
        answer = self.driver.controller("ControllerGetCapabilities")
        kinds = [row.rpc.type for row in answer.capabilities]
        self.assertEqual(len(kinds), len(set(kinds)))
        self.assertIn(csi.ControllerServiceCapability.RPC.CREATE_DELETE_VOLUME, kinds)
        self.assertIn(csi.ControllerServiceCapability.RPC.MODIFY_VOLUME, kinds)

    def test_sizes_are_rounded_up_and_bounded(self):
        for requested, got in ((None, 1), (sizes(1), 1), (sizes(GIB), 1), (sizes(GIB + 1), 2),
                           (sizes(0, 3 * GIB), 1), (sizes(2 * GIB, 2 * GIB), 2),
                           (sizes(GIB + 1, 2 * GIB), 2)):
            with self.subTest(requested=requested):
                self.assertEqual(self.create(capacity_range=requested).capacity_bytes, got * GIB)
        for requested, code in ((sizes(-1), Code.INVALID_ARGUMENT), (sizes(0, -1), Code.INVALID_ARGUMENT),
                            (sizes(2, 1), Code.OUT_OF_RANGE), (sizes(1, GIB - 1), Code.OUT_OF_RANGE),
                            (sizes(GIB + 1, 2 * GIB - 1), Code.OUT_OF_RANGE),
                            (sizes(2**63 - 1), Code.OUT_OF_RANGE)):
            with self.subTest(requested=requested):
                name = self.name()
                self.refuses(code, self.driver.controller, "CreateVolume", name=name,
                             volume_capabilities=[PLAIN], capacity_range=requested)
                self.assertEqual(self.named(name), [])

    def test_a_refused_create_makes_nothing(self):
        block = capability(block=True)
        source = csi.VolumeContentSource()
        bad = csi.VolumeCapability(access_mode=Modes(mode=Modes.SINGLE_NODE_WRITER))
        modeless = csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume())
        shared = capability(Modes.MULTI_NODE_MULTI_WRITER)
        rows = (
            (Code.INVALID_ARGUMENT, {"name": ""}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": []}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": [block, bad]}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": [modeless]}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": [capability(Modes.UNKNOWN)]}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": [capability(99)]}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": [shared]}),
            (Code.INVALID_ARGUMENT, {"volume_capabilities": [
                capability(Modes.MULTI_NODE_READER_ONLY)]}),
            (Code.INVALID_ARGUMENT, {"parameters": {"colour": "red"}}),
            (Code.INVALID_ARGUMENT, {"parameters": {"type": "no-such-type"}}),
            (Code.INVALID_ARGUMENT, {"parameters": {"availability": "nowhere"}}),
            (Code.INVALID_ARGUMENT, {"mutable_parameters": {"XXX_FakeKey": "1"}}),
            (Code.INVALID_ARGUMENT, {"volume_content_source": source}),
            (Code.INVALID_ARGUMENT, {"volume_content_source": of_volume("")}),
            (Code.NOT_FOUND, {"volume_content_source": of_snapshot("non-existing-snapshot-id")}),
            (Code.NOT_FOUND, {"volume_content_source": of_volume(UNKNOWN_ID)}),
        )
        count = len(self.api.list_all())
        for code, fields in rows:
            with self.subTest(fields=fields):
                self.refuses(code, self.driver.controller, "CreateVolume",
                             **{"name": self.name(), "volume_capabilities": [PLAIN], **fields})
        self.assertEqual(len(self.api.list_all()), count)

    def test_a_name_has_one_volume(self):
        other = self.create().volume_id
        name = self.name()
        fields = {"parameters": {"csi.storage.k8s.io/pvc/name": "x"}}
        first = self.create(name, **fields)
        self.assertEqual(self.create(name, **fields), first)
        self.assertEqual(self.create(name, capacity_range=None), first)
        rows = ({"capacity_range": sizes(2 * GIB)}, {"capacity_range": sizes(0, GIB // 2)},
                {"volume_content_source": of_volume(other)},
                {"parameters": {"availability": "nowhere"}})
        for row in rows[0], rows[2], rows[3]:
            with self.subTest(row=row):
                self.refuses(Code.ALREADY_EXISTS, self.driver.controller, "CreateVolume", name=name,
                             **{"volume_capabilities": [PLAIN], **row})
        self.assertEqual(len(self.named(name)), 1)
        self.assertEqual(self.api.show(first.volume_id)["metadata"], {"csi.name": name})

    def test_a_volume_with_any_valid_name_is_found_again(self):
        for name in ("a" * 128, "it's \"quoted\"", "back\\slash\\", "ü€𝄞", " blanks ", "{'a': 'b'}",
                     "100%&name=x#y?", "'", "a/b"):
            with self.subTest(name=name):
                first = self.create(name)
                self.assertEqual(self.create(name).volume_id, first.volume_id)
        self.assertNotEqual(self.create(" x ").volume_id, self.create("x").volume_id)

    def test_a_volume_of_another_client_is_not_reused(self):
        name = self.name()
        foreign = self.volume(name=name)
        self.assertNotEqual(self.create(name).volume_id, foreign)

    def test_concurrent_creates_make_one_volume(self):
        drivers = [self.start_driver(f"{self.socket}{i}") for i in range(2)]
        clients = [self.new_driver(f"{self.socket}{i}") for i in range(2)] * 4
        names = [self.name() for _ in range(4)]

        def ask(client, name):
            try:
                return client.controller("CreateVolume", name=name, volume_capabilities=[PLAIN])
            except Refused as refusal:
                self.assertEqual(refusal.code, Code.ABORTED, refusal)
                return None

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for name in names:
                answers = list(pool.map(ask, clients, [name] * len(clients)))
                ids = {answer.volume.volume_id for answer in answers if answer}
                ids.add(self.create(name).volume_id)
                self.assertEqual(len(ids), 1)
                self.assertEqual([row["id"] for row in self.named(name)], list(ids))
        for driver in drivers:
            self.assertEqual(driver.stop(), 0)

    def test_the_api_creates_one_object_with_a_unique_value(self):
        volume_id = self.create().volume_id
        unique = {"X-Scoria-Unique": "csi.name"}
        for path, body in (("/volumes", {"volume": {"size": 1}}),
                           ("/snapshots", {"snapshot": {"volume_id": volume_id}})):
            kind = next(iter(body))
            answers = []
            for value, headers, token in (("a", unique, "u:p"), ("a", unique, "u:p"), ("b", unique, "u:p"),
                                          ("a", {}, "u:p"), ("a", unique, "u:q"),
                                          ("a", {"X-Scoria-Unique": "other"}, "u:p")):
                if kind == "snapshot" and token == "u:q":
                    continue  # it sees no volume to take one of
                body[kind]["metadata"] = {"csi.name": value}
                project = "u:p" if kind == "volume" else None
                answer = self.api.call("POST", path, body, headers={
                    **headers, **({"X-Auth-Token": token} if project else {})})
                answers.append(answer.status)
                if answer.status == 202:
                    self.addCleanup(self.remove_made, path, answer.body[kind]["id"])
            self.assertEqual(answers, [202, 409, 202, 202, 202, 202] if kind == "volume"
                             else [202, 409, 202, 202, 202])

    def remove_made(self, path, made_id):
        until(lambda: next(iter(self.api.ask("GET", f"{path}/{made_id}").values()))["status"] ==
              "available", 60, "it is made")
        self.api.ask("DELETE", f"{path}/{made_id}")
        until(lambda: self.api.call("GET", f"{path}/{made_id}").status == 404, 60, "it is gone")

    def test_sources(self):
        volume = self.create(required=2 * GIB)
        snapshot = self.snapshot(volume.volume_id)
        for source in of_snapshot(snapshot.snapshot_id), of_volume(volume.volume_id):
            name = self.name()
            made = self.create(name, capacity_range=None, volume_content_source=source)
            self.assertEqual((made.capacity_bytes, made.content_source), (2 * GIB, source))
            self.assertEqual(self.create(name, capacity_range=None, volume_content_source=source),
                             made)
            larger = self.create(required=3 * GIB, volume_content_source=source)
            self.assertEqual(larger.capacity_bytes, 3 * GIB)
            self.refuses(Code.OUT_OF_RANGE, self.driver.controller, "CreateVolume",
                         name=self.name(), volume_capabilities=[PLAIN],
                         capacity_range=sizes(GIB, GIB), volume_content_source=source)

    def test_delete(self):
        for volume_id in FOREIGN:
            self.driver.controller("DeleteVolume", volume_id=volume_id)
        self.refuses(Code.INVALID_ARGUMENT, self.driver.controller, "DeleteVolume")
        volume_id = self.create().volume_id
        self.publish(volume_id)
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "DeleteVolume",
                     volume_id=volume_id)
        self.unpublish(volume_id)
        snapshot = self.driver.controller("CreateSnapshot", source_volume_id=volume_id,
                                          name=self.name()).snapshot
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "DeleteVolume",
                     volume_id=volume_id)
        self.driver.controller("DeleteSnapshot", snapshot_id=snapshot.snapshot_id)
        self.driver.controller("DeleteVolume", volume_id=volume_id)
        self.assertFalse(self.api.exists(volume_id))
        self.driver.controller("DeleteVolume", volume_id=volume_id)

    def test_show_and_list(self):
        self.refuses(Code.INVALID_ARGUMENT, self.driver.controller, "ControllerGetVolume")
        for volume_id in FOREIGN:
            self.refuses(Code.NOT_FOUND, self.driver.controller, "ControllerGetVolume",
                         volume_id=volume_id)
        made = [self.create() for _ in range(5)]
        self.publish(made[2].volume_id)
        self.assertEqual(self.nodes(made[2].volume_id), [NODE_1])
        self.assertEqual(self.nodes(made[1].volume_id), [])
        whole = self.driver.controller("ListVolumes")
        self.assertEqual(whole.next_token, "")
        nodes = {row.volume.volume_id: list(row.status.published_node_ids) for row in whole.entries}
        self.assertEqual({row.volume_id: nodes[row.volume_id] for row in made},
                         {row.volume_id: [NODE_1] if row == made[2] else [] for row in made})
        found, token = [], ""
        while True:
            page = self.driver.controller("ListVolumes", max_entries=2, starting_token=token)
            found += [row.volume.volume_id for row in page.entries]
            self.assertTrue(len(page.entries) == 2 or not page.next_token)
            token = page.next_token
            if not token:
                break
        self.assertEqual(found, [row.volume.volume_id for row in whole.entries])
        self.refuses(Code.INVALID_ARGUMENT, self.driver.controller, "ListVolumes", max_entries=-1)
        for token in "invalid-token", UNKNOWN_ID, "&limit=0":
            self.refuses(Code.ABORTED, self.driver.controller, "ListVolumes", starting_token=token)

    def test_validate(self):
        volume_id = self.create().volume_id
        ask = {"volume_id": volume_id, "volume_capabilities": [PLAIN, capability(block=True)],
               "volume_context": {"storage.kubernetes.io/csiProvisionerIdentity": "b"},
               "parameters": {"type": "__DEFAULT__", "availability": "nova",
                              "csi.storage.k8s.io/pvc/name": "d"},
               "mutable_parameters": {"metadata.e": "f"}}
        answer = self.driver.controller("ValidateVolumeCapabilities", **ask)
        self.assertEqual(dict(answer.confirmed.mutable_parameters), {"metadata.e": "f"})
        self.assertEqual(list(answer.confirmed.volume_capabilities), ask["volume_capabilities"])
        self.assertEqual(dict(answer.confirmed.volume_context), ask["volume_context"])
        self.assertEqual(dict(answer.confirmed.parameters), ask["parameters"])
        kind = next(row for row in self.api.ask("GET", "/types")["volume_types"]
                    if row["name"] == "__DEFAULT__")["id"]
        for parameters in {}, {"type": ""}, {"type": kind}:
            answer = self.driver.controller("ValidateVolumeCapabilities",
                                            **{**ask, "parameters": parameters})
            self.assertTrue(answer.HasField("confirmed"), answer)
        for row in ({"volume_capabilities": [PLAIN, capability(Modes.MULTI_NODE_MULTI_WRITER)]},
                    {"parameters": {"c": "d"}}, {"parameters": {"type": "other"}},
                    {"parameters": {"availability": "elsewhere"}}, {"volume_context": {"a": "b"}},
                    {"mutable_parameters": {"x": "y"}},
                    {"mutable_parameters": {"metadata.x": "y", "metadata.csi.name": "z"}}):
            answer = self.driver.controller("ValidateVolumeCapabilities", **{**ask, **row})
            self.assertFalse(answer.HasField("confirmed"))
            self.assertTrue(answer.message)
        for code, row in ((Code.INVALID_ARGUMENT, {"volume_id": ""}),
                          (Code.INVALID_ARGUMENT, {"volume_capabilities": []}),
                          (Code.NOT_FOUND, {"volume_id": "fake"})):
            self.refuses(code, self.driver.controller, "ValidateVolumeCapabilities",
                         **{**ask, **row})

    def metadata(self, volume_id):
        """But for the driver's own keys."""
        pairs = self.api.show(volume_id)["metadata"]
        return {key: value for key, value in pairs.items() if not key.startswith("csi.")}

    def test_the_type_is_modified_where_it_fits(self):
        name = self.name()
        kinds = {"fits": {}, "other": {"volume_backend_name": "elsewhere"}}
        for kind, specs in kinds.items():
            self.api.ask("POST", "/types", {"volume_type": {
                "name": f"{name}-{kind}", "extra_specs": specs}})
        fits, other = (f"{name}-{kind}" for kind in kinds)
        made = self.create(name=name, mutable_parameters={"type": fits})
        volume = made.volume_id

        def has_type():
            return self.api.show(volume)["volume_type"]

        self.assertEqual(has_type(), fits)
        for wanted in "__DEFAULT__", "__DEFAULT__", fits:
            self.driver.controller("ControllerModifyVolume", volume_id=volume,
                                   mutable_parameters={"type": wanted, "metadata.of": wanted})
            self.assertEqual((has_type(), self.metadata(volume)), (wanted, {"of": wanted}))
        for pairs in ({"type": other, "metadata.of": "x"},
                      {"type": "__DEFAULT__", **{f"metadata.{i}": "x" for i in range(200)}}):
            self.refuses(Code.INVALID_ARGUMENT, self.driver.controller, "ControllerModifyVolume",
                         volume_id=volume, mutable_parameters=pairs)
            self.assertEqual((has_type(), self.metadata(volume)), (fits, {"of": fits}))
        again = self.create(name=name, mutable_parameters={"type": "__DEFAULT__"})
        self.assertEqual(again.volume_id, volume)

    def test_metadata_is_modified_and_nothing_else(self):
        name = self.name()
        made = self.create(name=name, mutable_parameters={"metadata.tier": "gold"})
        self.assertEqual(self.metadata(made.volume_id), {"tier": "gold"})
        self.driver.controller("ControllerModifyVolume", volume_id=made.volume_id,
                               mutable_parameters={"metadata.tier": "lead", "metadata.e": "é"})
        self.assertEqual(self.metadata(made.volume_id), {"tier": "lead", "e": "é"})
        for wanted in {}, {"metadata.tier": "lead"}:
            self.driver.controller("ControllerModifyVolume", volume_id=made.volume_id,
                                   mutable_parameters=wanted)
        for code, row in ((Code.INVALID_ARGUMENT, {"volume_id": ""}),
                          (Code.NOT_FOUND, {"volume_id": UNKNOWN_ID, "mutable_parameters": {}}),
                          (Code.INVALID_ARGUMENT, {"mutable_parameters": {"type": "fast"}}),
                          (Code.INVALID_ARGUMENT, {"mutable_parameters": {"metadata.": "1"}}),
                          (Code.INVALID_ARGUMENT, {"mutable_parameters": {
                              "metadata.tier": "zinc", "metadata.csi.name": "stolen"}}),
                          (Code.INVALID_ARGUMENT, {"mutable_parameters": {
                              "metadata.tier": "zinc", "metadata.long": "x" * 256}})):
            with self.subTest(row=row):
                ask = {"volume_id": made.volume_id, "mutable_parameters": {"metadata.tier": "zinc"}}
                self.refuses(code, self.driver.controller, "ControllerModifyVolume",
                             **{**ask, **row})
                self.assertEqual(self.metadata(made.volume_id), {"tier": "lead", "e": "é"})
        # Modified metadata makes no other volume.
        again = self.create(name=name, mutable_parameters={"metadata.tier": "gold"})
        self.assertEqual(again.volume_id, made.volume_id)

    def test_a_volume_in_error_is_reported(self):
        volume_id = self.create().volume_id
        for status, abnormal in ("available", False), ("error", True), ("available", False):
            self.api.action(volume_id, "os-reset_status", {"status": status})
            shown = self.driver.controller("ControllerGetVolume", volume_id=volume_id).status
            listed = next(row.status for row in self.driver.controller("ListVolumes").entries
                          if row.volume.volume_id == volume_id)
            for condition in shown.volume_condition, listed.volume_condition:
                self.assertEqual((condition.abnormal, condition.message),
                                 (abnormal, f"The volume is {status}."))

    def test_capacity(self):
        answer = self.driver.controller("GetCapacity")
        self.assertGreater(answer.available_capacity, 0)
        self.assertLessEqual(answer.maximum_volume_size.value, answer.available_capacity)
        self.assertEqual(answer.available_capacity % GIB, 0)
        self.refuses(Code.NOT_FOUND, self.driver.controller, "GetCapacity",
                     parameters={"type": "no-such-type"})


class Publishing(DriverCase):
    def test_refusals(self):
        volume_id = self.create().volume_id
        ask = {"volume_id": volume_id, "node_id": NODE_1, "volume_capability": PLAIN}
        for code, row in ((Code.INVALID_ARGUMENT, {"volume_id": ""}),
                          (Code.INVALID_ARGUMENT, {"node_id": ""}),
                          (Code.INVALID_ARGUMENT, {"volume_capability": None}),
                          (Code.INVALID_ARGUMENT, {"volume_capability": csi.VolumeCapability()}),
                          (Code.NOT_FOUND, {"volume_id": "fake-vol-id"}),
                          (Code.NOT_FOUND, {"node_id": "some-fake-node-id"})):
            self.refuses(code, self.driver.controller, "ControllerPublishVolume", **{**ask, **row})
        self.refuses(Code.INVALID_ARGUMENT, self.driver.controller, "ControllerUnpublishVolume")
        for foreign in FOREIGN:
            self.driver.controller("ControllerUnpublishVolume", volume_id=foreign)
        self.unpublish(volume_id)
        self.assertEqual(self.api.show(volume_id)["status"], "available")

    def test_a_node_has_one_attachment(self):
        volume_id = self.create().volume_id
        first = self.publish(volume_id)
        self.assertEqual(self.publish(volume_id), first)
        volume = self.api.show(volume_id)
        self.assertEqual(volume["status"], "in-use")
        self.assertEqual([row["attachment_id"] for row in volume["attachments"]],
                         [first["attachment_id"]])
        self.assertTrue(first["driver_volume_type"])
        self.assertEqual(self.refuses(Code.FAILED_PRECONDITION, self.driver.controller,
                                      "ControllerPublishVolume", volume_id=volume_id,
                                      node_id=NODE_2, volume_capability=PLAIN).count(NODE_1), 1)
        self.refuses(Code.ALREADY_EXISTS, self.driver.controller, "ControllerPublishVolume",
                     volume_id=volume_id, node_id=NODE_1, volume_capability=PLAIN, readonly=True)
        self.unpublish(volume_id, NODE_2)
        self.assertEqual(self.nodes(volume_id), [NODE_1])
        self.unpublish(volume_id)
        self.unpublish(volume_id)
        self.assertEqual(self.api.show(volume_id)["status"], "available")
        self.assertNotEqual(self.publish(volume_id, NODE_2), first)
        self.unpublish(volume_id, "")
        self.assertEqual(self.nodes(volume_id), [])

    def test_read_only(self):
        volume_id = self.create().volume_id
        self.publish(volume_id, readonly=True)
        attachments = self.api.ask("GET", f"/attachments/detail?volume_id={volume_id}")
        self.assertEqual([row["attach_mode"] for row in attachments["attachments"]], ["ro"])
        self.publish(volume_id, readonly=True)
        self.refuses(Code.ALREADY_EXISTS, self.driver.controller, "ControllerPublishVolume",
                     volume_id=volume_id, node_id=NODE_1, volume_capability=PLAIN)

    def test_several_nodes(self):
        kind = self.api.ask("POST", "/types", {"volume_type": {
            "name": self.name(), "extra_specs": {"multiattach": "<is> True"}}})["volume_type"]
        self.addCleanup(self.api.ask, "DELETE", f"/types/{kind['id']}")
        shared = capability(Modes.MULTI_NODE_MULTI_WRITER, block=True)
        name = self.name()
        volume_id = self.create(name, parameters={"type": kind["name"]},
                                volume_capabilities=[shared]).volume_id
        self.assertEqual(self.create(name, parameters={"type": kind["id"]}).volume_id, volume_id)
        self.publish(volume_id, NODE_1, shared)
        self.publish(volume_id, NODE_2, shared)
        self.assertEqual(sorted(self.nodes(volume_id)), [NODE_1, NODE_2])
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "ControllerPublishVolume",
                     volume_id=volume_id, node_id="node-3", volume_capability=PLAIN)
        self.unpublish(volume_id, NODE_1)
        self.assertEqual(self.nodes(volume_id), [NODE_2])
        self.forget(volume_id)

    def test_concurrent_publishes_make_one_attachment(self):
        volume_id = self.create().volume_id

        def ask(_):
            try:
                return self.publish(volume_id)
            except Refused as refusal:
                self.assertIn(refusal.code, (Code.ABORTED, Code.UNAVAILABLE), refusal)
                return None

        for _ in range(4):
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                answers = [answer for answer in pool.map(ask, range(6)) if answer]
            answers.append(self.publish(volume_id))
            self.assertEqual(len({answer["attachment_id"] for answer in answers}), 1)
            self.assertEqual(self.nodes(volume_id), [NODE_1])
            self.unpublish(volume_id)

    def test_an_interrupted_publish_is_replaced(self):
        volume_id = self.create().volume_id
        for connector in None, {"host": NODE_2}:
            begun = self.api.ask("POST", "/attachments", {"attachment": {
                "volume_uuid": volume_id, "connector": connector}})["attachment"]["id"]
            self.assertNotEqual(self.publish(volume_id)["attachment_id"], begun)
            self.assertEqual(self.nodes(volume_id), [NODE_1])
            self.unpublish(volume_id)
        self.api.ask("POST", "/attachments", {"attachment": {"volume_uuid": volume_id}})
        self.unpublish(volume_id)
        self.assertEqual(self.api.show(volume_id)["status"], "available")

    def test_a_disk_of_a_server_is_not_published(self):
        volume_id = self.create().volume_id
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), NODE_1)["id"]
        self.api.attach_complete(attachment)
        self.assertEqual(self.nodes(volume_id), [])
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "ControllerPublishVolume",
                     volume_id=volume_id, node_id=NODE_1, volume_capability=PLAIN)
        self.unpublish(volume_id)
        self.assertEqual(self.api.show(volume_id)["status"], "in-use")
        self.api.detach(attachment)


class Ids(DriverCase):
    def test_invalid_ids_are_not_found_and_reach_no_other_route(self):
        controller, groups, snapshots = (self.driver.controller, self.driver.groups,
                                         self.driver.snapshots)
        bytes_ = {"capacity_range": sizes(2 * GIB)}
        for none in ROUTES:
            for call, method, ask in (
                    (controller, "ControllerGetVolume", {"volume_id": none}),
                    (controller, "ValidateVolumeCapabilities",
                     {"volume_id": none, "volume_capabilities": [PLAIN]}),
                    (controller, "ControllerPublishVolume",
                     {"volume_id": none, "node_id": NODE_1, "volume_capability": PLAIN}),
                    (controller, "ControllerExpandVolume", {"volume_id": none, **bytes_}),
                    (controller, "ControllerModifyVolume", {"volume_id": none}),
                    (controller, "ControllerModifyVolume",
                     {"volume_id": none, "mutable_parameters": {"metadata.a": "b"}}),
                    (controller, "CreateVolume",
                     {"name": self.name(), "volume_capabilities": [PLAIN],
                      "volume_content_source": of_volume(none)}),
                    (controller, "CreateVolume",
                     {"name": self.name(), "volume_capabilities": [PLAIN],
                      "volume_content_source": of_snapshot(none)}),
                    (controller, "CreateSnapshot", {"name": "n", "source_volume_id": none}),
                    (controller, "GetSnapshot", {"snapshot_id": none}),
                    (self.driver.reclaim, "ControllerReclaimSpace", {"volume_id": none}),
                    (groups, "CreateVolumeGroup", {"name": self.name(), "volume_ids": [none]}),
                    (groups, "ControllerGetVolumeGroup", {"volume_group_id": none}),
                    (groups, "ModifyVolumeGroupMembership", {"volume_group_id": none}),
                    (snapshots, "CreateVolumeGroupSnapshot",
                     {"name": "n", "source_volume_ids": [none]}),
                    (snapshots, "GetVolumeGroupSnapshot", {"group_snapshot_id": none})):
                with self.subTest(method=method, id=none):
                    self.refuses(Code.NOT_FOUND, call, method, **ask)
            for call, method, key in (
                    (controller, "DeleteVolume", "volume_id"),
                    (controller, "ControllerUnpublishVolume", "volume_id"),
                    (controller, "DeleteSnapshot", "snapshot_id"),
                    (groups, "DeleteVolumeGroup", "volume_group_id"),
                    (snapshots, "DeleteVolumeGroupSnapshot", "group_snapshot_id")):
                call(method, **{key: none})
            listed = controller("ListSnapshots", snapshot_id=none)
            self.assertEqual(list(listed.entries), [])
            listed = controller("ListSnapshots", source_volume_id=none)
            self.assertEqual(list(listed.entries), [])


class Limited(DriverCase):
    """A node takes three volumes."""

    most = 3

    @classmethod
    def start_driver(cls, path, *options):
        driver = program.Program("csi", path + ".log", "--endpoint", f"unix://{path}", "--api",
                                 cls.service.endpoint, "--controller",
                                 f"--csi.max_volumes={cls.most}").start()
        cls.addClassCleanup(driver.kill)
        return driver

    def taken(self, node, ids):
        return [volume_id for volume_id in ids if node in self.nodes(volume_id)]

    def test_a_node_gets_no_more_volumes_than_its_limit(self):
        ids = [self.create().volume_id for _ in range(self.most + 1)]
        self.api.attach(self.volume(), str(uuid.uuid4()), NODE_1)  # a server's, of the same host
        for volume_id in ids[:-1]:
            self.publish(volume_id)
        message = self.refuses(Code.RESOURCE_EXHAUSTED, self.driver.controller,
                               "ControllerPublishVolume", volume_id=ids[-1], node_id=NODE_1,
                               volume_capability=PLAIN)
        self.assertIn(NODE_1, message)
        self.assertEqual(self.api.show(ids[-1])["status"], "available")
        self.publish(ids[0])  # is there
        self.publish(ids[-1], NODE_2)
        self.unpublish(ids[-1], NODE_2)
        self.unpublish(ids[0])
        self.publish(ids[-1])

    def test_concurrent_publishes_keep_the_limit(self):
        self.start_driver(self.socket + "2")
        ids = [self.create().volume_id for _ in range(2 * self.most)]
        drivers = [self.driver, self.new_driver(self.socket + "2")] * self.most

        def ask(driver, volume_id):
            try:
                driver.controller("ControllerPublishVolume", volume_id=volume_id, node_id=NODE_1,
                                  volume_capability=PLAIN)
                return volume_id
            except Refused as refusal:
                self.assertEqual(refusal.code, Code.RESOURCE_EXHAUSTED, refusal)
                return None

        with concurrent.futures.ThreadPoolExecutor(len(ids)) as pool:
            for _ in range(4):
                there = sorted(filter(None, pool.map(ask, drivers, ids)))
                self.assertEqual(sorted(self.taken(NODE_1, ids)), there)
                self.assertLessEqual(len(there), self.most)
                for volume_id in ids:
                    self.unpublish(volume_id)

    def test_reported_attachments_stay_on_a_full_node(self):
        """The same is requested twice at once, as after a deadline, and a node cannot take all."""
        self.start_driver(self.socket + "3")
        ids = [self.create().volume_id for _ in range(self.most + 1)]
        requested = [(driver, volume_id) for volume_id in ids
                 for driver in (self.driver, self.new_driver(self.socket + "3"))]

        def ask(pair):
            try:
                pair[0].controller("ControllerPublishVolume", volume_id=pair[1], node_id=NODE_1,
                                   volume_capability=PLAIN)
                return pair[1]
            except Refused as refusal:
                self.assertIn(refusal.code, (Code.RESOURCE_EXHAUSTED, Code.ABORTED,
                                             Code.UNAVAILABLE), refusal)
                return None

        with concurrent.futures.ThreadPoolExecutor(len(requested)) as pool:
            for _ in range(4):
                there = set(filter(None, pool.map(ask, requested)))
                self.assertEqual(set(self.taken(NODE_1, ids)), there)
                for volume_id in ids:
                    self.unpublish(volume_id)


class Expanding(DriverCase):
    def expand(self, volume_id, *requested, **fields):
        return self.driver.controller("ControllerExpandVolume", volume_id=volume_id,
                                      capacity_range=sizes(*requested), **fields)

    def test_a_repeated_expand_grows_after_a_failure(self):
        """The image is away for a while."""
        for published in False, True:
            with self.subTest(published=published):
                volume_id = self.create().volume_id
                if published:
                    self.publish(volume_id)
                image = os.path.join(self.state, "volumes", f"volume-{volume_id}")
                away = os.path.join(self.directory, "away")
                os.rename(image, away)
                for _ in range(2):
                    self.refuses(Code.INTERNAL, self.driver.controller, "ControllerExpandVolume",
                                 volume_id=volume_id, capacity_range=sizes(2 * GIB))
                    self.assertEqual(self.api.show(volume_id)["status"], "error_extending")
                os.rename(away, image)
                self.publish(volume_id)
                if not published:
                    self.assertEqual(self.api.show(volume_id)["status"], "in-use")
                    self.assertEqual(self.api.show(volume_id)["size"], 1)
                self.assertEqual(self.expand(volume_id, 2 * GIB).capacity_bytes, 2 * GIB)
                self.assertEqual(self.api.show(volume_id)["status"], "in-use")

    def test_a_volume_with_snapshots_is_kept_after_a_failed_extend(self):
        volume_id = self.create().volume_id
        image = os.path.join(self.state, "volumes", f"volume-{volume_id}")
        away = os.path.join(self.directory, "away")
        snapshot_id = self.snapshot(volume_id).snapshot_id
        os.rename(image, away)
        self.refuses(Code.INTERNAL, self.driver.controller, "ControllerExpandVolume",
                     volume_id=volume_id, capacity_range=sizes(2 * GIB))
        os.rename(away, image)
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "DeleteVolume",
                     volume_id=volume_id)
        self.assertEqual(self.api.show(volume_id)["status"], "error_extending")
        self.driver.controller("DeleteSnapshot", snapshot_id=snapshot_id)
        self.driver.controller("DeleteVolume", volume_id=volume_id)
        self.assertFalse(self.api.exists(volume_id))

    def test_a_failed_extend_is_reset_before_any_other_call(self):
        volume_id = self.create().volume_id
        image = os.path.join(self.state, "volumes", f"volume-{volume_id}")
        away = os.path.join(self.directory, "away")
        self.api.ask("POST", "/types", {"volume_type": {"name": "another"}})
        controller = self.driver.controller
        for call in (
                lambda: self.create(volume_content_source=of_volume(volume_id)),
                lambda: controller("ControllerModifyVolume", volume_id=volume_id,
                                   mutable_parameters={"type": "another"}),
                lambda: self.driver.reclaim("ControllerReclaimSpace", volume_id=volume_id)):
            os.rename(image, away)
            self.refuses(Code.INTERNAL, controller, "ControllerExpandVolume",
                         volume_id=volume_id, capacity_range=sizes(2 * GIB))
            os.rename(away, image)
            self.assertEqual(self.api.show(volume_id)["status"], "error_extending")
            call()
            volume = self.api.show(volume_id)
            self.assertEqual((volume["status"], volume["size"]), ("available", 1))

    def test_a_published_volume_grows(self):
        volume_id = self.create().volume_id
        for published in False, True:
            if published:
                self.publish(volume_id)
            size = self.api.show(volume_id)["size"]
            for _ in range(2):
                answer = self.expand(volume_id, size * GIB + 1)
                self.assertEqual(answer.capacity_bytes, (size + 1) * GIB)
                self.assertTrue(answer.node_expansion_required)
            self.assertEqual(self.api.show(volume_id)["size"], size + 1)
        self.assertEqual(self.expand(volume_id, GIB).capacity_bytes, 3 * GIB)
        self.assertEqual(self.api.show(volume_id)["status"], "in-use")

    def test_refusals(self):
        volume_id = self.create(required=2 * GIB).volume_id
        for code, ask in (
                (Code.INVALID_ARGUMENT, {"capacity_range": sizes(GIB)}),
                (Code.INVALID_ARGUMENT, {"volume_id": volume_id}),
                (Code.INVALID_ARGUMENT, {"volume_id": volume_id, "capacity_range": sizes(-1)}),
                (Code.INVALID_ARGUMENT, {"volume_id": volume_id, "capacity_range": sizes(GIB),
                                         "volume_capability": csi.VolumeCapability()}),
                (Code.NOT_FOUND, {"volume_id": "fake", "capacity_range": sizes(GIB)}),
                (Code.OUT_OF_RANGE, {"volume_id": volume_id, "capacity_range": sizes(3, 2)}),
                (Code.OUT_OF_RANGE, {"volume_id": volume_id, "capacity_range": sizes(1, GIB)}),
                (Code.RESOURCE_EXHAUSTED, {"volume_id": volume_id,
                                           "capacity_range": sizes((2**31 - 1) * GIB)})):
            with self.subTest(ask=ask):
                self.refuses(code, self.driver.controller, "ControllerExpandVolume", **ask)
        self.assertEqual(self.api.show(volume_id)["size"], 2)


class Snapshots(DriverCase):
    def test_a_name_has_one_snapshot(self):
        volume_id, other = self.create().volume_id, self.create().volume_id
        name = self.name()
        first = self.snapshot(volume_id, name)
        self.assertTrue(first.ready_to_use)
        self.assertGreater(first.creation_time.seconds, 0)
        self.assertEqual((first.size_bytes, first.source_volume_id), (GIB, volume_id))
        self.assertEqual(self.snapshot(volume_id, name), first)
        self.refuses(Code.ALREADY_EXISTS, self.driver.controller, "CreateSnapshot", name=name,
                     source_volume_id=other)
        self.assertEqual(self.driver.controller("GetSnapshot", snapshot_id=first.snapshot_id)
                         .snapshot, first)

    def test_refusals(self):
        volume_id = self.create().volume_id
        for code, method, ask in (
                (Code.INVALID_ARGUMENT, "CreateSnapshot", {"source_volume_id": volume_id}),
                (Code.INVALID_ARGUMENT, "CreateSnapshot", {"name": "n"}),
                (Code.INVALID_ARGUMENT, "CreateSnapshot",
                 {"name": "n", "source_volume_id": volume_id, "parameters": {"x": "y"}}),
                (Code.NOT_FOUND, "CreateSnapshot", {"name": "n", "source_volume_id": "fake"}),
                (Code.INVALID_ARGUMENT, "DeleteSnapshot", {}),
                (Code.INVALID_ARGUMENT, "GetSnapshot", {}),
                (Code.NOT_FOUND, "GetSnapshot", {"snapshot_id": "none-exist-id"}),
                (Code.INVALID_ARGUMENT, "ListSnapshots", {"max_entries": -1}),
                (Code.ABORTED, "ListSnapshots", {"starting_token": "invalid-token"})):
            with self.subTest(method=method, ask=ask):
                self.refuses(code, self.driver.controller, method, **ask)
        for snapshot_id in FOREIGN:
            self.driver.controller("DeleteSnapshot", snapshot_id=snapshot_id)

    def test_a_published_volume_where_files_share_no_blocks(self):
        volume_id = self.create().volume_id
        self.publish(volume_id)
        for _ in range(2):
            try:
                self.snapshot(volume_id, "of-a-published-one")
            except Refused as refused:
                self.assertEqual(refused.code, Code.FAILED_PRECONDITION, refused)
                self.assertIn("is in use", refused.message)
            else:
                self.skipTest("files share blocks here")
            self.assertEqual(self.api.snapshots(), [])
        self.unpublish(volume_id)
        self.assertTrue(self.snapshot(volume_id, "of-a-published-one").ready_to_use)

    def test_lists(self):
        volumes = [self.create().volume_id for _ in range(2)]
        made = [self.snapshot(volumes[i % 2]) for i in range(5)]
        ids = {row.snapshot_id for row in made}

        def found(**ask):
            answer = self.driver.controller("ListSnapshots", **ask)
            return [row.snapshot.snapshot_id for row in answer.entries], answer.next_token

        self.assertEqual(set(found()[0]), ids)
        self.assertEqual(found(snapshot_id=made[3].snapshot_id), ([made[3].snapshot_id], ""))
        self.assertEqual(found(snapshot_id="none-exist-id"), ([], ""))
        self.assertEqual(found(source_volume_id="none-exist-id"), ([], ""))
        self.assertEqual(set(found(source_volume_id=volumes[1])[0]),
                         {made[1].snapshot_id, made[3].snapshot_id})
        self.assertEqual(found(source_volume_id=volumes[1], snapshot_id=made[0].snapshot_id),
                         ([], ""))
        two, token = found(max_entries=2)
        rest, end = found(starting_token=token)
        self.assertEqual((len(two), len(rest), end), (2, 3, ""))
        self.assertEqual({*two, *rest}, ids)


class GroupsCase(DriverCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        api = cls.client()
        kind = api.ask("POST", "/group_types", {"group_type": {"name": "csi"}})["group_type"]
        api.ask("POST", f"/group_types/{kind['id']}/group_specs", {
            "group_specs": {"consistent_group_snapshot_enabled": "<is> True"}})
        api.close()

    def group(self, name=None, volume_ids=(), **fields):
        group = self.driver.groups("CreateVolumeGroup", name=name or self.name(),
                                   volume_ids=volume_ids, **fields).volume_group
        self.addCleanup(self.forget_group, group.volume_group_id)
        return group

    def forget_group(self, group_id):
        try:
            self.modify(group_id, [])
        except Refused as refusal:
            self.assertEqual(refusal.code, Code.NOT_FOUND)
        self.driver.groups("DeleteVolumeGroup", volume_group_id=group_id)

    def modify(self, group_id, volume_ids):
        return self.driver.groups("ModifyVolumeGroupMembership", volume_group_id=group_id,
                                  volume_ids=volume_ids).volume_group

    def members(self, group):
        return sorted(volume.volume_id for volume in group.volumes)

    def shown(self, group_id):
        return self.driver.groups("ControllerGetVolumeGroup",
                                  volume_group_id=group_id).volume_group


class Groups(GroupsCase):
    def test_a_name_has_one_group(self):
        ids = sorted(self.create().volume_id for _ in range(2))
        for members in [], ids:
            name = self.name()
            first = self.group(name, members)
            self.assertEqual(self.members(first), members)
            self.assertEqual(self.group(name, reversed(members)), first)
            self.assertEqual(self.shown(first.volume_group_id), first)
            self.assertEqual(self.modify(first.volume_group_id, members), first)
            if members:
                self.refuses(Code.ALREADY_EXISTS, self.driver.groups, "CreateVolumeGroup",
                             name=name, volume_ids=members[:1])
            self.assertEqual(len(self.api.ask("GET", f"/groups?name={name}")["groups"]), 1)

    def test_other_parameters_are_another_group(self):
        def make(path, name):
            row = self.api.ask("POST", f"/{path}s", {name: {"name": "another"}})[name]
            self.addCleanup(self.api.ask, "DELETE", f"/{path}s/{row['id']}")
            return row["id"]

        volume_type = self.api.ask("GET", "/types/default")["volume_type"]
        group_type = next(row for row in self.api.ask("GET", "/group_types")["group_types"]
                          if row["name"] == "csi")
        name = self.name()
        first = self.group(name, parameters={"group_type": "csi",
                                             "volume_types": volume_type["name"]})
        make("type", "volume_type")
        make("group_type", "group_type")
        for parameters in ({}, {"group_type": group_type["id"]},
                           {"volume_types": f"{volume_type['id']},{volume_type['name']}"}):
            self.assertEqual(self.group(name, parameters=parameters), first)
        for code, parameters in (
                (Code.ALREADY_EXISTS, {"group_type": "another"}),
                (Code.ALREADY_EXISTS, {"volume_types": "another"}),
                (Code.ALREADY_EXISTS, {"volume_types": f"{volume_type['id']},another"}),
                (Code.INVALID_ARGUMENT, {"group_type": "none"}),
                (Code.INVALID_ARGUMENT, {"volume_types": "none"})):
            with self.subTest(parameters=parameters):
                self.refuses(code, self.driver.groups, "CreateVolumeGroup", name=name,
                             parameters=parameters)
        self.assertEqual(self.shown(first.volume_group_id), first)

    def test_an_incomplete_group_gets_its_volumes(self):
        volume_id = self.create().volume_id
        name = self.name()
        first = self.group(name)
        self.assertEqual(self.members(self.group(name, [volume_id])), [volume_id])
        self.assertEqual(self.members(self.shown(first.volume_group_id)), [volume_id])
        self.assertEqual(self.members(self.group(name)), [volume_id])

    def test_members_change_together(self):
        one, two, three = (self.create().volume_id for _ in range(3))
        group_id = self.group(volume_ids=[one, two]).volume_group_id
        other_id = self.group(volume_ids=[three]).volume_group_id
        self.assertEqual(self.members(self.modify(group_id, [two])), [two])
        group = self.modify(group_id, [one, two, one])
        self.assertEqual(self.members(group), sorted([one, two]))
        self.assertEqual([volume.capacity_bytes for volume in group.volumes], [GIB, GIB])
        self.refuses(Code.INVALID_ARGUMENT, self.driver.groups, "ModifyVolumeGroupMembership",
                     volume_group_id=group_id, volume_ids=[one, three])
        self.assertEqual(self.members(self.shown(group_id)), sorted([one, two]))
        self.refuses(Code.NOT_FOUND, self.driver.groups, "ModifyVolumeGroupMembership",
                     volume_group_id=group_id, volume_ids=[one, UNKNOWN_ID])
        self.assertEqual(self.members(self.shown(group_id)), sorted([one, two]))
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "DeleteVolume",
                     volume_id=one)
        self.assertEqual(self.members(self.modify(group_id, [])), [])
        self.assertEqual(self.members(self.shown(other_id)), [three])

    def test_a_restored_volume_joins(self):
        one = self.create().volume_id
        snapshot_id = self.snapshot(one).snapshot_id
        restored = self.create(volume_content_source=of_snapshot(snapshot_id)).volume_id
        group_id = self.group(volume_ids=[one]).volume_group_id
        self.assertEqual(self.members(self.modify(group_id, [one, restored])),
                         sorted([one, restored]))

    def test_refusals(self):
        volume_id = self.create().volume_id
        self.group(volume_ids=[volume_id])
        empty = self.group().volume_group_id
        count = len(self.api.ask("GET", "/groups")["groups"])
        for code, method, ask in (
                (Code.INVALID_ARGUMENT, "CreateVolumeGroup", {}),
                (Code.INVALID_ARGUMENT, "CreateVolumeGroup", {"name": "n", "volume_ids": [""]}),
                (Code.INVALID_ARGUMENT, "CreateVolumeGroup", {"name": "n", "parameters": {"x": "y"}}),
                (Code.INVALID_ARGUMENT, "CreateVolumeGroup",
                 {"name": "n", "parameters": {"group_type": "none"}}),
                (Code.INVALID_ARGUMENT, "CreateVolumeGroup",
                 {"name": "n", "parameters": {"volume_types": "none"}}),
                (Code.NOT_FOUND, "CreateVolumeGroup", {"name": "n", "volume_ids": [UNKNOWN_ID]}),
                (Code.FAILED_PRECONDITION, "CreateVolumeGroup",
                 {"name": "n", "volume_ids": [volume_id]}),
                (Code.INVALID_ARGUMENT, "ModifyVolumeGroupMembership", {"volume_ids": [volume_id]}),
                (Code.NOT_FOUND, "ModifyVolumeGroupMembership", {"volume_group_id": "fake"}),
                (Code.INVALID_ARGUMENT, "ModifyVolumeGroupMembership",
                 {"volume_group_id": empty, "parameters": {"x": "y"}}),
                (Code.INVALID_ARGUMENT, "DeleteVolumeGroup", {}),
                (Code.INVALID_ARGUMENT, "ControllerGetVolumeGroup", {}),
                (Code.NOT_FOUND, "ControllerGetVolumeGroup", {"volume_group_id": UNKNOWN_ID}),
                (Code.INVALID_ARGUMENT, "ListVolumeGroups", {"max_entries": -1}),
                (Code.ABORTED, "ListVolumeGroups", {"starting_token": "invalid-token"})):
            with self.subTest(method=method, ask=ask):
                self.refuses(code, self.driver.groups, method, **ask)
        for group_id in FOREIGN:
            self.driver.groups("DeleteVolumeGroup", volume_group_id=group_id)
        self.assertEqual(len(self.api.ask("GET", "/groups")["groups"]), count)

    def test_a_group_is_deleted_with_its_volumes_unless_one_is_in_use(self):
        ids = [self.create().volume_id for _ in range(2)]
        group_id = self.group(volume_ids=ids).volume_group_id
        self.publish(ids[0])
        self.refuses(Code.FAILED_PRECONDITION, self.driver.groups, "DeleteVolumeGroup",
                     volume_group_id=group_id)
        self.assertEqual(self.members(self.shown(group_id)), sorted(ids))
        self.unpublish(ids[0])
        for _ in range(2):
            self.driver.groups("DeleteVolumeGroup", volume_group_id=group_id)
        self.assertEqual([self.api.exists(volume_id) for volume_id in ids], [False, False])

    def test_list(self):
        volume_id = self.create().volume_id
        made = {self.group(volume_ids=ids).volume_group_id for ids in ([], [volume_id], [])}
        found, token = [], ""
        while True:
            page = self.driver.groups("ListVolumeGroups", max_entries=2, starting_token=token)
            found += [row.volume_group for row in page.entries]
            token = page.next_token
            if not token:
                break
        self.assertEqual({group.volume_group_id for group in found}, made)
        rows = self.driver.groups("ListVolumeGroups").entries
        self.assertEqual([row.volume_group for row in rows], found)
        self.assertEqual([self.members(group) for group in found if group.volumes], [[volume_id]])

    def test_a_failed_extend_is_reset_before_snapshots_of_a_group(self):
        ids = sorted(self.create().volume_id for _ in range(2))
        self.group(volume_ids=ids)
        image = os.path.join(self.state, "volumes", f"volume-{ids[0]}")
        away = os.path.join(self.directory, "away")
        os.rename(image, away)
        self.refuses(Code.INTERNAL, self.driver.controller, "ControllerExpandVolume",
                     volume_id=ids[0], capacity_range=sizes(2 * GIB))
        os.rename(away, image)
        self.assertEqual(self.api.show(ids[0])["status"], "error_extending")
        made = self.driver.snapshots("CreateVolumeGroupSnapshot", name=self.name(),
                                     source_volume_ids=ids).group_snapshot
        self.addCleanup(self.driver.snapshots, "DeleteVolumeGroupSnapshot",
                        group_snapshot_id=made.group_snapshot_id)
        self.assertTrue(made.ready_to_use)
        volume = self.api.show(ids[0])
        self.assertEqual((volume["status"], volume["size"]), ("available", 1))

    def test_snapshots_of_a_group(self):
        ids = sorted(self.create().volume_id for _ in range(2))
        group_id = self.group(volume_ids=ids).volume_group_id
        name = self.name()
        first = self.driver.snapshots("CreateVolumeGroupSnapshot", name=name,
                                      source_volume_ids=ids).group_snapshot
        self.addCleanup(self.driver.snapshots, "DeleteVolumeGroupSnapshot",
                        group_snapshot_id=first.group_snapshot_id)
        self.assertTrue(first.ready_to_use)
        self.assertEqual(sorted(row.source_volume_id for row in first.snapshots), ids)
        self.assertEqual({row.group_snapshot_id for row in first.snapshots},
                         {first.group_snapshot_id})
        self.assertEqual(self.driver.snapshots("CreateVolumeGroupSnapshot", name=name,
                                               source_volume_ids=ids).group_snapshot, first)
        self.refuses(Code.ALREADY_EXISTS, self.driver.snapshots, "CreateVolumeGroupSnapshot",
                     name=name, source_volume_ids=ids[:1])
        snapshot_ids = [row.snapshot_id for row in first.snapshots]
        self.assertEqual(self.driver.snapshots("GetVolumeGroupSnapshot", snapshot_ids=snapshot_ids,
                                               group_snapshot_id=first.group_snapshot_id)
                         .group_snapshot, first)
        self.refuses(Code.INVALID_ARGUMENT, self.driver.controller, "DeleteSnapshot",
                     snapshot_id=snapshot_ids[0])
        for method in "GetVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot":
            self.refuses(Code.INVALID_ARGUMENT, self.driver.snapshots, method,
                         group_snapshot_id=first.group_snapshot_id, snapshot_ids=[UNKNOWN_ID])
        self.refuses(Code.FAILED_PRECONDITION, self.driver.groups, "DeleteVolumeGroup",
                     volume_group_id=group_id)
        for _ in range(2):
            self.driver.snapshots("DeleteVolumeGroupSnapshot", snapshot_ids=snapshot_ids,
                                  group_snapshot_id=first.group_snapshot_id)

    def test_refusals_of_snapshots(self):
        ids = [self.create().volume_id for _ in range(2)]
        self.group(volume_ids=ids[:1])
        for code, method, ask in (
                (Code.INVALID_ARGUMENT, "CreateVolumeGroupSnapshot", {"source_volume_ids": ids}),
                (Code.INVALID_ARGUMENT, "CreateVolumeGroupSnapshot", {"name": "n"}),
                (Code.NOT_FOUND, "CreateVolumeGroupSnapshot",
                 {"name": "n", "source_volume_ids": ["fake"]}),
                (Code.FAILED_PRECONDITION, "CreateVolumeGroupSnapshot",
                 {"name": "n", "source_volume_ids": ids}),
                (Code.INVALID_ARGUMENT, "GetVolumeGroupSnapshot", {}),
                (Code.NOT_FOUND, "GetVolumeGroupSnapshot", {"group_snapshot_id": "fake-vol-id"}),
                (Code.INVALID_ARGUMENT, "DeleteVolumeGroupSnapshot", {})):
            with self.subTest(method=method, ask=ask):
                self.refuses(code, self.driver.snapshots, method, **ask)
        self.driver.snapshots("DeleteVolumeGroupSnapshot", group_snapshot_id="fake-vol-id")


class Clusters(GroupsCase):
    """Drivers of two clusters and one without a name, in one project."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in "east", "west":
            cls.start_driver(cls.socket + name, f"--csi.cluster={name}")

    def setUp(self):
        super().setUp()
        self.east, self.west = (self.new_driver(self.socket + name) for name in ("east", "west"))
        self.plain, self.driver = self.driver, self.east

    def others_cannot(self, call, method, **fields):
        for driver in self.west, self.plain:
            message = self.refuses(Code.FAILED_PRECONDITION, getattr(driver, call), method, **fields)
            self.assertIn("was created for cluster east", message)

    def test_no_cluster_deletes_objects_of_another(self):
        name = self.name()
        ids = [self.create(name).volume_id, self.create().volume_id]
        self.assertEqual(self.create(name).volume_id, ids[0])
        snapshot = self.snapshot(ids[0]).snapshot_id
        group = self.group(volume_ids=ids).volume_group_id
        cut = self.driver.snapshots("CreateVolumeGroupSnapshot", name=self.name(),
                                    source_volume_ids=ids).group_snapshot
        self.addCleanup(self.driver.snapshots, "DeleteVolumeGroupSnapshot",
                        group_snapshot_id=cut.group_snapshot_id)
        self.others_cannot("snapshots", "DeleteVolumeGroupSnapshot",
                           group_snapshot_id=cut.group_snapshot_id)
        self.driver.snapshots("DeleteVolumeGroupSnapshot", group_snapshot_id=cut.group_snapshot_id)
        self.others_cannot("groups", "DeleteVolumeGroup", volume_group_id=group)
        self.others_cannot("groups", "ModifyVolumeGroupMembership", volume_group_id=group,
                           volume_ids=[])
        self.modify(group, [])
        self.others_cannot("controller", "DeleteSnapshot", snapshot_id=snapshot)
        self.driver.controller("DeleteSnapshot", snapshot_id=snapshot)
        for volume_id in ids:
            self.others_cannot("controller", "DeleteVolume", volume_id=volume_id)
            self.driver.controller("DeleteVolume", volume_id=volume_id)

    def test_each_cluster_has_names_of_its_own(self):
        name = self.name()
        made = {}
        for driver in self.east, self.west, self.plain:
            self.driver = driver
            made[driver] = self.create(name).volume_id
            self.assertEqual(self.create(name).volume_id, made[driver])
            group = self.group(name).volume_group_id
            self.assertEqual(self.group(name).volume_group_id, group)
            self.driver.groups("DeleteVolumeGroup", volume_group_id=group)
            self.driver.controller("DeleteVolume", volume_id=made[driver])
        self.assertEqual(len(set(made.values())), 3)

    def test_objects_of_other_clients_stay(self):
        foreign = self.volume(name=self.name())
        ours = self.create().volume_id
        snapshot = self.api.ask("POST", "/snapshots",
                                {"snapshot": {"volume_id": foreign}})["snapshot"]["id"]
        until(lambda: self.api.ask("GET", f"/snapshots/{snapshot}")["snapshot"]["status"]
              == "available", 60, "the snapshot is available")
        group = self.group(volume_ids=[ours, foreign]).volume_group_id
        for driver in self.plain, self.east:
            self.refuses(Code.FAILED_PRECONDITION, driver.controller, "DeleteSnapshot",
                         snapshot_id=snapshot)
        self.refuses(Code.FAILED_PRECONDITION, self.driver.groups, "DeleteVolumeGroup",
                     volume_group_id=group)
        self.modify(group, [ours])
        self.api.ask("DELETE", f"/snapshots/{snapshot}")
        for driver in self.plain, self.east:
            message = self.refuses(Code.FAILED_PRECONDITION, driver.controller, "DeleteVolume",
                                   volume_id=foreign)
            self.assertIn("not created by this driver", message)
        self.assertTrue(self.api.exists(foreign))
        self.driver.groups("DeleteVolumeGroup", volume_group_id=group)
        self.assertFalse(self.api.exists(ours))

    def test_objects_created_before_the_option_was_set_are_deleted(self):
        self.driver = self.plain
        volume_id = self.create().volume_id
        snapshot = self.snapshot(volume_id).snapshot_id
        self.east.controller("DeleteSnapshot", snapshot_id=snapshot)
        self.east.controller("DeleteVolume", volume_id=volume_id)
        self.assertFalse(self.api.exists(volume_id))


class Reclaiming(DriverCase):
    def image(self, volume_id):
        return os.path.join(self.state, "volumes", f"volume-{volume_id}")

    def reclaim(self, volume_id):
        return self.driver.reclaim("ControllerReclaimSpace", volume_id=volume_id)

    def test_unused_space_is_reclaimed(self):
        volume_id = self.create().volume_id
        image = self.image(volume_id)
        with open(image, "r+b") as file:
            file.write(bytes(8 << 20))
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
        before = os.stat(image).st_blocks
        answer = self.reclaim(volume_id)
        self.assertLess(os.stat(image).st_blocks, before)
        self.assertLess(answer.post_usage.usage_bytes, answer.pre_usage.usage_bytes)
        with open(image, "rb") as file:
            file.seek(8 << 20)
            self.assertEqual(file.read(4096), b"x" * 4096)

    def test_a_published_volume_is_left_to_its_node(self):
        volume_id = self.create().volume_id
        self.publish(volume_id)
        answer = self.reclaim(volume_id)
        self.assertFalse(answer.HasField("pre_usage") or answer.HasField("post_usage"))

    def test_a_volume_being_attached_is_refused_until_attached(self):
        volume_id = self.create().volume_id
        attachment = self.api.ask("POST", "/attachments", {"attachment": {
            "volume_uuid": volume_id}})["attachment"]["id"]
        self.refuses(Code.ABORTED, self.driver.reclaim, "ControllerReclaimSpace",
                     volume_id=volume_id)
        self.api.ask("DELETE", f"/attachments/{attachment}")
        self.assertTrue(self.reclaim(volume_id).HasField("pre_usage"))

    def test_announced_capabilities(self):
        rows = self.driver.call(identity, "Identity", "GetCapabilities").capabilities
        self.assertIn(identity.Capability.ReclaimSpace.OFFLINE,
                      [row.reclaim_space.type for row in rows])
        self.assertEqual(sorted(row.volume_group.type for row in rows
                                if row.HasField("volume_group")), [1, 2, 4, 5, 6])

    def test_refusals_of_a_reclaim(self):
        self.refuses(Code.INVALID_ARGUMENT, self.driver.reclaim, "ControllerReclaimSpace")
        self.refuses(Code.NOT_FOUND, self.driver.reclaim, "ControllerReclaimSpace",
                     volume_id="fake")


class Deaths(DriverCase):
    """Killed in the middle: the same call again ends as if nothing had happened."""

    listen = f"127.0.0.1:{ports.free_port()}"
    options = (*FAULT, "--file.fault_plan=create_volume:delay:1:300,create_snapshot:delay:1:300,"
               "extend_volume:delay:1:300")
    ROUNDS = 3

    def setUp(self):
        super().setUp()
        self.futures = []  # one without a caller is cancelled

    def begin(self, method, **fields):
        self.futures.append(self.driver.send(csi, "Controller", method, **fields))

    def again(self, method, **fields):
        """As an orchestrator calls: until it gets a final result."""
        while True:
            try:
                return self.driver.controller(method, **fields)
            except Refused as refusal:
                if refusal.code not in (Code.ABORTED, Code.UNAVAILABLE, Code.CANCELLED,
                                        Code.DEADLINE_EXCEEDED):
                    raise

    def die(self, victim):
        victim.kill()
        victim.start()
        self.api.close()

    def go_through(self, victim):
        """One volume's life; the victim dies when each step has begun to show."""
        name = self.name()
        create = {"name": name, "volume_capabilities": [PLAIN]}
        self.begin("CreateVolume", **create)
        until(lambda: self.named(name), 60, "the volume is being made")
        self.die(victim)
        volume_id = self.again("CreateVolume", **create).volume.volume_id
        self.assertEqual([row["id"] for row in self.named(name)], [volume_id])

        publish = {"volume_id": volume_id, "node_id": NODE_1, "volume_capability": PLAIN}
        self.begin("ControllerPublishVolume", **publish)
        until(lambda: self.api.show(volume_id)["status"] != "available", 60, "it is attached")
        self.die(victim)
        context = self.again("ControllerPublishVolume", **publish).publish_context
        self.assertEqual(self.nodes(volume_id), [NODE_1])
        self.assertEqual([row["id"] for row in self.api.attachments(volume_id)],
                         [context["attachment_id"]])

        expand = {"volume_id": volume_id, "capacity_range": sizes(2 * GIB)}
        self.begin("ControllerExpandVolume", **expand)
        until(lambda: self.api.show(volume_id)["status"] != "in-use" or
              self.api.show(volume_id)["size"] == 2, 60, "it is being extended")
        self.die(victim)
        self.assertEqual(self.again("ControllerExpandVolume", **expand).capacity_bytes, 2 * GIB)

        self.begin("ControllerUnpublishVolume", volume_id=volume_id)
        self.die(victim)
        self.again("ControllerUnpublishVolume", volume_id=volume_id)
        self.assertEqual(self.api.attachments(volume_id), [])

        snapshot = {"name": name, "source_volume_id": volume_id}
        self.begin("CreateSnapshot", **snapshot)
        until(lambda: self.api.ask("GET", f"/snapshots?name={name}")["snapshots"], 60,
              "the snapshot is being made")
        self.die(victim)
        snapshot_id = self.again("CreateSnapshot", **snapshot).snapshot.snapshot_id
        self.assertEqual([row["id"] for row in
                          self.api.ask("GET", f"/snapshots?name={name}")["snapshots"]],
                         [snapshot_id])

        self.begin("DeleteSnapshot", snapshot_id=snapshot_id)
        self.die(victim)
        self.again("DeleteSnapshot", snapshot_id=snapshot_id)
        self.begin("DeleteVolume", volume_id=volume_id)
        self.die(victim)
        self.again("DeleteVolume", volume_id=volume_id)
        self.assertEqual(self.api.list_all(), [])
        self.assertEqual(self.api.ask("GET", "/snapshots")["snapshots"], [])

    def test_a_killed_driver_leaves_no_duplicate(self):
        for _ in range(self.ROUNDS):
            self.go_through(self.csi)

    def test_a_killed_service_leaves_no_duplicate(self):
        for _ in range(self.ROUNDS):
            self.go_through(self.service)


class Failing(DriverCase):
    """A backend that makes nothing."""

    options = (*FAULT, "--file.fault_plan=create_volume:fail:1,create_snapshot:fail:1")

    def test_a_failed_create_leaves_nothing(self):
        for _ in range(2):
            self.refuses(Code.RESOURCE_EXHAUSTED, self.driver.controller, "CreateVolume",
                         name="n", volume_capabilities=[PLAIN])
            self.assertEqual(self.api.list_all(), [])

    def test_a_failed_volume_that_was_reported_is_kept(self):
        foreign = self.api.create(1, name="n", metadata={"csi.name": "told"})["id"]
        self.api.wait_status(foreign, "error")
        self.refuses(Code.RESOURCE_EXHAUSTED, self.driver.controller, "CreateVolume",
                     name="told", volume_capabilities=[PLAIN])
        self.assertEqual(self.api.show(foreign)["status"], "error")
        self.driver.controller("DeleteVolume", volume_id=foreign)
