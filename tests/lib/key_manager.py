"""
A small key manager (Barbican's API v1) in this process: it sends any certificate, or fails.
"""

import http.server
import json
import threading
import uuid

STATUSES = {"expired": 401, "foreign": 403, "deleted": 404, "type": 406, "away": 503}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, data=b"{}", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        words = self.path.strip("/").split("/")
        payload, fault = self.server.secrets.get(words[2] if len(words) > 2 else None,
                                                 (b"", "deleted"))
        self.server.requests.append((self.path, self.headers["X-Auth-Token"]))
        if fault in STATUSES:
            self.send(STATUSES[fault])
        elif fault == "redirect":
            self.send(302, Location="http://127.0.0.1:1/elsewhere")
        elif fault == "hang":
            self.server.released.wait(120)
            self.close_connection = True
        elif len(words) == 3:
            kind = "passphrase" if fault == "passphrase" else "certificate"
            self.send(200, json.dumps({"secret_type": kind, "content_types": {
                "default": "application/octet-stream"}}).encode())
        elif self.headers.get_all("Accept") != ["application/octet-stream"]:
            self.send(406)
        else:
            self.send(200, payload, "application/octet-stream")


class KeyManager(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.secrets = {}
        self.requests = []
        self.released = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, payload, fault=None):
        """`fault`: "redirect", "hang", "passphrase" (a secret of that kind), or one of STATUSES."""
        secret_id = str(uuid.uuid4())
        self.secrets[secret_id] = (payload, fault)
        return secret_id

    def handle_error(self, request, client_address):
        pass  # the client has gone

    def end(self):
        self.released.set()
        self.shutdown()
        self.server_close()
        self.thread.join()
