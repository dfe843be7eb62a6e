"""
Streams of bytes for a listener that speaks HTTP/1 or HTTP/2: right ones, wrong ones and changed
ones, drawn from a seed; and clients that cut them at any offset.
"""

import random
import socket
import ssl
import struct
import time

RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: closing sends RST
LONG = (33000, 40000, 70000)     # around and above the part of a head that a listener reads
WALKED = 2000                    # bytes of a sample whose offsets are cut one after the other
WAYS = ("reset", "close", "half-close", "half-close and reset", "pause", "pause and reset",
        "answer and reset", "deaf")
HEALTHY_SECONDS = 120            # that only a hang reaches

# ---- HTTP/1 ----


def head(method, path, *lines):
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", "")).encode()


def http_samples(paths):
    """Requests of these paths as they should be, and heads and bodies as they should not."""
    samples = [head("GET", path) for path in paths]
    samples += [head("POST", path, "Content-Type: application/json", "Content-Length: 15") +
                b'{"volume": {}} ' for path in paths]
    path = paths[0]
    samples += [b"".join(head("GET", path) for path in paths) * 3]
    for size in LONG:
        fill = b"x" * size
        samples += [b"GET /" + fill + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                    b"GET / HTTP/1.1\r\nX: " + fill + b"\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * (size // 6) + b"\r\n", fill,
                    head("POST", path, f"Content-Length: {4 * size}") + 4 * fill]
    for line in ("Content-Length: x", "Content-Length: -1", "Content-Length: " + "9" * 30,
                 "Content-Length: 5\r\nContent-Length: 6", "Transfer-Encoding: gzip", "no colon",
                 "Expect: 100-continue\r\nContent-Length: 5", "X-Auth-Token: a\r\nX-Auth-Token: b",
                 " folded", "X: a\0b", "Connection: close", "Upgrade: h2c\r\nConnection: upgrade"):
        samples += [head("POST", path, line) + b"hello", head("GET", path, line) * 2]
    samples += [head("POST", path, "Transfer-Encoding: chunked") + pieces for pieces in (
        b"5\r\nhello\r\n0\r\n\r\n", b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n", b"zz\r\n",
        b"ffffffffffffffff\r\n", b"5\r\nhello", b"0\r\n" + b"X: y\r\n" * 9000)]
    samples += [b"\r\n" * 20, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/0.9\r\n\r\n",
                f"GET {path} HTTP/1.0\r\n\r\n".encode(), b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
                b"GET /\0?a=b HTTP/1.1\r\nHost: x\r\n\r\n", b"GET ?a&b HTTP/1.1\r\nHost: x\r\n\r\n",
                head("GET", path + "?" + "a=b&" * 3000)]
    return samples


