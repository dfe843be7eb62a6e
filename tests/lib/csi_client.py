"""
A real gRPC client (grpcio) of the CSI driver: messages are made of csi/proto by protoc, calls are named
as on the wire.
"""

import atexit
import glob
import importlib
import os
import shutil
import subprocess
import sys
import tempfile

import grpc

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEADLINE_S = 120  # that only a hang reaches

Code = grpc.StatusCode


def _generate():
    """The modules of csi/proto by their names."""
    files = sorted(glob.glob(f"{REPOSITORY}/csi/proto/*.proto"))
    place = tempfile.mkdtemp(prefix="scoria-proto-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    subprocess.run(["protoc", f"-I{REPOSITORY}", f"--python_out={place}",
                    *files], check=True)
    sys.path.insert(0, place)
    names = [os.path.splitext(os.path.basename(file))[0] for file in files]
    return {name: importlib.import_module(f"csi.proto.{name}_pb2") for name in names}


_modules = _generate()
MODULES = {module.DESCRIPTOR.package: module for module in _modules.values()}
csi, identity = _modules["csi"], _modules["identity"]
reclaimspace, volumegroup = _modules["reclaimspace"], _modules["volumegroup"]


class Refused(RuntimeError):
    def __init__(self, failure):
        super().__init__(f"{failure.code().name}: {failure.details()}")
        self.code, self.message = failure.code(), failure.details()


class Driver:
    """One connection."""

    def __init__(self, path, options=()):
        self.channel = grpc.insecure_channel(f"unix:{path}", options)

    def close(self):
        self.channel.close()

    def send(self, module, service, method, timeout=DEADLINE_S, /, **fields):
        """The response of a call, as a future; and at once its request id."""
        request = getattr(module, f"{method}Request")(**fields)
        answer = getattr(module, f"{method}Response")
        package = module.DESCRIPTOR.package
        call = self.channel.unary_unary(
            f"/{package}.{service}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString)
        return call.future(request, timeout=timeout, wait_for_ready=True)

    def call(self, module, service, method, /, **fields):
        try:
            return self.send(module, service, method, **fields).result()
        except grpc.RpcError as failure:
            raise Refused(failure) from None

    def controller(self, method, /, **fields):
        return self.call(csi, "Controller", method, **fields)

    def node(self, method, /, **fields):
        return self.call(csi, "Node", method, **fields)

    def snapshots(self, method, /, **fields):
        return self.call(csi, "GroupController", method, **fields)

    def reclaim(self, method, /, **fields):
        return self.call(reclaimspace, "ReclaimSpaceController", method, **fields)

    def groups(self, method, /, **fields):
        return self.call(volumegroup, "Controller", method, **fields)


Modes = csi.VolumeCapability.AccessMode


def capability(mode=Modes.SINGLE_NODE_WRITER, block=False):
    access = csi.VolumeCapability.AccessMode(mode=mode)
    if block:
        return csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume(), access_mode=access)
    return csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(), access_mode=access)


def sizes(required=0, limit=0):
    return csi.CapacityRange(required_bytes=required, limit_bytes=limit)


def of_snapshot(snapshot_id):
    source = csi.VolumeContentSource.SnapshotSource(snapshot_id=snapshot_id)
    return csi.VolumeContentSource(snapshot=source)


def of_volume(volume_id):
    source = csi.VolumeContentSource.VolumeSource(volume_id=volume_id)
    return csi.VolumeContentSource(volume=source)
