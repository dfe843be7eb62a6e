"""
A real Keystone in front of everything: Debian's clients, roles, tokens of every kind, outages, TLS,
and the growth of attached disks with the service's own users.
"""

import http.client
import http.server
import json
import os
import select
import shutil
import socket
import ssl
import tempfile
import threading
import time

import program
from block_storage import BlockStorage, until
from case import NODE, DomainCase, ServiceCase, in_threads
from certificates import Certificates
from clients import ClientFailed, run_client
from keystone import PASSWORD, Door, Keystone
from ports import free_port

keystone = Keystone()


def setUpModule():
    try:
        keystone.start()
        keystone.user("scoria", "service", ("admin", "service"))
        keystone.user("boss", "mine", ("admin",))
        keystone.user("mia", "mine", ("member", "reader"))
        keystone.user("rita", "mine", ("reader",))
        keystone.user("stranger", "mine", ("stranger",))
        keystone.user("olga", "others", ("member", "reader"))
        keystone.user("system", roles=("admin",), system=True)
        keystone.service("image", "http://127.0.0.1:1/v2")
    except BaseException:
        keystone.end()
        raise


def tearDownModule():
    keystone.end()


CONFIGURATION = """\
[DEFAULT]
auth_strategy = keystone
log_level = debug
[keystone_authtoken]
auth_url = {url}
username = scoria
password = {password}
project_name = service
service_type = volumev3
token_cache_time = {cache}
http_connect_timeout = {timeout}
http_request_max_retries = 1
[nova]
auth_section = keystone_authtoken
[service_user]
auth_section = keystone_authtoken
send_service_user_token = true
"""


class KeystoneCase(ServiceCase):
    """A service whose callers Keystone knows."""

    cache = 300
    timeout = 30  # a busy machine is no outage
    more = ()
    scheme = "http"

    @classmethod
    def auth_url(cls):
        return keystone.url

    @classmethod
    def setUpClass(cls):
        cls.workplace = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.workplace, ignore_errors=True)
        cls.configuration = os.path.join(cls.workplace, "scoria.conf")
        with open(cls.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(url=cls.auth_url(), password=PASSWORD,
                                            cache=cls.cache, timeout=cls.timeout))
        port = free_port()
        cls.listen = f"127.0.0.1:{port}"
        cls.options = (f"--config-file={cls.configuration}", *cls.more)
        keystone.service("volumev3", f"{cls.scheme}://127.0.0.1:{port}/v3/%(project_id)s")
        cls.admin_token = keystone.token("boss", "mine")
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        log = cls.service.log()
        assert "DEBUG" in log
        shown = [secret for secret in keystone.secrets if secret in log]
        assert not shown, f"{len(shown)} secrets in the log"

    @classmethod
    def client(cls):
        return BlockStorage(cls.service.endpoint, token=cls.admin_token)

    def client_of(self, token):
        api = BlockStorage(self.service.endpoint, token=token)
        self.addCleanup(api.close)
        return api

    def of(self, user, project="mine"):
        return self.client_of(keystone.token(user, project))

    def status(self, token, path="/volumes", method="GET", body=None, **headers):
        api = self.client_of(token)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.call(method, path, body, headers=fields).status


NO_AGENT = ("--compute_agent.enabled=false",)


