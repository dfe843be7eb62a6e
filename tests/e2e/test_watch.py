"""
Declared documents, watched: by many at once, by clients that never read, over deaths of the
service.
"""

import contextlib
import http.client
import json
import os
import subprocess
import threading
import time
import unittest
import urllib.parse

import postgresql
import program
from block_storage import BlockStorage, until
from case import ServiceCase, Workplace

MANY = 300
DEAF = 60
LARGE = {f"a{i:02}." + "d" * 240 + "/" + "n" * 60: "x" * 255 for i in range(64)}  # 36 KB


class Watch:
    """One watch: its lines are read as they come."""

    def __init__(self, endpoint, query="watch=true", collection="volume_policies"):
        url = urllib.parse.urlsplit(endpoint)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        self.connection.request("GET", f"{url.path}/{collection}?{query}")
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def event(self):
        """(type, name, version) of the next line; None: the end."""
        line = self.answer.readline()
        if not line:
            return None
        event = json.loads(line)
        metadata = event["object"]["metadata"]
        return event["type"], metadata.get("name"), int(metadata["resourceVersion"])

    def events(self, count):
        """The next so many, but for later bookmarks."""
        found = []
        while len(found) < count:
            event = self.event()
            if event is None:
                break
            if event[0] != "BOOKMARK":
                found.append(event)
        return found

    def close(self):
        self.answer.close()
        self.connection.close()


def policy(name, **metadata):
    return {"volume_policy": {"metadata": {"name": name, **metadata}, "spec": {}}}


def version_of(api):
    return int(api.ask("GET", "/volume_policies")["metadata"]["resourceVersion"])


