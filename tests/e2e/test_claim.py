"""
Kubernetes' calls to the driver from the first call of a sidecar to a claim's delete: the calls that
1.36.3 made with external-provisioner 6.3, attacher 4.13, resizer 2.3, snapshotter 8.7, csi-addons 0.14
and the kubelet, recorded by tests/conformance/kubernetes/run --record with the manifests of etc/kubernetes,
in their order, with the expected responses; and repetitions of any of them (after the driver's
death, or twice at once). kubernetes/*.json has them; there <name> stands for a value that differs from run
to run: given, or bound by the first answer that has it; <?> is anything.
"""

import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import grpc
import program
from block_storage import TooLate, until
from case import ServiceCase
from csi_client import MODULES, Driver
from google.protobuf import json_format
from mounts import can_mount, own_mounts

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = "node-1"
# Codes after which sidecars and the kubelet send a call again.
AGAIN = (grpc.StatusCode.ABORTED, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)
TIMEOUT_S = 300  # that only a hang reaches
PLACE = re.compile(r"<[^<>?]+>")


def setUpModule():
    if not can_mount():
        raise unittest.SkipTest("mounting needs root and loop devices")
    own_mounts()


class Values:
    """The names of a recording and their values."""

    def __init__(self, given):
        self.known = dict(given)

    def fill(self, shape):
        if isinstance(shape, dict):
            return {key: self.fill(value) for key, value in shape.items()}
        if isinstance(shape, list):
            return [self.fill(value) for value in shape]
        if not isinstance(shape, str) or not PLACE.search(shape):
            return shape
        if shape in self.known:
            return self.fill(self.known[shape])
        return PLACE.sub(lambda place: self.fill(self.known[place.group()]), shape)

    def bind(self, name, value):
        self.known[name] = value
        if isinstance(value, str):
            self.known[f"<sha256 of {name[1:-1]}>"] = hashlib.sha256(value.encode()).hexdigest()

    def fits(self, shape, value):
        """Whether an answer is the recorded one; binds the names that are new in it."""
        if shape == "<?>":
            return bool(value)
        if isinstance(shape, str) and PLACE.fullmatch(shape) and shape not in self.known:
            self.bind(shape, value)
            return True
        if isinstance(shape, dict) and isinstance(value, dict):
            return shape.keys() == value.keys() and all(
                self.fits(shape[key], value[key]) for key in shape)
        if isinstance(shape, list) and isinstance(value, list):
            return len(shape) == len(value) and all(map(self.fits, shape, value))
        if isinstance(shape, str) and shape in self.known:
            return self.fits(self.known[shape], value)
        return self.fill(shape) == value