class Clients(KeystoneCase):
    more = NO_AGENT

    def run_as(self, user, *words):
        return run_client(words, OS_AUTH_URL=keystone.url, OS_USERNAME=user, OS_PASSWORD=PASSWORD,
                          OS_PROJECT_NAME="mine", OS_USER_DOMAIN_ID="default",
                          OS_PROJECT_DOMAIN_ID="default", OS_IDENTITY_API_VERSION="3",
                          OS_VOLUME_API_VERSION="3.70")

    def openstack(self, *words, user="mia", output=True):
        text = self.run_as(user, "/usr/bin/openstack", *words, *(("-f", "json") if output else ()))
        return json.loads(text) if output else text

    def cinder(self, *words, user="mia"):
        return self.run_as(user, "/usr/bin/cinder", *words)

    def test_openstack_with_a_password(self):
        made = self.openstack("volume", "create", "--size", "1", "first")
        self.api.wait_status(made["id"], "available")
        self.assertEqual([row["ID"] for row in self.openstack("volume", "list")], [made["id"]])
        self.openstack("volume", "set", "--size", "2", "--name", "second", "first", output=False)
        self.api.wait_status(made["id"], "available")
        self.assertEqual(self.openstack("volume", "show", "second")["size"], 2)
        self.openstack("volume", "delete", "second", output=False)
        self.api.wait_gone(made["id"])

    def test_cinder_with_a_password(self):
        self.cinder("create", "--name", "third", "1")
        volume_id = self.api.list("?all_tenants=1&name=third")[0]["id"]
        self.addCleanup(self.discard, volume_id)
        self.api.wait_status(volume_id, "available")
        self.assertIn("third", self.cinder("list"))
        self.cinder("metadata", volume_id, "set", "a=b")
        self.assertEqual(self.api.show(volume_id)["metadata"], {"a": "b"})
        self.cinder("extend", volume_id, "2")
        self.api.wait_status(volume_id, "available")
        self.cinder("attachment-create", volume_id, "3f0b2c3e-5a51-4d7c-9d8e-0c2f0a4a6b11")
        attachment = self.api.ask("GET", "/attachments")["attachments"][0]
        self.assertEqual(attachment["volume_id"], volume_id)
        self.cinder("attachment-delete", attachment["id"])
        self.api.wait_status(volume_id, "available")
        self.cinder("delete", volume_id)
        self.api.wait_gone(volume_id)

    def test_quotas(self):
        project = keystone.project("mine")
        self.assertIn("gigabytes", self.cinder("quota-show", project))
        with self.assertRaises(ClientFailed):
            self.cinder("quota-update", "--volumes", "7", project)
        self.cinder("quota-update", "--volumes", "7", project, user="boss")
        self.assertEqual(
            self.api.ask("GET", f"/os-quota-sets/{project}")["quota_set"]["volumes"], 7)
        self.cinder("quota-delete", project, user="boss")

    def test_a_wrong_password_is_refused(self):
        with self.assertRaises(ClientFailed):
            run_client(["/usr/bin/openstack", "volume", "list"], OS_AUTH_URL=keystone.url,
                       OS_USERNAME="mia", OS_PASSWORD="wrong", OS_PROJECT_NAME="mine",
                       OS_USER_DOMAIN_ID="default", OS_PROJECT_DOMAIN_ID="default")


class Roles:
    """Rights: (method, path, body), and the status for each role."""

    more = NO_AGENT
    before = False  # former defaults too

    def rows(self, volume_id):
        member = (202, 202, 202, 202) if self.before else (202, 202, 403, 403)
        reader = (200, 200, 200, 200 if self.before else 403)
        admin = (200, 403, 403, 403)
        unseen = 403 if self.before else 404
        hidden = (200, 200, 200, 200 if self.before else unseen)
        writer = (200, 200, 200, 200) if self.before else (200, 200, 403, unseen)
        project = keystone.project("mine")
        return (
            ("GET", "/volumes", None, reader),
            ("GET", "/volumes/detail", None, reader),
            ("GET", "/volumes/summary", None, reader),
            ("GET", f"/volumes/{volume_id}", None, hidden),
            ("GET", f"/volumes/{volume_id}/metadata", None, hidden),
            ("POST", f"/volumes/{volume_id}/metadata", {"metadata": {"a": "b"}}, writer),
            ("PUT", f"/volumes/{volume_id}", {"volume": {"name": "n"}}, writer),
            ("POST", f"/volumes/{volume_id}/action",
             {"os-reset_status": {"status": "available"}}, (202, 403, 403, unseen)),
            ("POST", f"/volumes/{volume_id}/action", {"os-extend_volume_completion": {}},
             (400, 403, 403, unseen)),
            ("GET", "/attachments", None, (200, 200, 200, 200)),
            ("GET", f"/os-quota-sets/{project}", None, reader),
            ("PUT", f"/os-quota-sets/{project}", {"quota_set": {"volumes": 100}}, admin),
            ("GET", "/os-services", None, admin),
            ("GET", "/scheduler-stats/get_pools", None, admin),
            ("POST", "/types", {"volume_type": {"name": None}}, (200, 403, 403, 403)),
            ("GET", "/messages", None, reader),
            ("POST", "/volumes", {"volume": {"size": 1}}, member),
        )

    def test_each_route_needs_its_role(self):
        volume_id = self.volume()
        users = ("boss", "mia", "rita", "stranger")
        for user, column in zip(users, range(4)):
            api = self.of(user)
            for method, path, body, statuses in self.rows(volume_id):
                if path == "/types":
                    body = {"volume_type": {"name": f"type-{user}"}}
                answer = api.call(method, path, body)
                with self.subTest(user=user, method=method, path=path, body=body):
                    self.assertEqual(answer.status, statuses[column], answer.message)
                if path == "/volumes" and answer.status == 202:
                    made = answer.body["volume"]["id"]
                    self.api.wait_status(made, "available")
                    self.discard(made)

    def test_a_project_sees_only_its_own_volumes(self):
        volume_id = self.volume()
        other = self.of("olga", "others")
        self.assertEqual(other.call("GET", f"/volumes/{volume_id}").status, 404)
        self.assertEqual(other.call("DELETE", f"/volumes/{volume_id}").status, 404)
        self.assertEqual(other.list("?all_tenants=1"), [])


