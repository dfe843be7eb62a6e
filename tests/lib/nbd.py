"""
A client of NBD on a Unix socket that knows the content that must be read: each block has the
version whose write was answered last, or a later one that was on its way when the connection went.
"""

import os
import socket
import struct

from block_storage import until

BLOCK = 4096
READ, WRITE, FLUSH = 0, 1, 3


class Gone(Exception):
    """The connection is gone; its requests may have been executed."""


class Disk:
    def __init__(self, path, name="volume"):
        self.path, self.name = path, name
        self.socket = None
        self.size = 0
        self.least, self.most = {}, {}

    def connect(self):
        self.close()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(60)
        try:
            connection.connect(self.path)
            self.socket = connection
            magic, option, flags = struct.unpack(">8s8sH", self._get(18))
            assert (magic, option, flags & 3) == (b"NBDMAGIC", b"IHAVEOPT", 3), (magic, option, flags)
            name = self.name.encode()
            connection.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, len(name)) + name)
            self.size, _ = struct.unpack(">QH", self._get(10))
        except (OSError, Gone):
            connection.close()
            self.socket = None
            return False
        return True

    def connected(self, timeout=60):
        until(self.connect, timeout, f"a server at {self.path}")
        return self

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def _get(self, size):
        data = b""
        while len(data) < size:
            try:
                piece = self.socket.recv(size - len(data))
            except OSError as failure:
                raise Gone from failure
            if not piece:
                raise Gone
            data += piece
        return data

    def _do(self, command, offset=0, data=b"", size=0):
        try:
            self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, command, 1, offset,
                                            size or len(data)) + data)
        except OSError as failure:
            raise Gone from failure
        magic, error, _ = struct.unpack(">IIQ", self._get(16))
        assert magic == 0x67446698, magic
        if error:
            raise OSError(error, os.strerror(error))
        return self._get(size)

    @staticmethod
    def _content(block, version):
        return struct.pack(">QQ", block, version) * (BLOCK // 16)

    def read(self, block):
        """Whatever is there."""
        return self._do(READ, block * BLOCK, size=BLOCK)

    def put(self, block, data):
        """Whatever check() expects there."""
        self._do(WRITE, block * BLOCK, data)
        self._do(FLUSH)

    def write(self, blocks):
        """A new version of each, and a flush."""
        for block in blocks:
            version = self.most.get(block, 0) + 1
            self.most[block] = version
            self._do(WRITE, block * BLOCK, self._content(block, version))
            self.least[block] = version
        self._do(FLUSH)

    def check(self):
        """Answered writes are there, whole, and a version that was seen is not taken back."""
        for block, most in self.most.items():
            data = self._do(READ, block * BLOCK, size=BLOCK)
            place, version = struct.unpack(">QQ", data[:16])
            if most and data == bytes(BLOCK):
                place, version = block, 0
            else:
                assert data == self._content(place, version), f"block {block} is torn"
            assert place == block, f"block {block} has what was written to {place}"
            least = self.least.get(block, 0)
            assert least <= version <= most, f"block {block}: {version}, not {least} to {most}"
            self.least[block] = version
