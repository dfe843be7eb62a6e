"""
API and manager as two programs with a real RabbitMQ between them, and its faults.
"""

import contextlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

import amqp

import program
from block_storage import BlockStorage, TooLate, until
from ports import free_port
from rabbitmq import Broker

NODE = "e2e-node"
# The engine's own tests, built in one or more ways.
ENGINES = os.environ.get("ENGINES", os.path.join(os.path.dirname(program.BINARY),
                                                 "tests/rabbitmq/engine")).split()
TOPIC = f"cinder-volume.{NODE}@file"
LONG = f"cinder-volume-long.{NODE}@file"
QUEUES = {TOPIC, f"{TOPIC}.{NODE}", f"{TOPIC}_fanout_ID", "cinder-volume",
          LONG, f"{LONG}.{NODE}", f"{LONG}_fanout_ID",
          f"cinder-volume.{NODE}", "cinder-volume_fanout_ID"}
PEER = os.path.join(program.REPOSITORY, "tests/lib/oslo_peer.py")
PAYLOAD_KEYS = {
    "tenant_id", "user_id", "host", "availability_zone", "volume_id", "volume_type",
    "display_name", "launched_at", "created_at", "status", "snapshot_id", "size",
    "replication_status", "replication_extended_status", "replication_driver_data", "metadata",
    "volume_attachment"}
SETTLE_S = 120
SOON_S = 120

broker = Broker()


def setUpModule():
    unittest.addModuleCleanup(broker.stop)
    broker.start()


def peer(url, *words, timeout=180):
    """The output lines of oslo.messaging in a program of its own."""
    result = subprocess.run(["/usr/bin/python3", "-B", PEER, url, *words], capture_output=True,
                            text=True, timeout=timeout, check=False)
    if result.returncode != 0:
        raise AssertionError(result.stderr[-3000:])
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


class Load(threading.Thread):
    """Creates and extends volumes until it is stopped; every request must be accepted."""

    def __init__(self, endpoint):
        super().__init__()
        self.api = BlockStorage(endpoint)
        self.sizes = {}  # volume id: the size it must end with
        self.failure = None
        self.ending = threading.Event()

    def run(self):
        try:
            while not self.ending.is_set():
                volume_id = self.api.create(1)["id"]
                self.sizes[volume_id] = 1
                older = random.choice(list(self.sizes))
                answer = self.api.call("POST", f"/volumes/{older}/action",
                                       {"os-extend": {"new_size": self.sizes[older] + 1}})
                if answer.status == 202:
                    self.sizes[older] += 1
                elif answer.status != 400:  # still in work
                    raise AssertionError(answer)
                time.sleep(0.01)
        except BaseException as failure:  # pylint: disable=broad-except
            self.failure = failure

    def end(self):
        self.ending.set()
        self.join()
        self.api.close()
        if self.failure:
            raise self.failure