def hello():
    """The first bytes of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(incoming, outgoing,
                                              server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


# ---- HTTP/2 ----

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = \
    0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, data=b""):
    return (struct.pack(">I", len(data))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) +
            data)


def literal(name, value, kept=False):
    """A header; both texts are short. `kept` ones stand in the table afterwards."""
    return (bytes((0x40 if kept else 0, len(name))) + name.encode() + bytes((len(value),)) +
            value.encode())


def call_head(path, *more):
    return b"".join(literal(*header) for header in (
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"),
        ("content-type", "application/grpc"), ("te", "trailers"), *more))


def grpc_samples(paths):
    """Calls with empty messages as they should be, and frames as they should not."""
    begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
    empty = bytes(5)

    def call(stream, path, *more, message=empty, flags=END_STREAM):
        return (frame(HEADERS, END_HEADERS, stream, call_head(path, *more)) +
                frame(DATA, flags, stream, message))

    path = paths[0]
    calls = [call(1, path) for path in paths]
    calls += [b"".join(call(1 + 2 * i, path) for i, path in enumerate(paths * 3))]
    calls += [call(1, path, ("grpc-timeout", text)) for text in ("1n", "1m", "x")]
    calls += [call(1, path, message=message) for message in (
        b"", b"\0\0", b"\1" + bytes(4), b"\0\xff\xff\xff\xff", b"\0\0\0\0\2\x0a\xff", bytes(9000))]
    calls += [call(1, path) + frame(RST_STREAM, 0, 1, b"\0\0\0\x08"),
              b"".join(call(1 + 2 * i, path) + frame(RST_STREAM, 0, 1 + 2 * i, b"\0\0\0\x08")
                       for i in range(80)),
              call(1, path, flags=0) + frame(HEADERS, END_HEADERS | END_STREAM, 1,
                                             literal("grpc-x", "y")),
              frame(HEADERS, END_STREAM, 1, call_head(path)[:20]) +
              frame(CONTINUATION, END_HEADERS, 1, call_head(path)[20:]),
              frame(HEADERS, END_HEADERS | END_STREAM, 1,
                    call_head(path) + literal("a", "b" * 100, kept=True) + b"\xbe" * 9000),
              frame(HEADERS, END_HEADERS, 1, b"\xff" * 50), frame(DATA, 0, 3, b"x"),
              frame(PING, 0, 0, bytes(8)) * 50, frame(PING, 0, 0, b"x"),
              frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) + call(1, path),
              frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0x7fffffff)) * 20,
              frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2,
              frame(WINDOW_UPDATE, 0, 1, bytes(4)),
              frame(GOAWAY, 0, 0, bytes(8)) + call(1, path), frame(PRIORITY, 0, 1, b"\0\0\0\1\0"),
              call(1, path) + frame(GOAWAY, 0, 0, bytes(8)), frame(0x42, 0, 0, bytes(100)),
              b"\xff" * 100]
    return [begin + each for each in calls] + [b"GET / HTTP/1.1\r\n\r\n", hello(), begin[:30]]


# ---- clients ----


class Streams:
    """The streams of one thread. `samples` are cut at their offsets in turn."""

    WORDS = (b"\r\n", b"\0", b"\r", b"\n", b" ", b"HTTP/1.1", b"Content-Length: 7\r\n", b"\xff" * 9)

    def __init__(self, samples, seed):
        self.samples = samples
        self.chance = random.Random(seed)
        self.at = [self.chance.randrange(len(sample) + 1) for sample in samples]

    def changed(self, data):
        begin = self.chance.randrange(len(data) + 1)
        end = min(len(data), begin + self.chance.randrange(12))
        what = self.chance.randrange(4)
        if what == 0:
            return data[:begin] + data[end:]
        if what == 1:
            return data[:end] + data[begin:]
        if what == 2:
            return data[:begin] + self.chance.choice(self.WORDS) + data[begin:]
        return data[:begin] + self.chance.randbytes(end - begin) + data[end:]

    def draw(self):
        """(all bytes, where they are cut)"""
        number = self.chance.randrange(len(self.samples))
        data = self.samples[number]
        if len(data) > WALKED:
            offset = self.chance.choice((len(data), self.chance.randrange(len(data))))
        else:
            offset = self.at[number] = (self.at[number] + 1) % (len(data) + 1)
        if self.chance.random() < 0.3:
            data = self.changed(data)
        return data, min(offset, len(data))

    def pause(self):
        time.sleep(self.chance.random() ** 4 * 0.05)

    def play(self, connect):
        """One connection, which ends in one of the ways; that the peer refuses it is no failure."""
        data, offset = self.draw()
        way = self.chance.choice(WAYS)
        try:
            with connect() as connection:
                connection.settimeout(self.chance.choice((0.01, 0.05)))
                self.speak(connection, data, offset, way)
                if "reset" in way:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        except OSError:
            pass

    def speak(self, connection, data, offset, way):
        if way == "deaf":
            connection.shutdown(socket.SHUT_RD)
        connection.sendall(data[:offset])
        if way.startswith("half-close"):
            connection.shutdown(socket.SHUT_WR)
        if way.startswith("pause"):
            self.pause()
            connection.sendall(data[offset:])
        if way in ("answer and reset", "half-close", "half-close and reset"):
            connection.recv(self.chance.choice((1, 100, 65536)))


def tcp(address):
    return lambda: socket.create_connection(address, HEALTHY_SECONDS)


def unix(path):
    def connect():
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(HEALTHY_SECONDS)
        connection.connect(path)
        return connection
    return connect


def tls(address, context):
    """Streams within TLS, closed without a close notification."""
    def connect():
        plain = socket.create_connection(address, HEALTHY_SECONDS)
        return context.wrap_socket(plain, server_hostname="127.0.0.1")
    return connect
