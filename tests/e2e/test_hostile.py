"""
Whatever comes over the socket is refused with a clear answer, changes nothing, and leaves the
service as it was: alive, small, and consistent.
"""

import http.client
import json
import random
import resource
import socket
import struct
import time
import urllib.parse
import uuid

from block_storage import BlockStorage, until
from case import ServiceCase, in_threads

LIMIT_S = 60  # of a busy machine, for what takes a moment
MOST_GROWTH_KIB = 32 * 1024


class Hostile(ServiceCase):
    options = ("--osapi_waiting_answers_mb=16",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        url = urllib.parse.urlsplit(cls.service.endpoint)
        cls.address = (url.hostname, url.port)
        api = BlockStorage(cls.service.endpoint)
        api.delete_and_wait(api.create_available(1)["id"])  # opens files only when needed
        cls.sockets = cls.service.socket_count()
        api.close()

    @classmethod
    def tearDownClass(cls):
        """A connection whose request never ends is closed after it was idle for a minute."""
        try:
            until(lambda: cls.service.socket_count() <= cls.sockets + 10, 150,
                  "connections closed", pause=1)
        finally:
            super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.assert_answers()
        self.memory_kib = self.service.memory_kib()
        self.volumes = self.api.list("?all_tenants=1")

    def tearDown(self):
        """Every test ends with a service that lives, has not grown, and has changed nothing."""
        self.assertTrue(self.service.running, self.service.log()[-2000:])
        self.assert_answers()
        self.assertEqual(self.api.list("?all_tenants=1"), self.volumes)
        self.assertLess(self.service.memory_kib(), self.memory_kib + MOST_GROWTH_KIB)

    # ---- helpers ----

    def open(self, timeout=LIMIT_S):
        connection = socket.create_connection(self.address, timeout)
        self.addCleanup(connection.close)
        return connection

    def exchange(self, data, half_close=False, timeout=LIMIT_S):
        """The status of the answer; 0 when there was none."""
        answer = b""
        with socket.create_connection(self.address, timeout) as connection:
            try:
                connection.sendall(data)
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    answer += piece
                    if b"\r\n\r\n" in answer:
                        break
            except OSError as failure:
                if isinstance(failure, TimeoutError) and timeout >= LIMIT_S:
                    raise
        if not answer:
            return 0
        self.assertTrue(answer.startswith(b"HTTP/1.1 "), answer[:100])
        return int(answer[9:12])

    def assert_client_error(self, status, what):
        self.assertTrue(status == 0 or 400 <= status < 500 or status in (501, 505),
                        f"{status} for {what!r:.200}")

    def assert_refused(self, answer, what, kind="badRequest"):
        self.assertEqual(answer.status, 400, f"{what!r:.200}: {answer}")
        self.assertEqual(list(answer.body), [kind], f"{what!r:.200}")
        self.assertTrue(answer.message, what)

    def refuse_bodies(self, path, bodies):
        for body in bodies:
            self.assert_refused(self.api.call("POST", path, body), body)

    # ---- bodies ----

    def test_bodies_without_json_are_refused(self):
        self.refuse_bodies("/volumes", [
            b"", b" ", b"{", b"}", b"[", b"nul", b"null", b"1", b'"text"', b"[]", b"{}",
            b'{"volume"', b'{"volume":}', b'{"volume":{"size":1}', b'{"volume":{"size":1}}x',
            b'{"volume":{"size":01}}', b"{'volume':{'size':1}}", b'{"volume":{"size":1,}}',
            b'{"volume":{"size":NaN}}', b'{"volume":{"size":Infinity}}', b"\xef\xbb\xbf",
            b"\x00", b'{"volume":{"size":1}}\x00', b"[" * 100000, b'{"a":' * 20000,
            b'{"volume":{"size":1,"size":2}}' + b" " * 10 + b"{",
        ])

    def test_text_without_utf8_is_refused(self):
        for text in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82",
                     b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\x01", b"a\nb"):
            body = b'{"volume": {"size": 1, "name": "' + text + b'"}}'
            self.assert_refused(self.api.call("POST", "/volumes", body), body)

    def test_invalid_sizes_are_refused(self):
        sizes = [-1, 0, -(1 << 63), 1 << 31, (1 << 31) + 1, 1 << 32, (1 << 63) - 1, 1 << 63,
                 1 << 64, (1 << 64) + 1, 10 ** 400, 1.5, 1e30, True, False, None, [], {}, [1],
                 "", " ", "x", "1x", "0x1", "-1", "1.5", "9" * 400, "1_0", "\u0661"]
        self.refuse_bodies("/volumes", [{"volume": {"size": size}} for size in sizes])
        volume_id = self.volume()
        self.volumes = self.api.list("?all_tenants=1")
        self.refuse_bodies(f"/volumes/{volume_id}/action",
                           [{"os-extend": {"new_size": size}} for size in sizes + [1, "1"]])
        self.assert_volume(volume_id, "available", 1)
        self.api.delete_and_wait(volume_id)
        self.volumes = self.api.list("?all_tenants=1")

    def test_fields_of_the_wrong_type_are_refused(self):
        wrong = {
            "name": [1, True, [], {}, "x" * 256],
            "description": [1, [], {}, "x" * 256],
            "metadata": [1, "x", [], {"a": 1}, {"a": None}, {"a": {}}, {"": "x"},
                         {"x" * 256: "y"}, {"x": "y" * 256}, {"a;b": "c"}],
            "availability_zone": [1, [], {}, "x" * 256],
            "volume_type": [1, [], {}, "x" * 256],
            "imageRef": [1, []],
            "snapshot_id": [1, [], "no-uuid"],
            "source_volid": [1, [], "no-uuid"],
        }
        for field, values in wrong.items():
            for value in values:
                answer = self.api.call("POST", "/volumes", {"volume": {"size": 1, field: value}})
                self.assertIn(answer.status, (400, 404), f"{field}={value!r:.100}: {answer}")

    def test_unknown_actions_are_refused(self):
        volume_id = self.volume()
        self.volumes = self.api.list("?all_tenants=1")
        path = f"/volumes/{volume_id}/action"
        self.refuse_bodies(path, [
            {}, {"os-nothing": None}, {"os-extend": None}, {"os-extend": []}, {"os-extend": 2},
            {"os-extend": {}}, {"os-extend": {"new_size": 2, "more": 1}},
            {"os-extend": {"new_size": 2}, "os-detach": None}, [], "os-extend",
            {"os-reset_status": {}}, {"os-reset_status": {"status": 1}},
            {"os-extend_volume_completion": {"error": 3}},
            {"os-extend_volume_completion": {"error": False}},  # its response is not read
        ])
        self.assert_volume(volume_id, "available", 1)
        self.api.delete_and_wait(volume_id)
        self.volumes = self.api.list("?all_tenants=1")

    def test_bodies_above_the_limit_are_refused(self):
        head = b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for length in (b"1048576000", b"9223372036854775807"):
            begin = time.monotonic()
            status = self.exchange(head + b"Content-Length: " + length + b"\r\n\r\n{")
            self.assertEqual(status, 413, length)
            self.assertLess(time.monotonic() - begin, LIMIT_S)
        data = b"x" * (4 << 20)
        status = self.exchange(head + b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.assertIn(status, (0, 413))  # it need not wait until we have sent it all

    def test_an_endless_chunked_body_is_refused(self):
        connection = self.open()
        connection.sendall(b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        sent = 0
        try:
            while sent < 64 << 20:
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        self.assertLess(sent, 64 << 20, "it takes whatever comes")

    def test_contradictory_lengths_are_refused(self):
        for lines in (b"Content-Length: -1", b"Content-Length: x", b"Content-Length: 1\r\n"
                      b"Content-Length: 2", b"Content-Length: 99999999999999999999999",
                      b"Transfer-Encoding: chunked\r\nContent-Length: 5",
                      b"Transfer-Encoding: nonsense"):
            data = (b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + lines + b"\r\n\r\n{}\r\n\r\n")
            self.assert_client_error(self.exchange(data, half_close=True, timeout=1), lines)

    def whole_answer(self, data):
        """All bytes until the connection is closed."""
        answer = b""
        with socket.create_connection(self.address, LIMIT_S) as connection:
            connection.sendall(data)
            while piece := connection.recv(65536):
                answer += piece
        return answer

    def test_an_ambiguous_request_is_refused_once(self):
        smuggled = b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for lines in (b"Content-Length: 1\r\nContent-Length: 2",
                      b"Content-Length: 5\r\nTransfer-Encoding: chunked",
                      b"Transfer-Encoding: identity", b"Transfer-Encoding: gzip, chunked",
                      b"Content-Length : 5", b"Content-Length: 5, 5", b"Content-Length: -1",
                      b"Content-Length: 99999999999999999999", b"X-Lone: a\rTransfer-Encoding: chunked",
                      b"X-Nul: a\0b", b"X-Folded: a\r\n b", b"X-Lone: a\nX-B: b", b"Host: y",
                      b"X-Auth-Token: a:b\r\nx-auth-token: c:d"):
            answer = self.whole_answer(b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\n" + lines
                                       + b"\r\n\r\n" + smuggled)
            head, body = answer.split(b"\r\n\r\n", 1)
            self.assertTrue(head.startswith(b"HTTP/1.1 400 "), (lines, answer))
            self.assertIn(b"\r\nx-openstack-request-id: req-", head, lines)
            self.assertIn(b"\r\nConnection: close", head, lines)
            self.assertEqual(list(json.loads(body)), ["badRequest"], lines)

    def test_pages_of_other_origins_reach_nothing(self):
        for headers in ({"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:8776"},
                        {"Origin": "http://evil.example"}, {"Origin": "null"},
                        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}):
            for method, path in (("GET", "/volumes"), ("POST", "/volumes")):
                answer = self.api.call(method, path, {"volume": {"size": 1}}, headers=headers)
                self.assertEqual(answer.status, 403, f"{method} {headers}: {answer}")
                self.assertEqual(list(answer.body), ["forbidden"])

    def test_nothing_follows_a_chunked_body(self):
        answer = self.whole_answer(
            b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\n{}\r\n0\r\n\r\nGET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    # ---- heads ----

    def test_ten_thousand_headers(self):
        lines = b"".join(b"X-Header-%d: value\r\n" % i for i in range(10000))
        status = self.exchange(b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")
        self.assert_client_error(status, "10,000 headers")

    def test_long_lines(self):
        for data in (b"GET /v3/volumes?name=" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /" + b"a/" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /v3/ HTTP/1.1\r\nHost: " + b"x" * (1 << 20) + b"\r\n\r\n",
                     b"X" * (1 << 20) + b" / HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"Y" * (1 << 20)):
            self.assert_client_error(self.exchange(data, half_close=True), data)

    def test_invalid_request_lines_are_refused(self):
        for line in (b"", b"\r\n\r\n", b"GET", b"GET /", b"GET / HTTP/9.9", b"GET  /  HTTP/1.1",
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0",
                     b"GET http://elsewhere/ HTTP/1.1", b"\xff\xfe\xfd / HTTP/1.1",
                     b"GET /\x00 HTTP/1.1", b"GET /v3/\xff\xfe HTTP/1.1"):
            status = self.exchange(line + b"\r\nHost: localhost\r\n\r\n", half_close=True)
            self.assertTrue(status < 500 or status in (501, 505), f"{status} for {line}")

    def test_unknown_methods_are_refused(self):
        for method in ("TRACE", "CONNECT", "OPTIONS", "get", "BREW", "PROPFIND", "PATCH", "X" * 60):
            status = self.exchange(f"{method} /v3/volumes HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self.assert_client_error(status, method)

    def test_microversions(self):
        for header, status in (
                ("volume 3.72", 406), ("volume 3.9999999999999999999", (400, 406)),
                ("volume 4.0", (400, 404, 406)), ("volume 2.0", (400, 404, 406)),
                ("volume x", 400), ("volume 3", 400), ("volume 3.", 400), ("volume -3.0", 400),
                ("volume 3.0.0", 400), ("volume 3.07", 400), ("volume " + "9" * 5000, (400, 406)),
                ("volume latest", 200), ("volume 3.71", 200), ("", 400)):
            answer = self.api.call("GET", "/volumes", version=None,
                                   headers={"OpenStack-API-Version": header})
            allowed = status if isinstance(status, tuple) else (status,)
            self.assertIn(answer.status, allowed, f"{header:.60}: {answer}")

    # ---- paths, names, queries ----

    def test_climbing_paths_reach_nothing(self):
        for path in ("/../../../etc/passwd", "/volumes/../../../etc/passwd", "/volumes/%2e%2e/x",
                     "/volumes/..%2f..%2fetc%2fpasswd", "/volumes/%00", "/volumes/a%00b",
                     "/volumes/%", "/volumes/%zz", "/volumes/'", '/volumes/"', "/volumes/;",
                     "/volumes/" + "a" * 3000, "//volumes", "/volumes//", "/.json",
                     "/volumes/%ff", "/volumes/" + "x/" * 500, "/types/../volumes",
                     "/%2e%2e/%2e%2e", "/volumes/-1", "/volumes/*", "/volumes/detail/../x",
                     "/os-quota-sets/..%2f..", "/attachments/%27%20OR%201=1"):
            for method in ("GET", "DELETE", "PUT"):
                body = b"{}" if method == "PUT" else None
                answer = self.api.call(method, path, body)
                self.assertLess(answer.status, 500, f"{method} {path:.80}: {answer}")
                self.assertNotIn("root:", str(answer.body))
                if method != "GET" and not path.startswith("/os-quota-sets"):
                    self.assertGreaterEqual(answer.status, 400, f"{method} {path:.80}")

    def test_names_of_volumes_are_never_paths(self):
        for name in ("../../etc/passwd", "/etc/passwd", "; rm -rf /", "$(reboot)", "`reboot`",
                     "a\u202eb", "%s%n%x", "' OR 1=1 --", "<script>", "-rf", "\U0001f4be" * 60):
            volume = self.api.create_available(1, name=name)
            self.assertEqual(volume["name"], name)
            found = self.api.list("?name=" + urllib.parse.quote(name))
            self.assertEqual([row["id"] for row in found], [volume["id"]])
            self.api.delete_and_wait(volume["id"])

    def test_queries(self):
        for query in ("limit=-1", "limit=x", "limit=99999999999999999999", "offset=-1",
                      "offset=99999999999999999999", "marker=nothing", "marker=';--",
                      "sort=nothing", "sort=id:sideways", "sort=" + "id," * 5000,
                      "sort_key=id&sort_dir=x", "limit=", "sort=%00", "marker=%ff"):
            answer = self.api.call("GET", f"/volumes/detail?{query}")
            self.assertTrue(answer.status in (200, 400, 404, 414), f"{query:.60}: {answer}")
        for query in ("name=%27%20OR%201=1", "name=%25", "status=%27%3B--", "id=*",
                      "metadata=%7B%27a%27:%27b%27%7D", "metadata=%7B" + "%7B" * 1000,
                      "name=%ff", "&&&==&=&", "=", "name", "all_tenants=" + "1" * 5000):
            answer = self.api.call("GET", f"/volumes?{query}")
            self.assertLess(answer.status, 500, f"{query:.60}: {answer}")

    def test_tokens(self):
        for token in ("", ":", "::::", "a" * 4000, "../..:x", "' OR 1=1", "admin:" + "x" * 4000,
                      "\u00e9".encode().decode("latin-1")):
            answer = self.api.call("GET", "/volumes", headers={"X-Auth-Token": token})
            self.assertLess(answer.status, 500, f"{token:.40}: {answer}")

    # ---- connections ----

    def test_slow_senders_delay_no_other_client(self):
        slow = [self.open() for _ in range(200)]
        for i, connection in enumerate(slow):
            connection.sendall(b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
                               if i % 2 else b"GE")
        begin = time.monotonic()
        for _ in range(20):
            self.api.show(self.api.create_available(1)["id"])
            for connection in slow:
                connection.sendall(b"X-A" if connection is slow[0] else b"")
        self.assertLess(time.monotonic() - begin, 40)
        for volume in self.api.list():
            self.api.delete_and_wait(volume["id"])
        for connection in slow:
            connection.close()

    def test_half_closed_connections(self):
        for _ in range(50):
            self.assertEqual(self.exchange(b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n"
                                           b"Connection: close\r\n\r\n", half_close=True), 200)
        for _ in range(20):  # the body never comes
            self.exchange(b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n"
                          b"Content-Type: application/json\r\n\r\n{", half_close=True,
                          timeout=0.1)

    def test_clients_that_disconnect_leave_nothing(self):
        for i in range(300):
            connection = socket.create_connection(self.address, LIMIT_S)
            connection.sendall(b"GET /v3/volumes/detail HTTP/1.1\r\nHost: localhost\r\n\r\n" * (i % 20))
            if i % 2:  # with a reset
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
            connection.close()

    def test_clients_that_read_nothing_delay_no_other(self):
        connections = [self.open() for _ in range(20)]
        for connection in connections:
            connection.setblocking(False)
            try:
                connection.send(b"GET /v3/volumes/detail HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5000)
            except BlockingIOError:
                pass
        self.assert_answers()
        for connection in connections:
            connection.close()

    def stalled_reader(self, path):
        """Sends the request, and reads the status and no more."""
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(self.address)
        connection.sendall(f"GET /v3{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = b""
        while len(answer) < 12:
            piece = connection.recv(12 - len(answer))
            self.assertTrue(piece, "closed without an answer")
            answer += piece
        return connection, int(answer[9:12])

    def test_clients_that_do_not_read_a_large_list_are_bounded(self):
        """Five megabytes each, and twelve clients that request them."""
        metadata = {f"k{i}": "x" * 250 for i in range(80)}
        ids = [self.api.create_available(1, metadata=metadata)["id"] for _ in range(250)]
        path = "/volumes/detail"
        self.assertEqual(len(self.api.call("GET", path).body["volumes"]), 250)
        before = self.service.memory_kib()
        readers = [self.stalled_reader(path) for _ in range(12)]
        statuses = [status for _, status in readers]
        self.assertEqual((statuses[0], set(statuses)), (200, {200, 503}))
        self.assertLess(self.service.memory_kib(), before + MOST_GROWTH_KIB)
        self.assert_answers()
        for connection, _ in readers:
            connection.close()
        until(lambda: self.api.call("GET", path).status == 200, 60, "room for an answer")
        for volume_id in ids:
            self.api.remove(volume_id)
        for volume_id in ids:
            self.api.wait_gone(volume_id)

    def test_random_bytes(self):
        seed = random.randrange(1 << 32)
        words = [b"GET ", b"POST ", b"/v3", b"/volumes", b" HTTP/1.1\r\n", b"Host: localhost\r\n",
                 b"Content-Length: ", b"\r\n", b"\r\n\r\n", b"{", b'"volume"', b":", b"}", b"%00",
                 b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"5\r\nabcde\r\n",
                 b"Expect: 100-continue\r\n", b"OpenStack-API-Version: volume 3.71\r\n"]

        def attack(number):
            source = random.Random(seed + number)
            for _ in range(150):
                data = b"".join(
                    source.choice(words) if source.random() < 0.8 else source.randbytes(8)
                    for _ in range(source.randrange(1, 40)))
                try:
                    with socket.create_connection(self.address, 0.2) as connection:
                        connection.sendall(data)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
                except OSError:
                    pass
        with self.subTest(seed=seed):
            in_threads([lambda number=number: attack(number) for number in range(8)])

    def test_random_bodies(self):
        """Every value of a good body replaced by something else."""
        volume_id = self.volume()
        seed = random.randrange(1 << 32)
        source = random.Random(seed)
        odd = [None, True, -1, 0, 1 << 63, 1.5, "", "x", "\u0000", [], {}, [[]], {"a": {}}, "1"]
        bodies = [("POST", "/volumes", {"volume": {"size": 1, "name": "n", "metadata": {}}}),
                  ("PUT", f"/volumes/{volume_id}", {"volume": {"name": "n", "metadata": {}}}),
                  ("POST", "/types", {"volume_type": {"name": "n", "extra_specs": {}}}),
                  ("POST", "/attachments", {"attachment": {"volume_uuid": volume_id,
                                                           "connector": {}, "mode": "rw"}}),
                  ("PUT", "/os-quota-sets/p", {"quota_set": {"volumes": 1, "gigabytes": 2}}),
                  ("POST", f"/volumes/{volume_id}/metadata", {"metadata": {"a": "b"}}),
                  ("POST", f"/volumes/{volume_id}/action", {"os-extend": {"new_size": 1}})]
        with self.subTest(seed=seed):
            for _ in range(400):
                method, path, body = source.choice(bodies)
                body = json.loads(json.dumps(body))
                fields = next(iter(body.values()))
                fields[source.choice(list(fields) + ["other"])] = source.choice(odd)
                answer = self.api.call(method, path, body)
                self.assertLess(answer.status, 500, f"{method} {path} {body}: {answer}")
        for volume in self.api.list("?all_tenants=1"):
            if volume["id"] not in [row["id"] for row in self.volumes]:
                self.api.remove(volume["id"])
                self.api.wait_gone(volume["id"])


PLACES = 100


class ConnectionLimitCase(ServiceCase):
    """More clients than places, from one address."""
    options = (f"--osapi_volume_connections={PLACES}", "--compute_agent.enabled=false")
    answer = 200

    def fill_slots(self, data=b""):
        url = urllib.parse.urlsplit(self.service.endpoint)
        for _ in range(4 * PLACES):
            connection = socket.create_connection((url.hostname, url.port), 60)
            self.addCleanup(connection.close)
            connection.sendall(data % {b"token": uuid.uuid4().hex.encode()})

    def is_served(self, path):
        """A client among the idlest may be disconnected, and comes again."""
        client = http.client.HTTPConnection(urllib.parse.urlsplit(self.service.endpoint).netloc,
                                            timeout=60)
        try:
            client.request("GET", path)
            return client.getresponse().status == self.answer
        except (OSError, http.client.HTTPException):
            return False
        finally:
            client.close()

    def assert_newcomers_are_served(self):
        for path in self.paths:
            until(lambda path=path: self.is_served(path), 60, "a newcomer is served")


class ConnectionLimit(ConnectionLimitCase):
    paths = ["/v3/volumes"] * 20 + ["/healthcheck"]

    def test_idle_clients_leave_slots_to_others(self):
        self.fill_slots()
        self.assert_newcomers_are_served()

    def test_endless_requests_leave_slots_to_others(self):
        self.fill_slots(b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
        self.assert_newcomers_are_served()

    def test_unread_responses_leave_slots_to_others(self):
        self.fill_slots(b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        self.assert_newcomers_are_served()

    def test_the_limit_of_descriptors_is_raised(self):
        limits = resource.prlimit(self.service.process.pid, resource.RLIMIT_NOFILE)
        self.assertEqual(limits[0], limits[1])


class UnknownTokens(ConnectionLimitCase):
    """An unresponsive Keystone: requests that wait for it hold half of the slots at most."""
    paths = ["/v3/volumes"] * 20
    answer = 401

    @classmethod
    def setUpClass(cls):
        unresponsive = socket.create_server(("127.0.0.1", 0))
        cls.addClassCleanup(unresponsive.close)
        url = f"http://127.0.0.1:{unresponsive.getsockname()[1]}/v3"
        cls.options = (*cls.options, "--auth_strategy=keystone",
                       f"--keystone_authtoken.auth_url={url}",
                       "--keystone_authtoken.username=scoria",
                       "--keystone_authtoken.password=secret",
                       "--keystone_authtoken.project_name=service",
                       "--keystone_authtoken.http_connect_timeout=300")
        super().setUpClass()

    def test_unknown_tokens_leave_slots_to_others(self):
        self.fill_slots(b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n"
                   b"X-Auth-Token: %(token)b\r\n\r\n")
        self.assert_newcomers_are_served()

    def test_an_unknown_token_of_many_clients_leaves_slots_to_others(self):
        self.fill_slots(b"GET /v3/volumes HTTP/1.1\r\nHost: localhost\r\n"
                   b"X-Auth-Token: the-same\r\n\r\n")
        self.assert_newcomers_are_served()