class BrokerCase(unittest.TestCase):
    options = ()
    with_vhost = True

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="scoria-e2e-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.state = os.path.join(self.directory, "state")
        self.vhost = "v" + uuid.uuid4().hex[:8]
        if self.with_vhost:
            self.add_vhost()
        self.url = broker.url(self.vhost)
        self.programs = {}

    def add_vhost(self):
        broker.control("add_vhost", self.vhost)
        broker.control("set_permissions", "-p", self.vhost, "guest", ".*", ".*", ".*")
        self.addCleanup(broker.control, "delete_vhost", self.vhost)

    def start(self, name, *options, url=None):
        words = ["--state-dir", self.state, f"--host={NODE}", "--quota_volumes=-1",
                 "--quota_gigabytes=-1", "--max_over_subscription_ratio=100000",
                 f"--transport_url={url or self.url}", *self.options, *options]
        if name == "api":
            words += ["--listen", "127.0.0.1:0"]
        one = program.Program(name, os.path.join(self.directory, name + ".log"), *words)
        self.addCleanup(one.kill)
        self.programs[name] = one.start()
        if name == "api":
            self.api = BlockStorage(one.endpoint)
            self.addCleanup(self.api.close)
        return one

    def start_both(self, *options, url=None):
        self.start("manager", *options, url=url)
        self.start("api", *options, url=url)

    def log(self, name):
        return self.programs[name].log()

    def wait_log(self, name, text):
        until(lambda: text in self.log(name), SOON_S, f"{text!r} in the log of {name}")

    def settled(self, sizes):
        """Every volume is available with its size, and there is no other."""
        def rest():
            rows = {row["id"]: row for row in self.api.list_all()}
            if any(row["status"] in ("creating", "extending") for row in rows.values()):
                return None
            return rows
        begin = time.monotonic()
        rows = until(rest, SETTLE_S, "an end of all work", pause=0.2)
        self.assertEqual({row["id"]: ("available", row["size"]) for row in rows.values()},
                         {volume: ("available", size) for volume, size in sizes.items()})
        return time.monotonic() - begin

    def end(self):
        """Both end in order, nothing is left in the broker, and everything agrees."""
        for name in ("api", "manager"):
            if name in self.programs:
                self.assertEqual(self.programs[name].stop(), 0, name)
        self.assertEqual(program.check(self.state, f"--host={NODE}"), [])

    def assert_soon(self, ask, expected):
        """The broker's figures are late, and a message is acknowledged behind its end."""
        answers = []

        def is_so():
            answers.append(ask())
            return answers[-1] == expected
        with contextlib.suppress(TooLate):
            until(is_so, SOON_S, "", pause=0.5)
        self.assertEqual(answers[-1], expected)

    def assert_works(self):
        volume = self.api.create_available(1)["id"]
        self.api.extend(volume, 2)
        self.assertEqual(self.api.wait_status(volume, "available")["size"], 2)
        self.api.delete_and_wait(volume)

    def waiting(self, *others):
        return {name: count for name, count in broker.queues(self.vhost).items()
                if count and name not in others}

    def assert_empty(self, *others):
        self.assert_soon(lambda: self.waiting(*others), {})

    def wait_taken(self):
        """Until the manager takes messages from all of its queues. A fanout is lost before, and so
        is a message to a queue that is bound later."""
        self.assert_soon(lambda: {re.sub("[0-9a-f]{32}", "ID", name)
                                  for name in broker.taken(self.vhost)}, QUEUES)

    def channel(self):
        connection = amqp.Connection(f"127.0.0.1:{broker.port}", "guest", "guest",
                                     virtual_host=self.vhost)
        connection.connect()
        self.addCleanup(connection.close)
        return connection.channel()

    def copies(self, channel, count):
        """The messages of the queue of this name, at least so many."""
        found = []

        def come():
            while (message := channel.basic_get("copies", no_ack=True)) is not None:
                found.append(message)
            return len(found) >= count
        until(come, SOON_S, f"{count} copies")
        return found


class Engine(BrokerCase):
    def test_the_engine_keeps_its_promises(self):
        for engine in ENGINES:
            with self.subTest(engine):
                result = subprocess.run([engine], env={**os.environ, "SCORIA_BROKER": self.url},
                                        capture_output=True, text=True, timeout=1800, check=False)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr[-5000:])


class Life(BrokerCase):
    def test_volumes_are_served_through_the_broker(self):
        self.start_both()
        self.assert_works()
        self.wait_taken()
        self.assert_empty()
        self.assertEqual({re.sub("[0-9a-f]{32}", "ID", name)
                          for name in broker.queues(self.vhost)}, QUEUES)
        self.end()

    def test_messages_wait_for_the_first_manager(self):
        self.start("api")
        sizes = {self.api.create(1)["id"]: 1 for _ in range(20)}
        self.start("manager")
        self.settled(sizes)
        self.end()

    def test_a_manager_stopped_during_work_leaves_the_rest_to_the_next(self):
        self.start_both()
        sizes = {}
        for way in ("stop", "kill", "stop"):
            load = Load(self.programs["api"].endpoint)
            load.start()
            time.sleep(0.5)
            getattr(self.programs["manager"], way)()
            load.end()
            self.start("manager")
            sizes.update(load.sizes)
            self.settled(sizes)
        self.end()

    def test_several_brokers_are_tried_in_turn(self):
        dead = free_port()
        url = f"rabbit://guest:guest@127.0.0.1:{dead},guest:guest@127.0.0.1:{broker.port}/" \
            + self.vhost
        self.start_both(url=url)
        self.assert_works()
        self.end()


