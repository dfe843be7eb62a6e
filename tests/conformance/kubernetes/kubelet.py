"""
A node of the cluster: containerd and a kubelet. The first one has the namespaces that all else runs in;
another one has mounts, a network and a host name of its own, and goes as if its power had failed.
"""

import glob
import json
import os
import shutil
import signal
import subprocess

from block_storage import until
from programs import PAUSE, read

NETWORK = "192.0.2"
PODS = "198.51.100"
# Everything that a program may find or leave there is of this node.
OWN_FOLDERS = ("/var/lib", "/var/log", "/run")
MADE = ("/var/lib/kubelet", "/var/log/pods", "/run/lock")
TIMEOUT_S = 180  # that only a hang reaches
SHARES = "/run/scoria-csi"  # where the driver mounts them
SOCKET = "/run/containerd/containerd.sock"
CONTAINERD = """\
version = 2
root = '{place}/containerd/root'
state = '/run/containerd'
[grpc]
address = '{socket}'
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = '{pause}'
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = '/usr/lib/cni'
conf_dir = '{place}/cni'
"""

KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "failCgroupV1": False, "failSwapOn": False, "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [], "protectKernelDefaults": True, "makeIPTablesUtilChains": False,
    "localStorageCapacityIsolation": False, "imageGCHighThresholdPercent": 100,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"}, "volumeStatsAggPeriod": "10s",
    # How often it checks a pod in which nothing happens, and reports its volumes.
    "syncFrequency": "5s", "nodeStatusUpdateFrequency": "2s",
}

# A directory that is there for both is bound to the same place.
ANOTHER = """\
kept=$1 shared=$2 name=$3
mkdir -p "$kept"
mount --bind "$shared" "$kept"
for folder in {folders}; do mount -t tmpfs -o mode=755 own "$folder"; done
mkdir -p {made} "$shared"
mount --move "$kept" "$shared"
mount --make-rshared /
hostname "$name"
echo ready
exec sleep infinity
""".format(folders=" ".join(OWN_FOLDERS), made=" ".join(MADE))


def quietly(*words):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def run(*words):
    subprocess.run(words, check=True)