class NewDefaults(Roles, KeystoneCase):
    pass


class FormerDefaults(Roles, KeystoneCase):
    more = (*NO_AGENT, "--oslo_policy.enforce_new_defaults=false")
    before = True


class Tokens(KeystoneCase):
    more = NO_AGENT

    def test_a_missing_or_forged_token_is_refused(self):
        api = self.client_of(None)
        for headers in ({}, {"X-Auth-Token": " "}, {"X-Auth-Token": "gAAAAAforged"},
                        {"X-Auth-Token": "x" * 9000},
                        {"X-User-Id": "u", "X-Roles": "admin", "X-Identity-Status": "Confirmed"}):
            answer = api.call("GET", "/volumes", headers=headers)
            self.assertEqual(answer.status, 401)
            self.assertEqual(answer.headers["WWW-Authenticate"], f'Keystone uri="{keystone.url}"')
            self.assertEqual(answer.body["error"]["code"], 401)

    def test_public_routes_need_no_token(self):
        root = BlockStorage(self.service.endpoint.replace("/v3", ""))
        self.addCleanup(root.close)
        self.assertEqual(root.call("GET", "/").status, 300)
        self.assertEqual(root.call("GET", "/healthcheck").status, 200)
        self.assertEqual(root.call("GET", "/v3/").status, 401)

    def test_the_project_of_the_path_is_the_tokens(self):
        token = keystone.token("mia", "mine")
        mine, others = keystone.project("mine"), keystone.project("others")
        self.assertEqual(self.status(token, f"/{mine}/volumes"), 200)
        self.assertEqual(self.status(token, f"/{others}/volumes"), 400)

    def test_tokens_without_a_project_are_refused(self):
        system, unscoped = keystone.token("system", system=True), keystone.token("mia")
        self.assertEqual(self.status(system, "/os-services"), 200)
        self.assertEqual(self.status(system, "/volumes/detail?all_tenants=1"), 200)
        body = {"volume": {"size": 1}}
        self.assertIn(self.status(system, "/volumes", "POST", body), (400, 403))
        self.assertIn(self.status(unscoped, "/volumes", "POST", body), (400, 403))
        self.assertEqual(self.status(unscoped, "/volumes"), 403)
        self.assertEqual(self.status(system, f"/{keystone.project('mine')}/volumes"), 400)

    def test_access_rules_are_kept(self):
        rule = {"service": "volumev3", "method": "GET", "path": "/v3/volumes/**"}
        token = keystone.application_credential("mia", "mine", "reads", [rule])
        self.assertEqual(self.status(token, "/volumes/detail"), 200)
        self.assertEqual(self.status(token, "/volumes"), 401)
        self.assertEqual(self.status(token, "/volumes", "POST", {"volume": {"size": 1}}), 401)
        elsewhere = {"service": "compute", "method": "GET", "path": "/v3/volumes/**"}
        token = keystone.application_credential("mia", "mine", "elsewhere", [elsewhere])
        self.assertEqual(self.status(token, "/volumes/detail"), 401)
        token = keystone.application_credential("mia", "mine", "all")
        self.assertEqual(self.status(token), 200)

    def test_service_tokens(self):
        user, service = keystone.token("mia", "mine"), keystone.token("scoria", "service")
        self.assertEqual(self.status(user, X_Service_Token=service), 200)
        self.assertEqual(self.status(user, X_Service_Token=keystone.token("boss", "mine")), 401)
        self.assertEqual(self.status(user, X_Service_Token="forged"), 401)
        self.assertEqual(self.status("forged", X_Service_Token=service), 401)

    def test_a_disk_of_a_server_is_detached_only_with_a_service_token(self):
        volume_id, member = self.volume(), self.of("mia")
        made = member.ask("POST", "/attachments", {"attachment": {
            "volume_uuid": volume_id, "instance_uuid": "3f0b2c3e-5a51-4d7c-9d8e-0c2f0a4a6b11",
            "connector": {"host": NODE}}})["attachment"]["id"]
        path, action = f"/attachments/{made}", f"/volumes/{volume_id}/action"
        self.assertEqual(member.call("POST", f"{path}/action", {"os-complete": {}}).status, 204)
        for method, place, body in (("DELETE", path, None),
                                    ("POST", action, {"os-detach": {"attachment_id": made}}),
                                    ("POST", action, {"os-terminate_connection":
                                                      {"connector": {"host": NODE}}})):
            answer = member.call(method, place, body)
            self.assertEqual(answer.status, 409, answer.message)
            self.assertIn("ConflictNovaUsingAttachment", answer.message)
        self.assertEqual(self.api.show(volume_id)["status"], "in-use")
        service = {"X-Service-Token": keystone.token("scoria", "service")}
        self.assertEqual(member.call("DELETE", path, None, headers=service).status, 200)
        self.assertEqual(self.api.show(volume_id)["status"], "available")

    def test_concurrent_requests_with_one_new_token_are_served(self):
        token = keystone.token("mia", "mine")

        def ask():
            if self.status(token) != 200:
                raise AssertionError("not 200")
        in_threads([ask] * 16)


