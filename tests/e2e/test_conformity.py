"""
The API as clients see it over HTTP: versions and headers, refusals and their faults, keys of the
answers at each microversion, lists, and input that no honest client sends.
"""

import contextlib
import hashlib
import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import uuid

import jsonschema

import block_storage
import description
from block_storage import until

SCORIA = os.environ.get("SCORIA", "build/plain/scoria")

FAULTS = {400: "badRequest", 403: "forbidden", 404: "itemNotFound", 406: "computeFault",
          409: "conflictingRequest", 413: "overLimit", 415: "badMediaType"}

UNKNOWN_ID = str(uuid.UUID(int=0x1234))
HOST = "node@file"


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.data = response.read()

    @property
    def json(self):
        return json.loads(self.data)


class Reference(unittest.TestCase):
    """The references in docs/ agree with the program."""

    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def printed(self, *words):
        return subprocess.run([SCORIA, "manage", *words], capture_output=True, text=True,
                              timeout=20, check=True).stdout

    def test_the_reference_has_the_completion(self):
        row = re.search(r"^POST +/volumes/\{id\}/action +os-extend_volume_completion +(\S+) +(\S+)$",
                        self.printed("routes"), re.MULTILINE)
        self.assertEqual(row.groups(),
                         ("3.71", "volume_extension:volume_admin_actions:extend_volume_completion"))
        reference = self.read("api.md")
        self.assertIn(row.group(), reference)
        section = reference.split("\n## os-extend_volume_completion\n")[1].split("\n## ")[0]
        for word in ("`error`", "3.71", row.group(2), "202", "400", "403", "404", "406"):
            self.assertIn(word, section)

    def test_the_driver_matrix_has_online_extend(self):
        head, *rows = self.printed("drivers").split("\n\n")[0].splitlines()
        at = head.index("online extend")
        matrix = {row.split()[0]: row[at:].split()[0] for row in rows}
        for driver in ("nfs", "netapp_nfs", "powerstore_nfs", "quobyte"):
            self.assertEqual(matrix[driver], "yes")
        self.assertIn("\n".join([head, *rows]), self.read("drivers.md"))


class Held(unittest.TestCase):
    """An answer that differs from the description ends the test that got it."""

    def verify(self, method, path, status, body, minor=71, sent=None):
        headers = {"x-compute-request-id": "r", "OpenStack-API-Version": f"volume 3.{minor}"}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        description.Description().verify(method, path, sent, status, headers, data)

    def differs(self, why, *answer, **more):
        with self.assertRaisesRegex(description.Differs, why):
            self.verify(*answer, **more)

    def test_a_response_has_exactly_the_keys_of_its_schema(self):
        snapshot = {"id": "i", "created_at": "c", "updated_at": None, "name": None, "size": 1,
                    "description": None, "volume_id": "v", "status": "s", "metadata": {"a": "b"}}
        path, older = "/v3/p/snapshots/detail?limit=1", {"snapshots": [snapshot]}
        newer = {"snapshots": [snapshot | {"group_snapshot_id": None}]}
        self.verify("GET", path, 200, older, 0)
        self.differs("unexpected", "GET", path, 200, newer, 0)
        self.verify("GET", path, 200, newer, 14)
        self.differs("'group_snapshot_id' is a required", "GET", path, 200, older, 14)
        self.differs("not of type", "GET", path, 200, {"snapshots": {}})
        self.differs("unexpected", "GET", path, 200, {"snapshots": [], "colour": 1})
        self.differs("no such status", "GET", path, 202, older, 0)
        self.differs("no JSON", "GET", path, 200, b"snapshots")
        self.differs("there is not", "GET", "/v3/messages", 200, {"messages": []}, 2)
        self.differs("there should be none", "DELETE", "/v3/p/snapshots/s", 202, {})

    def test_an_accepted_body_matches_the_description(self):
        path = "/v3/volumes/v/action"
        self.verify("POST", path, 202, b"", sent=b'{"os-extend": {"new_size": 2}}')
        self.differs("sent and taken", "POST", path, 202, b"", sent=b'{"os-extend": {"new": 2}}')

    def test_a_refusal_is_a_fault(self):
        fault = {"code": 404, "message": "m"}
        self.verify("GET", "/v3/nothing", 404, {"itemNotFound": fault})
        self.differs("unexpected", "GET", "/v3/nothing", 404, {"what": fault})
        self.differs("required", "GET", "/v3/nothing", 404, {"itemNotFound": {"code": 404}})