def lives(pid):
    try:
        return read(f"/proc/{pid}/stat").rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Node:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.name = f"node-{number}"
        self.address = f"{NETWORK}.{9 + number}"
        self.pods = f"{PODS}.{128 * (number - 1)}/25"
        self.first = None  # process of another one

    def path(self, *names):
        return self.cluster.path(self.name, *names)

    def there(self, *words):
        """As it is typed on that machine."""
        return ("nsenter", f"--target={self.first.pid}", "--mount", "--net", "--uts", "--",
                *words) if self.first else words

    def program(self, name):
        return f"{name}-{self.number}" if self.first else name

    # ---- the machine ----

    def own_machine(self):
        """No write or mount of the kubelet reaches the machine outside."""
        run("mount", "--make-rshared", "/")
        for folder in OWN_FOLDERS:
            run("mount", "-t", "tmpfs", "-o", "mode=755", "own", folder)
        for folder in MADE:
            os.makedirs(folder)
        for words in ("link add node0 type veth peer name node1",
                      f"address add {self.address}/24 dev node0", "link set node0 up",
                      "link set node1 up", "route add default dev node0"):
            run("ip", *words.split())
        run("hostname", self.name)

    def another_machine(self, shared, gate):
        """Beside the gate, through which all ways lead."""
        self.first = subprocess.Popen(
            ["unshare", "--mount", "--net", "--uts", "--propagation=private", "bash", "-euc",
             ANOTHER, "bash", self.path("shared"), shared, self.name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.first.stdout.readline() != "ready\n":
            raise RuntimeError(f"no machine {self.name}")
        run("ip", *f"link add to-{self.number} type veth peer name node0 netns "
                   f"{self.first.pid}".split())
        for words in (f"link set to-{self.number} up",
                      f"route add {self.address} dev to-{self.number}",
                      f"route add {self.pods} via {self.address}"):
            run("ip", *words.split())
        for words in ("link set lo up", f"address add {self.address}/32 dev node0",
                      "link set node0 up", f"route add {gate.address} dev node0",
                      f"route add default via {gate.address}"):
            run(*self.there("ip", *words.split()))

    def network_of_pods(self):
        return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "ptp", "ipam": {"type": "host-local", "dataDir": self.path("addresses"),
                                     "ranges": [[{"subnet": self.pods}]],
                                     "routes": [{"dst": "0.0.0.0/0"}]}}]})

    # ---- processes ----

    def start(self, images):
        settings = self.write("containerd.toml", CONTAINERD.format(
            place=self.path(), socket=SOCKET, pause=PAUSE))
        self.write("cni/10-pods.conflist", self.network_of_pods())
        self.cluster.start_program(self.program("containerd"),
                                   *self.there("containerd", "-c", settings))
        control = self.there("ctr", "-a", SOCKET)
        self.cluster.wait("containerd", lambda: quietly(*control, "version"))
        subprocess.run([*control, "-n", "k8s.io", "images", "import", images], check=True,
                       stdout=subprocess.DEVNULL)
        self.write("kubelet.json", json.dumps({
            **KUBELET, "address": self.address, "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "volumePluginDir": self.path("plugins")}))
        self.start_kubelet()
        self.cluster.wait(self.name, lambda: self.cluster.condition("node", self.name, "Ready"))

    def write(self, name, text):
        return self.cluster.write(f"{self.name}/{name}", text)

    def start_kubelet(self):
        self.cluster.start_program(self.program("kubelet"), *self.there(
            os.path.join(self.cluster.programs.bin, "kubelet"),
            f"--config={self.path('kubelet.json')}", f"--kubeconfig={self.cluster.configuration}",
            f"--node-ip={self.address}", f"--hostname-override={self.name}"))

    def stop_kubelet(self):
        self.cluster.stop_program(self.program("kubelet"))

    # ---- state ----

    def pid(self):
        return self.first.pid if self.first else os.getpid()

    def table(self):
        """Of mounts: (point, source)."""
        rows = map(str.split, read(f"/proc/{self.pid()}/mountinfo").splitlines())
        return [(row[4], row[row.index("-") + 2]) for row in rows]

    def mounts(self):
        """Of volumes, in the kubelet's directory, and of shares."""
        return [point for point, _ in self.table() if any(part in f"{point}/" for part in (
            "/kubernetes.io/csi/", "/kubernetes.io~csi/", f"{SHARES}/"))]

    def shares(self):
        return [source for point, source in self.table() if point.startswith(f"{SHARES}/")]

    # ---- its end ----

    def processes(self):
        """All processes in its network, and their children: containers."""
        network, found, parents = os.stat(f"/proc/{self.pid()}/ns/net").st_ino, set(), {}
        for path in glob.glob("/proc/[0-9]*"):
            pid = int(path.split("/")[2])
            try:
                parents[pid] = int(read(f"{path}/stat").rpartition(") ")[2].split()[1])
                if os.stat(f"{path}/ns/net").st_ino == network:
                    found.add(pid)
            except OSError:
                continue  # gone meanwhile
        more = found
        while more:
            more = {pid for pid, parent in parents.items() if parent in found} - found
            found |= more
        return found

    def power_off(self):
        """Of another one: no process there does anything any more, and none has signed off."""
        children = [self.cluster.processes.pop(name) for name in
                    map(self.program, ("kubelet", "containerd")) if name in self.cluster.processes]
        pids = self.processes()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for child in (*children, self.first):
            child.wait()
        until(lambda: not any(map(lives, pids)), TIMEOUT_S, f"{self.name} is off")
        self.first.stdout.close()
        quietly("ip", "link", "delete", f"to-{self.number}")
        shutil.rmtree(self.path("addresses"), ignore_errors=True)