class Nova:
    """A compute service of two answers: a server's attachments, and the list of servers."""

    def __init__(self):
        self.disk = self.servers = (500, {})
        self.requested = []
        nova = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def do_GET(self):  # pylint: disable=invalid-name
                nova.requested.append((self.path, dict(self.headers)))
                status, body = nova.servers if "/detail?" in self.path else nova.disk
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v2.1"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class ComputeService(KeystoneCase):
    """With Nova in charge it is queried whether a server still uses its disk."""

    option = "--compute.service=nova"
    SERVER = "3f0b2c3e-5a51-4d7c-9d8e-0c2f0a4a6b11"

    @classmethod
    def setUpClass(cls):
        cls.nova = Nova()
        cls.addClassCleanup(cls.nova.end)
        cls.more = (*NO_AGENT, cls.option, f"--compute.endpoint={cls.nova.url}")
        super().setUpClass()

    def attached(self):
        volume_id = self.volume()
        made = self.of("mia").ask("POST", "/attachments", {"attachment": {
            "volume_uuid": volume_id, "instance_uuid": self.SERVER,
            "connector": {"host": NODE}}})["attachment"]["id"]
        return volume_id, made

    def take(self, user, attachment_id):
        return self.of(user).call("DELETE", f"/attachments/{attachment_id}").status

    def take_for_nova(self, attachment_id):
        service = {"X-Service-Token": keystone.token("scoria", "service")}
        return self.of("mia").call("DELETE", f"/attachments/{attachment_id}", None,
                                   headers=service).status

    def test_used_attachments_stay_and_stale_ones_are_deleted(self):
        volume_id, made = self.attached()
        gone, no_servers = (404, {"itemNotFound": {"code": 404, "message": "gone"}}), {"servers": []}
        for disk, servers in (((200, {"volumeAttachment": {"attachment_id": made}}), (500, {})),
                              ((503, {}), (200, no_servers)),
                              (gone, (403, {"forbidden": {"code": 403, "message": "no"}}))):
            self.nova.disk, self.nova.servers = disk, servers
            for user in ("mia", "boss"):
                self.assertEqual(self.take(user, made), 409)
        self.assertEqual(self.api.show(volume_id)["status"], "attaching")
        self.nova.disk, self.nova.servers = gone, (200, no_servers)
        self.nova.requested.clear()
        self.assertEqual(self.take("mia", made), 200)
        self.assertEqual(self.api.show(volume_id)["status"], "available")
        (path, headers), (listed, _) = self.nova.requested
        self.assertEqual(path, f"/v2.1/servers/{self.SERVER}/os-volume_attachments/{volume_id}")
        self.assertIn(f"uuid={self.SERVER}", listed)
        self.assertEqual(headers["OpenStack-API-Version"], "compute 2.89")
        self.assertTrue(headers["X-Auth-Token"])

    def test_the_compute_service_is_not_queried_about_its_own_request(self):
        volume_id, made = self.attached()
        self.nova.requested.clear()
        self.assertEqual(self.take_for_nova(made), 200)
        self.assertEqual(self.api.show(volume_id)["status"], "available")
        self.assertEqual(self.nova.requested, [])

    def test_an_administrator_detaches_no_disk_of_a_server(self):
        volume_id, made = self.attached()
        self.nova.disk = (200, {"volumeAttachment": {"attachment_id": made}})
        for action in ({"os-detach": {"attachment_id": made}},
                       {"os-force_detach": {"attachment_id": made, "connector": None}},
                       {"os-terminate_connection": {"connector": {"host": NODE}}}):
            answer = self.of("boss").call("POST", f"/volumes/{volume_id}/action", action)
            self.assertEqual(answer.status, 409, answer.message)
            self.assertIn("ConflictNovaUsingAttachment", answer.message)
        self.assertEqual(self.api.ask("GET", f"/attachments/{made}")["attachment"]["id"], made)
        self.assertEqual(self.take_for_nova(made), 200)


