"""
Tests of tempest and of its plugin for Cinder that start servers or use images, without a network:
those that ../left_out leaves out for want of a Nova or a Glance, and those of volumes in the compute
API and in scenarios. `left_out` has those that are not run, and why.
"""

import contextlib
import fnmatch
import itertools
import json
import os
import re
import types
import unittest

import tempest_worker
from cloud import TIMEOUT_S, Cloud
from keystone import PASSWORD

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("tempest/api/volume", "tempest/api/compute", "tempest/scenario",
            "cinder_tempest_plugin")
# Tests are tagged with the services that they use, too.
WANTED = re.compile(r"tempest\.(api\.compute|scenario)\..*([Vv]olume|_bfv_)")
VOLUMES = re.compile(r"(tempest\.api\.volume|cinder_tempest_plugin)\.")
# Reasons of ../left_out that do not count here.
SERVED = re.compile(r"starts (a server|servers)|no Glance beside the service")
# Any administrator of the accounts is taken, but none that is a service, too, may detach here.
NO_SERVICES = re.compile(r"\.TestServerVolumeAttach\w*$")
# An extend below a guest is an action of its server: of a Nova that grows the disk.
GROWN_BY_NOVA = re.compile(r"\.VolumesExtendAttachedTest$")
SEVERAL = "of several servers"

CONFIGURATION = """\
[DEFAULT]
log_file = {directory}/tempest.log
[oslo_concurrency]
lock_path = {directory}/locks
[auth]
use_dynamic_credentials = false
test_accounts_file = {directory}/accounts.yaml
admin_username = admin
admin_password = {password}
admin_project_name = admin
create_isolated_networks = false
[identity]
uri_v3 = {keystone}
region = one
[service_available]
cinder = true
glance = true
neutron = true
nova = true
swift = false
[service_clients]
http_timeout = {timeout}
[validation]
run_validation = false
[enforce_scope]
cinder = true
[compute]
image_ref = {image}
image_ref_alt = {other_image}
flavor_ref = {flavor}
flavor_ref_alt = {larger}
build_interval = 1
build_timeout = {timeout}
shelved_offload_time = 0
max_microversion = latest
[compute-feature-enabled]
attach_encrypted_volume = false
console_output = true
rescue = true
resize = true
stable_rescue = true
swap_volume = true
volume_multiattach = true
[volume]
catalog_type = volumev3
build_interval = 1
build_timeout = {timeout}
backend_names = share, plain
storage_protocol = nfs
manage_snapshot_ref = source-name, unmanaged-%s
max_microversion = latest
volume_type = share
volume_type_multiattach = {several}
[volume-feature-enabled]
backup = false
concurrency_tests = true
extend_attached_volume = true
manage_snapshot = true
multi_backend = true
"""


