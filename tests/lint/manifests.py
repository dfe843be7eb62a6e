#!/usr/bin/python3
"""
The manifests of etc/kubernetes agree with each other and with the program: manifests.py SCORIA.
Each line that it prints is a fault.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))

import manifests  # noqa: E402
from manifests import driver, of_kind, pod, value  # noqa: E402

PODS = ("Deployment", "DaemonSet")
NAMED = {"--endpoint", "--controller", "--node", "--config-file"}
wrong = []


def expect(held, text):
    if not held:
        wrong.append(text)


def output_of(scoria, *words):
    return subprocess.run([scoria, *words], check=True, capture_output=True, text=True).stdout


def read_options(scoria):
    """{section.key: its default} of the sample that the program prints."""
    options, section = {}, None
    for line in output_of(scoria, "manage", "config").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif found := re.match(r"#(\w+) = ?(.*)", line):
            options[f"{section}.{found[1]}"] = found[2]
    return options


# ---- files ----

def named_by(folder):
    """Files and folders that a kustomization is made of."""
    kustomization = manifests.documents(os.path.join(folder, "kustomization.yaml"))[0]
    names = [*kustomization.get("resources", []),
             *(patch["path"] for patch in kustomization.get("patches", []))]
    return {os.path.normpath(os.path.join(folder, name)) for name in names}


def check_files():
    for name in manifests.files():
        folder = os.path.dirname(name)
        if folder == "examples":
            continue
        if os.path.basename(name) == "kustomization.yaml":
            for part in named_by(folder):
                expect(os.path.exists(os.path.join(manifests.TOP, part)), f"{name}: no {part}")
        else:
            expect(name in named_by(folder), f"{name}: its kustomization does not name it")
    with open(os.path.join(manifests.TOP, "kustomization.yaml"), encoding="utf-8") as file:
        offered = set(re.findall(r"^  (?:# )?- ([a-z-]+)$", file.read(), re.M))
    for folder in {os.path.dirname(name) for name in manifests.files()} - {"", "examples"}:
        expect(folder in offered, f"kustomization.yaml does not offer {folder}")


def check_images(scoria):
    top = manifests.documents("kustomization.yaml")[0]
    image = top["images"][0]
    version = output_of(scoria, "--version").split()[1]  # the commit is behind it
    expect(image["name"] == manifests.DRIVER, "kustomization.yaml names another image")
    expect(image["newTag"] == version, f"kustomization.yaml: the tag is not {version}")
    for name, document in manifests.all_documents():
        spec = document.get("spec", {}).get("template", document).get("spec", {})
        for container in spec.get("containers", []):
            if (text := container.get("image", manifests.DRIVER)) != manifests.DRIVER:
                expect(re.search(r":v?\d+(\.\d+)+(-\d+)?$", text), f"{name}: {text} is not pinned")


# ---- the driver ----

def check_arguments(options):
    for kind in PODS:
        container = driver(kind)
        for argument in container["args"][1:]:
            name = argument.partition("=")[0]
            expect(name in NAMED or name[2:] in options, f"{kind}: there is no option {name}")
        known = {"SCORIA_" + name.upper().replace(".", "_") for name in options}
        for variable in container.get("env", []):
            expect(variable["name"] in known or f"$({variable['name']})" in str(container["args"]),
                   f"{kind}: {variable['name']} is of no use")


def check_configuration(options):
    section = None
    with open(os.path.join(manifests.TOP, "scoria.conf"), encoding="utf-8") as file:
        for line in file:
            if found := re.match(r"(?:# )?\[(\w+)\]$", line):
                section = found[1]
            elif found := re.match(r"(?:# )?(\w+) = ", line):
                expect(f"{section}.{found[1]}" in options, f"scoria.conf: no option {found[1]}")
    secret = manifests.documents("kustomization.yaml")[0]["secretGenerator"][0]
    volume = pod("Deployment")["volumes"]["configuration"]["secret"]
    path = os.path.join(mounts(driver("Deployment"))["configuration"]["mountPath"],
                        secret["files"][0])
    expect(volume["secretName"] == secret["name"], "the controller mounts another Secret")
    expect(value(driver("Deployment"), "--config-file") == path, f"the configuration is at {path}")


def check_name(name):
    expect([row["metadata"]["name"] for row in of_kind("CSIDriver")] == [name],
           f"the CSIDriver is not {name}")
    for file, document in manifests.all_documents():
        for key in ("provisioner", "driver"):
            expect(document.get(key, name) == name, f"{file}: {key} is not {name}")
    operator = pod("Deployment")["containers"]["volume-groups"]
    expect(value(operator, "--driver-name") == name, f"volume-groups: the driver is not {name}")


# ---- places ----

def mounts(container):
    return {mount["name"]: mount for mount in container.get("volumeMounts", [])}


def check_mounts():
    for kind in PODS:
        whole = pod(kind)
        for name, container in whole["containers"].items():
            for volume in mounts(container):
                expect(volume in whole["volumes"], f"{kind}: {name} mounts no {volume}")


def check_place(path, propagation):
    """The driver sees this place of the machine under the same name."""
    node = pod("DaemonSet")
    for volume in node["volumes"].values():
        mount = mounts(driver("DaemonSet")).get(volume["name"], {})
        if volume["hostPath"]["path"] == path:
            expect(mount.get("mountPath") == path, f"{path} has another name in the pod")
            expect(mount.get("mountPropagation") == propagation,
                   f"{path}: mountPropagation is not {propagation}")
            return
    expect(False, f"{path} is not there for nodes")


def check_places(options):
    node, container = pod("DaemonSet"), driver("DaemonSet")
    variables = {row["name"]: row.get("value") for row in container["env"]}
    check_place(options["csi.kubelet_directory"], "Bidirectional")
    check_place(options["csi.share_directory"], "Bidirectional")
    check_place(variables["SCORIA_CSI_LOCAL_DIRECTORIES"], "HostToContainer")
    check_place("/dev", None)
    for option in ("kubelet_directory", "share_directory"):
        expect(value(container, f"--csi.{option}") == options[f"csi.{option}"],
               f"{option} is another one")
    socket = f"{options['csi.kubelet_directory']}/plugins/{options['csi.driver_name']}"
    expect(node["volumes"]["plugin"]["hostPath"]["path"] == socket, f"the socket is not in {socket}")
    expect(value(node["containers"]["registrar"], "--kubelet-registration-path") ==
           f"{socket}/csi.sock", "the registrar tells the kubelet another socket")


def check_sockets():
    for kind in PODS:
        whole = pod(kind)
        for name, container in whole["containers"].items():
            sockets = [text for text in container["args"] if "csi.sock" in text
                    and not text.startswith("--kubelet-registration-path")]
            directory = {mount["mountPath"] for mount in mounts(container).values()}
            expect(len(sockets) == 1 and sockets[0].endswith("/csi/csi.sock") and "/csi" in directory,
                   f"{kind}: {name} has another socket")


# ---- rights ----

def check_rights():
    names = {(row["kind"], row["metadata"]["name"]) for _, row in manifests.all_documents()}
    for binding in of_kind("ClusterRoleBinding") + of_kind("RoleBinding"):
        role = binding["roleRef"]
        expect((role["kind"], role["name"]) in names, f"no {role['kind']} {role['name']}")
        for subject in binding["subjects"]:
            expect((subject["kind"], subject["name"]) in names, f"no account {subject['name']}")
    for kind in PODS:
        account = pod(kind)["spec"]["serviceAccountName"]
        expect(("ServiceAccount", account) in names, f"{kind}: no account {account}")
    for role in of_kind("ClusterRole") + of_kind("Role"):
        for rule in role["rules"]:
            expect("*" not in str(rule) and "secrets" not in rule["resources"],
                   f"{role['metadata']['name']} may do more than its sidecar needs")


# ---- examples ----

CLASSES = {"storageClassName": "StorageClass", "volumeSnapshotClassName": "VolumeSnapshotClass",
           "volumeGroupSnapshotClassName": "VolumeGroupSnapshotClass",
           "volumeGroupClassName": "VolumeGroupClass",
           "persistentVolumeClaimName": "PersistentVolumeClaim",
           "persistentVolumeClaim": "PersistentVolumeClaim", "claimName": "PersistentVolumeClaim"}


def pairs(document):
    """Every key with a text, wherever it stands."""
    rows = document.items() if isinstance(document, dict) else enumerate(document)
    for key, inner in rows:
        if isinstance(inner, (dict, list)):
            yield from pairs(inner)
        else:
            yield key, inner


def check_examples():
    names = {(row["kind"], row["metadata"]["name"]) for _, row in manifests.all_documents()}
    for file, document in manifests.all_documents():
        for key, name in pairs(document):
            if key in CLASSES:
                expect((CLASSES[key], name) in names, f"{file}: there is no {key} {name}")


def main():
    scoria = sys.argv[1]
    options = read_options(scoria)
    check_files()
    check_images(scoria)
    check_arguments(options)
    check_configuration(options)
    check_name(options["csi.driver_name"])
    check_mounts()
    check_places(options)
    check_sockets()
    check_rights()
    check_examples()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
