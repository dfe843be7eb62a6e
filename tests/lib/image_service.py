"""
A small image service (API v2) in this process: it sends any description and any bytes, also those
that no image service should, and receives uploads, or fails in their middle.
"""

import hashlib
import http.server
import json
import threading
import urllib.parse
import uuid


KEPT = 32 << 20  # of an upload
STATUSES = {"expired": 401, "deactivated": 403, "deleted": 404, "too large": 413, "away": 503}


class Image:
    """
    `fault` of a download: "short", "redirect", "hang", "broken", "none", "bytes", "withdrawn"
    (deactivated since it was shown, and sent), or one of STATUSES; of an upload: "hang", "broken"
    (the first one), "sum", "token" (that of the first one has expired by its end), or one of
    STATUSES.
    """

    def __init__(self, data, disk_format="raw", fault=None, **fields):
        self.data = data
        self.fault = fault
        self.refused = None  # a token
        self.description = {
            "id": str(uuid.uuid4()), "name": "image", "status": "active", "visibility": "public",
            "container_format": "bare", "disk_format": disk_format, "size": len(data),
            "virtual_size": None, "min_disk": 0, "min_ram": 0, "owner": "other",
            "checksum": hashlib.md5(data).hexdigest(), "os_hash_algo": "sha512",
            "os_hash_value": hashlib.sha512(data).hexdigest(), "protected": False,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "tags": [], "schema": "/v2/schemas/image", **fields}
        self.description["file"] = f"/v2/images/{self.id}/file"

    @property
    def id(self):
        return self.description["id"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the answer is written in two pieces

    def log_message(self, *_):
        pass

    def send(self, status, data=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        words = url.path.strip("/").split("/")
        images = self.server.images
        if words == ["v3"]:
            link = {"rel": "self", "href": f"{self.server.url}/v3/"}
            self.send(200, json.dumps({"version": {"id": "v3.14", "links": [link]}}).encode())
        elif words == ["v2", "images"]:
            name = urllib.parse.parse_qs(url.query).get("name", [None])[0]
            rows = [image.description for image in images.values()
                    if name in (None, image.description["name"])]
            self.send(200, json.dumps({"images": rows}).encode())
        elif len(words) < 3 or words[2] not in images:
            self.send(404, b"<html>404 Not Found</html>", "text/html")
        elif len(words) == 3:
            image = images[words[2]]
            self.send(200, json.dumps(image.description).encode())
            if image.fault == "withdrawn":
                image.description["status"] = "deactivated"
        elif words[3] == "file":
            self.send_bytes(images[words[2]])
        else:
            self.send(404, b"<html>404 Not Found</html>", "text/html")

    def do_POST(self):
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v3/auth/tokens":
            self.server.tokens += 1
            self.send(201, json.dumps({"token": {
                "expires_at": "2999-01-01T00:00:00.000000Z", "catalog": []}}).encode(),
                X_Subject_Token=f"token-{self.server.tokens}")
            return
        if self.server.refuses:
            self.send(403, b"<html>no</html>", "text/html")
            return
        if self.path.endswith("/locations"):
            self.take_location("routes", 202, fields)
            return
        image = Image(b"", fault=self.server.fault, status="queued", size=None, checksum=None,
                      os_hash_algo=None, os_hash_value=None, **fields)
        self.server.images[image.id] = image
        self.send(201, json.dumps(image.description).encode())

    def image(self):
        words = self.path.strip("/").split("/")
        found = self.server.images.get(words[2]) if words[:2] == ["v2", "images"] else None
        if found is None:
            self.send(404, b"<html>404 Not Found</html>", "text/html")
            self.close_connection = True
        return found

    def take_location(self, by, status, location):
        """The place of the content, where the service takes it that way."""
        image = self.image()
        if image is None:
            return
        if self.server.locations != by:
            self.send(404 if by == "routes" else 403, b"<html>no</html>", "text/html")
            return
        image.description.update(status="active", locations=[location])
        self.send(status)

    def do_PATCH(self):
        changes = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = self.headers.get_all("Content-Type")
        if kind != ["application/openstack-images-v2.1-json-patch"]:
            self.send(415, b"<html>no</html>", "text/html")
        elif [(change["op"], change["path"]) for change in changes] != [("add", "/locations/-")]:
            self.send(400, b"<html>no</html>", "text/html")
        else:
            self.take_location("member", 200, changes[0]["value"])

    def do_DELETE(self):
        image = self.image()
        if image is not None:
            del self.server.images[image.id]
            self.send(204)

    def pieces(self):
        """Of a body in chunks; it may break off."""
        while True:
            size = int(self.rfile.readline() or b"-1", 16)
            if size < 0:
                raise ConnectionError("the body breaks off")
            data = self.rfile.read(size)
            if len(data) < size:
                raise ConnectionError("the body breaks off")
            self.rfile.readline()
            if size == 0:
                return
            yield data

    def do_PUT(self):
        image = self.image()
        if image is None:
            return
        if image.fault in STATUSES or image.description["status"] != "queued":
            self.send(STATUSES.get(image.fault, 409), b"<html>no</html>", "text/html")
            self.close_connection = True
            return
        image.description["status"] = "saving"
        try:
            self.receive(image)
        except ConnectionError:
            image.description["status"] = "queued"
            self.close_connection = True

    def receive(self, image):
        """Keeps the first bytes, and the checksum of all."""
        data, size, digest = bytearray(), 0, hashlib.sha512()
        self.server.uploads.append(image.id)
        for piece in self.pieces():
            size += len(piece)
            digest.update(piece)
            if len(data) < KEPT:
                data += piece
            if image.fault == "broken":
                image.fault = None
                raise ConnectionError("the service has failed")
            while image.fault == "hang" and not self.server.released.wait(0.05):
                pass
        if image.fault == "token" and image.refused in (None, self.headers["X-Auth-Token"]):
            image.refused = self.headers["X-Auth-Token"]
            image.description["status"] = "queued"
            self.send(401, b"<html>no</html>", "text/html")
            return
        image.data = bytes(data)
        image.description.update(
            status="active", size=size, os_hash_algo="sha512",
            os_hash_value="0" * 128 if image.fault == "sum" else digest.hexdigest())
        self.send(204)

    def send_bytes(self, image):
        data, wanted = image.data, self.headers.get("Range")
        begin = int(wanted.split("=")[1].split("-")[0]) if wanted else 0
        self.server.downloads.append((image.id, begin))
        if image.fault == "redirect":
            return self.send(302, Location="http://127.0.0.1:1/elsewhere")
        if image.fault in STATUSES:
            return self.send(STATUSES[image.fault], b"<html>no</html>", "text/html")
        if image.fault == "none":
            return self.send(204)
        if image.fault == "bytes":
            data = bytes(reversed(data))
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data) - begin))
        if wanted:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        half = len(data) // 2
        if image.fault == "short" or image.fault == "broken" and begin < half:
            self.wfile.write(data[begin:half])
            self.close_connection = True
            return None
        if image.fault == "hang":
            self.wfile.write(data[begin:half])
            self.wfile.flush()
            self.server.released.wait(120)
            self.close_connection = True
            return None
        self.wfile.write(data[begin:])
        return None


class ImageService(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.images = {}
        self.downloads = []
        self.uploads = []
        self.refuses = False
        self.locations = None  # taken by "routes" of their own, or as a "member" of the image
        self.tokens = 0  # of the user of the service, as Keystone gives them
        self.fault = None  # of new images
        self.released = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, *words, **fields):
        image = Image(*words, **fields)
        self.images[image.id] = image
        return image.id

    def handle_error(self, request, client_address):
        pass  # the client has gone

    def end(self):
        self.released.set()
        self.shutdown()
        self.server_close()
        self.thread.join()