class Kubernetes(ServiceCase):
    """The images lie where files share blocks: a snapshot is taken of an image that a pod writes
    to."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        disk, cls.images = os.path.join(cls.place, "disk"), os.path.join(cls.place, "images")
        os.mkdir(cls.images)
        for command in (("truncate", "--size=8G", disk), ("mkfs.xfs", "-q", "-m", "reflink=1", disk),
                        ("mount", "-o", "loop", disk, cls.images)):
            subprocess.run(command, check=True)
        cls.addClassCleanup(subprocess.run, ("umount", cls.images), check=True)
        cls.options = (f"--file.file_volume_directory={cls.images}",)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.kubelet = os.path.join(self.directory, "kubelet")
        self.socket = os.path.join(self.directory, "csi", "csi.sock")
        for path in self.kubelet, os.path.dirname(self.socket):
            os.makedirs(path, exist_ok=True)
        self.csi = program.Program("csi", os.path.join(self.directory, "csi.log"),
                                   "--endpoint", f"unix://{self.socket}",
                                   "--api", self.service.endpoint, f"--csi.node_id={NODE}",
                                   f"--csi.kubelet_directory={self.kubelet}",
                                   f"--csi.share_directory={self.directory}/shares",
                                   f"--csi.local_directories={self.images}").start()
        self.addCleanup(self.csi.kill)
        self.driver = Driver(self.socket)
        self.addCleanup(lambda: self.driver.close())
        self.addCleanup(self.let_go)

    # ---- actions of a step ----

    def send(self, step, fields):
        """The answer, as JSON has it; requested again as the sender would."""
        place, _, method = step["call"].partition("/")
        package, _, service = place.rpartition(".")

        refusals = []

        def ask():
            try:
                return [self.driver.send(MODULES[package], service, method, step["within"],
                                         **fields).result()]
            except grpc.RpcError as failure:
                if failure.code() not in AGAIN:
                    raise AssertionError(f"{step}: {failure.code()} {failure.details()}") from None
                refusals.append(f"{failure.code()} {failure.details()}")
                return None

        try:
            return json_format.MessageToDict(until(ask, TIMEOUT_S, step["call"])[0])
        except TooLate:
            raise AssertionError(f"{step}: {refusals}") from None

    def ask(self, step, values):
        """All answers are the expected ones."""
        place, _, method = step["call"].partition("/")
        request = getattr(MODULES[place.rpartition(".")[0]], f"{method}Request")()
        json_format.ParseDict(values.fill(step.get("ask", {})), request)
        fields = {field.name: value for field, value in request.ListFields()}
        times = step.get("times", 1)
        with concurrent.futures.ThreadPoolExecutor(times) as pool:
            answers = list(pool.map(lambda _: self.send(step, fields), range(times)))
        return all(values.fits(step["answer"], answer) for answer in answers), answers

    def call(self, step, values):
        if step.get("until ready"):
            until(lambda: self.ask(step, values)[0], TIMEOUT_S, step["call"])
            return
        fits, answers = self.ask(step, values)
        self.assertTrue(fits, f"{step}: {answers}")

    def kill(self, _):
        self.csi.kill()
        self.csi.start()
        self.driver.close()
        self.driver = Driver(self.socket)

    def write(self, path):
        with open(path, "w", encoding="ascii") as file:
            file.write(path)
            os.fsync(file.fileno())

    def read(self, path):
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), path)

    def remove(self, path):
        """As the kubelet does: a directory must be empty and no place of a mount."""
        (os.rmdir if os.path.isdir(path) else os.unlink)(path)

    def bind(self, paths):
        """As the kubelet shows a device in a place of its own, too."""
        os.makedirs(os.path.dirname(paths[1]))
        with open(paths[1], "x", encoding="ascii"):
            pass
        subprocess.run(("mount", "--bind", *paths), check=True)

    def unbind(self, path):
        subprocess.run(("umount", path), check=True)
        os.unlink(path)

    def gone(self, path):
        self.assertFalse(os.path.lexists(path))

    def step(self, step, values):
        does = {"kill": self.kill, "write": self.write, "read": self.read, "remove": self.remove,
                "gone": self.gone, "bind": self.bind, "unbind": self.unbind,
                "make": lambda path: os.makedirs(path, 0o750, exist_ok=True)}
        if "call" in step:
            self.call(step, values)
        for word, function in does.items():
            if word in step:
                function(values.fill(step[word]))

    # ---- state ----

    def mounts(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            points = [line.split()[4] for line in file]
        return [point for point in points if point.startswith(self.kubelet)]

    def devices(self):
        found = []
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            try:
                with open(path, encoding="utf-8") as file:
                    found += [f"/dev/{path.split('/')[3]}"] if self.images in file.read() else []
            except FileNotFoundError:
                pass  # of another client, gone meanwhile
        return found

    def let_go(self):
        """Leftovers of a failed replay, which would outlive the test."""
        for point in reversed(self.mounts()):
            subprocess.run(("umount", point), check=True)
        for device in self.devices():
            subprocess.run(("losetup", "--detach", device), check=True)

    def replay(self, name):
        with open(os.path.join(HERE, "kubernetes", f"{name}.json"), encoding="ascii") as file:
            recording = json.load(file)
        values = Values({"<node>": NODE, "<kubelet>": self.kubelet, **recording["given"]})
        for step in recording["steps"]:
            self.step(step, values)
        self.assertEqual((self.api.list_all(), self.mounts(), self.devices()), ([], [], []))

    def test_a_claim_with_a_file_system(self):
        self.replay("filesystem")

    def test_a_claim_of_a_block_device(self):
        self.replay("block")


if __name__ == "__main__":
    unittest.main()
