"""
A compute side that the test plays: takes events, holds images as QEMU does, grows them, reports.
"""

import fcntl
import http.client
import http.server
import json
import os
import struct
import subprocess
import threading
import time

from block_storage import BlockStorage

GIB = 1 << 30
INSTANCE = "11111111-1111-4111-8111-111111111111"
MICROVERSION = "2.104"
# QEMU's byte locks: permissions a writer uses, and those it does not share.
LOCKED_BYTES = (100, 101, 103, 201, 203)


class Disk:
    """An image held as a running guest holds it."""

    def __init__(self, path, qcow2):
        self.path = path
        self.qcow2 = qcow2
        self.fd = None
        self.lock()

    def lock(self):
        self.fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        for byte in LOCKED_BYTES:
            lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0)
            fcntl.fcntl(self.fd, 37, lock)  # F_OFD_SETLK

    def release(self):
        os.close(self.fd)
        self.fd = None

    def grow(self, size_gb):
        if not self.qcow2:
            os.truncate(self.fd, size_gb * GIB)
            return
        self.release()
        subprocess.run(["qemu-img", "resize", "-q", "-f", "qcow2", self.path, f"{size_gb}G"],
                       check=True)
        self.lock()


class ComputeSide:
    """`endpoint_of` returns the present URL of the volume API. `unresponsive`: events are accepted
    without an effect."""

    def __init__(self, endpoint_of):
        self.endpoint_of = endpoint_of
        self.disks = {}
        self.events = []
        self.unresponsive = False
        self.lock = threading.Lock()  # guards `unresponsive` and `disks`
        self.closed = False
        side = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def answer(self, body):
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):  # pylint: disable=invalid-name
                self.answer({"version": {"id": "v2.1", "status": "CURRENT",
                                         "version": MICROVERSION, "min_version": "2.1"}})

            def do_POST(self):  # pylint: disable=invalid-name
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                events = [dict(event, code=200, status="completed") for event in body["events"]]
                self.answer({"events": events})
                for event in events:
                    side.take(event["tag"])

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}/v2.1"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.closed = True
        self.server.shutdown()
        self.server.server_close()
        self.forget()

    def hold(self, volume_id, path, qcow2):
        self.disks[volume_id] = Disk(path, qcow2)

    def heard(self, volume_id):
        return volume_id in self.events

    def forget(self):
        with self.lock:
            self.unresponsive = False
            self.events.clear()
            while self.disks:
                self.disks.popitem()[1].release()

    def grow(self, volume_id, size_gb=2):
        self.disks[volume_id].grow(size_gb)

    def take(self, volume_id):
        self.events.append(volume_id)
        with self.lock:
            if self.unresponsive or volume_id not in self.disks:
                return
            self.unresponsive = True  # one event is enough, however often it comes
        threading.Thread(target=self.finish, args=(volume_id,), daemon=True).start()

    def finish(self, volume_id):
        """Grows it once, and reports until the report is accepted."""
        disk = self.disks[volume_id]
        disk.grow(2)
        while not self.closed:
            try:
                api = BlockStorage(self.endpoint_of(), timeout=10)
                answer = api.call("POST", f"/volumes/{volume_id}/action",
                                  {"os-extend_volume_completion": {"error": False}})
                api.close()
                if answer.status in (202, 400, 404):
                    return
            except (OSError, http.client.HTTPException, TypeError):
                pass
            time.sleep(0.05)