class AgentsBesideComputeService(ComputeService):
    """Agents grow the disks of Nova's servers, and Nova takes their snapshots."""

    option = "--compute.snapshots=nova"


class ShortTokens(KeystoneCase):
    """Tokens live for some seconds here."""

    more = NO_AGENT
    cache = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.long_again)
        keystone.configure(expiration=8)
        keystone.stop()
        keystone.start()

    @classmethod
    def long_again(cls):
        keystone.configure()
        keystone.stop()
        keystone.start()

    def good_token(self):
        """One that the service takes; on a busy machine it may take several until one arrives."""
        def taken():
            token = keystone.token("mia", "mine")
            return token if self.status(token) == 200 else None
        return until(taken, 120, "a good token")

    def test_an_expired_token_is_valid_only_beside_a_service_token(self):
        token = self.good_token()
        until(lambda: self.status(token) == 401, 120, "the token's end")
        until(lambda: self.status(token, X_Service_Token=keystone.token("scoria", "service")) == 200,
              120, "the token good beside a service's")
        self.assertEqual(self.status(token), 401)

    def test_a_revoked_token_is_valid_for_the_cache_time_at_most(self):
        token = self.good_token()
        keystone.admin = keystone.token("admin", project="admin")
        keystone.revoke(token)
        time.sleep(self.cache + 0.5)
        self.assertEqual(self.status(token), 401)

    def test_the_services_own_token_is_renewed(self):
        """It is older than the caller's that it was sent with, and at its end before it."""
        token = self.good_token()
        until(lambda: self.status(token) == 401, 120, "the token's end")
        self.good_token()


