"""
Attached volumes grow on real QEMU domains, or everything stays as it was.
"""

import json
import socket
import subprocess
import time
import urllib.parse

from block_storage import until
from case import GIB, DomainCase, in_threads
from hypervisor import Disk, Domain, LockHolder, disk_of


def setUpModule():
    DomainCase.start_hypervisor()


def tearDownModule():
    DomainCase.stop_hypervisor()


class Growth:
    """Promises of every format."""

    format = None

    def test_a_running_domain_sees_the_new_size(self):
        volume_id, domain = self.running()
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)
        self.assertEqual(self.virtual_size(domain), 2 * GIB)

    def test_repeated_extends_grow_a_running_domain(self):
        volume_id, domain = self.running()
        for size in range(2, 12):
            self.api.extend(volume_id, size)
            self.assert_grown(volume_id, domain, size)

    def test_a_paused_domain_sees_the_new_size(self):
        volume_id, domain = self.running()
        domain.suspend()
        self.api.extend(volume_id, 3)
        self.assert_grown(volume_id, domain, 3)

    def test_a_domain_that_is_off_starts_with_the_new_size(self):
        volume_id = self.volume()
        attachment = self.attach(volume_id)
        domain = self.domain(attachment).define()
        self.api.attach_complete(attachment["id"])
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", 2)
        self.assertEqual(self.virtual_size(domain), 2 * GIB)
        domain.run()
        self.assertEqual(domain.capacity(volume_id), 2 * GIB)

    def test_several_domains_at_once(self):
        pairs = [self.running() for _ in range(3)]

        def grow(volume_id, domain):
            api = self.connect()
            for size in (2, 3, 4):
                api.extend(volume_id, size)
                api.wait_status(volume_id, "in-use")
                if domain.capacity(volume_id) != size * GIB:
                    raise AssertionError(f"{volume_id} has not {size} GiB")
        in_threads([lambda pair=pair: grow(*pair) for pair in pairs])
        for volume_id, domain in pairs:
            self.assert_grown(volume_id, domain, 4)

    def test_the_target_is_visible_and_the_size_is_not_until_it_is_true(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 5)
        pending = self.pending(volume_id, 5)
        self.assertEqual((pending["status"], pending["size"]), ("extending", 1))
        self.assertEqual(self.api.gigabytes(), {**usage, "reserved": usage["reserved"] + 4})
        self.assertEqual(domain.capacity(volume_id), GIB)
        domain.abort_copy(volume_id)
        self.assert_grown(volume_id, domain, 5)
        self.assertEqual(self.api.gigabytes(), {**usage, "in_use": usage["in_use"] + 4})

    def test_a_guest_that_stops_meanwhile_has_the_new_size_at_its_next_start(self):
        volume_id = self.volume()
        attachment = self.attach(volume_id)
        domain = self.domain(attachment).define()
        domain.run()
        self.api.attach_complete(attachment["id"])
        self.hold(volume_id, domain)
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        domain.power_off()
        self.api.wait_status(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", 2)
        domain.run()
        self.assertEqual(domain.capacity(volume_id), 2 * GIB)

    def test_detach_during_a_pending_extend_ends_it(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        volume = self.pending(volume_id, 2)
        domain.destroy()
        self.api.detach(volume["attachments"][0]["attachment_id"])
        ended = self.end_of_extend(volume_id)
        # The agent and the detach both saw the domain go: the first one has decided.
        self.assertIn(ended["status"], ("available", "error_extending"))
        self.assertIn(ended["size"], (1, 2))
        self.assertEqual(self.api.gigabytes(),
                         {**usage, "in_use": usage["in_use"] + ended["size"] - 1})
        self.assertEqual(self.virtual_size(domain), ended["size"] * GIB)

    def test_a_lock_of_an_unknown_program_is_a_failure(self):
        volume_id = self.volume()
        attachment = self.attach(volume_id)
        self.api.attach_complete(attachment["id"])
        usage = self.api.gigabytes()
        holder = LockHolder(disk_of(attachment).path, self.format)
        self.addCleanup(holder.stop)
        self.api.extend(volume_id, 2)
        self.assert_refused(volume_id, 1, usage)

    def test_a_disk_without_the_serial_is_not_touched(self):
        volume_id = self.volume()
        attachment = self.attach(volume_id)
        path = disk_of(attachment).path
        domain = Domain(f"scoria-e2e-{volume_id[:8]}", [Disk("another", path, self.format)],
                        attachment["instance"])
        self.addCleanup(domain.destroy)
        domain.start()
        self.api.attach_complete(attachment["id"])
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.assert_refused(volume_id, 1, usage)
        self.assertEqual(domain.capacity("another"), GIB)

    # ---- helpers ----

    def virtual_size(self, domain):
        text = subprocess.run(["qemu-img", "info", "-U", "-f", self.format, "--output=json",
                               domain.disks[0].path], capture_output=True, check=True).stdout
        return json.loads(text)["virtual-size"]


class Raw(Growth, DomainCase):
    format = "raw"

    def test_a_disk_shared_by_two_domains_grows(self):
        volume_id = self.volume(multiattach_type=True)
        domains = []
        for _ in range(2):
            attachment = self.attach(volume_id)
            domains.append(self.domain(attachment, shareable=True).start())
            self.api.attach_complete(attachment["id"])
        self.api.extend(volume_id, 2)
        self.api.wait_status(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", 2)
        for domain in domains:
            until(lambda domain=domain: domain.capacity(volume_id) == 2 * GIB, 120,
                  f"{domain.name} with 2 GiB")

    def test_a_busy_disk_is_given_up_and_can_be_extended_later(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        usage = self.api.gigabytes()
        begin = time.monotonic()
        self.api.extend(volume_id, 2)
        self.assert_refused(volume_id, 1, usage)
        self.assertGreater(time.monotonic() - begin, 10)
        domain.abort_copy(volume_id)
        self.api.reset(volume_id, "in-use")
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)

    def test_reset_ends_a_pending_extend(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        self.api.reset(volume_id, "in-use")
        self.assert_volume(volume_id, "in-use", 1)
        self.assertEqual(self.api.gigabytes(), usage)
        time.sleep(3)  # the agent ends its work of before the reset with the disk held
        domain.abort_copy(volume_id)
        time.sleep(2.5)  # the agent queries again: it is not awaited any more
        self.assert_volume(volume_id, "in-use", 1)
        self.assertEqual(domain.capacity(volume_id), GIB)

    def test_a_locked_disk_of_two_instances_is_refused(self):
        volume_id = self.volume(multiattach_type=True)
        first = self.attach(volume_id)
        domain = self.domain(first).start()
        self.api.attach_complete(first["id"])
        second = self.attach(volume_id)
        self.api.attach_complete(second["id"])
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.assert_refused(volume_id, 1, usage)
        self.assertEqual(domain.capacity(volume_id), GIB)

    def test_two_attachments_of_one_instance_are_one(self):
        """As during a live migration: the guest is here, and will be on the other host."""
        volume_id = self.volume(multiattach_type=True)
        here = self.attach(volume_id)
        domain = self.domain(here).start()
        self.api.attach_complete(here["id"])
        self.attach(volume_id, here["instance"], "another-host")
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)

    # ---- helpers ----

    def volume(self, size_gb=1, multiattach_type=False, **fields):
        if multiattach_type:
            fields["volume_type"] = self.multiattach_type()
        return super().volume(size_gb, **fields)

    def multiattach_type(self):
        types = self.api.ask("GET", "/types")["volume_types"]
        if not any(row["name"] == "shared" for row in types):
            self.api.ask("POST", "/types", {"volume_type": {
                "name": "shared", "extra_specs": {"multiattach": "<is> True"}}})
        return "shared"


class Qcow2(Growth, DomainCase):
    format = "qcow2"
    options = ("--file.file_qcow2_volumes=true",)


class NewerClients(DomainCase):
    """The requests of python-cinderclient 9.5 and openstacksdk 4.5 for the end of an extend, byte
    for byte: Debian's releases have neither."""

    common = "Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
    cinderclient = ("User-Agent: python-cinderclient\r\nAccept: application/json\r\n"
                    "OpenStack-API-Version: volume 3.71\r\n")
    openstacksdk = ("User-Agent: openstacksdk/4.5.0 keystoneauth1/5.10.0 python-requests/2.32.3 "
                    "CPython/3.13.3\r\nAccept: */*\r\nOpenStack-API-Version: volume 3.71\r\n")

    def send(self, headers, volume_id, body):
        """The status of the answer and the bytes behind its headers."""
        url = urllib.parse.urlsplit(self.service.endpoint)
        project = "5f1d2c9a8b7e4d3c9a8b7e6d5c4f3a2b"
        request = (f"POST {url.path}/{project}/volumes/{volume_id}/action HTTP/1.1\r\n"
                   f"Host: {url.netloc}\r\n{headers}{self.common}"
                   f"X-Auth-Token: admin:{project}\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}")
        with socket.create_connection((url.hostname, url.port), timeout=20) as connection:
            connection.sendall(request.encode())
            with connection.makefile("rb") as stream:
                status = int(stream.readline().split()[1])
                answer = {}
                for line in iter(stream.readline, b"\r\n"):
                    name, _, value = line.decode().partition(":")
                    answer[name.lower()] = value.strip()
                self.assertEqual(answer["openstack-api-version"], "volume 3.71")
                return status, stream.read(int(answer["content-length"]))

    def pending_extend(self):
        volume_id, domain = self.running()
        self.hold(volume_id, domain)
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        self.pending(volume_id, 2)
        return volume_id, domain, usage

    def check(self, headers):
        volume_id, domain, usage = self.pending_extend()
        body = '{"os-extend_volume_completion": {"error": true}}'
        self.assertEqual(self.send(headers, volume_id, body), (202, b""))
        self.assert_refused(volume_id, 1, usage)
        status, fault = self.send(headers, volume_id, body)  # nothing is awaited any more
        self.assertEqual((status, b"badRequest" in fault), (400, True))
        domain.abort_copy(volume_id)

        volume_id, domain, usage = self.pending_extend()
        domain.abort_copy(volume_id)
        domain.resize(volume_id, 2 * GIB)
        body = '{"os-extend_volume_completion": {"error": false}}'
        status, _ = self.send(headers, volume_id, body)
        self.assertIn(status, (202, 400))  # 400: the agent was first
        self.assert_grown(volume_id, domain, 2)

    def test_the_completion_of_cinderclient(self):
        self.check(self.cinderclient)

    def test_the_completion_of_openstacksdk(self):
        self.check(self.openstacksdk)
