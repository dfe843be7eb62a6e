"""
The calls of sidecars and the kubelet to the driver: a program stands before the driver of each
half, and writes down each call. Values that differ from run to run have a name, as in
tests/e2e/kubernetes.
"""

import base64
import glob
import hashlib
import json
import os

import manifests
from csi_client import MODULES
from google.protobuf import json_format

FILES = ("/var/lib/kubelet/plugins/csi.scoria.io/calls",
         "/var/lib/kubelet/pods/*/volumes/kubernetes.io~empty-dir/socket/calls")


def patch(kind, name, volume):
    """The driver listens elsewhere, and the recorder where it did."""
    arguments = [word.replace("/csi/csi.sock", "/csi/driver.sock")
                 for word in manifests.driver(kind)["args"]]
    recorder = {"name": "recorder", "image": "localhost/recorder:1",
                "args": ["--listen=/csi/csi.sock", "--driver=/csi/driver.sock", "--file=/csi/calls"],
                "volumeMounts": [{"name": volume, "mountPath": "/csi"}]}
    return {"patch": json.dumps({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "scoria-csi"},
        "spec": {"template": {"spec": {"containers": [
            {"name": manifests.DRIVER, "args": arguments}, recorder]}}}})}


def add_to(kustomization):
    """The text of a kustomization, with the recorders."""
    patches = [patch("Deployment", "scoria-csi-controller", "socket"),
               patch("DaemonSet", "scoria-csi-node", "plugin")]
    return (f"{kustomization}\nreplicas: [{{name: scoria-csi-controller, count: 1}}]\n"
            f"patches: {json.dumps(patches)}\n")


def message(name, data):
    module = MODULES[name.rpartition(".")[0]]
    value = getattr(module, name.rpartition(".")[2])()
    value.ParseFromString(base64.b64decode(data or ""))
    return json_format.MessageToDict(value)


def decode(row):
    place, _, method = row["method"].lstrip("/").partition("/")
    package = place.rpartition(".")[0]
    found = {"call": f"{place}/{method}", "within": round(row["within"]),
             "at": row["began"], "ended": row["ended"], "code": row["code"],
             "ask": message(f"{package}.{method}Request", row["request"])}
    if row["code"] == "OK":
        found["answer"] = message(f"{package}.{method}Response", row["answer"])
    else:
        found["message"] = row["message"]
    return found


def calls():
    """All that were made, in the order in which they began."""
    found = []
    for path in (path for pattern in FILES for path in glob.glob(pattern)):
        with open(path, encoding="utf-8") as file:
            found += [decode(json.loads(line)) for line in file]
    return sorted(found, key=lambda row: row["at"])


class Names:
    """The names of the values of this run."""

    def __init__(self):
        self.known = {}

    def add(self, name, value):
        self.known[value] = f"<{name}>"
        self.known[hashlib.sha256(value.encode()).hexdigest()] = f"<sha256 of {name}>"

    def put(self, shape):
        if isinstance(shape, dict):
            return {key: self.put(value) for key, value in shape.items()}
        if isinstance(shape, list):
            return [self.put(value) for value in shape]
        if isinstance(shape, str):
            for value in sorted(self.known, key=len, reverse=True):
                shape = shape.replace(value, self.known[value])
        return shape


def save(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