class Outages(KeystoneCase):
    more = NO_AGENT

    def test_a_restarted_keystone_is_used_again(self):
        known, unknown = keystone.token("mia", "mine"), keystone.token("mia", "mine")
        self.assertEqual(self.status(known), 200)
        keystone.kill()
        try:
            self.assertEqual(self.status(known), 200)
            begin = time.monotonic()
            answer = self.client_of(unknown).call("GET", "/volumes")
            self.assertEqual(answer.status, 503)
            self.assertIn("Retry-After", answer.headers)
            self.assertLess(time.monotonic() - begin, 20)
        finally:
            keystone.start()
        self.assertEqual(self.status(unknown), 200)


class SlowKeystone(KeystoneCase):
    """Keystone takes connections and does not respond."""

    more = NO_AGENT
    timeout = 8

    @classmethod
    def setUpClass(cls):
        cls.door = Door(keystone.port)
        cls.addClassCleanup(cls.door.close)
        super().setUpClass()

    @classmethod
    def auth_url(cls):
        return f"http://127.0.0.1:{cls.door.port}/v3"

    def test_known_callers_are_served_and_unknown_ones_refused_in_time(self):
        known, new = keystone.token("mia", "mine"), keystone.token("mia", "mine")
        until(lambda: self.status(known) == 200, 120, "the token known")
        self.door.open.clear()
        try:
            self.flood(known)
        finally:
            self.door.open.set()
        until(lambda: self.status(new) == 200, 120, "service again")

    def flood(self, known):
        """As many unknown tokens at once as may wait for Keystone, a quarter of the clients, and
        100 requests of a known caller that overtake them all."""
        url = self.service.endpoint
        host, port = "127.0.0.1", int(url.split(":")[2].split("/")[0])
        sockets = []
        begin = time.monotonic()
        for number in range(250):
            client = socket.create_connection((host, port), timeout=60)
            client.sendall(f"GET /v3/volumes HTTP/1.1\r\nHost: x\r\nX-Auth-Token: t{number}\r\n"
                           "Connection: close\r\n\r\n".encode())
            sockets.append(client)
        api = self.client_of(known)
        for _ in range(100):
            self.assertEqual(api.call("GET", "/volumes").status, 200)
        self.assertEqual(select.select(sockets, [], [], 0)[0], [])
        for client in sockets:
            with client.makefile("rb") as answer:
                self.assertEqual(answer.readline().split()[1], b"503")
            client.close()
        self.assertLess(time.monotonic() - begin, 40)


class EndOfService(KeystoneCase):
    """The service ends while Keystone does not respond."""

    more = NO_AGENT
    timeout = 60

    @classmethod
    def setUpClass(cls):
        cls.door = Door(keystone.port)
        cls.addClassCleanup(cls.door.close)
        super().setUpClass()

    @classmethod
    def auth_url(cls):
        return f"http://127.0.0.1:{cls.door.port}/v3"

    def test_a_stop_does_not_wait_for_keystone(self):
        until(lambda: self.status(keystone.token("mia", "mine")) == 200, 120, "the token known")
        self.door.open.clear()
        self.addCleanup(self.service.start)
        self.addCleanup(self.door.open.set)
        port = int(self.service.endpoint.split(":")[2].split("/")[0])
        client = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.addCleanup(client.close)
        taken = self.door.taken
        client.sendall(b"GET /v3/volumes HTTP/1.1\r\nHost: x\r\nX-Auth-Token: unknown\r\n\r\n")
        until(lambda: self.door.taken > taken, 60, "Keystone asked")
        begin = time.monotonic()
        self.assertEqual(self.service.stop(), 0)
        self.assertLess(time.monotonic() - begin, self.timeout - 10)
        with client.makefile("rb") as answer:
            self.assertEqual(answer.readline().split()[1], b"503")


# ---- attached disks ----

def end_of_growth(case):
    volume_id, domain = case.running()
    case.api.extend(volume_id, 2)
    case.assert_grown(volume_id, domain, 2)