class Watching(ServiceCase):
    options = ("--compute_agent.enabled=false", "--client_socket_timeout=2", "--log_level=debug",
               f"--osapi_volume_connections={8 * MANY}")

    def watch(self, query="watch=true"):
        watch = Watch(self.service.endpoint, query)
        self.addCleanup(watch.close)
        return watch

    def after(self, version):
        return self.watch(f"watch=true&resourceVersion={version}")

    def change(self, *request):
        """By a new connection: the service closes one that was idle for two seconds."""
        self.api.close()
        self.api.ask(*request)

    def make(self, name, **metadata):
        self.change("POST", "/volume_policies", policy(name, **metadata))

    def drop(self, name):
        self.change("DELETE", f"/volume_policies/{name}")

    def test_each_of_many_watches_gets_every_change(self):
        version = version_of(self.api)
        watches = [self.after(version) for _ in range(MANY)]
        for i in range(5):
            self.make(f"m{i}")
        for i in range(5):
            self.drop(f"m{i}")
        expected = ([("ADDED", f"m{i}", version + i + 1) for i in range(5)] +
                    [("DELETED", f"m{i}", version + i + 6) for i in range(5)])
        for watch in watches:
            received = watch.events(5)
            # a slow watch does not get documents that had gone by then
            while received[-1] != expected[-1]:
                received += watch.events(1)
            self.assertEqual([event for event in received if event[0] == "DELETED"], expected[5:])
            self.assertEqual(received, [event for event in expected if event in received])
        for watch in watches:
            watch.close()
        until(lambda: self.service.socket_count() < 20, 60, "closed watches are let go of")

    def test_a_client_that_never_reads_is_bounded_and_closed(self):
        version = version_of(self.api)
        before = self.service.memory_kib()
        deaf = [self.after(version) for _ in range(DEAF)]
        reader = self.after(version)
        for i in range(30):
            self.make(f"d{i}", annotations=LARGE)
            self.assertEqual(reader.events(1)[0][:2], ("ADDED", f"d{i}"))
        # each may have one document in the service and some in the kernel
        self.assertLess(self.service.memory_kib() - before, DEAF * 512)
        until(lambda: self.service.socket_count() < DEAF // 2, 60, "a client that never reads is closed")
        self.api = self.connect()  # the other one may have been idle for too long meanwhile
        for i in range(30):
            self.drop(f"d{i}")
        self.assertEqual(len(reader.events(30)), 30)
        self.assertEqual(len(deaf), DEAF)

    def test_a_quiet_watch_outlives_the_idle_timeout(self):
        watch = self.after(version_of(self.api))
        time.sleep(3)
        self.api = self.connect()
        self.make("late")
        self.assertEqual(watch.events(1)[0][:2], ("ADDED", "late"))
        self.drop("late")

    def test_changes_before_a_restart_are_sent_after_it(self):
        watch = self.after(version_of(self.api))
        self.make("stays")
        self.make("goes")
        version = max(event[2] for event in watch.events(2))
        self.service.kill()
        self.service.start()
        with contextlib.suppress(http.client.HTTPException, OSError):
            self.assertEqual(watch.events(1), [])
        self.api = self.connect()
        self.drop("goes")
        self.make("comes")
        self.assertEqual([event[:2] for event in self.after(version).events(2)],
                         [("DELETED", "goes"), ("ADDED", "comes")])
        begun = self.watch()
        self.assertEqual([begun.event()[:2] for _ in range(3)],
                         [("ADDED", "stays"), ("ADDED", "comes"), ("BOOKMARK", None)])
        for name in ("stays", "comes"):
            self.drop(name)

    def test_an_unknown_version_is_410(self):
        version = version_of(self.api)
        self.assertEqual(self.after(version + 1).status, 410)
        self.assertEqual(self.watch("watch=true&resourceVersion=x").status, 400)

    def test_a_watch_ends_cleanly_with_its_timeout_and_the_service(self):
        short = self.watch("watch=true&timeoutSeconds=1")
        while short.event():
            pass
        watch = self.watch()
        begun = time.monotonic()
        self.assertEqual(self.service.stop(), 0)
        self.assertLess(time.monotonic() - begun, 30)  # no client waits for it to end by itself
        while watch.event():
            pass
        self.service.start()

    def manage(self, *words):
        return subprocess.Popen([program.BINARY, "manage", *words,
                                 f"--api={self.service.endpoint}"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_the_command_line_waits(self):
        self.make("awaited")
        for wanted in ("phase=Active", "delete"):
            with self.manage("wait", "cvp", "awaited", f"--for={wanted}") as waits:
                if wanted == "delete":
                    time.sleep(0.3)
                    self.assertIsNone(waits.poll())
                    self.drop("awaited")
                output, _ = waits.communicate(timeout=60)
            self.assertEqual(waits.returncode, 0)
            self.assertRegex(output, r"^CStorVolumePolicy/awaited is (Active|gone)\n$")
        self.api.ask("POST", "/volume_configs", {"volume_config": {
            "metadata": {"name": "never"},
            "spec": {"capacity": {"storage": "1Gi"}, "provision": {"replicaCount": 1}}}})
        until(lambda: self.api.ask("GET", "/volume_configs/never/events")["events"], 60, "an event")
        with self.manage("wait", "cvc", "never", "--for=phase=Bound", "--timeout=1s") as waits:
            _, output = waits.communicate(timeout=60)
        self.assertEqual(waits.returncode, 1)
        self.assertIn("never is not Bound after 1 s: its phase is Pending", output)
        self.assertIn("last event Provisioning", output)
        self.api.ask("DELETE", "/volume_configs/never")

    def shown_until(self, shows, text):
        """Its lines up to the one with that text."""
        lines = []
        while not lines or text not in lines[-1]:
            lines.append(shows.stdout.readline())
            self.assertTrue(lines[-1], lines)
        return "".join(lines)

    def test_the_command_line_waits_beyond_a_kill_of_the_service(self):
        self.make("survives")
        port = urllib.parse.urlsplit(self.service.endpoint).port
        watched = self.service.log().count(" watch ")
        with self.manage("wait", "cvp", "survives", "--for=delete") as waits, \
                self.manage("get", "cvp", "--watch", "--timeout=120s") as shows:
            until(lambda: self.service.log().count(" watch ") == watched + 2, 60, "both watches")
            self.make("told")
            shown = self.shown_until(shows, "told")  # and the waiting command got the beginning
            self.service.kill()
            self.service.arguments[self.service.arguments.index("--listen") + 1] = \
                f"127.0.0.1:{port}"
            self.service.start()
            self.api = self.connect()
            self.drop("survives")
            output = "".join(waits.communicate(timeout=60))
            shown += self.shown_until(shows, "DELETED")
            shows.terminate()
        self.drop("told")
        self.assertEqual(output, "CStorVolumePolicy/survives is gone\n")
        self.assertRegex(shown, r"(?m)^ADDED +survives +Active ")
        self.assertRegex(shown, r"(?m)^DELETED +survives ")


class TwoProcesses(Workplace):
    """Two API processes on one PostgreSQL database: each sends the other's changes."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = postgresql.Cluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        super().setUp()
        url = self.cluster.create("of_" + self._testMethodName[-20:])
        self.services = []
        for i in range(2):
            state = os.path.join(self.directory, f"state{i}", "s")
            os.makedirs(os.path.dirname(state))
            service = program.Program("api", os.path.join(self.directory, f"{i}.log"),
                                      "--state-dir", state, "--listen", "127.0.0.1:0",
                                      f"--database.connection={url}")
            self.addCleanup(service.kill)
            self.services.append(service.start())

    def test_each_process_sends_changes_of_the_other_at_once(self):
        first, second = (BlockStorage(service.endpoint) for service in self.services)
        watch = Watch(self.services[0].endpoint, "watch=true&resourceVersion=0")
        delays = []
        for i in range(20):
            begun = time.monotonic()
            second.ask("POST", "/volume_policies", policy(f"p{i}"))
            self.assertEqual(watch.events(1), [("ADDED", f"p{i}", i + 1)])
            delays.append(time.monotonic() - begun)
        print(f"sent by the other process after {sorted(delays)[10] * 1000:.1f} ms")
        watch.close()
        first.close()
        second.close()

    def test_no_change_of_many_writers_is_lost(self):
        watches = [Watch(service.endpoint, "watch=true&resourceVersion=0")
                   for service in self.services]
        names = [f"w{i}-{j}" for i in range(8) for j in range(12)]

        def write(number):
            api = BlockStorage(self.services[number % 2].endpoint)
            for j in range(12):
                api.ask("POST", "/volume_policies", policy(f"w{number}-{j}"))
            api.close()

        writers = [threading.Thread(target=write, args=(i,)) for i in range(8)]
        for writer in writers:
            writer.start()
        for watch in watches:
            received = watch.events(len(names))
            self.assertEqual([event[2] for event in received], list(range(1, len(names) + 1)))
            self.assertEqual(sorted(event[1] for event in received), sorted(names))
            watch.close()
        for writer in writers:
            writer.join()


if __name__ == "__main__":
    unittest.main()
