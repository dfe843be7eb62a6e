"""
A cluster in namespaces of its own (mounts, network, processes, host name): etcd, the control plane, and
a node with it. All of it is gone when the first process of the namespaces ends.
"""

import json
import os
import signal
import subprocess

from block_storage import until
from kubelet import TIMEOUT_S, Node, quietly

NODE = "node-1"
ADDRESS = "192.0.2.10"  # where etc/kubernetes/scoria.conf has the volume API
SERVICES = "10.96.0.0/24"
API = "10.96.0.1"  # the first of them, where pods look for the API server
TOKEN = "administrator"


class Cluster:
    def __init__(self, place, programs):
        self.place, self.programs = place, programs
        self.configuration = os.path.join(place, "kubeconfig")
        self.processes = {}
        self.node, self.others = Node(self, 1), []

    def path(self, *names):
        return os.path.join(self.place, *names)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def start_program(self, name, *words):
        with open(self.path("logs", f"{name}.log"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.place,
                env={**os.environ, "GOMAXPROCS": "2"})

    def start_kubernetes(self, name, *words):
        self.start_program(name, os.path.join(self.programs.bin, name), *words)

    def stop_program(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_S)

    def wait(self, what, condition):
        def alive():
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} has ended: {process.returncode}")
            return condition()
        return until(alive, TIMEOUT_S, what, 0.2)

    # ---- the machine ----

    def own_machine(self):
        self.node.own_machine()
        os.makedirs(self.path("logs"))
        # The kubelet wants these, and they are for the whole machine.
        for name, value in (("vm/overcommit_memory", 1), ("kernel/panic", 10),
                            ("kernel/panic_on_oops", 1)):
            path = self.write(f"sysctl/{name}", f"{value}\n")
            subprocess.run(["mount", "--bind", path, f"/proc/sys/{name}"], check=True)
        for words in "link set lo up", f"address add {API}/32 dev lo":
            subprocess.run(["ip", *words.split()], check=True)

    # ---- processes ----

    def start(self, images):
        self.own_machine()
        self.start_control_plane()
        self.node.start(images)

    def start_control_plane(self):
        etcd = "http://127.0.0.1:2379"
        self.start_program("etcd", "etcd", "--data-dir", self.path("etcd"), "--unsafe-no-fsync",
                           "--log-level=warn", "--listen-client-urls", etcd,
                           "--advertise-client-urls", etcd, "--listen-peer-urls",
                           "http://127.0.0.1:2380")
        key = self.path("accounts.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        tokens = self.write("tokens.csv", f'{TOKEN},administrator,1,"system:masters"\n')
        self.start_kubernetes(
            "kube-apiserver", f"--etcd-servers={etcd}", "--bind-address=0.0.0.0",
            f"--advertise-address={ADDRESS}", "--secure-port=443", f"--cert-dir={self.path('pki')}",
            "--endpoint-reconciler-type=none", f"--service-cluster-ip-range={SERVICES}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            f"--token-auth-file={tokens}", "--authorization-mode=RBAC", "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP")
        certificate = self.path("pki", "apiserver.crt")
        self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": f"https://{ADDRESS}",
                                                      "certificate-authority": certificate}}],
            "users": [{"name": "administrator", "user": {"token": TOKEN}}],
            "contexts": [{"name": "here",
                          "context": {"cluster": "here", "user": "administrator"}}]}))
        self.wait("the API server", lambda: os.path.exists(certificate) and self.ready())
        common = [f"--kubeconfig={self.configuration}", "--bind-address=127.0.0.1",
                  "--leader-elect=false"]
        self.start_kubernetes("kube-controller-manager", *common, f"--root-ca-file={certificate}",
                              f"--service-account-private-key-file={key}",
                              "--use-service-account-credentials=true")
        self.start_kubernetes("kube-scheduler", *common, "--authentication-skip-lookup=true")

    def ready(self):
        return self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0

    def add_node(self, images, shared):
        """One more, which has a directory of the first, too."""
        node = Node(self, 2)
        node.another_machine(shared, self.node)
        self.others.append(node)
        node.start(images)
        return node

    def forget_node(self, node):
        """One that is off: it is not expected back."""
        self.others.remove(node)
        self.kubectl("delete", "node", node.name)
        self.kubectl("delete", "pod", "-A", "--force", "--grace-period=0",
                     f"--field-selector=spec.nodeName={node.name}")

    def keep_logs(self):
        """The output of pods: the kubelet removes it with each, perhaps just now."""
        quietly("cp", "--recursive", "/var/log/pods", self.path("logs"))

    def end(self):
        """Every process of the namespace but this one and the first is killed; the output of pods
        stays."""
        assert os.getppid() == 1, "every process of the machine would be killed"
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for process in (*self.processes.values(), *(node.first for node in self.others)):
            process.wait()
        self.keep_logs()

    # ---- requests ----

    def kubectl(self, *words, check=True, text=None):
        """Its output; `text` is its input."""
        answer = subprocess.run(
            [os.path.join(self.programs.bin, "kubectl"), f"--kubeconfig={self.configuration}",
             *words], input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if check and answer.returncode:
            raise RuntimeError(f"kubectl {' '.join(words)}: {answer.stderr}")
        return answer

    def get(self, *words):
        """An object, None without it."""
        output = self.kubectl("get", *words, "--ignore-not-found", "-o", "json").stdout
        return json.loads(output) if output.strip() else None

    def list(self, *words):
        """Those of a kind."""
        return json.loads(self.kubectl("get", *words, "-o", "json").stdout)["items"]

    def condition(self, kind, name, wanted, *words):
        found = self.get(kind, name, *words) or {}
        return any(row["type"] == wanted and row["status"] == "True"
                   for row in found.get("status", {}).get("conditions", []))

    def apply(self, *documents):
        self.kubectl("apply", "-f", "-", text="\n---\n".join(map(json.dumps, documents)))

    def describe(self):
        """State to read after a failure."""
        words = [("get", "all,pvc,pv,volumeattachments,csinodes,volumesnapshots,leases", "-A",
                  "-o", "wide"), ("get", "events", "-A", "--sort-by=.metadata.creationTimestamp")]
        return "\n".join(self.kubectl(*row, check=False).stdout for row in words)
