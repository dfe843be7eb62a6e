"""
The manifests of etc/kubernetes as they are written, and the pods that they make together.
"""

import copy
import functools
import os

import yaml

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP = os.path.join(REPOSITORY, "etc/kubernetes")
DRIVER = "scoria"  # the container of the driver, and its image before the kustomization names it


def files():
    """Names of all YAML files, from TOP on."""
    found = [os.path.relpath(os.path.join(folder, name), TOP)
             for folder, _, names in os.walk(TOP) for name in names if name.endswith(".yaml")]
    return sorted(found)


@functools.cache
def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def documents(name):
    return copy.deepcopy(read(name))


def all_documents():
    """(file, document) of everything but kustomizations."""
    return [(name, document) for name in files()
            if os.path.basename(name) != "kustomization.yaml" for document in documents(name)]


def of_kind(kind):
    return [document for _, document in all_documents() if document["kind"] == kind]


def pod(kind):
    """The pod of the Deployment or DaemonSet, with the additions of every component: its containers
    and its volumes by name, and the rest."""
    containers, volumes, rest = {}, {}, {}
    for workload in of_kind(kind):
        spec = workload["spec"]["template"]["spec"]
        for container in spec.pop("containers"):
            known = containers.setdefault(container["name"], {})
            for key, value in container.items():
                known[key] = known[key] + value if isinstance(known.get(key), list) else value
        volumes.update({volume["name"]: volume for volume in spec.pop("volumes", [])})
        rest.update(spec)
    return {"containers": containers, "volumes": volumes, "spec": rest}


def driver(kind):
    return pod(kind)["containers"][DRIVER]


def value(container, option):
    """The value of `--option=value` among the arguments, or None."""
    for argument in container["args"]:
        name, _, text = argument.partition("=")
        if name == option:
            return text
    return None
