"""
etc/dev-cluster: two APIs, two managers and an agent with PostgreSQL, RabbitMQ and Keystone;
whichever of them dies, no request fails.
"""

import http.client
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import program
from block_storage import BlockStorage, until
from case import Workplace, in_threads

SCRIPT = os.path.join(program.REPOSITORY, "etc/dev-cluster")
USERS = 6
VOLUMES_EACH = 25
SETTLED_S = 180


class FailedStart(Workplace):
    """A machine without the packages is stood for by a PATH without their programs."""

    def start(self, *words, path):
        environment = {**os.environ, "PATH": path, "SCORIA": program.BINARY,
                       "SCORIA_CLUSTER": self.state}
        os.chmod(self.directory, 0o711)
        return subprocess.run([SCRIPT, "start", *words], env=environment, capture_output=True,
                              text=True, timeout=600, check=False)

    def programs(self, *without):
        """A directory that has all programs of PATH but these."""
        place = os.path.join(self.directory, "bin")
        os.mkdir(place)
        for directory in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"):
            for name in os.listdir(directory):
                if name not in without and not os.path.lexists(os.path.join(place, name)):
                    os.symlink(os.path.join(directory, name), os.path.join(place, name))
        return place

    def left(self):
        """Processes that know the directory."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if self.state.encode() in file.read() and int(pid) != os.getpid():
                        found.append(pid)
            except OSError:
                pass
        return found

    def test_missing_packages_are_named_at_once(self):
        result = self.start(path=self.programs("keystone-manage", "openstack", "epmd"))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("missing: erlang-base keystone python3-openstackclient (", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertFalse(os.path.exists(self.state))

    def test_a_failed_start_stops_its_processes(self):
        path = self.programs("keystone-manage")
        script = os.path.join(path, "keystone-manage")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho no such luck >&2\nexit 1\n")
        os.chmod(script, 0o755)
        result = self.start("--with", "postgresql,keystone", path=path)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("no such luck", result.stderr)
        self.assertFalse(os.path.exists(self.state))
        self.assertEqual(self.left(), [])


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="scoria-cluster-")
        os.chmod(cls.place, 0o711)  # the database's user must get through
        cls.addClassCleanup(os.rmdir, cls.place)
        cls.state = os.path.join(cls.place, "state")
        cls.environment = {**os.environ, "SCORIA_CLUSTER": cls.state, "SCORIA": program.BINARY}
        cls.addClassCleanup(cls.cluster, "stop")
        cls.cluster("start")
        with open(os.path.join(cls.state, "openrc"), encoding="ascii") as file:
            words = file.read().replace("export", "").split()
        cls.openrc = dict(word.split("=", 1) for word in words)
        cls.token, cls.project = cls.request_token()

    @classmethod
    def cluster(cls, *words):
        result = subprocess.run([SCRIPT, *words], env=cls.environment, capture_output=True,
                                text=True, timeout=900, check=False)
        assert result.returncode == 0, f"{words}: {result.stdout} {result.stderr}"
        return result.stdout

    @classmethod
    def request_token(cls):
        url = urllib.parse.urlsplit(cls.openrc["OS_AUTH_URL"])
        user = {"name": "admin", "domain": {"id": "default"}, "password": "secret"}
        body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}},
                         "scope": {"project": {"name": "admin", "domain": {"id": "default"}}}}}
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        connection.request("POST", "/v3/auth/tokens", json.dumps(body),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        project = json.load(answer)["token"]["project"]["id"]
        connection.close()
        return answer.getheader("X-Subject-Token"), project

    def processes(self):
        """{name: (pid, endpoint or "")} of those that run."""
        found = {}
        for line in self.cluster("status").splitlines():
            words = line.split()
            if len(words) > 1 and words[1].isdigit():
                found[words[0]] = (int(words[1]), words[2] if len(words) > 2 else "")
        return found

    def kill(self, name):
        os.kill(self.processes()[name][0], signal.SIGKILL)

    def openstack(self, *words):
        result = subprocess.run(["/usr/bin/openstack", *words], capture_output=True, text=True,
                                env={**os.environ, **self.openrc}, timeout=300, check=False)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stderr}")
        return result.stdout.strip()

    def test_a_user_with_a_password_creates_and_extends_volumes(self):
        volume_id = self.openstack("volume", "create", "--size", "1", "mine", "-f", "value",
                                   "-c", "id").splitlines()[-1]
        status = ("volume", "show", volume_id, "-f", "value", "-c", "status", "-c", "size")
        until(lambda: self.openstack(*status).split() == ["1", "available"], 180, "the volume")
        self.openstack("volume", "set", "--size", "2", volume_id)
        until(lambda: self.openstack(*status).split() == ["2", "available"], 180, "its growth")
        self.openstack("volume", "delete", volume_id)

    def test_a_killed_keystone_starts_again_on_its_port(self):
        for kills_first in (False, True):
            if kills_first:
                self.kill("keystone")
            self.cluster("again", "keystone")
            self.assertIn("keystone", self.processes())
            self.assertTrue(self.request_token()[0])

    def test_killed_processes_fail_no_request(self):
        names = ("api-1", "api-2", "manager-1", "manager-2", "compute", "rabbitmq")
        before = self.processes()
        self.assertLessEqual(set(names), set(before))
        endpoints = [before["api-1"][1], before["api-2"][1]]
        made, begun = [], threading.Event()

        def ask(clients, method, path, body=None):
            """The first answer of an API that is there; a user goes to the other one."""
            for _ in range(1000):
                for api in clients:
                    try:
                        answer = api.call(method, path, body,
                                          headers={"X-Auth-Token": self.token})
                    except (OSError, http.client.HTTPException):
                        continue
                    if answer.status != 503:
                        return answer
                time.sleep(0.1)
            raise AssertionError(f"{method} {path}: no API answers")

        def use(number):
            clients = [BlockStorage(url) for url in (endpoints if number % 2 else endpoints[::-1])]
            for _ in range(VOLUMES_EACH):
                answer = ask(clients, "POST", "/volumes", {"volume": {"size": 1}})
                self.assertEqual(answer.status, 202, answer)
                path = f"/volumes/{answer.body['volume']['id']}"
                until(lambda: ask(clients, "GET", path).body["volume"]["status"] == "available",
                      SETTLED_S, f"{path} made")
                answer = ask(clients, "POST", path + "/action", {"os-extend": {"new_size": 2}})
                # Requested again after a connection that broke: it grows already, or has grown.
                self.assertIn(answer.status, (202, 400), answer)
                made.append(path)
                begun.set()
                time.sleep(0.2)
            for api in clients:
                api.close()

        def strike():
            begun.wait(SETTLED_S)
            for name in ("manager-1", "api-1", "rabbitmq", "manager-2", "api-2"):
                self.kill(name)
                time.sleep(2)
                self.cluster("again", name)
                time.sleep(2)

        last = [BlockStorage(url) for url in endpoints]
        quota = {"quota_set": {"volumes": -1, "gigabytes": -1}}
        self.assertEqual(ask(last, "PUT", f"/os-quota-sets/{self.project}", quota).status, 200)
        in_threads([strike] + [lambda number=number: use(number) for number in range(USERS)])
        self.assertEqual(len(made), USERS * VOLUMES_EACH)

        def settled():
            volumes = ask(last, "GET", "/volumes/detail?limit=1000").body["volumes"]
            return all(volume["status"] == "available" for volume in volumes) and volumes
        volumes = until(settled, SETTLED_S, "everything settled", pause=0.5)
        sizes = {f"/volumes/{volume['id']}": volume["size"] for volume in volumes}
        self.assertEqual({sizes[path] for path in made}, {2})
        self.assertEqual(set(self.processes()), set(before))
        found = program.check(self.state, f"--config-file={self.state}/scoria.conf")
        self.assertEqual(found, [])
        for api in last:
            api.close()


if __name__ == "__main__":
    unittest.main()