class Hanging(BrokerCase):
    """One of two backends does not answer."""

    WORKERS = 3

    def setUp(self):
        super().setUp()
        self.options = ["--enabled_backends=stuck,sound", f"--manager_workers={self.WORKERS}",
                        "--stuck.volume_driver=fault", "--stuck.fault_driver=file",
                        f"--stuck.file_volume_directory={self.directory}/stuck",
                        f"--sound.file_volume_directory={self.directory}/sound"]

    def create(self, backend):
        volume_id = self.api.create(1, volume_type=backend)["id"]
        self.api.wait_status(volume_id, "available")
        return volume_id

    def grow(self, *volume_ids):
        for volume_id in volume_ids:
            self.api.extend(volume_id, 2)

    def grown(self, *volume_ids):
        for volume_id in volume_ids:
            self.api.wait_status(volume_id, "available")
            self.assertEqual(self.api.show(volume_id)["size"], 2)

    def test_an_unresponsive_manager_delays_no_other_and_resumes_at_the_next_start(self):
        manager = self.start("manager", "--stuck.fault_plan=extend_volume:delay:1:3600000",
                             "--graceful_shutdown_timeout=2")
        self.start("api")
        for name in ("stuck", "sound"):
            self.api.ask("POST", "/types", {"volume_type": {
                "name": name, "extra_specs": {"volume_backend_name": name}}})
        held = [self.create("stuck") for _ in range(3 * self.WORKERS)]
        self.grow(*held)
        for _ in range(2 * self.WORKERS):
            other = self.create("sound")
            self.grow(other)
            self.grown(other)
        begin = time.monotonic()
        self.assertEqual(manager.stop(), 0)
        self.assertLess(time.monotonic() - begin, 30)  # half of its default limit
        self.start("manager")
        self.grown(*held)

    def test_a_job_may_take_longer_than_the_broker_waits_for_its_acknowledgement(self):
        """RabbitMQ closes the channel then, and gives the message to the next consumer."""
        for name, value in (("consumer_timeout", 4000), ("channel_tick_interval", 500)):
            before = broker.control("eval", f"application:get_env(rabbit, {name}, undefined).")
            broker.control("eval", f"application:set_env(rabbit, {name}, {value}).")
            self.addCleanup(broker.control, "eval",
                            f"application:set_env(rabbit, {name}, {before.strip()}).")
        self.start("manager", "--stuck.fault_plan=extend_volume:delay:1:15000")
        self.start("api")
        for name in ("stuck", "sound"):
            self.api.ask("POST", "/types", {"volume_type": {
                "name": name, "extra_specs": {"volume_backend_name": name}}})
        slow = [self.create("stuck") for _ in range(self.WORKERS)]
        self.grow(*slow)
        self.wait_log("manager", "timed out. Timeout value used: 4000 ms")
        for _ in range(3):
            other = self.create("sound")
            self.grow(other)
            self.grown(other)
        self.grown(*slow)
        self.assert_empty()
        self.end()
        done = re.findall(r"extend done.*?volume_id=(\S+)", self.log("manager"))
        self.assertEqual([done.count(volume_id) for volume_id in slow], [1] * len(slow))


class Slow(BrokerCase):
    """One worker, slow work of one project in front, and a small part of it in the manager's hands."""

    options = ("--manager_workers=1", "--oslo_messaging_rabbit.rabbit_qos_prefetch_count=2",
               "--enabled_backends=file", "--file.volume_driver=fault", "--file.fault_driver=file",
               "--file.fault_plan=extend_volume:delay:1:3000")

    def test_a_project_waits_for_no_other_projects_queue(self):
        self.start_both(f"--file.file_volume_directory={self.directory}/volumes")
        few = BlockStorage(self.programs["api"].endpoint, token="few:few")
        self.addCleanup(few.close)
        many = [self.api.create(1)["id"] for _ in range(40)]
        one = few.create(1)["id"]
        few.wait_status(one, "available")
        for volume_id in many:
            self.api.wait_status(volume_id, "available")
        for volume_id in many:
            self.api.extend(volume_id, 2)
        few.extend(one, 2)
        few.wait_status(one, "available", 180)
        self.assertEqual(few.show(one)["size"], 2)
        self.assertGreater([row["status"] for row in self.api.list_all()].count("extending"), 10)


