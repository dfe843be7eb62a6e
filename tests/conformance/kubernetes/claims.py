"""
The life of claims in a real Kubernetes: the commands of docs/kubernetes.md, and other stages of
claims; at the end of each test nothing is left of it, in Kubernetes, in the service or on the node.
"""

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import unittest

import manifests
import node
import program
from block_storage import BlockStorage, until
from csi_client import Driver
from cluster import ADDRESS, NODE, TIMEOUT_S
from declared import Declared
from nodes import VOLUMES, Nodes
from programs import read

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(program.REPOSITORY, "docs/kubernetes.md")
NAMESPACE = "scoria-csi"
WRITE = "echo hello >/claim/file; sleep 1000000"
EXAMPLES = "etc/kubernetes/examples"
OPTIONS = (f"--host={NODE}", "--quota_volumes=-1", "--quota_gigabytes=-1", "--quota_snapshots=-1")
DIRECTORY = f"--file.file_volume_directory={VOLUMES}"


def commands(step):
    """The commands of the page in a step of its list."""
    found = re.search(rf"^\d+\. \*\*{re.escape(step)}\*\*\n(.*?)(?=^\d+\. |^\|)", read(PAGE),
                      re.M | re.S)
    return "\n".join(re.findall(r"^       (.*)$", found[1], re.M))


