"""
The programs of Kubernetes, built with Go of the modules that go.mod names, and the images that the
manifests name. Built programs are kept in a cache of the user's, by their sources.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess

import images
import manifests
import program
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "scoria")
SOURCES = ("go.mod", "go.sum", "tools.go", "registrar/main.go", "livenessprobe/main.go",
           "recorder/main.go")
OWN = ("registrar", "livenessprobe", "recorder")
# Debian's programs of the cluster, as packages.
PACKAGES = ("busybox-static", "containerd", "containernetworking-plugins", "etcd-server",
            "iproute2", "mmdebstrap", "runc")
# Names of other projects' programs in their images.
NAMES = {"csi-node-driver-registrar": "registrar", "k8s-sidecar": "sidecar",
         "k8s-controller": "manager"}
SNAPSHOT_DEFINITIONS = "github.com/kubernetes-csi/external-snapshotter/client/v8"
SNAPSHOTTER = "github.com/kubernetes-csi/external-snapshotter/v8"
ADDONS = "github.com/csi-addons/kubernetes-csi-addons"
SUITE = "bookworm"
BUSYBOX = "/bin/busybox"
PAUSE = "localhost/pause:1"


def hash_of(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def executable(path, flags):
    return os.open(path, flags, 0o755)


def install():
    """Packages that are not there."""
    known = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n",
                            *PACKAGES], capture_output=True, text=True, check=False).stdout
    missing = [name for name in PACKAGES if f"{name} installed" not in known]
    if missing:
        subprocess.run(["apt-get", "update", "-q"], check=True)
        subprocess.run(["apt-get", "install", "-q", "-y", "--no-install-recommends",
                        "-o", "DPkg::Lock::Timeout=300", *missing], check=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


class Kept:
    """A folder of the cache, made once by the first process."""

    def __init__(self, name):
        self.path = os.path.join(CACHE, name)

    def make(self, build):
        os.makedirs(CACHE, exist_ok=True)
        with open(f"{self.path}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(self.path):
                shutil.rmtree(f"{self.path}.new", ignore_errors=True)
                os.makedirs(f"{self.path}.new")
                build(f"{self.path}.new")
                os.rename(f"{self.path}.new", self.path)
        return self.path


def go(*words, **more):
    return subprocess.run(["go", *words], cwd=HERE, check=True, text=True, **more)


def module(name):
    """Where the sources of a module lie."""
    go("mod", "download", name)
    return go("list", "-m", "-f", "{{.Dir}}", name, stdout=subprocess.PIPE).stdout.strip()


def version_of(name):
    return re.search(rf"^\t{re.escape(name)} (v\S+)$", read(os.path.join(HERE, "go.mod")), re.M)[1]


def build_programs(place):
    """One after the other: the largest takes 2 GB and all processors alone."""
    version = version_of("k8s.io/kubernetes")
    major, minor = version.removeprefix("v").split(".")[:2]
    variable = "k8s.io/component-base/version.git"
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-trimpath -buildvcs=false"}
    packages = re.findall(r'^\t_ "(\S+/(?:cmd/\S+|sidecar))"', read(os.path.join(HERE, "tools.go")),
                          re.M)
    for package in [*packages, *(f"./{name}" for name in OWN)]:
        go("build", "-p", str(os.cpu_count()), "-o", f"{place}/", "-ldflags",
           f"-s -w -X {variable}Version={version} -X {variable}Major={major} -X {variable}Minor={minor}",
           package, env=environment)


def build_base(place):
    """The base of the last image of the Containerfile."""
    packages = re.findall(r"[\w.+-]+", packages_of_image())
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase",
                    f"--include={','.join(packages)}", SUITE, f"{place}/base.tar"], check=True)


def packages_of_image():
    text = read(os.path.join(program.REPOSITORY, "Containerfile")).split("\nFROM ")[-1]
    found = re.search(r"--no-install-recommends \\\n((?:.*\\\n)+?) *&& rm", text)
    return found[1].replace("\\", "")


def entrypoint_of_image():
    return re.search(r'^ENTRYPOINT \["(.*)"\]', read(os.path.join(program.REPOSITORY,
                                                                "Containerfile")), re.M)[1]


class Programs:
    """Where everything is."""

    def __init__(self):
        install()
        sources = hash_of(*(read(os.path.join(HERE, name)) for name in SOURCES))
        self.bin = Kept(f"kubernetes-{sources}").make(build_programs)
        self.base = Kept("image-" + hash_of(SUITE, packages_of_image())).make(build_base)
        self.snapshot_definitions = os.path.join(module(SNAPSHOT_DEFINITIONS), "config/crd")
        self.snapshot_controller = os.path.join(module(SNAPSHOTTER),
                                                "deploy/kubernetes/snapshot-controller")
        self.addons = os.path.join(module(ADDONS), "deploy/controller")

    def images_wanted(self):
        """Names of all images but the driver's that the manifests have, those of others too."""
        texts = [document for _, document in manifests.all_documents()]
        for folder in (self.snapshot_controller, self.addons):
            for name in sorted(os.listdir(folder)):
                texts += filter(None, yaml.safe_load_all(read(os.path.join(folder, name))))
        found = set(re.findall(r"'image': '([^']+)'", str(texts)))
        return sorted(found - {manifests.DRIVER})

    def pack(self, place):
        """The images, in archives to import; those that no program here is for are left out."""
        built = set(os.listdir(self.bin)) - {"kube-apiserver", "kube-controller-manager", "kubectl",
                                             "kube-scheduler", "kubelet"}
        tools = images.layer(f"{place}/tools.tar",
                             {f"usr/bin/{name}": os.path.join(self.bin, name) for name in built},
                             {"csi-addons-manager": "usr/bin/manager"})
        applets = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True,
                                 check=True).stdout.split()
        busybox = images.layer(f"{place}/busybox.tar", {"bin/busybox": BUSYBOX},
                               {f"bin/{name}": "busybox" for name in applets if name != "busybox"})
        stripped = f"{place}/scoria"
        subprocess.run(["strip", "-o", stripped, program.BINARY], check=True)
        mount = f"{place}/mount.nfs"  # the kernel may have no NFS
        with open(mount, "w", encoding="utf-8", opener=executable) as file:
            file.write(read(os.path.join(HERE, "mount.nfs")).replace("DISK", f"{place}/share"))
        own = images.layer(f"{place}/own.tar", {"usr/bin/scoria": stripped,
                                                "usr/sbin/mount.nfs": mount})
        archive = images.Archive(f"{place}/images.tar")
        top = manifests.documents("kustomization.yaml")[0]["images"][0]
        archive.image(f"{top['newName']}:{top['newTag']}", [f"{self.base}/base.tar", own],
                      [entrypoint_of_image()])
        archive.image(PAUSE, [busybox], command=["/bin/sleep", "1000000"])
        archive.image("localhost/recorder:1", [tools], ["/usr/bin/recorder"])
        for reference in self.images_wanted():
            name = reference.rpartition("/")[2].partition(":")[0]
            name = NAMES.get(name, name)
            if name == "busybox":
                archive.image(reference, [busybox], command=["/bin/sh"])
            elif name in built:
                archive.image(reference, [tools], [f"/usr/bin/{name}"],
                              user="65532" if name == "manager" else "")
        archive.close()
        return f"{place}/images.tar"