class Outage(BrokerCase):
    options = ("--oslo_messaging_rabbit.heartbeat_timeout_threshold=4",)

    def under_load(self, trouble):
        self.start_both()
        self.wait_taken()
        self.load = Load(self.programs["api"].endpoint)
        self.load.start()
        try:
            self.goes_on()
            trouble()
            self.goes_on()
        finally:
            self.load.end()
        load = self.load
        took = self.settled(load.sizes)
        print(f"({len(load.sizes)} volumes, settled after {took:.1f} s)", end=" ", flush=True)
        self.assert_works()
        self.assert_empty()
        self.end()

    def goes_on(self):
        """Requests are accepted, whatever the broker does."""
        count = len(self.load.sizes) + 20
        until(lambda: self.load.failure or len(self.load.sizes) >= count, SOON_S,
              f"{count} volumes")

    def test_a_killed_broker_loses_no_message(self):
        def trouble():
            broker.kill()
            self.goes_on()
            time.sleep(2)
            broker.start()
        self.under_load(trouble)

    def test_a_repeatedly_killed_broker_loses_no_message(self):
        def trouble():
            for _ in range(3):
                broker.kill()
                broker.start()
                time.sleep(random.random() * 2)
        self.under_load(trouble)

    def test_cut_connections_lose_no_message(self):
        def trouble():
            for _ in range(5):
                broker.control("close_all_connections", "test")
                time.sleep(0.3)
        self.under_load(trouble)

    def test_a_suspended_broker_loses_no_message(self):
        def trouble():
            broker.pause()
            try:
                self.goes_on()
                self.wait_log("manager", "heartbeat")
                self.goes_on()
            finally:
                broker.resume()
        self.under_load(trouble)

    def test_a_broker_short_of_memory_loses_no_message(self):
        def trouble():
            broker.control("set_vm_memory_high_watermark", "absolute", "1")
            try:
                self.goes_on()
                time.sleep(6)
                self.goes_on()
            finally:
                broker.control("set_vm_memory_high_watermark", "0.4")
        self.under_load(trouble)

    def test_a_stop_does_not_wait_for_a_missing_broker(self):
        self.start_both()
        self.assert_works()
        broker.pause()
        try:
            sizes = {self.api.create(1)["id"]: 1 for _ in range(5)}
            begin = time.monotonic()
            self.assertEqual(self.programs["api"].stop(), 0)
            self.assertEqual(self.programs["manager"].stop(), 0)
            self.assertLess(time.monotonic() - begin, 60)
        finally:
            broker.resume()
        self.start_both()
        self.settled(sizes)
        self.end()


class Refusal(BrokerCase):
    """The broker is there but does not want us, or not like this."""

    with_vhost = False

    def refused(self, text, repair, url=None, askers=2):
        self.start_both(url=url)
        sizes = {self.api.create(1)["id"]: 1 for _ in range(5)}
        self.wait_log("manager", text)
        before = self.log("manager").count(text)
        time.sleep(4)
        self.assertLessEqual(self.log("manager").count(text), before + 3 * askers)
        self.assertNotIn("wrong-password", self.log("manager") + self.log("api"))
        repair()
        self.settled(sizes)
        self.end()

    def test_a_refused_login_is_reported(self):
        self.add_vhost()
        broker.control("add_user", "other", "right")
        self.addCleanup(broker.control, "delete_user", "other")
        broker.control("set_permissions", "-p", self.vhost, "other", ".*", ".*", ".*")
        self.refused("403 ACCESS_REFUSED",
                     lambda: broker.control("change_password", "other", "wrong-password"),
                     url=broker.url(self.vhost, "other", "wrong-password"))
        self.assertIn(f"broker 127.0.0.1:{broker.port}, virtual host {self.vhost}",
                      self.log("manager"))

    def test_a_missing_virtual_host_is_reported(self):
        self.refused("530 NOT_ALLOWED", self.add_vhost)

    def test_a_queue_with_other_arguments_is_reported(self):
        self.add_vhost()
        channel = self.channel()
        channel.queue_declare(TOPIC, durable=True, auto_delete=False)
        self.refused("406 PRECONDITION_FAILED", lambda: channel.queue_delete(TOPIC))
        self.assertIn(f"queue={TOPIC}", self.log("manager"))

    def test_an_exchange_of_another_type_is_reported(self):
        self.add_vhost()
        channel = self.channel()
        channel.exchange_declare("openstack", "topic", durable=False, auto_delete=False)

        def repair():
            self.wait_log("api", "exchange openstack")
            channel.exchange_delete("openstack")
        self.refused("406 PRECONDITION_FAILED", repair, askers=5)  # four queues, and the sender


def envelope(inner):
    return json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(inner)})


