"""
Images of containers without a registry: archives of the OCI layout for `ctr images import`.
"""

import hashlib
import io
import json
import tarfile

MEDIA = "application/vnd.oci.image."


def digest_of(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def layer(path, programs=(), links=()):
    """A tar with these programs, {name there: path here}, and links, {name there: where to}."""
    with tarfile.open(path, "w") as archive:
        for folder in ("tmp", "etc", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, source in dict(programs).items():
            entry = archive.gettarinfo(source, name)
            entry.mode, entry.uid, entry.gid, entry.mtime = 0o755, 0, 0, 0
            with open(source, "rb") as file:
                archive.addfile(entry, file)
        for name, target in dict(links).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return path


class Archive:
    """Images that share layers."""

    def __init__(self, path):
        self.archive = tarfile.open(path, "w")
        self.manifests, self.layers = [], {}
        self.add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')

    def add(self, name, data):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        self.archive.addfile(entry, io.BytesIO(data))

    def blob(self, kind, value):
        data = json.dumps(value).encode()
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.add(f"blobs/{digest.replace(':', '/')}", data)
        return {"mediaType": f"{MEDIA}{kind}.v1+json", "digest": digest, "size": len(data)}

    def layer(self, path):
        if path not in self.layers:
            digest = digest_of(path)
            entry = self.archive.gettarinfo(path, f"blobs/{digest.replace(':', '/')}")
            with open(path, "rb") as file:
                self.archive.addfile(entry, file)
            self.layers[path] = {"mediaType": f"{MEDIA}layer.v1.tar", "digest": digest,
                                 "size": entry.size}
        return self.layers[path]

    def image(self, reference, layers, entrypoint=(), command=(), user=""):
        rows = [self.layer(path) for path in layers]
        config = self.blob("config", {
            "architecture": "amd64", "os": "linux",
            "config": {"Entrypoint": list(entrypoint), "Cmd": list(command), "User": user,
                       "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [row["digest"] for row in rows]}})
        manifest = self.blob("manifest", {
            "schemaVersion": 2, "mediaType": f"{MEDIA}manifest.v1+json", "config": config,
            "layers": rows})
        self.manifests.append(manifest | {"annotations": {"io.containerd.image.name": reference}})

    def close(self):
        index = {"schemaVersion": 2, "manifests": self.manifests}
        self.add("index.json", json.dumps(index).encode())
        self.archive.close()