class Service(unittest.TestCase):
    """One service for all tests of a class; each test has a project of its own."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="scoria-conformity-")
        cls.addClassCleanup(cls.directory.cleanup)
        with open(os.path.join(cls.directory.name, "log"), "wb") as log:
            cls.process = subprocess.Popen(
                [SCORIA, "serve", "--state-dir", os.path.join(cls.directory.name, "state"),
                 "--listen", "127.0.0.1:0", "--host=node"], stdout=subprocess.PIPE, stderr=log)
        cls.addClassCleanup(cls.stop)
        ready = cls.process.stdout.readline().decode().split()
        cls.port = urllib.parse.urlsplit(ready[1]).port
        cls.base = f"http://127.0.0.1:{cls.port}"

    @classmethod
    def stop(cls):
        cls.process.terminate()
        cls.process.wait(40)
        cls.process.stdout.close()

    def setUp(self):
        self.project = uuid.uuid4().hex

    def call(self, method, path, body=None, version=None, **headers):
        """`body`: an object for JSON, or bytes as they are; `headers`: with _ for -."""
        sent = {"X-Auth-Token": f"user:{self.project}"}
        if version:
            sent["OpenStack-API-Version"] = f"volume {version}"
        if body is not None:
            sent["Content-Type"] = "application/json"
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        sent.update((name.replace("_", "-"), value) for name, value in headers.items())
        sent = {name: value for name, value in sent.items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, sent)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        block_storage.verify(method, path, body, answer.status, answer.headers, answer.data)
        return answer

    def expect(self, status, method, path, body=None, version=None, **headers):
        answer = self.call(method, path, body, version, **headers)
        what = f"{method} {path} {str(body)[:200]} at {version}: {answer.data[:300]}"
        self.assertEqual(answer.status, status, what)
        if status in FAULTS and "json" in answer.headers.get("Content-Type", ""):
            self.assertEqual(list(answer.json), [FAULTS[status]], what)
            fault = answer.json[FAULTS[status]]
            self.assertEqual(fault["code"], status, what)
            self.assertIsInstance(fault["message"], str, what)
        return answer

    def expect_all(self, status, method, path, bodies, version=None):
        for body in bodies:
            self.expect(status, method, path, body, version)

    def show(self, volume, version="3.71"):
        return self.expect(200, "GET", f"/v3/volumes/{volume}", version=version).json["volume"]

    def wait(self, volume, status="available"):
        until(lambda: self.show(volume)["status"] == status, 120, f"{volume} {status}", pause=0.01)

    def make(self, **members):
        answer = self.expect(202, "POST", "/v3/volumes", {"volume": {"size": 1, **members}}, "3.0")
        volume = answer.json["volume"]["id"]
        self.wait(volume)
        return volume

    def act(self, status, volume, action, value, version="3.71"):
        return self.expect(status, "POST", f"/v3/volumes/{volume}/action", {action: value}, version)

    def count(self):
        return len(self.expect(200, "GET", "/v3/volumes").json["volumes"])


class Frame(Service):
    """Paths, versions, media types, request ids: rules of every route."""

    def test_unserved_paths_get_a_plain_404(self):
        for path in ("/nope", "/v2/volumes", "/v3/nope", "/v3/volumes/", "/v3/volumes//",
                     "/v3/admin/volumes", "/v3/../v3/volumes", "/v3/%2e%2e/volumes",
                     "/v3/volumes%00", "/v3/volumes;x", "/v3/./volumes"):
            with self.subTest(path):
                answer = self.expect(404, "GET", path)
                self.assertIn("text/plain", answer.headers["Content-Type"])
                self.assertNotIn("OpenStack-API-Version", answer.headers)
        for accept, content_type in (("application/json", "application/json"),
                                     ("text/html", "text/html"), ("*/*", "text/plain")):
            answer = self.call("PATCH", "/v3/volumes", Accept=accept)
            self.assertEqual(answer.status, 404)
            self.assertIn(content_type, answer.headers["Content-Type"])
        self.expect(200, "GET", "/v3//volumes")

    def test_routes_that_exist_only_upstream_get_a_fault_body(self):
        for method, path in (("POST", "/messages"), ("PUT", "/messages/x"), ("POST", "/limits"),
                             ("GET", "/attachments/summary"), ("GET", "/os-quota-sets"),
                             ("DELETE", "/os-quota-class-sets/x"), ("POST", "/os-hosts"),
                             ("PUT", "/resource_filters/x"), ("GET", "/volumes/new"),
                             ("GET", "/volumes/x/edit"), ("GET", "/types/x/edit"),
                             ("GET", "/volumes/x/metadata/y/edit"), ("POST", "/extensions")):
            with self.subTest(path):
                answer = self.expect(404, method, "/v3" + path, version="3.71")
                self.assertEqual(list(answer.json), ["itemNotFound"])

    def test_both_spellings_and_the_suffix(self):
        for path in ("/v3/volumes", f"/v3/{self.project}/volumes", "/v3/volumes.json",
                     "/v3/volumes/detail.json", "/v3/types/default.json"):
            self.expect(200, "GET", path)
        self.expect(400, "GET", "/v3/0123-abc/volumes")

    def test_the_version_header(self):
        for sent, status, echo in (
                (None, 200, "volume 3.0"), ("volume 3.71", 200, "volume 3.71"),
                ("volume latest", 200, "volume 3.71"),
                ("compute 2.1,volume 3.10", 200, "volume 3.10"), ("compute 2.1", 400, None),
                ("volume", 400, None), ("volume 3", 400, None), ("volume 3.01", 400, None),
                ("volume 0.1", 400, None), ("volume 3.x", 400, None), ("volume -3.1", 400, None),
                ("volume 3.72", 406, "volume 3.72"), ("volume 4.0", 406, "volume 4.0"),
                ("volume 2.0", 406, None), ("volume 1.0", 406, None),
                ("volume 3.99999999999999999999", 406, "volume 3.99999999999999999999")):
            for path in ("/v3/volumes", "/v3/", "/"):
                with self.subTest(header=sent, path=path):
                    wanted = 300 if status == 200 and path == "/" else status
                    answer = self.expect(wanted, "GET", path, OpenStack_API_Version=sent)
                    self.assertEqual(answer.headers.get("OpenStack-API-Version"), echo)
                    if echo:
                        self.assertEqual(answer.headers["Vary"], "OpenStack-API-Version")
                    if status == 406:
                        self.assertRegex(answer.json["computeFault"]["message"], r"3\.0.*3\.71")

    def test_the_version_document(self):
        root = self.expect(300, "GET", "/", X_Auth_Token=None).json["versions"]
        self.assertEqual(root, self.expect(200, "GET", "/v3/").json["versions"])
        self.assertEqual(len(root), 1)
        self.assertEqual(set(root[0]), {"id", "status", "version", "min_version", "updated",
                                        "links", "media-types"})
        self.assertEqual(root[0]["links"][1], {"rel": "self", "href": self.base + "/v3/"})
        for status, path in ((300, "/"), (200, "/v3/")):
            headers = self.expect(status, "GET", path).headers
            self.assertEqual(headers["x-compute-request-id"], headers["x-openstack-request-id"])
        answer = self.expect(302, "GET", "/v3")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"), answer.headers)
        self.assertEqual(answer.headers["Location"], self.base + "/v3/")
        self.assertEqual(self.expect(200, "GET", "/healthcheck").data, b"OK")
        answer = self.expect(200, "GET", "/healthcheck", Accept="application/json")
        self.assertEqual(answer.json, {"detailed": False, "reasons": ["OK"]})
        self.expect(204, "HEAD", "/healthcheck")

    def test_the_description_is_valid(self):
        document = self.expect(200, "GET", "/openapi.json", X_Auth_Token=None).json
        with open(os.path.join(Reference.folder, "openapi.json"), encoding="utf-8") as file:
            self.assertEqual(document, json.load(file))
        schemas = 0
        left = [document]
        while left:
            at = left.pop()
            for key, value in at.items() if isinstance(at, dict) else enumerate(at):
                if key == "schema":
                    jsonschema.Draft202012Validator.check_schema(value)
                    schemas += 1
                if isinstance(value, (dict, list)):
                    left.append(value)
        self.assertGreater(schemas, 100)

    def test_media_types(self):
        own = "application/vnd.openstack.volume+json"
        self.assertEqual(self.expect(200, "GET", "/v3/volumes", Accept=own).headers["Content-Type"],
                         own)
        answer = self.expect(200, "GET", "/v3/volumes", Accept="text/xml")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        body = {"volume": {"size": 1}}
        self.expect(415, "POST", "/v3/volumes", body, Content_Type="text/plain")
        self.expect(400, "POST", "/v3/volumes", body, Content_Type=None)
        self.assertEqual(self.count(), 0)
        self.expect(202, "POST", "/v3/volumes", body, Content_Type=own)
        self.expect(202, "POST", "/v3/volumes", body,
                    Content_Type="application/json; charset=utf-8")

    def test_request_ids(self):
        theirs = f"req-{uuid.uuid4()}"
        answer = self.expect(404, "GET", f"/v3/volumes/{UNKNOWN_ID}", X_OpenStack_Request_ID=theirs)
        own = answer.headers["x-openstack-request-id"]
        self.assertRegex(own, r"^req-[0-9a-f-]{36}$")
        self.assertNotEqual(own, theirs)
        self.assertEqual(answer.headers["x-compute-request-id"], own)

    def test_the_caller_is_named_by_its_token(self):
        answer = self.expect(204, "GET", "/v3", X_Auth_Token=None, X_Auth_User="u",
                             X_Auth_Project_Id="p")
        self.assertEqual(answer.headers["X-Auth-Token"], "u:p")
        self.assertEqual(answer.headers["X-Server-Management-Url"], self.base + "/v3")
        volume = self.expect(202, "POST", f"/v3/{self.project}/volumes", {"volume": {"size": 1}},
                             X_Auth_Token="notused").json["volume"]
        shown = self.expect(200, "GET", f"/v3/volumes/{volume['id']}").json["volume"]
        self.assertEqual(shown["os-vol-tenant-attr:tenant_id"], self.project)
        for token in ("a b", ":", "a:", "x" * 300):
            answer = self.call("GET", "/v3/volumes", X_Auth_Token=token)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (401, 401))


class Bodies(Service):
    def test_invalid_bodies_create_nothing(self):
        texts = (b"", b"{", b"null", b"[]", b'"x"', b"1", b"{}", b'{"volume":null}',
                 b'{"volume":[]}', b'{"volume":{"size":1},"x":1}',
                 b'{"volume":{"size":1},"volume":{"size":2}}', b'{"volume":{"size":1,"size":2}}',
                 b'{"volume":{"size":1,"name":"\xff"}}', b'{"volume":{"size":1,"name":"\\u0000"}}',
                 b'{"volume":{"size":1,"name":"\\ud800"}}', b'{"volume":{"size":NaN}}',
                 b'{"volume":{"size":1e5}}', b'{"volume":{"size":1.0}}', b"[" * 50000,
                 b'{"volume":' * 5000, b'{"volume":{"size":99999999999999999999}}',
                 b'{"volume":{"size":-9223372036854775808}}', b'{"volume":{"size":1e400}}',
                 b'\xef\xbb\xbf{"volume":{"size":1}}', b'{"volume":{"size":1}} x')
        self.expect_all(400, "POST", "/v3/volumes", texts)
        self.expect(413, "POST", "/v3/volumes", b'{"volume":{"name":"' + b"a" * 120000 + b'"}}')
        self.assertEqual(self.count(), 0)

    def test_a_new_volumes_members(self):
        bad = ({"size": size} for size in (0, -1, 2147483648, 9223372036854775807, "", "0", "-1",
                                           "1.0", " 1", "abc", True, [], {}, 1.5, None))
        self.expect_all(400, "POST", "/v3/volumes", ({"volume": members} for members in bad))
        bad = ({"name": 5}, {"name": "x" * 256}, {"description": "y" * 256}, {"volume_type": 5},
               {"volume_type": "x" * 256}, {"availability_zone": "nowhere"},
               {"availability_zone": ""}, {"metadata": []}, {"metadata": {"a": None}},
               {"metadata": {"a": 1}}, {"metadata": {"": "x"}}, {"metadata": {"k" * 256: "x"}},
               {"metadata": {"k": "x" * 256}}, {"metadata": {"ä": "x"}},
               {"metadata": {"a;b": "x"}},
               {"snapshot_id": "x"}, {"imageRef": UNKNOWN_ID}, {"multiattach": True},
               {"multiattach": "maybe"})
        self.expect_all(400, "POST", "/v3/volumes",
                        ({"volume": {"size": 1, **members}} for members in bad))
        for members in ({"volume_type": "nope"}, {"snapshot_id": UNKNOWN_ID}, {"source_volid": UNKNOWN_ID},
                        {"snapshot_id": UNKNOWN_ID, "source_volid": UNKNOWN_ID}, {"group_id": UNKNOWN_ID},
                        {"consistencygroup_id": UNKNOWN_ID}):
            self.expect(404, "POST", "/v3/volumes", {"volume": {"size": 1, **members}})
        for hints in ([], {"same_host": "x"}, {"same_host": [UNKNOWN_ID, UNKNOWN_ID]}):
            self.expect(400, "POST", "/v3/volumes",
                        {"volume": {"size": 1}, "OS-SCH-HNT:scheduler_hints": hints})
        self.expect(400, "POST", "/v3/volumes", {"volume": {"size": 1, "foo": 1}}, "3.53")
        self.assertEqual(self.count(), 0)
        good = ({"size": "1"}, {"name": None, "description": None}, {"foo": 1},
                {"name": "  " + "é" * 255 + "  "}, {"description": "two\nlines"},
                {"metadata": {"a-Z_0:. /": ""}}, {"volume_type": "", "multiattach": False})
        for members in good:
            self.expect(202, "POST", "/v3/volumes", {"volume": {"size": 1, **members}}, "3.52")
        self.assertEqual(self.count(), len(good))

    def test_quota_refusals(self):
        self.expect(200, "PUT", f"/v3/os-quota-sets/{self.project}",
                    {"quota_set": {"gigabytes": "2", "per_volume_gigabytes": 5}})
        for size in (3, 6, 2147483647):
            answer = self.expect(413, "POST", "/v3/volumes", {"volume": {"size": size}})
            self.assertEqual(answer.headers["Retry-After"], "0")
            self.assertEqual(answer.json["overLimit"]["retryAfter"], "0")
            self.assertIn("exceed", answer.json["overLimit"]["message"])
        volume = self.make()
        self.act(413, volume, "os-extend", {"new_size": 3})
        self.assertEqual(self.show(volume)["size"], 1)
        self.expect_all(400, "PUT", f"/v3/os-quota-sets/{self.project}",
                        ({"quota_set": members} for members in
                         ({}, None, {"zz": 1}, {"volumes": -2}, {"volumes": 2147483648},
                          {"volumes": 10**30}, {"volumes": "x"}, {"volumes": 1.5},
                          {"volumes": None}, {"volumes": True}, {"gigabytes": 0})))
        usage = self.expect(200, "GET", f"/v3/os-quota-sets/{self.project}?usage=true").json
        self.assertEqual(usage["quota_set"]["gigabytes"],
                         {"limit": 2, "in_use": 1, "reserved": 0})

    def test_bad_actions_change_nothing(self):
        volume = self.make()
        before = self.show(volume)
        path = f"/v3/volumes/{volume}/action"
        self.expect_all(400, "POST", path, ({}, [], {"nope": {}}, {"os-reserve": {}, "x": 1}))
        self.expect(404, "POST", path, {"os-extend_volume_completion": {}}, "3.70")
        self.expect(404, "POST", f"/v3/volumes/{UNKNOWN_ID}/action", {"os-extend": {"new_size": 2}})
        for action, values in {
                "os-extend": [{"new_size": size} for size in (
                    0, -1, 1, 2147483648, 9223372036854775807, "x", "", None, 1.5, True, [])] +
                             [{}, None, {"new_size": 3, "x": 1}],
                "os-extend_volume_completion": [{}, {"error": "zz"}, {"error": 1}, {"x": 1}],
                "os-reset_status": [{}, None, {"status": None}, {"status": ""}, {"status": "foo"},
                                    {"status": "in-use"}, {"status": 1},
                                    {"attach_status": "attaching"}, {"migration_status": "x"},
                                    {"status": "error", "attach_status": "x"}, {"x": "y"}],
                "os-attach": [None, [], {"mountpoint": "m"}, {"host_name": "h"},
                              {"mountpoint": "", "host_name": "h"},
                              {"mountpoint": "x" * 256, "host_name": "h"},
                              {"mountpoint": "m", "instance_uuid": "x"},
                              {"mountpoint": "m", "instance_uuid": None},
                              {"mountpoint": "m", "host_name": "h", "mode": "rx"},
                              {"mountpoint": "m", "host_name": "h", "x": 1}],
                "os-detach": [[], {"attachment_id": "x"}, {"x": 1}],
                "os-begin_detaching": [None],
                "os-initialize_connection": [None, {}, {"connector": None}, {"connector": 1},
                                             {"connector": "text"}, {"connector": {}, "x": 1}],
                "os-terminate_connection": [None, {}, {"connector": 1}],
                "os-set_bootable": [None, {}, {"bootable": None}, {"bootable": 2}],
                "os-update_readonly_flag": [None, {}, {"readonly": None}, {"readonly": "zz"}],
                "os-set_image_metadata": [None, {}, {"metadata": {"a": 1}},
                                          {"metadata": {"a": "b" * 65536}}],
                "os-unset_image_metadata": [None, {}, {"key": ""}]}.items():
            for value in values:
                self.act(400, volume, action, value)
        self.act(409, volume, "os-detach", {"attachment_id": UNKNOWN_ID})
        self.act(404, volume, "os-show_image_metadata", None)
        self.act(404, volume, "os-unset_image_metadata", {"key": "k"})
        self.assertEqual(self.show(volume), before)


class Views(Service):
    BASE = {"id", "status", "size", "availability_zone", "created_at", "updated_at", "name",
            "description", "volume_type", "snapshot_id", "source_volid", "metadata", "links",
            "user_id", "replication_status", "consistencygroup_id", "multiattach", "bootable",
            "encrypted", "attachments", "migration_status"}
    ATTRIBUTES = {"os-vol-tenant-attr:tenant_id", "os-vol-mig-status-attr:migstat",
                  "os-vol-mig-status-attr:name_id", "os-vol-host-attr:host"}
    LATER = {13: {"group_id"}, 21: {"provider_id"}, 48: {"shared_targets", "service_uuid"},
             61: {"cluster_name"}, 63: {"volume_type_id"}, 65: {"consumes_quota"}}

    def test_a_volumes_keys_at_each_version(self):
        volume = self.make(name="v")
        path = f"/v3/volumes/{volume}"
        for minor in range(72):
            version = f"3.{minor}"
            keys = self.BASE.union(*(new for since, new in self.LATER.items() if minor >= since))
            self.assertEqual(set(self.show(volume, version)), keys | self.ATTRIBUTES, version)
            listed = self.expect(200, "GET", "/v3/volumes/detail", version=version).json
            self.assertEqual(set(listed["volumes"][0]), keys | self.ATTRIBUTES, version)
            changed = self.expect(200, "PUT", path, {"volume": {"name": "v"}}, version).json
            self.assertEqual(set(changed["volume"]), keys, version)
        short = self.expect(200, "GET", "/v3/volumes", version="3.71").json
        self.assertEqual(set(short["volumes"][0]), {"id", "name", "links"})

    def test_a_volumes_values(self):
        made = self.expect(202, "POST", f"/v3/{self.project}/volumes", {"volume": {"size": 1}})
        made = made.json["volume"]
        self.assertEqual((made["bootable"], made["encrypted"], made["updated_at"], made["name"]),
                         ("false", False, None, None))
        self.assertRegex(made["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$")
        tail = f"/{self.project}/volumes/{made['id']}"
        self.assertEqual(made["links"], [{"rel": "self", "href": self.base + "/v3" + tail},
                                         {"rel": "bookmark", "href": self.base + tail}])

    def test_routes_and_decorations_come_with_their_version(self):
        for path, since in (("/volumes/summary", 12), ("/messages", 3), ("/attachments", 27),
                            ("/resource_filters", 33)):
            self.expect(404, "GET", "/v3" + path, version=f"3.{since - 1}")
            self.expect(200, "GET", "/v3" + path, version=f"3.{since}")
        self.make(metadata={"k": "v"})
        summary = {"total_count": 1, "total_size": 1}
        for version, more in (("3.12", {}), ("3.36", {"metadata": {"k": ["v"]}})):
            answer = self.expect(200, "GET", "/v3/volumes/summary?x=y", version=version)
            self.assertEqual(answer.json, {"volume-summary": {**summary, **more}})
        services = {minor: self.expect(200, "GET", "/v3/os-services?binary=cinder-volume",
                                       version=f"3.{minor}").json["services"][0]
                    for minor in (6, 7, 49)}
        self.assertEqual(set(services[7]) - set(services[6]), {"cluster"})
        self.assertEqual(set(services[49]) - set(services[7]), {"backend_state"})

    def test_metadata_and_their_tags(self):
        path = f"/v3/volumes/{self.make(metadata={'a': 'b'})}/metadata"
        self.assertNotIn("Etag", self.expect(200, "GET", path, version="3.14").headers)
        answer = self.expect(200, "GET", path, version="3.15")
        self.assertEqual(answer.headers["Etag"], hashlib.md5(answer.data).hexdigest())
        tag = answer.headers["Etag"]
        refused = self.expect(412, "PUT", path, {"metadata": {}}, "3.15", If_Match="abc")
        self.assertEqual(refused.data, b"")
        self.expect(412, "PUT", path + "/a", {"meta": {"a": "c"}}, "3.15", If_Match="abc")
        self.assertEqual(self.expect(200, "GET", path).json, {"metadata": {"a": "b"}})
        self.expect(200, "PUT", path, {"metadata": {"a": "c"}}, "3.15", If_Match=f'"x", "{tag}"')
        self.expect(200, "PUT", path, {"metadata": {"a": "d"}}, "3.14", If_Match="abc")
        answer = self.expect(200, "POST", path, {"metadata": {"e": "f"}})
        self.assertEqual(answer.json, {"metadata": {"a": "d", "e": "f"}})
        self.expect(400, "PUT", path + "/a", {"meta": {"e": "1"}})
        self.expect(400, "PUT", path + "/a", {"meta": {"a": "1", "e": "1"}})
        self.expect(200, "DELETE", path + "/a")
        self.expect(404, "DELETE", path + "/a")
        self.expect(404, "GET", path + "/a")

    def test_an_attachments_life(self):
        volume, path = self.make(), "/v3/attachments"
        body = {"attachment": {"volume_uuid": volume, "instance_uuid": UNKNOWN_ID}}
        made = self.expect(200, "POST", path, body, "3.27").json["attachment"]
        self.assertEqual(set(made), {"id", "status", "instance", "volume_id", "attached_at",
                                     "detached_at", "attach_mode", "connection_info"})
        self.assertEqual((made["status"], made["attached_at"], made["attach_mode"],
                          made["connection_info"]), ("reserved", "", "null", {}))
        self.expect(400, "POST", path, {"attachment": {"volume_uuid": volume}}, "3.27")
        one = f"{path}/{made['id']}"
        self.expect_all(400, "PUT", one, ({"attachment": members} for members in (
            {}, {"connector": {}}, {"connector": None}, {"connector": {"x": "y"}},
            {"connector": {"host": 5}}, {"connector": {"host": "h"}, "x": 1})), "3.27")
        connector = {"host": "h", "mountpoint": "/dev/vdb", "mode": "ro"}
        updated = self.expect(200, "PUT", one, {"attachment": {"connector": connector}}, "3.27")
        info = updated.json["attachment"]["connection_info"]
        self.assertEqual((info["attachment_id"], info["access_mode"]), (made["id"], "ro"))
        self.expect(404, "POST", one + "/action", {"os-complete": None}, "3.43")
        self.expect(204, "POST", one + "/action", {"os-complete": None}, "3.44")
        shown = self.show(volume)
        self.assertEqual(shown["status"], "in-use")
        self.assertEqual([(row["id"], row["attachment_id"], row["server_id"], row["device"])
                          for row in shown["attachments"]],
                         [(volume, made["id"], UNKNOWN_ID, "/dev/vdb")])
        self.expect(400, "DELETE", f"/v3/volumes/{volume}")
        left = self.expect(200, "DELETE", one, version="3.27").json
        self.assertEqual(left, {"attachments": []})
        self.assertEqual(self.show(volume)["status"], "available")

    def test_volume_types(self):
        path, name = "/v3/types", "t" + self.project
        specs = {"a": "b", "n": None}
        made = self.expect(200, "POST", path, {"volume_type": {
            "name": name, "extra_specs": specs}}).json["volume_type"]
        self.assertEqual(set(made), {"id", "name", "is_public", "extra_specs", "description",
                                     "os-volume-type-access:is_public"})
        self.expect(409, "POST", path, {"volume_type": {"name": name}})
        one = f"{path}/{made['id']}"
        self.assertEqual(self.expect(200, "GET", one).json["volume_type"],
                         {**made, "qos_specs_id": None})
        self.expect(404, "GET", f"{path}/{name}")
        self.expect_all(400, "PUT", one, ({"volume_type": members} for members in (
            {}, {"name": ""}, {"name": " "}, {"name": None}, {"is_public": None}, {"x": 1})))
        changed = self.expect(200, "PUT", one, {"volume_type": {"description": "d"}}).json
        self.assertEqual(set(changed["volume_type"]),
                         {"id", "name", "is_public", "extra_specs", "description"})
        specs_path = one + "/extra_specs"
        self.expect_all(400, "POST", specs_path, ({"extra_specs": members} for members in (
            None, {"": "x"}, {"a b": "x"}, {"a/b": "x"}, {"a": 1}, {"k" * 256: "x"})))
        self.expect(400, "PUT", one + "/extra_specs/a", {"b": "c"})
        self.expect(200, "PUT", one + "/extra_specs/a", {"a": "c"})
        self.assertEqual(self.expect(200, "GET", one + "/extra_specs").json,
                         {"extra_specs": {"a": "c", "n": None}})
        self.expect(404, "GET", one + "/os-volume-type-access")
        self.expect(400, "POST", one + "/action", {"addProjectAccess": {"project": "p"}})
        self.assertEqual(self.expect(200, "GET", one + "/encryption").json, {})
        self.expect(202, "DELETE", one)
        default = self.expect(200, "GET", path + "/default").json["volume_type"]["id"]
        self.expect(400, "DELETE", f"{path}/{default}")

    def test_no_backend_is_a_message(self):
        name = "u" + self.project
        self.expect(200, "POST", "/v3/types", {"volume_type": {
            "name": name, "extra_specs": {"vendor_name": "unknown"}}})
        volume = self.expect(202, "POST", "/v3/volumes",
                             {"volume": {"size": 1, "volume_type": name}}).json["volume"]["id"]
        self.assertEqual(self.show(volume)["status"], "error")
        messages = self.expect(200, "GET", f"/v3/messages?resource_uuid={volume}", version="3.5")
        message, = messages.json["messages"]
        self.assertEqual(message["event_id"], "VOLUME_VOLUME_001_003")
        self.expect(204, "DELETE", f"/v3/messages/{message['id']}", version="3.3")
        self.expect(404, "GET", f"/v3/messages/{message['id']}", version="3.3")
        self.expect(202, "DELETE", f"/v3/volumes/{volume}")
        self.expect(404, "GET", f"/v3/volumes/{volume}")

    def test_services_and_pools(self):
        path, body = "/v3/os-services", {"host": HOST, "binary": "cinder-volume"}
        for word in ("enable", "disable"):
            self.expect_all(400, "PUT", f"{path}/{word}", (
                {}, [], {"host": HOST}, {"binary": "cinder-volume"}, {**body, "host": "a b"},
                {**body, "x": 1}))
            self.expect(404, "PUT", f"{path}/{word}", {**body, "host": "nope"})
        self.expect(200, "PUT", path + "/disable-log-reason", {**body, "disabled_reason": "why"})
        row, = self.expect(200, "GET", f"{path}?host=node&binary=cinder-volume").json["services"]
        self.assertEqual((row["status"], row["disabled_reason"]), ("disabled", "why"))
        self.expect(200, "PUT", path + "/enable", body)
        row, = self.expect(200, "GET", f"{path}?host={HOST}").json["services"]
        self.assertEqual((row["status"], row["disabled_reason"]), ("enabled", None))
        self.expect(400, "PUT", path + "/nothing", body)
        self.expect(404, "PUT", path + "/failover", {"host": HOST}, "3.25")
        pools = "/v3/scheduler-stats/get_pools"
        for query, version, status in (("?detail=zz", "3.0", 400), ("?name=zz", "3.27", 200),
                                       ("?storage_protocol=x", "3.31", 400),
                                       ("?volume_type=zz", "3.35", 404)):
            self.expect(status, "GET", pools + query, version=version)
        pool, = self.expect(200, "GET", pools + "?detail=true").json["pools"]
        shown = self.expect(200, "GET", f"/v3/capabilities/{HOST}").json
        for key in ("vendor_name", "volume_backend_name", "storage_protocol"):
            self.assertEqual(shown[key], pool["capabilities"][key])
        self.expect(404, "GET", "/v3/capabilities/nope")
        self.expect(404, "GET", "/v3/os-hosts/nope")


class Lists(Service):
    NAMES = ("alpha", "Beta", "it's", "100%_x", "ünï", None, "[1, 2]", "alpha")

    def setUp(self):
        super().setUp()
        self.ids = [self.make(name=name, size=1 + i % 3, metadata={"k": f"v{i}"})
                    for i, name in enumerate(self.NAMES)]

    def list(self, wanted=200, version="3.71", **query):
        text = "&".join(f"{key.replace('_like', '~')}={urllib.parse.quote(str(value))}"
                        for key, value in query.items())
        return self.expect(wanted, "GET", "/v3/volumes?" + text, version=version)

    def ids_of(self, **query):
        return [row["id"] for row in self.list(**query).json["volumes"]]

    def test_pages(self):
        self.assertEqual(self.ids_of(), self.ids[::-1])
        for limit, count in ((0, 0), (3, 3), (1001, 8), (99999999999999999999, 8)):
            self.assertEqual(len(self.ids_of(limit=limit)), count)
        for bad in ({"limit": -1}, {"limit": "x"}, {"limit": ""}, {"limit": "1.5"}, {"offset": -1},
                    {"offset": 2147483648}, {"offset": 99999999999999999999}):
            self.list(400, **bad)
        self.assertEqual(self.ids_of(offset=3, limit=2), self.ids[::-1][3:5])
        for marker in (UNKNOWN_ID, "x' OR '1'='1", ""):
            self.list(404, marker=marker)

    def test_every_order_can_be_walked(self):
        for sort in ("name:asc", "name:desc", "size:asc,name:desc", "size", "created_at:asc",
                     "updated_at", "bootable,size:asc", "status,availability_zone:asc,id"):
            whole, walked, query = self.ids_of(sort=sort), [], {}
            self.assertEqual(sorted(whole), sorted(self.ids))
            while query is not None:
                page = self.list(limit=3, sort=sort, **query).json
                walked += [row["id"] for row in page["volumes"]]
                query = None
                if "volumes_links" in page:
                    link = urllib.parse.urlsplit(page["volumes_links"][0]["href"])
                    query = {"marker": urllib.parse.parse_qs(link.query)["marker"][0]}
            self.assertEqual(walked, whole, sort)
        for sort in ("zz", "name:up", ":asc", "", "id;drop", "v.id", "1", "name:asc:desc"):
            self.list(400, sort=sort)
        self.list(400, sort="name", sort_key="name")
        self.list(400, sort_key="name", sort_dir="up")

    def test_the_count(self):
        page = self.list(with_count="true", limit=2).json
        self.assertEqual((len(page["volumes"]), page["count"]), (2, 8))
        self.assertNotIn("count", self.list(with_count="0").json)
        self.list(400, with_count="zz")
        self.assertEqual(self.ids_of(with_count="true", version="3.44"), [])

    def test_filters(self):
        for count, query in (
                (2, {"name": "alpha"}), (0, {"name": "ALPHA"}), (1, {"name": "it's"}),
                (1, {"name": "[1, 2]"}), (0, {"name": "'; DROP TABLE volumes;--"}),
                (1, {"name": "ünï"}), (2, {"name_like": "lph"}), (1, {"name_like": "%"}),
                (1, {"name_like": "_"}), (1, {"name_like": "BET"}), (8, {"status": "available"}),
                (8, {"status": "['available', 'error']"}), (0, {"status": "error"}),
                (3, {"size": 1}), (3, {"size": "1.0"}), (6, {"size": "[1, 2]"}), (0, {"size": "x"}),
                (0, {"size": "99999999999999999999"}), (0, {"size": "nan"}),
                (8, {"bootable": "false"}), (1, {"metadata": "{'k': 'v0'}"}),
                (1, {"metadata": '{"k": "v0"}'}), (0, {"metadata": "{'k': 'v0', 'z': 'z'}"}),
                (0, {"metadata": "{"}), (8, {"host": HOST}), (8, {"host": HOST + "#file"}),
                (0, {"host": "node"}), (0, {"zzz": 1}), (8, {"created_at": "gt:2020-01-01"}),
                (0, {"created_at": "lt:2020-01-01T00:00:00"}),
                (8, {"created_at": "lt:2020-01-01,gt:2020-01-01"}), (8, {"all_tenants": 0}),
                (8, {"consumes_quota": "yes"}), (0, {"group_id": UNKNOWN_ID})):
            self.assertEqual(len(self.ids_of(**query)), count, query)
        for query in ({"bootable": "zz"}, {"consumes_quota": "zz"}, {"all_tenants": "zz"},
                      {"created_at": "2020-01-01"}, {"created_at": "zz:2020-01-01"},
                      {"created_at": "gt:2020-02-30"}, {"created_at": "gt:2020-01-01,"},
                      {"status": "[" + ",".join("1" * 1500) + "]"}):
            self.list(400, **query)

    def test_filters_before_their_version(self):
        for version, count, query in (("3.3", 8, {"glance_metadata": "{'a': 'b'}"}),
                                      ("3.4", 0, {"glance_metadata": "{'a': 'b'}"}),
                                      ("3.9", 8, {"group_id": UNKNOWN_ID}),
                                      ("3.30", 8, {"created_at": "zz"}),
                                      ("3.33", 0, {"name_like": "lph"}),
                                      ("3.1", 0, {"bootable": "zz"})):
            self.assertEqual(len(self.ids_of(version=version, **query)), count, (version, query))

    def test_unusual_queries_are_refused_or_empty(self):
        for text in ("name=%ff", "name=%00", "%zz=1", "name=a%"):
            self.expect(400, "GET", "/v3/volumes?" + text)
        for text in ("&&&", "name=alpha&name=Beta", "=x", "metadata=" + "%7B" * 5000):
            self.expect(200, "GET", "/v3/volumes?" + text)
        self.expect(400, "GET", "/v3/volumes?" + "&".join(f"a{i}=1" for i in range(2000)))
        self.expect(414, "GET", "/v3/volumes?name=" + "a" * 60000)


class Wire(Service):
    """Bytes that are hardly HTTP; the service answers or hangs up, and lives on."""

    def send(self, data):
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)  # it need not wait until we have sent it all
            try:
                return connection.recv(65536).split(b"\r\n")[0]
            except ConnectionResetError:
                return b""

    def test_requests_above_the_limits_are_refused(self):
        start = b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n"
        for data, status in (
                (start + b"".join(b"X-%d: y\r\n" % i for i in range(10000)) + b"\r\n", b"431"),
                (start + b"X: " + b"a" * 200000 + b"\r\n\r\n", b"431"),
                (b"GET /v3/" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"414"),
                (b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: 999999999999\r\n\r\n{", b"413")):
            answer = self.send(data)
            self.assertTrue(answer == b"" or answer.split()[1] == status, answer)
        self.expect(200, "GET", "/healthcheck")

    def test_malformed_requests_are_refused(self):
        for data in (b"GARBAGE\r\n\r\n", b"GET /v3/volumes HTTP/1.1\r\n\r\n",
                     b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                     b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            answer = self.send(data)
            self.assertTrue(answer == b"" or answer.split()[1] == b"400", (data, answer))
        self.expect(200, "GET", "/healthcheck")

    def test_links_ignore_a_forged_host(self):
        self.make()
        for host in ('x/evil', 'x"<y>'):
            page = self.expect(403, "GET", "/v3/volumes?limit=1", Host=host)
            self.assertNotIn(host.encode(), page.data)


if __name__ == "__main__":
    unittest.main()