class Strange(BrokerCase):
    MALFORMED = [
        (b"", "application/json"), (b"\xff\xfe{", "application/json"), (b"[]", "application/json"),
        (b"{}", "application/json"), (b"null", "application/json"), (b"{}", "text/plain"),
        (b"{}", None), (b"[" * 100000, "application/json"), (b"x" * 3000000, "application/json"),
        (b'{"oslo.version": "9.0", "oslo.message": "{}"}', "application/json"),
        (b'{"oslo.version": "2.0", "oslo.message": 5}', "application/json"),
        (b'{"oslo.version": "2.0", "oslo.message": "["}', "application/json"),
    ]
    WRONG = [
        {"method": 5}, {"method": ""}, {"method": "x", "args": []}, {"method": "x", "version": 3},
        {"method": "x", "version": "a.b"}, {"method": "nothing_we_know", "args": {}},
        {"method": "__init__", "args": {}}, {"method": "x" * 300},
        {"method": "extend_volume_completion", "version": "4.0", "args": {}},
        {"method": "extend_volume_completion", "version": "3.99", "args": {}},
        {"method": "extend_volume_completion", "version": "3.19", "args": {}},
        {"method": "extend_volume_completion", "version": "3.19", "args": {
            "volume": {"versioned_object.name": "Volume", "versioned_object.data": {"id": "x"}},
            "new_size": 2, "reservations": [], "error": False}},
        {"method": "extend_volume", "namespace": "scoria", "version": "1.0",
         "args": {"operation_id": 5}},
        {"method": "extend_volume", "namespace": "scoria", "version": "2.0", "args": {}},
        {"method": "extend_volume", "namespace": "other", "args": {}},
        {"method": "extend_volume", "version": "3.0", "args": {"volume": {}, "new_size": 3}},
        {"method": "x", "args": {}, "_reply_q": 5, "_msg_id": []},
    ]

    def test_malformed_messages_are_moved_to_dead_letters(self):
        self.start_both()
        self.assert_works()
        channel = self.channel()
        bodies = self.MALFORMED + [(envelope(inner).encode(), "application/json")
                                   for inner in self.WRONG]
        count = 0
        for _ in range(40):
            for body, kind in bodies:
                if len(body) > 1000 and count > 2 * len(bodies):
                    continue
                properties = {"content_type": kind} if kind else {}
                channel.basic_publish(amqp.Message(body, **properties), "openstack", TOPIC)
                count += 1
        self.assert_works()
        self.assert_soon(self.waiting, {"scoria.dead": count})
        self.assertEqual(self.log("manager").count("message moved to dead letters"), count)
        self.assertLess(self.programs["manager"].memory_kib(), 100 * 1024)
        message = channel.basic_get("scoria.dead")
        self.assertEqual(message.headers["x-scoria-reason"], "the body is no JSON")
        self.assert_works()
        self.end()

    def test_messages_that_come_twice_and_out_of_order_change_nothing(self):
        channel = self.channel()
        channel.exchange_declare("openstack", "topic", durable=True, auto_delete=False)
        channel.queue_declare("copies", durable=True, auto_delete=False)
        channel.queue_bind("copies", "openstack", "#")
        self.start_both()
        self.wait_taken()
        sizes = {}
        for _ in range(10):
            volume = self.api.create_available(1)["id"]
            self.api.extend(volume, 3)
            self.api.wait_status(volume, "available")
            sizes[volume] = 3
        copies = self.copies(channel, 20)
        channel.queue_delete("copies")
        for volume in sizes:
            self.api.extend(volume, 4)
            sizes[volume] = 4
        again = copies * 5
        random.shuffle(again)
        for message in again:
            channel.basic_publish(amqp.Message(message.body, content_type="application/json"),
                                  "openstack", message.delivery_info["routing_key"])
        self.settled(sizes)
        self.assert_empty()
        self.end()
        self.assertEqual(self.log("manager").count("create done"), 10)
        self.assertEqual(self.log("manager").count("extend done"), 20)


