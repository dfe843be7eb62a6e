#!/usr/bin/python3
"""
Writes the first inputs of a fuzz target: corpus.py TARGET DIRECTORY. Files that are there stay, so
inputs that a run has found help the next one.
"""

import base64
import hashlib
import os
import sys
import tempfile

from signing import KEYS, Signer

UUID = "7f0c9d0e-3f5c-4ac8-9d0b-1c2d3e4f5a6b"

DOMAIN = """<domain type='kvm' id='1'><uuid>{uuid}</uuid><devices>
<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/v/volume-1'/>
<target dev='vda' bus='virtio'/><serial>{serial}</serial></disk>
<disk type='file' device='cdrom'><target dev='sda'/><readonly/></disk>
<disk type='block'><source dev='/dev/sdb'/><target dev='vdb'/><mirror job='copy'/></disk>
</devices></domain>"""

INFO = """{
    "virtual-size": 1073741824, "filename": "volume-1", "cluster-size": 65536,
    "format": "qcow2", "actual-size": 200704, "dirty-flag": false,
    "format-specific": {"type": "qcow2", "data": {"compat": "1.1", "lazy-refcounts": false}}%s
}
"""


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def headers(*pairs):
    """A block of literal headers that no table keeps."""
    return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
                    for name, value in pairs)


CALL = headers((":method", "POST"), (":scheme", "http"), (":authority", "a"),
               (":path", "/csi.v1.Identity/Probe"), ("content-type", "application/grpc"),
               ("grpc-timeout", "1S"), ("colour", "red"))