class Agent(KeystoneCase, DomainCase):
    """The built-in agent, and one of its own that finds the API in the catalog."""

    @classmethod
    def setUpClass(cls):
        cls.start_hypervisor()
        cls.addClassCleanup(cls.stop_hypervisor)
        super().setUpClass()

    def test_the_built_in_agent_grows_a_disk(self):
        end_of_growth(self)

    def test_events_need_a_service(self):
        agent = BlockStorage(self.service.endpoint.replace("/v3", "/compute"))
        self.addCleanup(agent.close)
        event = {"events": [{"name": "volume-extended", "tag": "3f0b2c3e-5a51-4d7c-9d8e-0c2f0a4a6b11",
                             "server_uuid": "3f0b2c3e-5a51-4d7c-9d8e-0c2f0a4a6b11"}]}
        path, version = "/v2.1/os-server-external-events", {"OpenStack-API-Version": "compute 2.51"}
        self.assertEqual(agent.call("GET", "/", version=None).status, 200)
        self.assertEqual(agent.call("GET", "/v2.1/", version=None).status, 200)
        for token, status in ((None, 401), ("forged", 401), (keystone.token("mia", "mine"), 403),
                              (keystone.token("scoria", "service"), 207)):
            headers = {**version, **({"X-Auth-Token": token} if token else {})}
            answer = agent.call("POST", path, event, version=None, headers=headers)
            self.assertEqual(answer.status, status, answer.body)


class AgentApart(KeystoneCase, DomainCase):
    more = NO_AGENT

    @classmethod
    def setUpClass(cls):
        cls.start_hypervisor()
        cls.addClassCleanup(cls.stop_hypervisor)
        super().setUpClass()

    def test_a_separate_agent_finds_the_api_in_the_catalog(self):
        log = os.path.join(self.directory, "compute.log")
        agent = program.Program("compute", log, f"--config-file={self.configuration}",
                                "--listen", "127.0.0.1:0", f"--host={NODE}")
        self.addCleanup(agent.kill)
        agent.start()
        until(lambda: any(row["host"] == NODE and row["state"] == "up" for row in
                          self.api.ask("GET", "/os-services?binary=scoria-compute")["services"]),
              120, "the agent's first heartbeat")
        end_of_growth(self)
        self.assertEqual(agent.stop(), 0)
        text = agent.log()
        self.assertFalse([secret for secret in keystone.secrets if secret in text])


# ---- TLS ----

class Tls(DomainCase):
    """API and agent over TLS, with and without certificates of clients."""

    @classmethod
    def setUpClass(cls):
        cls.start_hypervisor()
        cls.addClassCleanup(cls.stop_hypervisor)
        cls.workplace = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.workplace, ignore_errors=True)
        cls.certificates = Certificates(cls.workplace)
        path = cls.certificates.path
        cls.options = (f"--ssl.cert_file={path('server.pem')}",
                       f"--ssl.key_file={path('server.key')}",
                       f"--nova.cafile={path('ca.pem')}", f"--service_user.cafile={path('ca.pem')}")
        super().setUpClass()

    @classmethod
    def client(cls):
        api = BlockStorage(cls.service.endpoint)
        api.connection = http.client.HTTPSConnection(
            "127.0.0.1", api.connection.port, timeout=30, context=cls.certificates.context())
        return api

    def test_links_have_the_scheme_of_the_endpoint(self):
        self.assertTrue(self.service.endpoint.startswith("https://127.0.0.1:"))
        volume = self.api.show(self.volume())
        self.assertTrue(volume["links"][0]["href"].startswith("https://127.0.0.1:"))

    def test_a_disk_grows_over_tls(self):
        end_of_growth(self)

    def test_many_clients_use_tls_concurrently(self):
        volume_id = self.volume()

        def ask():
            api = self.connect()
            for _ in range(50):
                self.assertEqual(api.show(volume_id)["size"], 1)
        in_threads([ask] * 8)

    def test_plain_text_gets_no_response(self):
        plain = BlockStorage(self.service.endpoint.replace("https", "http"))
        self.addCleanup(plain.close)
        with self.assertRaises((OSError, http.client.HTTPException)):
            plain.call("GET", "/volumes")
        self.assert_answers()