class Forms(BrokerCase):
    """Queues and messages have the form that others on the same broker expect."""

    def queues(self):
        """(durable, goes with its last user, arguments) of each queue."""
        found = {}
        for line in broker.control("list_queues", "-p", self.vhost, "--no-table-headers", "name",
                                   "durable", "auto_delete", "arguments").splitlines():
            name, durable, auto_delete, arguments = line.split("\t")
            found[re.sub("[0-9a-f]{32}", "ID", name)] = (
                durable == "true", auto_delete == "true",
                set(re.findall(r'"(x-[^"]*)",[^"]*?"?(\w+)"?}', arguments)))
        return found

    def kinds(self, *options):
        self.add_vhost_again()
        self.start_both(*(f"--oslo_messaging_rabbit.{option}" for option in options))
        self.assert_works()
        self.wait_taken()
        queues = self.queues()
        self.end()
        return queues[TOPIC], queues[f"{TOPIC}.{NODE}"], queues[f"{TOPIC}_fanout_ID"]

    def add_vhost_again(self):
        broker.control("delete_vhost", self.vhost)
        broker.control("add_vhost", self.vhost)
        broker.control("set_permissions", "-p", self.vhost, "guest", ".*", ".*", ".*")

    def test_queues_are_of_the_configured_type(self):
        quorum, brief = ("x-queue-type", "quorum"), ("x-expires", "1800000")
        fanout = (False, False, {brief})
        work = (True, False, {quorum})
        self.assertEqual(self.kinds(), (work, work, fanout))
        work = (True, False, set())
        self.assertEqual(self.kinds("rabbit_quorum_queue=false"), (work, work, fanout))
        work = (False, False, set())
        self.assertEqual(self.kinds("rabbit_quorum_queue=false", "amqp_durable_queues=false"),
                         (work, work, fanout))
        work = (False, True, set())
        self.assertEqual(self.kinds("rabbit_quorum_queue=false", "amqp_durable_queues=false",
                                    "amqp_auto_delete=true", "rabbit_transient_queues_ttl=60"),
                         (work, work, (False, False, {("x-expires", "60000")})))
        fanout = (True, False, {quorum, brief})
        work = (True, False, {quorum})
        self.assertEqual(self.kinds("rabbit_transient_quorum_queue=true"), (work, work, fanout))

    def test_messages_have_the_properties_and_the_envelope_of_the_wire(self):
        channel = self.channel()
        channel.exchange_declare("openstack", "topic", durable=True, auto_delete=False)
        channel.queue_declare("copies", durable=True, auto_delete=False)
        channel.queue_bind("copies", "openstack", "#")
        self.start_both("--oslo_messaging_notifications.driver=messagingv2")
        self.wait_taken()
        self.assert_works()
        copies = self.copies(channel, 3 + 3 * 2)  # three requests, the start and the end of each
        keys = {message.delivery_info["routing_key"] for message in copies}
        self.assertEqual(keys, {TOPIC, "notifications.info"})
        ids = set()
        for message in copies:
            properties = message.properties
            self.assertEqual((properties["content_type"], properties["content_encoding"],
                              properties["delivery_mode"], properties["priority"]),
                             ("application/json", "utf-8", 2, 0))
            self.assertNotIn("expiration", properties)
            outer = json.loads(message.body)
            self.assertEqual(set(outer), {"oslo.version", "oslo.message"})
            self.assertEqual(outer["oslo.version"], "2.0")
            inner = json.loads(outer["oslo.message"])
            self.assertRegex(inner["_unique_id"], "^[0-9a-f]{32}$")
            ids.add(inner["_unique_id"])
        self.assertEqual(len(ids), len(copies))
        channel.queue_delete("copies")
        self.end()

    def test_notifications_in_bare_form_and_of_several_topics(self):
        self.start_both("--oslo_messaging_notifications.driver=messaging",
                        "--oslo_messaging_notifications.topics=one,two")
        self.api.create_available(1)
        channel = self.channel()
        for topic in ("one", "two"):
            events = set()
            while len(events) < 2:  # of the API and of the manager: in no order
                message = until(lambda queue=f"{topic}.info": channel.basic_get(queue, no_ack=True),
                                SOON_S, "a notification")
                inner = json.loads(message.body)
                self.assertEqual(inner["priority"], "INFO")
                events.add(inner["event_type"])
            self.assertEqual(events, {"volume.create.end", "volume.create.start"})
        self.end()


class Calls(BrokerCase):
    """Calls as bytes, so that they can be wrong."""

    def setUp(self):
        super().setUp()
        self.start_both()
        self.assert_works()
        self.wire = self.channel()
        self.wire.queue_declare("reply_me", auto_delete=False)

    def call(self, unique_id, method="oslo_rpc_server_ping", queue="reply_me", **more):
        body = envelope({"method": method, "args": {}, "version": "3.0", "_msg_id": unique_id,
                         "_unique_id": unique_id, "_reply_q": queue, "_timeout": None, **more})
        self.wire.basic_publish(amqp.Message(body, content_type="application/json"), "openstack",
                                TOPIC)

    def answers(self, last):
        """Ids of the calls that were answered, up to this one."""
        received = []
        def come():
            while (message := self.wire.basic_get("reply_me", no_ack=True)) is not None:
                inner = json.loads(json.loads(message.body)["oslo.message"])
                self.assertEqual(set(inner), {"result", "failure", "ending", "_msg_id",
                                              "_unique_id"})
                self.assertEqual(message.properties["content_type"], "application/json")
                received.append(inner["_msg_id"])
            return last in received
        until(come, SOON_S, f"the answer to {last}")
        return received

    def test_a_call_that_comes_twice_is_answered_once(self):
        self.call("a")
        self.answers("a")
        for unique_id in "aaab":
            self.call(unique_id)
        self.assertEqual(self.answers("b"), ["b"])
        self.assert_soon(lambda: self.log("manager").count("duplicate message dropped"), 3)
        for number in range(16):
            self.call(f"n{number}")
            self.answers(f"n{number}")
        self.call("a")
        self.assertEqual(self.answers("a"), ["a"])
        self.end()

    def test_a_call_that_failed_may_come_again(self):
        for _ in range(2):
            self.call("a", method="migrate_to_mars")
            self.assertEqual(self.answers("a"), ["a"])
        self.end()

    def test_missing_reply_queues_delay_no_other_call(self):
        for number in range(400):
            self.call(f"n{number}", queue=f"reply_gone_{number % 300}")
        self.call("here")
        begin = time.monotonic()
        self.assertEqual(self.answers("here"), ["here"])
        self.assertLess(time.monotonic() - begin, 30)  # half of the time that an answer waits
        self.wire.queue_declare("reply_gone_299", auto_delete=False)
        self.assert_works()
        self.assert_empty("reply_gone_299")
        self.assertLess(self.log("manager").count("response dropped"), 400)
        self.end()


