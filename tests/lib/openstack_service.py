"""
A private service of OpenStack in a directory of its own, at a free port of loopback.  It dies with
its parent.
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

START_S = 300


class ServiceError(RuntimeError):
    pass


class OpenStackService:
    """`name`: of its directory and its log; `token`: of its callers."""

    name = None

    def __init__(self, token=None):
        self.token = token
        self.directory = tempfile.mkdtemp(prefix=f"scoria-{self.name}-")
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self):
        return os.environ

    @property
    def command(self):
        """That serves."""
        raise NotImplementedError

    def prepare(self):
        """Configuration and database."""
        raise NotImplementedError

    def make_database(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                              timeout=START_S, check=False)
        if done.returncode != 0:
            raise ServiceError(f"{' '.join(command)}: {done.stderr[-2000:]}")
        with sqlite3.connect(os.path.join(self.directory, f"{self.name}.db")) as database:
            database.execute("PRAGMA journal_mode = WAL")

    def start(self):
        self.prepare()
        with open(os.path.join(self.directory, "output.log"), "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_parent)
        deadline = time.monotonic() + START_S
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.end()
                raise ServiceError(f"{self.name} does not start")
            time.sleep(0.1)
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

    def call(self, method, path, body=None, kind="application/json", token=None):
        """(status, parsed body); a body that is not bytes is sent as JSON."""
        token = token or self.token
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
            connection.request(method, path, body, {
                "Content-Type": kind, "Accept": "application/json",
                **({"X-Auth-Token": token} if token else {})})
            response = connection.getresponse()
            data = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(data) if is_json and data else None
        finally:
            connection.close()
