"""
A private Keystone: SQLite, fernet tokens, a free port of loopback.  It dies with its parent.
"""

import base64
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

from block_storage import until
from ports import free_port

PR_SET_PDEATHSIG = 1
PASSWORD = "not-a-token-but-secret"
LIBC = ctypes.CDLL(None, use_errno=True)


class KeystoneError(RuntimeError):
    pass


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


CONFIGURATION = """\
[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///{directory}/keystone.db
[fernet_tokens]
key_repository = {directory}/fernet
[fernet_receipts]
key_repository = {directory}/fernet
[credential]
key_repository = {directory}/credential
[identity]
password_hash_rounds = 4
[token]
expiration = {expiration}
[application_credential]
user_limit = 100
"""


class Keystone:
    """start() takes some ten seconds the first time, two after stop() or kill()."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="scoria-keystone-")
        self.port = free_port()
        self.process = None
        self.secrets = {PASSWORD}  # every token it gave, and the password: never to be logged
        self.admin = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v3"

    @property
    def configuration(self):
        return os.path.join(self.directory, "keystone.conf")

    # ---- the process ----

    def configure(self, expiration=3600):
        """Life of the tokens that it gives after its next start."""
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(directory=self.directory, expiration=expiration))

    def manage(self, *words):
        result = subprocess.run(["keystone-manage", "--config-file", self.configuration, *words],
                                capture_output=True, text=True, timeout=120, check=False)
        if result.returncode != 0:
            raise KeystoneError(f"keystone-manage {words[0]}: {result.stderr[-2000:]}")

    def prepare(self):
        self.configure()
        self.manage("db_sync")
        with sqlite3.connect(os.path.join(self.directory, "keystone.db")) as database:
            database.execute("PRAGMA journal_mode = WAL")  # two processes write
        for name in "fernet", "credential":  # keystone-manage takes three seconds for each
            os.mkdir(os.path.join(self.directory, name), 0o700)
            for number in "0", "1":
                with open(os.path.join(self.directory, name, number), "wb") as file:
                    file.write(base64.urlsafe_b64encode(os.urandom(32)))
        self.manage("bootstrap", "--bootstrap-password", PASSWORD, "--bootstrap-region-id", "one",
                    *(word for interface in ("public", "internal", "admin")
                      for word in (f"--bootstrap-{interface}-url", self.url)))

    def start(self):
        if not os.path.exists(self.configuration):
            self.prepare()
        with open(os.path.join(self.directory, "uwsgi.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["uwsgi_python3", "--master", "--processes", "2", "--lazy-apps", "--no-orphans",
                 "--die-on-term", "--http-socket", f"127.0.0.1:{self.port}",
                 "--add-header", "Connection: close", "--buffer-size", "32768",
                 "--wsgi-file", "/usr/bin/keystone-wsgi-public",
                 "--pyargv", f"--config-file {self.configuration}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        deadline = time.monotonic() + 180
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.kill()
                raise KeystoneError("Keystone does not start")
            time.sleep(0.1)
        self.admin = self.token("admin", project="admin")
        return self

    def answers(self):
        try:
            return self.call("GET", "", token=None)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def is_open(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            until(lambda: not self.is_open(), 60, "the workers see that it is gone")

    def end(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- its API ----

    def call(self, method, path, body=None, token=None, headers=None):
        """(status, headers, parsed body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, "/v3" + path, json.dumps(body) if body else None,
                               {"Content-Type": "application/json",
                                **({"X-Auth-Token": token} if token else {}), **(headers or {})})
            response = connection.getresponse()
            text = response.read()
            return response.status, dict(response.getheaders()), json.loads(text) if text else None
        finally:
            connection.close()

    def ask(self, method, path, body=None, token=None):
        status, _, answer = self.call(method, path, body, token or self.admin)
        if status >= 400:
            raise KeystoneError(f"{method} {path}: {status} {answer}")
        return answer

    def authenticate(self, identity, scope=None):
        body = {"auth": {"identity": identity, **({"scope": scope} if scope else {})}}
        status, headers, answer = self.call("POST", "/auth/tokens", body)
        if status != 201:
            raise KeystoneError(f"no token: {status} {answer}")
        token = headers["X-Subject-Token"]
        self.secrets.add(token)
        return token

    def token(self, user, project=None, system=False):
        identity = {"methods": ["password"], "password": {"user": {
            "name": user, "domain": {"id": "default"}, "password": PASSWORD}}}
        scope = None
        if system:
            scope = {"system": {"all": True}}
        elif project:
            scope = {"project": {"name": project, "domain": {"id": "default"}}}
        return self.authenticate(identity, scope)

    def revoke(self, token):
        self.call("DELETE", "/auth/tokens", token=self.admin, headers={"X-Subject-Token": token})

    def application_credential(self, user, project, name, rules=None):
        """A token by a new application credential of the user, with access rules."""
        token = self.token(user, project)
        user_id = self.find("users", user)
        credential = {"name": name, **({"access_rules": rules} if rules is not None else {})}
        made = self.ask("POST", f"/users/{user_id}/application_credentials",
                        {"application_credential": credential}, token)["application_credential"]
        self.secrets.add(made["secret"])
        return self.authenticate({"methods": ["application_credential"], "application_credential": {
            "id": made["id"], "secret": made["secret"]}})

    # ---- people and places ----

    def find(self, kind, name):
        rows = self.ask("GET", f"/{kind}?name={name}")[kind]
        return rows[0]["id"] if rows else None

    def have(self, kind, name, **fields):
        """Its id; made when it is not there."""
        return self.find(kind, name) or self.ask(
            "POST", f"/{kind}", {kind[:-1]: {"name": name, **fields}})[kind[:-1]]["id"]

    def project(self, name):
        return self.have("projects", name)

    def user(self, name, project=None, roles=(), system=False):
        user_id = self.have("users", name, password=PASSWORD)
        for role in roles:
            role_id = self.have("roles", role)
            place = "system" if system else f"projects/{self.project(project)}"
            self.ask("PUT", f"/{place}/users/{user_id}/roles/{role_id}")
        return user_id

    def service(self, service_type, url):
        """The one public endpoint of this type."""
        rows = self.ask("GET", f"/services?type={service_type}")["services"]
        if rows:
            self.ask("DELETE", f"/services/{rows[0]['id']}")
        service_id = self.ask("POST", "/services", {"service": {
            "type": service_type, "name": service_type}})["service"]["id"]
        self.ask("POST", "/endpoints", {"endpoint": {
            "service_id": service_id, "interface": "public", "region_id": "one", "url": url}})


class Door:
    """A way to a port that can be held shut: connections are taken, and nothing comes through."""

    def __init__(self, port):
        self.target = port
        self.open = threading.Event()
        self.open.set()
        self.ends = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.taken = 0
        self.sockets = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while not self.ends:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.taken += 1
            self.sockets.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        self.open.wait()
        try:
            target = socket.create_connection(("127.0.0.1", self.target), timeout=20)
        except OSError:
            client.close()
            return
        back = threading.Thread(target=self.carry, args=(target, client), daemon=True)
        back.start()
        self.carry(client, target)
        back.join()
        client.close()
        target.close()

    def carry(self, source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                self.open.wait()
                sink.sendall(data)
        except OSError:
            pass
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.ends = True
        self.open.set()
        self.listener.close()
        for client in self.sockets:
            client.close()
