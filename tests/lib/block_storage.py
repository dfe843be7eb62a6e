"""
A small client of the Block Storage API: one connection, plain answers.

Not thread-safe: every thread makes its own.
"""

import http.client
import json
import time
import urllib.parse
from typing import NamedTuple

MICROVERSION = "3.71"
MOST_IDLE_S = 20  # the service closes a connection that was idle for a minute


def let_pass(_method, _path, _sent, _status, _headers, _data):
    pass


verify = let_pass  # looks at each answer; tests/e2e/run has them held against the description


class Answer(NamedTuple):
    status: int
    headers: dict
    body: object  # parsed JSON; the text when it is none; None when empty

    @property
    def message(self):
        """The message of a fault."""
        if isinstance(self.body, dict):
            for fault in self.body.values():
                if isinstance(fault, dict) and "message" in fault:
                    return fault["message"]
        return self.body


class Refused(RuntimeError):
    def __init__(self, method, path, answer):
        super().__init__(f"{method} {path}: {answer.status} {answer.message}")
        self.answer = answer


class TooLate(RuntimeError):
    pass


def until(condition, timeout, what, pause=0.02):
    """Queries until the response is true and returns it."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TooLate(f"not within {timeout} s: {what}")
        time.sleep(pause)


def parse(data):
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


class BlockStorage:
    def __init__(self, endpoint, timeout=60, token=None):
        url = urllib.parse.urlsplit(endpoint)
        self.endpoint = endpoint
        self.root = url.path
        self.token = token
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
        self.used = time.monotonic()

    def close(self):
        self.connection.close()

    def call(self, method, path, body=None, version=MICROVERSION, headers=None):
        """One request, whatever the answer. A body of bytes is sent as it is."""
        fields = {"Accept": "application/json", **(headers or {})}
        if self.token:
            fields.setdefault("X-Auth-Token", self.token)
        if version:
            fields.setdefault("OpenStack-API-Version", f"volume {version}")
        if body is not None:
            fields.setdefault("Content-Type", "application/json")
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        if time.monotonic() - self.used > MOST_IDLE_S:
            self.connection.close()
        try:
            self.connection.request(method, self.root + path, body, fields)
            response = self.connection.getresponse()
            data = response.read()
            self.used = time.monotonic()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        verify(method, self.root + path, body, response.status, response.headers, data)
        return Answer(response.status, dict(response.getheaders()), parse(data))

    def ask(self, method, path, body=None, version=MICROVERSION):
        """The body of an answer that is no fault."""
        answer = self.call(method, path, body, version)
        if answer.status >= 400:
            raise Refused(method, path, answer)
        return answer.body

    # ---- volumes ----

    def create(self, size_gb, **fields):
        return self.ask("POST", "/volumes", {"volume": {"size": size_gb, **fields}})["volume"]

    def create_available(self, size_gb, **fields):
        volume = self.create(size_gb, **fields)
        return self.wait_status(volume["id"], "available")

    def show(self, volume_id):
        return self.ask("GET", f"/volumes/{volume_id}")["volume"]

    def list(self, query=""):
        return self.ask("GET", f"/volumes/detail{query}")["volumes"]

    def list_all(self):
        """Every volume in detail, page by page."""
        found, marker = [], ""
        while True:
            page = self.list("?limit=1000" + marker)
            found += page
            if len(page) < 1000:
                return found
            marker = f"&marker={page[-1]['id']}"

    def any_in(self, status):
        """Is any volume in this status?"""
        return bool(self.ask("GET", f"/volumes?status={status}&limit=1")["volumes"])

    def exists(self, volume_id):
        return self.call("GET", f"/volumes/{volume_id}").status != 404

    def action(self, volume_id, name, arguments=None):
        return self.ask("POST", f"/volumes/{volume_id}/action", {name: arguments})

    def extend(self, volume_id, new_gb):
        self.action(volume_id, "os-extend", {"new_size": new_gb})

    def reset(self, volume_id, status):
        self.action(volume_id, "os-reset_status", {"status": status})

    def delete(self, volume_id):
        self.ask("DELETE", f"/volumes/{volume_id}")

    def wait_gone(self, volume_id, timeout=120):
        until(lambda: not self.exists(volume_id), timeout, f"volume {volume_id} gone")

    def delete_and_wait(self, volume_id):
        self.delete(volume_id)
        self.wait_gone(volume_id)

    def wait_status(self, volume_id, status, timeout=120):
        """Waits for the status; another one that is final ends the waiting."""
        def reached():
            volume = self.show(volume_id)
            if volume["status"] == status:
                return volume
            if volume["status"].startswith("error"):
                texts = [row["user_message"] for row in self.messages(volume_id)]
                raise AssertionError(
                    f"volume {volume_id}: {volume['status']}, not {status}: {texts}")
            return None
        return until(reached, timeout, f"volume {volume_id} {status}")

    # ---- attachments ----

    def attach(self, volume_id, instance, host):
        """An attachment with its connection_info; attach_complete() makes the volume in-use."""
        connector = {"host": host, "ip": "127.0.0.1", "platform": "x86_64", "os_type": "linux",
                     "multipath": False, "mountpoint": "/dev/vda"}
        body = {"attachment": {"volume_uuid": volume_id, "instance_uuid": instance,
                               "connector": connector}}
        return self.ask("POST", "/attachments", body)["attachment"]

    def attach_complete(self, attachment_id):
        self.ask("POST", f"/attachments/{attachment_id}/action", {"os-complete": None})

    def detach(self, attachment_id):
        self.ask("DELETE", f"/attachments/{attachment_id}")

    def attachments(self, volume_id):
        """All of the volume's, also those that are not complete."""
        query = f"?all_tenants=1&volume_id={volume_id}"
        return self.ask("GET", f"/attachments{query}")["attachments"]

    def remove(self, volume_id):
        """Detaches and deletes it with its snapshots, whatever its state; does not wait."""
        for attachment in self.attachments(volume_id):
            self.detach(attachment["id"])
        self.ask("DELETE", f"/volumes/{volume_id}?force=true&cascade=true")

    # ---- snapshots ----

    def snapshots(self):
        return self.ask("GET", "/snapshots/detail")["snapshots"]

    def snapshot_made(self, volume_id):
        """The end of a requested one, be it available or error."""
        made = self.ask("POST", "/snapshots", {"snapshot": {"volume_id": volume_id}})["snapshot"]

        def ended():
            row = self.ask("GET", f"/snapshots/{made['id']}")["snapshot"]
            return row if row["status"] != "creating" else None
        return until(ended, 120, f"an end of making snapshot {made['id']}")

    def snapshot(self, volume_id):
        """One that is available; waits for it."""
        made = self.snapshot_made(volume_id)
        if made["status"] != "available":
            raise AssertionError(f"snapshot {made['id']}: {made['status']}, not available")
        return made["id"]

    # ---- the rest ----

    def wait_manager(self, timeout=120):
        """Until the report of a manager is there, and new enough for a volume to be placed."""
        def reported():
            rows = self.ask("GET", "/os-services?binary=cinder-volume")["services"]
            return rows and all(row["state"] == "up" for row in rows)
        until(reported, timeout, "a manager that is up")

    def gigabytes(self, project="admin"):
        """Usage of the project's gigabytes: {in_use, reserved, limit}."""
        return self.ask("GET", f"/os-quota-sets/{project}?usage=true")["quota_set"]["gigabytes"]

    def messages(self, volume_id):
        """User messages about the volume, newest first."""
        found = self.ask("GET", f"/messages?resource_uuid={volume_id}")["messages"]
        return sorted(found, key=lambda message: message["created_at"], reverse=True)