SEEDS = {
    "fuzz_csi_message": [
        b"\x03\x0a\x04name\x12\x02\x08\x01\x1a\x06\x12\x00\x1a\x02\x08\x01\x22\x06\x0a\x01a\x12\x01b",
        b"\x04\x0a\x02id\x12\x06\x0a\x01k\x12\x01v", b"\x00", b"\x05\x0a\x02\xc3\x28",
        b"\x1c\x0a\x01n\x22\x01a\x22\x01b"],
    "fuzz_grpc_frames": [
        frame(1, 4, 1, CALL) + frame(0, 1, 1, bytes(5)),
        frame(1, 0, 1, CALL[:20]) + frame(9, 4, 1, CALL[20:]) + frame(0, 1, 1, bytes(5)),
        frame(1, 4, 1, CALL) + frame(3, 0, 1, bytes(4)) + frame(1, 5, 3, CALL),
        frame(4, 1, 0) + frame(6, 0, 0, bytes(8)) + frame(8, 0, 0, b"\0\1\0\0") + frame(7, 0, 0, bytes(8)),
        frame(1, 4, 1, CALL) + frame(0, 0, 1, b"\1\0\0\0\2xy") + frame(2, 0, 1, bytes(5))],
    "fuzz_domain_xml": [
        DOMAIN.format(uuid=UUID, serial="serial"), DOMAIN.format(uuid=UUID, serial="another"),
        "<domain/>", "<domain><devices><disk><serial>serial</serial></disk></devices></domain>",
        "<!DOCTYPE d [<!ENTITY a 'b'>]><domain>&a;</domain>"],
    "fuzz_envelope": [
        '{"oslo.version": "2.0", "oslo.message": "{\\"method\\": \\"extend_volume\\", '
        '\\"args\\": {\\"operation_id\\": \\"a\\"}, \\"namespace\\": \\"scoria\\", '
        '\\"version\\": \\"1.0\\", \\"_context_resource_uuid\\": \\"k\\"}"}',
        '{"method": "ping", "args": {"a": [1.5, null]}, "version": "3.19", "_msg_id": "m", '
        '"_reply_q": "reply_1", "_timeout": null, "_unique_id": "u"}',
        '{"oslo.version": "2.0"}', '{"oslo.version": "3.0", "oslo.message": "[]"}', "[]", "\\",
        "rabbit://u%41:p@h1:5673,x:y@[::1]:7,h3/v%2Fh?ssl=1", "kombu://", "rabbit://a@b:0/%"],
    "fuzz_json": [
        '{"body": {"size": 1}}',
        '{"body": {"size": 2147483647, "name0": "", "name1": "a", "desc": "b", "nameT": "c",'
        ' "host": "h@b#p", "text": "xy", "word": "never", "int": 5, "bool": "yes",'
        ' "uuid": "' + UUID + '"}}',
        '{"body": {"size": "12", "meta": {"a": "b"}, "metaN": null, "specs": {"k:l": null},'
        ' "long": {"a": "b"}, "object": {}, "objtext": "x", "list": [1, 2], "any": [null]}}',
        '{"body": {"size": 1e0, "name1": "\\u00e9\\ud83d\\udcbe"}}', "[]", "null", "[" * 200],
    "fuzz_option": [
        "[DEFAULT]\ntext = a\nint = 3\nfloat = 1.5\nbool = true\nword = green\n"
        "enabled_backends = one, two\n[one]\nlist = a, b\n[other]\nseconds = 30\n",
        "[DEFAULT]\nint=-10\n# words\n; words\n\n[other]\nseconds=1\n", "[DEFAULT]\nnothing = 1\n",
        "text = a\n", "[DEFAULT]\ntext = a\n  b\n", "[", "[]\n=\n"],
    "fuzz_policy": [
        '"volume:create": "rule:admin_or_owner"\n"admin_or_owner": "is_admin:True or '
        'project_id:%(project_id)s"\n',
        "role:admin and not role:reader", "@", "!", "", "(role:a or role:b) and user_id:%(user_id)s",
        "'admin':%(x)s", '"a": "rule:b"\n"b": "rule:a"\n', "not not not @", "rule:a or rule:b",
        '"volume:get": []\n', '"a": [["role:x", "role:y"], ["@"]]\n'],
    "fuzz_qemu_img": [
        INFO % "", INFO % ', "backing-filename": "base", "full-backing-filename": "/v/base"',
        '{"virtual-size": 5, "format": "raw"}', '{"virtual-size": -1, "format": "qcow2"}',
        'qemu-img: Could not open \'/v/a\': Failed to get "write" lock\n'
        "Is another process using the image [/v/a]?\n",
        "qemu-img: Failed to lock byte 100: No locks available\n",
        b"QFI\xfb\x00\x00\x00\x03" + bytes(16) + b"\x00\x00\x00\x10"
        + b"\x00\x00\x00\x00\x40\x00\x00\x00" + bytes(80),
        b"LUKS\xba\xbe\x00\x01" + bytes(120), b"LUKS\xba\xbe\x00\x01" + bytes(600),
        b"KDMV\x01" + bytes(8) + b"\x08" + bytes(14) + b"\x01" + bytes(7) + b"\x01" + bytes(475)
        + b'createType="monolithicSparse"\nparentCID=ffffffff\nRW 8 SPARSE "a"\n' + bytes(448),
        b"conectix" + bytes(40) + b"\x00\x00\x00\x00\x00\x10\x00\x00" + bytes(7) + b"\x03" + bytes(448),
        bytes(64) + b"\x7f\x10\xda\xbe" + bytes(8) + b"\x01" + bytes(293) + b"\x10" + bytes(200),
        b"WithouFreSpacExt\x02" + bytes(11) + b"\x08\x00\x00\x00\x02\x00\x00\x00\x10" + bytes(99),
        bytes(510) + b"\x55\xaa", bytes(32769) + b"CD001"],
    "fuzz_query": [
        "/volumes", "/volumes/detail?limit=2&sort=name:asc,id&marker=" + UUID,
        "/volumes/detail?name=a&status=available&metadata=%7B%27a%27%3A%20%27b%27%7D",
        "/volumes/summary?all_tenants=1", f"/volumes/{UUID}", f"/volumes/{UUID}/metadata/key",
        "/types?is_public=None&extra_specs=%7B%27a%27%3A%27b%27%7D", "/types/default",
        "/attachments/detail?volume_id=" + UUID, "/messages?resource_type=VOLUME&sort_key=id",
        "/os-quota-sets/p?usage=true", "/scheduler-stats/get_pools?detail=true", "/limits",
        "/os-services?binary=cinder-volume&host=a@b", "/extensions", "/volumes?name~=a&offset=3",
        "/volumes?created_at=gt:2024-01-01T00:00:00,lt:2030-01-01", "/%2e%2e/%00?%ff=%",
        "\x47\x01/v3/w?watch=true&labels=%7B'a'%3A'b'%7D&name=n&timeoutSeconds=5",
        "\x47\x01/v3/w?watch=1&resourceVersion=0&all_tenants=1&node=n"],
    "fuzz_shares": [
        "server:/export\n", "# words\n\nserver:/a -o rw,nfsvers=4.1\n[fd00::1]:/b\n",
        "10.0.0.1:/a/b -o noatime\nserver:/a\n", "server:/a/../../etc\n", "-o rw server:/x\n",
        "quobyte://registry1,registry2/volume\n", "server:relative\n"],
    "fuzz_signature": ["SHA-256", "c2ln", "MIIB", b"\x30\x80"],
}


def certificates():
    """Of each type of key, in each form."""
    with tempfile.TemporaryDirectory(prefix="scoria-corpus-") as directory:
        for key_type in KEYS:
            signer = Signer(directory, key_type)
            yield from (signer.pem, signer.der, base64.b64encode(signer.der))


def main():
    target, directory = sys.argv[1:]
    made = certificates() if target == "fuzz_signature" else ()
    for seed in (*SEEDS.get(target, ["", "{}", "a=b\n", "/"]), *made):
        data = seed if isinstance(seed, bytes) else seed.encode()
        path = os.path.join(directory, hashlib.sha1(data).hexdigest())
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