class Claims(Declared, Nodes, unittest.TestCase):
    cluster = None
    service = None
    disks = ()  # the devices that volumes are on

    # ---- common to all tests ----

    @classmethod
    def start(cls, images):
        cluster, cls.images = cls.cluster, images
        cluster.start(images)
        cls.start_service()
        cls.tree = cluster.path("tree")  # the cluster of a user that follows the page
        shutil.copytree(os.path.join(program.REPOSITORY, "etc"), os.path.join(cls.tree, "etc"))
        for component in "local-directory", "documents":
            cls.edit(lambda text, name=component: text.replace(f"# - {name}", f"- {name}"))
        for name in sorted(os.listdir(cluster.programs.snapshot_definitions)):
            if name.count("_"):
                cls.server_side(os.path.join(cluster.programs.snapshot_definitions, name))
        cls.server_side(os.path.join(cluster.programs.addons, "crds.yaml"))
        cls.start_controllers()
        cls.deploy()

    @classmethod
    def deploy(cls):
        cls.bash(commands("Installation."))

    @classmethod
    def start_service(cls):
        cls.disks = [cls.new_disk("disk", VOLUMES), cls.new_disk("share", cls.cluster.path("export"))]
        subprocess.run(["mount", "--bind", cls.cluster.path("mount.nfs"), "/usr/sbin/mount.nfs"],
                       check=True)
        cls.serve()

    @classmethod
    def new_disk(cls, name, point):
        """Its device."""
        os.makedirs(point)
        for words in (("truncate", "--size=16G", cls.cluster.path(name)),
                      ("mkfs.xfs", "-q", cls.cluster.path(name)),
                      ("mount", "-o", "loop", cls.cluster.path(name), point)):
            subprocess.run(words, check=True)
        return os.stat(point).st_dev

    @classmethod
    def serve(cls, *backends):
        """With these options of backends, else with a directory."""
        cls.service = program.Program(
            "serve", cls.cluster.path("logs", "serve.log"),
            "--state-dir", cls.cluster.path("state"), "--listen", f"{ADDRESS}:8776",
            "--allow_insecure_listen=true", *cls.options(), *(backends or [DIRECTORY])).start()

    @classmethod
    def new_api(cls):
        return BlockStorage(cls.service.endpoint)

    @classmethod
    def options(cls):
        return *OPTIONS, *cls.options_of_pools(cls.cluster)

    @classmethod
    def edit(cls, change):
        """The manual steps of the kustomization."""
        path = os.path.join(cls.tree, "etc/kubernetes/kustomization.yaml")
        text = change(read(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def server_side(cls, path):
        cls.cluster.kubectl("apply", "--server-side", "-f", path)

    @classmethod
    def start_controllers(cls):
        """Those of snapshots and of CSI-Addons, as their projects have them, but one of each."""
        programs, cluster = cls.cluster.programs, cls.cluster
        for folder, name in ((programs.snapshot_controller, "snapshots"),
                             (programs.addons, "addons")):
            shutil.copytree(folder, cluster.path(name))
        cluster.write("snapshots/kustomization.yaml", """\
resources: [rbac-snapshot-controller.yaml, setup-snapshot-controller.yaml]
replicas: [{name: snapshot-controller, count: 1}]
patches:
  - patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-",
      "value": "--feature-gates=CSIVolumeGroupSnapshot=true"}]'
    target: {kind: Deployment}
""")
        cluster.write("addons/kustomization.yaml", """\
resources: [setup-controller.yaml, csi-addons-config.yaml, rbac.yaml]
patches:
  - patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/imagePullPolicy",
      "value": "Never"}]'
    target: {kind: Deployment}
""")
        for name in "snapshots", "addons":
            cluster.kubectl("apply", "-k", cluster.path(name))

    @classmethod
    def bash(cls, script):
        """As a user of kubectl types it; its output."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=cls.tree, capture_output=True,
            text=True, timeout=3 * TIMEOUT_S, check=False,
            env={**os.environ, "KUBECONFIG": cls.cluster.configuration,
                 "PATH": f"{cls.cluster.programs.bin}:{os.environ['PATH']}"})
        if done.returncode:
            raise AssertionError(f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    @classmethod
    def end(cls):
        """Whatever became of it: no process of a container is left, no mount and no device."""
        cls.cluster.end()
        devices = node.devices(cls.disks)
        for point in reversed(cls.cluster.node.mounts()):
            subprocess.run(["umount", "--lazy", point], check=False)
        for device in devices:
            subprocess.run(["losetup", "--detach", device], check=False)

    # ---- state ----

    def left(self):
        """Objects that are absent without claims."""
        api, cluster = self.new_api(), self.cluster
        found = {kind: [row["metadata"]["name"] for row in cluster.list(kind)] for kind in (
            "pv", "volumeattachment", "volumesnapshotcontent", "volumegroupsnapshotcontent")}
        found |= {"volumes": api.list_all(), "snapshots": api.snapshots(),
                  "devices": node.devices(self.disks), "mounts": self.mounts(),
                  "files": self.files(), "documents": list(self.documents())}
        api.close()
        return {what: rows for what, rows in found.items() if rows}

    def files(self):
        return [path for place in (VOLUMES, self.cluster.path("export"))
                for path in glob.glob(f"{place}/**", recursive=True) if os.path.isfile(path)]

    def mounts(self):
        return [point for one in (self.cluster.node, *self.cluster.others) for point in one.mounts()]

    def setUp(self):
        self.addCleanup(self.clean)
        self.api = self.new_api()
        self.addCleanup(lambda: self.api.close())

    def clean(self):
        """All that a person has made, and then nothing is left of it."""
        self.cluster.kubectl("delete", "cvc,cvp", "--all")
        for kinds in ("reclaimspacecronjob,reclaimspacejob,pod", "volumegroupsnapshot",
                      "volumesnapshot", "pvc"):
            self.cluster.kubectl("delete", kinds, "--all", "--grace-period=1")
        try:
            until(lambda: not self.left(), TIMEOUT_S, "nothing left", 0.5)
        except Exception:
            raise AssertionError(self.left()) from None

    # ---- steps of tests ----

    def claim(self, name, size="1Gi", source=None, group="", **more):
        spec = {"storageClassName": "scoria", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}}, **more}
        if source:
            kind, _, of = source.partition("/")
            spec["dataSource"] = {"kind": kind, "name": of,
                                  **({"apiGroup": group} if group else {})}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                "spec": spec}

    def pod(self, name, claims, script="sleep 1000000", block=False, on=None):
        key, path = ("volumeDevices", "devicePath") if block else ("volumeMounts", "mountPath")
        image = manifests.documents("examples/pod.yaml")[1]["spec"]["containers"][0]["image"]
        place = {"nodeSelector": {"kubernetes.io/hostname": on}} if on else {}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            **place, "containers": [{"name": "shell", "image": image, "command": ["sh", "-c", script],
                            key: [{"name": claim, path: f"/{claim}"} for claim in claims]}],
            "volumes": [{"name": claim, "persistentVolumeClaim": {"claimName": claim}}
                        for claim in claims]}}

    def wait(self, what, *names, namespace="default"):
        self.cluster.kubectl("wait", f"--for={what}", "-n", namespace,
                             f"--timeout={TIMEOUT_S}s", *names)

    def wait_ready(self, *names):
        self.wait("condition=Ready", *(f"pod/{name}" for name in names))

    def wait_bound(self, *names):
        self.wait("jsonpath={.status.phase}=Bound", *(f"pvc/{name}" for name in names))

    def events_of(self, uid):
        """Their reasons."""
        return [row["reason"] for row in self.cluster.list(
            "event", "--field-selector", f"involvedObject.uid={uid}")]

    def run_in(self, pod, script):
        return self.cluster.kubectl("exec", pod, "--", "sh", "-c", script).stdout

    def volume_of(self, claim):
        name = self.cluster.get("pvc", claim)["spec"]["volumeName"]
        return self.cluster.get("pv", name)["spec"]["csi"]["volumeHandle"]

    def space_of(self, claim):
        """Bytes that the image takes on the storage."""
        found = glob.glob(f"{VOLUMES}/*{self.volume_of(claim)}*")
        self.assertEqual(len(found), 1, found)
        return os.stat(found[0]).st_blocks * 512

    def kill_driver(self, half):
        """As power would: the containers of it are started again by the kubelet."""
        pids = node.pids_of("csi", half)
        self.assertTrue(pids)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def kill_service(self):
        self.service.kill()
        self.service.start()
        self.api = self.new_api()

    def attachments(self):
        return [len(self.api.show(row["id"])["attachments"]) for row in self.api.list_all()]

    # ---- tests ----

    def test_the_driver_is_registered(self):
        driver = self.cluster.get("csinode", NODE)["spec"]["drivers"]
        self.assertEqual([(row["name"], row["nodeID"]) for row in driver],
                         [("csi.scoria.io", NODE)])

    def test_a_volume_that_waits_for_its_pod_stays_when_its_claim_goes(self):
        self.cluster.apply(self.claim("claim", storageClassName="scoria-retain"))
        uid = self.cluster.get("pvc", "claim")["metadata"]["uid"]
        until(lambda: "WaitForFirstConsumer" in self.events_of(uid), TIMEOUT_S, "waiting")
        self.assertEqual(self.api.list_all(), [])
        self.cluster.apply(self.pod("pod", ["claim"], WRITE))
        self.wait_ready("pod")
        volume = self.volume_of("claim")
        self.cluster.kubectl("delete", "pod/pod", "pvc/claim", "--grace-period=1")
        until(lambda: not self.mounts() + self.cluster.list("volumeattachment"), TIMEOUT_S, "gone")
        self.assertEqual(self.api.show(volume)["status"], "available")
        self.cluster.kubectl("delete", "pv", "--all")
        self.api.delete_and_wait(volume)

    def test_all_commands_of_the_page_work(self):
        output = self.bash(commands("A claim and its pod, expanded, snapshotted and reclaimed."))
        self.assertRegex(output, r"/dev/loop\d+ +(1\.9|2\.0)G ")
        self.wait_bound("data-restored")
        self.cluster.apply(self.claim("cloned", "2Gi", "PersistentVolumeClaim/data-restored"),
                           self.pod("reader", ["data-restored", "cloned"]))
        self.wait_ready("reader")
        log = self.run_in("writer", "cat /data/log")
        self.assertEqual(self.run_in("reader", "cat /data-restored/log /cloned/log"), 2 * log)

    def reclaimed(self, claim):
        """A job that meets a sidecar that is being started again fails after some tries at once."""
        self.bash(f"sed 's/Claim: data/Claim: {claim}/' {EXAMPLES}/reclaim.yaml | kubectl apply -f -")
        self.wait("jsonpath={.status.result}", "reclaimspacejob/data-now")
        result = self.cluster.get("reclaimspacejob", "data-now")["status"]["result"]
        self.cluster.kubectl("delete", "reclaimspacejob", "data-now")
        return result == "Succeeded"

    def test_space_of_deleted_files_is_reclaimed(self):
        self.bash(f"kubectl apply -f {EXAMPLES}/pod.yaml")
        self.wait_ready("writer")
        before = self.space_of("data")
        self.run_in("writer", "dd if=/dev/urandom of=/data/much bs=1M count=200; sync; "
                              "rm /data/much; sync")
        self.assertGreater(self.space_of("data"), before + (100 << 20))
        until(lambda: self.reclaimed("data"), TIMEOUT_S, "a job that succeeds", 1)
        self.assertLess(self.space_of("data"), before + (100 << 20))

    @contextlib.contextmanager
    def group_of(self, *claims):
        """Requested of the controller as the operator of groups would, whose module is not served."""
        pod = self.cluster.list("pod", "-n", NAMESPACE, "-l",
                                "app.kubernetes.io/component=controller",
                                f"--field-selector=spec.nodeName={NODE}")
        path = f"/var/lib/kubelet/pods/{pod[0]['metadata']['uid']}/volumes/kubernetes.io~empty-dir"
        driver = Driver(f"{path}/socket/csi.sock")
        try:
            group = driver.groups("CreateVolumeGroup", name="both",
                                  volume_ids=map(self.volume_of, claims)).volume_group
            yield
            driver.groups("ModifyVolumeGroupMembership", volume_group_id=group.volume_group_id)
            driver.groups("DeleteVolumeGroup", volume_group_id=group.volume_group_id)
        finally:
            driver.close()

    def test_devices_and_snapshots_of_a_group(self):
        kind = self.api.ask("POST", "/group_types", {"group_type": {"name": "csi"}})["group_type"]
        self.api.ask("POST", f"/group_types/{kind['id']}/group_specs", {
            "group_specs": {"consistent_group_snapshot_enabled": "<is> True"}})
        self.bash(f"kubectl apply -f {EXAMPLES}/pod.yaml -f {EXAMPLES}/block.yaml")
        self.wait_ready("writer", "reader")
        self.run_in("reader", "echo hello | dd of=/dev/volume conv=fsync")
        log = self.run_in("writer", "cat /data/log")
        self.cluster.kubectl("delete", "pod", "writer", "reader", "--grace-period=1")
        with self.group_of("data", "device"):
            self.cut_and_restore(log)
            self.cluster.kubectl("delete", "volumegroupsnapshot", "--all")

    def cut_and_restore(self, log):
        self.bash(f"kubectl apply -f {EXAMPLES}/group-snapshot.yaml")
        self.wait("jsonpath={.status.readyToUse}=true", "volumegroupsnapshot/both-1")
        members = {row["spec"]["source"]["persistentVolumeClaimName"]: row["metadata"]["name"]
                   for row in self.cluster.list("volumesnapshot")}
        self.assertEqual(set(members), {"data", "device"})
        group = "snapshot.storage.k8s.io"
        self.cluster.apply(
            self.claim("files", source=f"VolumeSnapshot/{members['data']}", group=group),
            self.claim("blocks", source=f"VolumeSnapshot/{members['device']}", group=group,
                       volumeMode="Block"),
            self.pod("of-files", ["files"]), self.pod("of-blocks", ["blocks"], block=True))
        self.wait_ready("of-files", "of-blocks")
        self.assertEqual(self.run_in("of-files", "cat /files/log"), log)
        self.assertEqual(self.run_in("of-blocks", "head -n 1 /blocks"), "hello\n")

    def test_a_device_grows(self):
        self.bash(f"kubectl apply -f {EXAMPLES}/block.yaml")
        self.wait_ready("reader")
        self.grow("device")
        self.assertEqual(int(self.run_in("reader", "cat /dev/volume | wc -c")), 2 << 30)

    def several(self):
        names = [f"claim-{number}" for number in range(5)]
        self.cluster.apply(*map(self.claim, names))
        until(self.api.list_all, TIMEOUT_S, "a volume", 0.01)
        return names

    def one_each(self, names):
        self.wait_bound(*names)
        volumes = self.api.list_all()
        self.assertEqual(len(volumes), len(names), volumes)
        self.assertEqual({row["id"] for row in volumes}, set(map(self.volume_of, names)))

    def test_the_driver_is_killed_while_volumes_are_made(self):
        names = self.several()
        self.kill_driver("--controller")
        self.one_each(names)

    def test_the_service_is_killed_while_volumes_are_made_and_attached(self):
        names = self.several()
        self.kill_service()
        self.one_each(names)
        self.cluster.apply(*(self.pod(f"pod-of-{name}", [name]) for name in names))
        until(lambda: any(self.attachments()), TIMEOUT_S, "an attachment", 0.01)
        self.kill_service()
        self.wait_ready(*(f"pod-of-{name}" for name in names))
        self.assertEqual(self.attachments(), [1] * len(names))

    def test_both_halves_are_killed_while_pods_start(self):
        self.cluster.apply(self.claim("claim"), self.pod("pod", ["claim"], WRITE))
        until(lambda: any(self.attachments()), TIMEOUT_S, "an attachment", 0.01)
        self.kill_driver("--controller")
        self.kill_driver("--node")
        self.wait_ready("pod")
        self.assertEqual(self.attachments(), [1])
        self.kill_driver("--node")
        self.assertEqual(self.run_in("pod", "cat /claim/file"), "hello\n")

    def test_pods_go_on_while_the_kubelet_is_away(self):
        self.cluster.apply(self.claim("claim"), self.pod("pod", ["claim"], WRITE))
        self.wait_ready("pod")
        self.cluster.node.stop_kubelet()
        self.cluster.node.start_kubelet()
        read_it = ("exec", "pod", "--", "cat", "/claim/file")
        self.cluster.wait("the pod again", lambda: self.cluster.kubectl(
            *read_it, check=False).stdout == "hello\n")
        statuses = self.cluster.get("pod", "pod")["status"]["containerStatuses"]
        self.assertEqual([row["restartCount"] for row in statuses], [0])

    @classmethod
    def tearDownClass(cls):
        cls.cluster.keep_logs()
        cls.bash("kubectl delete -k etc/kubernetes")
        status = cls.service.stop()
        assert status == 0, f"scoria serve ended with {status}"
        found = program.check(cls.cluster.path("state"), *cls.options(), DIRECTORY)
        assert not found, f"manage check: {found}"
