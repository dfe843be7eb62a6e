"""
A backend that does not answer, beside one that does: at the start, in the midst of work, at the end.
The filter `fault` stands for the storage that hangs.
"""

import http.client
import json
import select
import signal
import time
import unittest
import urllib.parse

import program
from block_storage import BlockStorage, until
from case import Workplace

WORKERS = 3
NEVER = "3600000"  # ms: longer than any test
START_LIMIT_S = 10  # that the service gives to backends at its start
FAILED_START_S = 5  # that it gives to them when the start failed
SLACK_S = 40  # of a busy machine; without a limit of its own a stop takes 60


class Hanging(Workplace):
    def setUp(self):
        super().setUp()
        self.begin = time.monotonic()

    def serve(self, plan, *options):
        """A service of the backends `stuck` and `sound`."""
        fault = ["--stuck.volume_driver=fault", "--stuck.fault_driver=file",
                 f"--stuck.fault_plan={plan}"] if plan else []
        service = program.serve(
            self.state, "--host=node", "--quota_volumes=-1", "--quota_gigabytes=-1",
            "--enabled_backends=stuck,sound", f"--manager_workers={WORKERS}",
            f"--stuck.file_volume_directory={self.directory}/stuck",
            f"--sound.file_volume_directory={self.directory}/sound",
            "--operation_lease=3", "--service_down_time=20", *fault, *options)
        self.addCleanup(service.kill)
        return service

    def start(self, plan=None, *options):
        service = self.serve(plan, *options)
        self.begin = time.monotonic()
        service.start(START_LIMIT_S + 60)
        self.api = BlockStorage(service.endpoint)
        self.addCleanup(self.api.close)
        return service

    @staticmethod
    def log_of(service):
        with open(service.log_path, encoding="utf-8") as log:
            return log.read()

    def seconds(self):
        return time.monotonic() - self.begin

    def add_types(self):
        for name in ("stuck", "sound"):
            self.api.ask("POST", "/types", {"volume_type": {
                "name": name, "extra_specs": {"volume_backend_name": name}}})

    def create(self, backend):
        volume_id = self.api.create(1, volume_type=backend)["id"]
        self.api.wait_status(volume_id, "available")
        return volume_id

    def states(self):
        rows = self.api.ask("GET", "/os-services")["services"]
        return {row["host"]: row["state"] for row in rows}

    def assert_sound_works(self):
        volume_id = self.create("sound")
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "available")
        self.assertEqual(self.api.show(volume_id)["size"], 2)

    def assert_consistent(self):
        found = program.check(self.state, "--host=node", "--enabled_backends=stuck,sound",
                              f"--stuck.file_volume_directory={self.directory}/stuck",
                              f"--sound.file_volume_directory={self.directory}/sound")
        self.assertEqual(found, [])

    def test_a_start_continues_without_an_unresponsive_backend_which_joins_later(self):
        service = self.start()
        self.add_types()
        waiting = self.create("stuck")
        self.assertEqual(service.stop(), 0)

        service = self.start(f"open:delay:1:{(START_LIMIT_S + 25) * 1000}")
        self.assertLess(self.seconds(), START_LIMIT_S + SLACK_S)
        self.assert_sound_works()
        self.api.extend(waiting, 2)
        until(lambda: self.states()["node@stuck"] == "down", 60, "the silence of the backend")
        self.assertEqual((self.states()["node@sound"], self.states()["node"]), ("up", "up"))
        self.assertEqual(self.api.show(waiting)["status"], "extending")
        until(lambda: self.states()["node@stuck"] == "up", 60, "the late backend")
        self.api.wait_status(waiting, "available")
        self.create("stuck")
        self.assertEqual(service.stop(), 0)
        self.assert_consistent()

    def test_operations_of_an_unresponsive_backend_are_resumed_at_the_next_start(self):
        service = self.start()
        self.add_types()
        held = [self.create("stuck") for _ in range(WORKERS + 5)]
        self.assertEqual(service.stop(), 0)

        service = self.start(f"extend_volume:delay:1:{NEVER}", "--graceful_shutdown_timeout=2")
        for volume_id in held:
            self.api.extend(volume_id, 2)
        time.sleep(4)  # beyond the lease
        self.assert_sound_works()
        self.begin = time.monotonic()
        self.assertEqual(service.stop(), 0)
        self.assertGreater(self.seconds(), 1.5)
        self.assertLess(self.seconds(), 2 + SLACK_S)

        service = self.start()
        for volume_id in held:
            self.api.wait_status(volume_id, "available")
            self.assertEqual(self.api.show(volume_id)["size"], 2)
        self.assertEqual(service.stop(), 0)
        self.assert_consistent()

    def test_a_stop_logs_pending_operations_and_a_second_signal_leaves_them(self):
        service = self.start()
        self.add_types()
        held = self.create("stuck")
        self.assertEqual(service.stop(), 0)

        service = self.start(f"extend_volume:delay:1:{NEVER}")
        self.api.extend(held, 2)
        until(lambda: self.api.show(held)["status"] == "extending", 60, "extending")
        time.sleep(1)
        for number in signal.SIGINT, signal.SIGTERM:  # as timeout(1): the process, then its group
            service.process.send_signal(number)
        until(lambda: "waiting for an operation kind=extend" in self.log_of(service), 60,
              "what is waited for")
        self.assertIn(f"volume_id={held}", self.log_of(service))
        self.assertNotIn("second signal: operations", self.log_of(service))
        self.assertTrue(service.running)
        self.begin = time.monotonic()
        self.assertEqual(service.stop(), 0)  # SIGTERM, the second one
        self.assertLess(self.seconds(), SLACK_S)
        self.assertIn("second signal: operations in progress are left to other managers", self.log_of(service))

        service = self.start()
        self.api.wait_status(held, "available")
        self.assertEqual(self.api.show(held)["size"], 2)
        self.assertEqual(service.stop(), 0)
        self.assert_consistent()

    def test_an_unresponsive_pool_query_delays_a_stop_no_longer_than_an_operation(self):
        service = self.start(f"get_pools:delay:1:{NEVER}", "--graceful_shutdown_timeout=2")
        self.assertLess(self.seconds(), START_LIMIT_S + SLACK_S)
        self.add_types()
        self.assert_sound_works()
        self.assertNotIn("node@stuck", self.states())
        self.begin = time.monotonic()
        self.assertEqual(service.stop(), 0)
        self.assertLess(self.seconds(), 2 + SLACK_S)

    def request_connection(self, service, token, volume_id):
        """A connection on which the request was sent; its response is not read."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(service.endpoint).netloc,
                                                timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", f"/v3/volumes/{volume_id}/action",
                           json.dumps({"os-initialize_connection": {"connector": {"host": "h"}}}),
                           {"Content-Type": "application/json", "X-Auth-Token": token})
        return connection

    def test_connection_requests_of_an_unresponsive_backend_leave_slots_to_others(self):
        service = self.start(f"connect:delay:1:{NEVER}", "--graceful_shutdown_timeout=2",
                             "--osapi_volume_connections=16")  # seats for 4, for 2 of one project
        self.add_types()
        self.api.token = "greedy:00000000000000000000000000000001"
        stuck, sound = self.create("stuck"), self.create("sound")
        requested = [self.request_connection(service, self.api.token, stuck) for _ in range(6)]
        answered = set()
        deadline = time.monotonic() + 60
        while len(answered) < 4 and time.monotonic() < deadline:
            left = [connection for connection in requested if connection not in answered]
            ready = select.select([connection.sock for connection in left], [], [], 1)[0]
            answered.update(connection for connection in left if connection.sock in ready)
        self.assertEqual(len(answered), 4)
        for connection in answered:
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.getheader("Retry-After")), (503, "5"))
            answer.read()
        with self.request_connection(service, self.api.token, sound).getresponse() as answer:
            self.assertEqual(answer.status, 503)
        self.assertEqual(self.api.show(stuck)["status"], "available")

        self.api.token = "other:00000000000000000000000000000002"
        mine = self.create("sound")
        with self.request_connection(service, self.api.token, mine).getresponse() as answer:
            self.assertEqual(answer.status, 200)
        self.assertEqual(service.stop(), 0)

    def test_a_failed_start_ends_beside_an_unresponsive_backend(self):
        service = self.serve(f"open:delay:1:{NEVER}", "--sound.file_volume_directory=nowhere")
        with self.assertRaises(program.NotStarted) as refused:
            service.start(START_LIMIT_S + FAILED_START_S + 60)
        self.assertIn("nowhere", str(refused.exception))
        self.assertLess(self.seconds(), START_LIMIT_S + FAILED_START_S + SLACK_S)


if __name__ == "__main__":
    unittest.main()
