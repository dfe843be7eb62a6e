"""
A private Glance: SQLite, files, a free port of loopback, without Keystone unless it gets sections of
its configuration that have one.  It dies with its parent.
"""

import http.client
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time

from keystone import die_with_parent
from ports import free_port

PASTE = "/etc/glance/glance-api-paste.ini"
CONFIGURATION = """\
[DEFAULT]
bind_host = 127.0.0.1
bind_port = {port}
workers = 0
enabled_backends = file:file
node_staging_uri = file://{directory}/staging
worker_self_reference_url = http://127.0.0.1:{port}
image_cache_dir = {directory}/cache
log_file = {directory}/glance.log
[database]
connection = sqlite:///{directory}/glance.db
[glance_store]
default_backend = file
[file]
filesystem_store_datadir = {directory}/images
[os_glance_staging_store]
filesystem_store_datadir = {directory}/staging
[os_glance_tasks_store]
filesystem_store_datadir = {directory}/tasks
[oslo_concurrency]
lock_path = {directory}/locks
[paste_deploy]
config_file = {directory}/paste.ini
flavor = {flavor}
{sections}"""


class GlanceError(RuntimeError):
    pass


class Glance:
    def __init__(self, sections="", flavor="", token=None):
        self.sections = sections
        self.flavor = flavor  # of its pipeline
        self.token = token  # of its callers
        self.directory = tempfile.mkdtemp(prefix="scoria-glance-")
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def prepare(self):
        self.configuration = os.path.join(self.directory, "glance.conf")
        for name in ("staging", "images", "tasks", "cache", "locks"):
            os.mkdir(os.path.join(self.directory, name))
        shutil.copy(PASTE, os.path.join(self.directory, "paste.ini"))
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(directory=self.directory, port=self.port,
                                            flavor=self.flavor, sections=self.sections))
        done = subprocess.run(["glance-manage", "--config-file", self.configuration, "db_sync"],
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise GlanceError(f"glance-manage db_sync: {done.stderr[-2000:]}")
        with sqlite3.connect(os.path.join(self.directory, "glance.db")) as database:
            database.execute("PRAGMA journal_mode = WAL")

    def start(self):
        self.prepare()
        with open(os.path.join(self.directory, "output.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["glance-api", "--config-file", self.configuration],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        deadline = time.monotonic() + 300
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.end()
                raise GlanceError("Glance does not start")
            time.sleep(0.2)
        return self

    def answers(self):
        try:
            return self.call("GET", "/")[0] == 300
        except (OSError, http.client.HTTPException):
            return False

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- its API ----

    def call(self, method, path, body=None, kind="application/json"):
        """(status, parsed body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
            connection.request(method, path, body, {
                "Content-Type": kind, **({"X-Auth-Token": self.token} if self.token else {})})
            response = connection.getresponse()
            data = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(data) if is_json and data else None
        finally:
            connection.close()

    def image(self, name, data, disk_format="raw", **properties):
        """The id of a new, active image."""
        status, image = self.call("POST", "/v2/images", {
            "name": name, "disk_format": disk_format, "container_format": "bare", **properties})
        if status != 201:
            raise GlanceError(f"POST /v2/images: {status}")
        status, _ = self.call("PUT", f"/v2/images/{image['id']}/file", data,
                              "application/octet-stream")
        if status != 204:
            raise GlanceError(f"PUT /v2/images/{image['id']}/file: {status}")
        return image["id"]