class Case(unittest.TestCase):
    """A test of tempest."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def runTest(self):
        raise AssertionError("it is run with those of its class")

    def id(self):
        return self.name

    __str__ = id

    def __eq__(self, other):
        return isinstance(other, Case) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def shortDescription(self):
        return None


class Cases(unittest.TestSuite):
    """The tests of one class of tempest, by a worker."""

    def __init__(self, worker, name, tests):
        super().__init__()
        self.worker, self.name, self.names = worker, name, tests

    def countTestCases(self):
        return len(self.names)

    def run(self, result, debug=False):
        with contextlib.ExitStack() as cleanups:
            if GROWN_BY_NOVA.search(self.name):
                Cloud.only.use_nova(types.SimpleNamespace(addCleanup=cleanups.callback),
                                    "nova-compute-with-completion")
            missing = set(self.names)
            for row in self.worker.run(self.name, self.names):
                missing.discard(row["test"])
                self.report(result, row["test"], row["outcome"], row["text"])
            for name in sorted(missing):
                self.report(result, name, "FAIL", "it was not run")
        return result

    @staticmethod
    def report(result, name, outcome, text):
        case = Case(name)
        result.startTest(case)
        if outcome == "ok":
            result.addSuccess(case)
        elif outcome == "SKIP":
            result.addSkip(case, text)
        else:
            failure = AssertionError(text)
            result.addFailure(case, (AssertionError, failure, None))
        result.stopTest(case)


class Everything(unittest.TestSuite):
    def __init__(self, *workers):
        super().__init__()
        self.workers = workers

    def run(self, result, debug=False):
        try:
            return super().run(result, debug)
        finally:
            for worker in self.workers:
                worker.end()


class List(unittest.TestCase):
    """Of the tests that are left out."""

    wrong = []

    def test_each_line_of_left_out_has_a_reason_and_a_test_of_tempest(self):
        self.assertEqual(self.wrong, [])


def start_worker(cloud):
    directory = cloud.path("tempest")
    if not os.path.exists(directory):
        os.makedirs(os.path.join(directory, "locks"))
        compute, volumes = cloud.compute(), cloud.volumes()
        larger = compute.ask("POST", "/flavors", {"flavor": {
            "name": "tempest", "ram": 160, "vcpus": 1, "disk": 1}})["flavor"]["id"]
        volumes.ask("POST", "/types", {"volume_type": {"name": SEVERAL, "extra_specs": {
            "volume_backend_name": "plain", "multiattach": "<is> True"}}})
        cloud.write("tempest/accounts.yaml",
                    json.dumps(tempest_worker.accounts(cloud.keystone, 0, 2)))
        cloud.write("tempest/tempest.conf", CONFIGURATION.format(
            directory=directory, password=PASSWORD, keystone=cloud.keystone.url,
            timeout=TIMEOUT_S, image=cloud.image, other_image=cloud.other_image,
            flavor=cloud.flavor, larger=larger, several=SEVERAL))
    return tempest_worker.Worker(directory, "tempest.conf", PACKAGES)


def start_worker_without_services(cloud):
    """The same, without the accounts that are services."""
    directory, other = cloud.path("tempest-users"), cloud.path("tempest")
    if not os.path.exists(directory):
        os.makedirs(os.path.join(directory, "locks"))
        with open(os.path.join(other, "tempest.conf"), encoding="utf-8") as file:
            cloud.write("tempest-users/tempest.conf", file.read().replace(other, directory))
        with open(os.path.join(other, "accounts.yaml"), encoding="utf-8") as file:
            cloud.write("tempest-users/accounts.yaml", json.dumps(
                [row for row in json.load(file) if "service" not in row["roles"]]))
    return tempest_worker.Worker(directory, "tempest.conf", PACKAGES)


def chosen(everything):
    """The tests, by class, and faults of the list of those that are left out."""
    path = os.path.join(os.path.dirname(HERE), "left_out")
    served = [pattern for pattern, reason in tempest_worker.left_out(path) if SERVED.search(reason)]
    tests, wrong = tempest_worker.stay(
        [test for test in everything
         if WANTED.match(test) or (VOLUMES.match(test)
                                   and any(re.search(pattern, test) for pattern in served))],
        os.path.join(HERE, "left_out"))
    return tests, wrong


def load_tests(loader, _tests, _pattern):
    """All, or those with names that have "tempest" in them."""
    patterns = loader.testNamePatterns or ["*tempest*"]
    if not any("tempest" in pattern for pattern in patterns):
        return unittest.TestSuite()
    worker, users = start_worker(Cloud.only), start_worker_without_services(Cloud.only)
    suite = Everything(worker, users)
    tests, List.wrong = chosen(worker.ready())
    users.ready()
    suite.addTest(loader.loadTestsFromTestCase(List))
    for name, group in itertools.groupby(
            sorted(tests), lambda test: test.partition("[")[0].rpartition(".")[0]):
        names = [test for test in group
                 if any(fnmatch.fnmatchcase(test, pattern) for pattern in patterns)]
        if names:
            suite.addTest(Cases(users if NO_SERVICES.search(name) else worker, name, names))
    return suite