class Peers(BrokerCase):
    options = ("--oslo_messaging_notifications.driver=messagingv2",)

    def call(self, method, arguments=None, version="3.0", topic=TOPIC, server=None):
        words = [method, version, json.dumps(arguments or {})] + ([server] if server else [])
        line, = peer(self.url, "call", topic, *words)
        return line

    def test_a_python_peer_calls_the_manager(self):
        self.start_both()
        self.wait_taken()
        self.assert_works()
        self.assertEqual(self.call("oslo_rpc_server_ping"), {"result": "pong"})
        self.assertEqual(self.call("oslo_rpc_server_ping", server=NODE), {"result": "pong"})
        self.assertEqual(self.call("oslo_rpc_server_ping", topic="cinder-volume"),
                         {"result": "pong"})
        self.assertEqual(self.call("publish_service_capabilities"), {"result": None})
        unknown = self.call("migrate_to_mars")
        self.assertEqual(unknown["failure"], "NoSuchMethod")
        self.assertIn("Endpoint does not support RPC method migrate_to_mars", unknown["text"])
        version = self.call("extend_volume_completion", version="3.99")
        self.assertEqual(version["failure"], "UnsupportedVersion")
        self.assertIn("RPC version 3.99", version["text"])
        wrong = self.call("extend_volume_completion", {"volume": 5}, "3.19")
        self.assertIn("volume is no volume object with an id", wrong["text"])
        self.assert_empty("notifications.info")
        self.assertNotIn("a-secret-token", self.log("manager"))
        self.end()

    def completion(self, volume_id, new_size, error=False):
        return self.call("extend_volume_completion", {
            "volume": {"versioned_object.name": "Volume", "versioned_object.namespace": "cinder",
                       "versioned_object.version": "1.9",
                       "versioned_object.data": {"id": volume_id, "size": 1}},
            "new_size": new_size, "reservations": ["a"], "error": error}, "3.19")

    def test_an_unexpected_completion_changes_nothing(self):
        self.start_both()
        volume = self.api.create_available(1)["id"]
        answer = self.completion(volume, 2)
        self.assertIn("does not wait for this extend", answer["text"])
        self.assertIn("could not be found", self.completion(str(uuid.uuid4()), 2)["text"])
        self.settled({volume: 1})
        self.end()

    def watched(self, held_s, monitor_s):
        """A call that cannot end for so long after it came, or (None) while its caller waits with
        heartbeats."""
        self.start_both()
        self.assert_works()
        with contextlib.closing(sqlite3.connect(os.path.join(self.state, "scoria.db"),
                                                isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            begin = time.monotonic()
            ended = []
            caller = threading.Thread(target=lambda: ended.extend(
                peer(self.url, "watch", TOPIC, "publish_service_capabilities", "3.0", "{}",
                     str(monitor_s))))
            caller.start()
            if held_s is None:
                caller.join()
            else:
                until(lambda: TOPIC in self.waiting(), SOON_S, "the call", pause=0.2)
                time.sleep(held_s)
            took = time.monotonic() - begin
            database.execute("ROLLBACK")
            caller.join()
        return ended[0], took

    def test_a_monitored_call_gets_heartbeats(self):
        answer, _ = self.watched(12, 10)
        self.assertEqual(answer, {"result": None})
        self.end()

    def test_heartbeats_below_a_second_are_not_sent(self):
        answer, took = self.watched(None, 1)
        self.assertEqual(answer["failure"], "MessagingTimeout")
        self.assertLess(took, 60)  # all that it waits with signs of life
        self.end()

    def test_every_manager_receives_a_fanout(self):
        self.start_both()
        self.wait_taken()
        peer(self.url, "cast", "cinder-volume", "publish_service_capabilities", "3.0", "{}", "*")
        peer(self.url, "cast", TOPIC, "migrate_to_mars", "3.0", "{}", "*")
        self.wait_log("manager", "method=migrate_to_mars")
        self.end()

    def test_a_python_listener_receives_notifications(self):
        self.start_both()
        volume = self.api.create_available(1)["id"]
        self.api.ask("PUT", f"/volumes/{volume}", {"volume": {"name": "b"}})
        self.api.extend(volume, 2)
        self.api.wait_status(volume, "available")
        self.api.reset(volume, "error")
        self.api.reset(volume, "available")
        self.api.delete_and_wait(volume)
        expected = ["volume.create.start", "volume.create.end", "volume.update.start",
                    "volume.update.end", "volume.resize.start", "volume.resize.end",
                    "volume.reset_status.start", "volume.reset_status.end",
                    "volume.reset_status.start", "volume.reset_status.end",
                    "volume.delete.start", "volume.delete.end"]
        received = peer(self.url, "listen", "notifications", str(len(expected)))
        # Each once; the API and the manager send their own, and nothing orders the one's among the
        # other's.
        self.assertEqual(sorted(line["event"] for line in received), sorted(expected))
        for line in received:
            self.assertEqual(line["publisher_id"], f"volume.{NODE}@file")
            self.assertEqual(set(line["payload"]), PAYLOAD_KEYS)
            self.assertEqual(line["payload"]["volume_id"], volume)
            self.assertRegex(line["metadata"]["timestamp"],
                             r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?$")
            self.assertIn("request_id", line["context"])
        resized = [line for line in received if line["event"] == "volume.resize.end"]
        self.assertEqual([line["payload"]["size"] for line in resized], [2])
        self.end()


def make_certificates(directory):
    """An authority, a certificate of 127.0.0.1 for the broker, one for its clients, and another
    authority that has signed nothing."""
    def run(*words):
        subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)

    for name in ("ca", "other"):
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.pem")
    with open(os.path.join(directory, "names"), "w", encoding="ascii") as names:
        names.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name in ("server", "client"):
        run("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
    os.chmod(directory, 0o755)
    for name in os.listdir(directory):
        os.chmod(os.path.join(directory, name), 0o644)
    return {name: os.path.join(directory, name) for name in os.listdir(directory)}


class Tls(BrokerCase):
    with_vhost = False

    @classmethod
    def setUpClass(cls):
        cls.certificates = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.certificates)
        cls.files = make_certificates(cls.certificates)
        cls.broker = Broker({"ca": cls.files["ca.pem"], "cert": cls.files["server.pem"],
                             "key": cls.files["server.key"]})
        cls.addClassCleanup(cls.broker.stop)
        cls.broker.start()

    def words(self, ca="ca.pem", client=True):
        words = [f"--oslo_messaging_rabbit.ssl_ca_file={self.files[ca]}"]
        if client:
            words += [f"--oslo_messaging_rabbit.ssl_cert_file={self.files['client.pem']}",
                      f"--oslo_messaging_rabbit.ssl_key_file={self.files['client.key']}"]
        return words

    def tls_url(self, host="localhost"):
        return f"rabbit://guest:guest@{host}:{self.broker.tls_port}/?ssl=1"

    def test_messages_go_through_tls(self):
        self.start_both(*self.words(), url=self.tls_url())
        self.assert_works()
        self.end()

    def test_a_broker_of_another_authority_is_refused(self):
        self.start_both(*self.words(ca="other.pem"), url=self.tls_url())
        self.api.create(1)
        self.wait_log("api", "cannot connect: SSL peer cert verification failed")
        self.wait_log("manager", "cannot connect: SSL peer cert verification failed")

    def test_a_broker_of_another_name_is_refused(self):
        """The library compares names only, not addresses."""
        self.start_both(*self.words(), url=self.tls_url("127.0.0.1"))
        self.wait_log("manager", "cannot connect: SSL hostname verification failed")

    def test_a_broker_that_requires_a_certificate_refuses_a_client_without(self):
        self.start_both(*self.words(client=False), url=self.tls_url())
        self.api.create(1)
        self.wait_log("manager", "broker unavailable")
        self.assertNotIn("connected", self.log("manager"))

    def test_missing_files_prevent_the_start(self):
        with self.assertRaises(program.NotStarted) as refused:
            self.start("manager", "--oslo_messaging_rabbit.ssl_ca_file=/nowhere",
                       url=self.tls_url())
        self.assertIn("[oslo_messaging_rabbit] ssl_ca_file: /nowhere cannot be read",
                      str(refused.exception))
