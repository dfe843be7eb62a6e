"""
A private Barbican with its simple crypto plugin: SQLite, a free port of loopback, callers known by
a Keystone.  It dies with its parent.
"""

import base64
import http.client
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time

from keystone import PASSWORD, die_with_parent
from ports import free_port

PASTE = "/etc/barbican/barbican-api-paste.ini"
CONFIGURATION = """\
[DEFAULT]
host_href = http://127.0.0.1:{port}
sql_connection = sqlite:///{directory}/barbican.db
db_auto_create = false
log_file = {directory}/barbican.log
[database]
connection = sqlite:///{directory}/barbican.db
[queue]
enable = false
[keystone_notifications]
enable = false
[secretstore]
enabled_secretstore_plugins = store_crypto
[crypto]
enabled_crypto_plugins = simple_crypto
[simple_crypto_plugin]
kek = {kek}
[keystone_authtoken]
auth_type = password
auth_url = {keystone}
www_authenticate_uri = {keystone}
username = barbican
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
"""
# The script of the package has the path of the packaged file.
SCRIPT = """\
from paste import deploy
import barbican.api.app
application = deploy.loadapp("config:{directory}/paste.ini")
"""


class BarbicanError(RuntimeError):
    pass


class Barbican:
    def __init__(self, keystone):
        self.keystone = keystone
        self.directory = tempfile.mkdtemp(prefix="scoria-barbican-")
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self):
        """Its programs look for their configuration in the home directory, and nowhere else."""
        return {**os.environ, "HOME": self.directory}

    def prepare(self):
        os.mkdir(os.path.join(self.directory, ".barbican"))
        shutil.copy(PASTE, os.path.join(self.directory, "paste.ini"))
        files = {".barbican/barbican.conf": CONFIGURATION, "app.py": SCRIPT}
        for name, text in files.items():
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(text.format(
                    directory=self.directory, port=self.port, keystone=self.keystone.url,
                    password=PASSWORD, kek=base64.b64encode(os.urandom(32)).decode()))
        done = subprocess.run(["barbican-db-manage", "upgrade"], env=self.environment,
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise BarbicanError(f"barbican-db-manage upgrade: {done.stderr[-2000:]}")
        with sqlite3.connect(os.path.join(self.directory, "barbican.db")) as database:
            database.execute("PRAGMA journal_mode = WAL")
        self.keystone.user("barbican", "service", ("admin", "service"))
        self.keystone.service("key-manager", self.url)

    def start(self):
        self.prepare()
        with open(os.path.join(self.directory, "output.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["uwsgi_python3", "--http-socket", f"127.0.0.1:{self.port}", "--lazy-apps",
                 "--enable-threads", "--die-on-term", "--add-header", "Connection: close",
                 "--buffer-size", "32768", "--wsgi-file", os.path.join(self.directory, "app.py")],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=die_with_parent)
        deadline = time.monotonic() + 180
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.end()
                raise BarbicanError("Barbican does not start")
            time.sleep(0.1)
        return self

    def answers(self):
        try:
            return self.call("GET", "/")[0] == 300
        except (OSError, http.client.HTTPException):
            return False

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def end(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- its API ----

    def call(self, method, path, body=None, token=None):
        """(status, parsed body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body else None,
                               {"Content-Type": "application/json", "Accept": "application/json",
                                **({"X-Auth-Token": token} if token else {})})
            response = connection.getresponse()
            data = response.read()
            return response.status, json.loads(data) if data else None
        finally:
            connection.close()

    def secret(self, token, payload, secret_type="certificate",
               content_type="application/octet-stream"):
        """The id of a new secret; bytes are sent in base64, as its command line does."""
        fields = {"name": "signer", "secret_type": secret_type,
                  "payload_content_type": content_type}
        if isinstance(payload, bytes):
            fields.update(payload_content_encoding="base64",
                          payload=base64.b64encode(payload).decode())
        else:
            fields.update(payload=payload)
        status, made = self.call("POST", "/v1/secrets", fields, token)
        if status != 201:
            raise BarbicanError(f"POST /v1/secrets: {status} {made}")
        return made["secret_ref"].rsplit("/", 1)[1]
