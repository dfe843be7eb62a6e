"""
Servers of a real Nova with volumes of this service. Most tests attach volumes of their own to one
server, which has a guest system.
"""

import glob
import os
import re
import unittest

from block_storage import until
from cloud import TIMEOUT_S, Cloud
from hypervisor import virsh

GIB = 1 << 30
SECTOR = 512


class Servers(unittest.TestCase):
    server = None

    @classmethod
    def setUpClass(cls):
        cls.cloud = Cloud.only
        cls.nova, cls.volumes = cls.cloud.compute(), cls.cloud.volumes()
        cls.server = cls.boot("shared")
        cls.addClassCleanup(cls.remove_server, cls.server)

    # ---- servers ----

    @classmethod
    def boot(cls, name, **fields):
        """The id of an active server whose guest system is up."""
        server = cls.nova.ask("POST", "/servers", {"server": {
            "name": name, "flavorRef": cls.cloud.flavor, "imageRef": cls.cloud.image,
            "networks": "none", **fields}})["server"]["id"]
        cls.wait_server(server, "ACTIVE")
        cls.wait_console(server, "guest: up")
        return server

    def own_server(self, **fields):
        server = self.boot(self.id().rpartition(".")[2].replace("_", "-")[:63], **fields)
        self.addCleanup(self.remove_server, server)
        return server

    @classmethod
    def show_server(cls, server):
        return cls.nova.ask("GET", f"/servers/{server}")["server"]

    @classmethod
    def wait_server(cls, server, status):
        def reached():
            row = cls.show_server(server)
            if row["status"] == "ERROR" != status:
                raise AssertionError(f"server {server}: {row.get('fault')}")
            return row["status"] == status and not row["OS-EXT-STS:task_state"]
        until(reached, TIMEOUT_S, f"server {server} {status}", 0.2)

    @classmethod
    def remove_server(cls, server):
        if cls.nova.call("DELETE", f"/servers/{server}").status != 404:
            until(lambda: cls.nova.call("GET", f"/servers/{server}").status == 404, TIMEOUT_S,
                  f"server {server} gone", 0.2)

    def act(self, action, arguments=None, server=None):
        return self.nova.ask("POST", f"/servers/{server or self.server}/action",
                             {action: arguments})

    @staticmethod
    def console(server):
        """Output of the guest system."""
        try:
            with open(f"/var/lib/nova/instances/{server}/console.log", encoding="utf-8",
                      errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    @classmethod
    def wait_console(cls, server, text, after=0):
        try:
            until(lambda: text in cls.console(server)[after:], TIMEOUT_S, text, 0.2)
        except Exception:
            print(cls.console(server)[-3000:])
            raise

    # ---- volumes ----

    def volume(self, size_gb=1, **fields):
        fields = {"volume_type": "share", **fields}
        volume = self.volumes.create_available(size_gb, **fields)["id"]
        self.addCleanup(self.remove_volume, volume)
        return volume

    def remove_volume(self, volume):
        if self.volumes.show(volume)["status"] == "in-use":
            self.detach(volume)
        self.volumes.ask("DELETE", f"/volumes/{volume}?cascade=true")
        self.volumes.wait_gone(volume)

    def attach(self, volume, server=None):
        self.nova.ask("POST", f"/servers/{server or self.server}/os-volume_attachments",
                      {"volumeAttachment": {"volumeId": volume}})
        self.volumes.wait_status(volume, "in-use", TIMEOUT_S)

    def detach(self, volume, server=None):
        path = f"/servers/{server or self.server}/os-volume_attachments/{volume}"
        self.nova.ask("DELETE", path)
        self.volumes.wait_status(volume, "available", TIMEOUT_S)
        until(lambda: self.nova.call("GET", path).status == 404, TIMEOUT_S,
              f"volume {volume} detached in Nova", 0.1)

    def attached(self, **fields):
        """A volume that the guest of the shared server has."""
        volume = self.volume(**fields)
        self.attach(volume)
        self.wait_guest(volume, 1)
        return volume

    def extend(self, volume, size_gb, status="in-use"):
        self.volumes.extend(volume, size_gb)
        self.volumes.wait_status(volume, status, TIMEOUT_S)

    # ---- the guest's disks ----

    def mark(self):
        """A position in the output of the guest."""
        return len(self.console(self.server))

    def wait_guest(self, volume, size_gb, after=0, server=None):
        """The guest has the disk with this size, and has written to its end."""
        self.wait_console(server or self.server,
                          f"guest: disk {volume[:20]} {size_gb * GIB // SECTOR}\n", after)

    def wait_guest_lost(self, volume, after):
        self.wait_console(self.server, f"guest: gone {volume[:20]}", after)

    def disk(self, volume, server=None):
        """Of the domain: the name of its target, and its file."""
        text = virsh("dumpxml", server or self.server)
        disk = next(disk for disk in re.findall(r"<disk .*?</disk>", text, re.DOTALL)
                    if f"/volume-{volume}" in disk)
        return (re.search(r"<target dev='(\w+)'", disk)[1],
                re.search(r"<source file='([^']+)'", disk)[1])

    def assert_size(self, volume, size_gb, server=None):
        """Of the volume, of libvirt's and QEMU's disk; the end of the disk is the guest's."""
        self.assertEqual(self.volumes.show(volume)["size"], size_gb)
        target, _ = self.disk(volume, server)
        text = virsh("domblkinfo", server or self.server, target)
        self.assertEqual(int(re.search(r"Capacity:\s+(\d+)", text)[1]), size_gb * GIB)

    def assert_written(self, volume, size_gb):
        """The last sector of a raw file is the guest's."""
        path, = glob.glob(f"{self.cloud.place}/mnt/*/volume-{volume}")
        with open(path, "rb") as file:
            file.seek(-SECTOR, os.SEEK_END)
            text = file.read().rstrip(b"\0").decode()
        self.assertEqual(text, f"guest {volume[:20]} {size_gb * GIB // SECTOR}\n")

    def first_bytes(self, volume, count):
        path, = glob.glob(f"{self.cloud.place}/mnt/*/volume-{volume}")
        with open(path, "rb") as file:
            return file.read(count)

    def use_nova(self, completing=None):
        """Nova grows the disks until the end of the test; the volume API is restarted."""
        self.addCleanup(self.volumes.close)
        self.cloud.use_nova(self, completing)
        self.volumes.close()

    # ---- tests ----

    def test_an_attached_volume_grows_under_its_guest(self):
        volume = self.attached()
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)
        self.assert_written(volume, 2)

    def test_a_grown_volume_is_detached_and_attached_again(self):
        volume = self.attached()
        self.extend(volume, 3)
        mark = self.mark()
        self.detach(volume)
        self.wait_guest_lost(volume, mark)
        self.attach(volume)
        self.wait_guest(volume, 3, mark)
        self.assert_size(volume, 3)

    def test_a_hard_reboot_has_the_grown_disk(self):
        volume = self.attached()
        self.extend(volume, 2)
        self.act("reboot", {"type": "HARD"})
        self.wait_server(self.server, "ACTIVE")
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)

    def test_a_stopped_server_starts_with_the_grown_disk(self):
        volume = self.attached()
        self.act("os-stop")
        self.wait_server(self.server, "SHUTOFF")
        self.extend(volume, 2)
        self.act("os-start")
        self.wait_server(self.server, "ACTIVE")
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)

    def test_a_snapshot_in_a_chain_and_the_growth_above_it_survive_a_hard_reboot(self):
        """Nova takes it, and starts the server with the overlay."""
        volume = self.attached(volume_type="plain")
        snapshot = self.volumes.snapshot(volume)
        self.assertTrue(self.disk(volume)[1].endswith(snapshot))
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.act("reboot", {"type": "HARD"})
        self.wait_server(self.server, "ACTIVE")
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)
        self.assertTrue(self.disk(volume)[1].endswith(snapshot))
        self.volumes.ask("DELETE", f"/snapshots/{snapshot}")
        until(lambda: not self.snapshots_of(volume), TIMEOUT_S, "no snapshot any more")
        self.assert_size(volume, 2)
        mark = self.mark()
        self.detach(volume)
        self.wait_guest_lost(volume, mark)
        self.attach(volume)
        self.wait_guest(volume, 2, mark)

    def snapshots_of(self, volume):
        return [row for row in self.volumes.snapshots() if row["volume_id"] == volume]

    def test_a_volume_that_nova_swapped_in_grows(self):
        """Its disk has the serial number of the former one."""
        former, volume = self.attached(), self.volume()
        self.nova.ask("PUT", f"/servers/{self.server}/os-volume_attachments/{former}",
                      {"volumeAttachment": {"volumeId": volume}})
        self.volumes.wait_status(former, "available", TIMEOUT_S)
        self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
        mark = self.mark()
        self.extend(volume, 2)
        self.wait_guest(former, 2, mark)
        self.assert_size(volume, 2)
        self.extend(former, 3, "available")
        self.assert_size(volume, 2)
        self.act("reboot", {"type": "HARD"})
        self.wait_server(self.server, "ACTIVE")
        self.wait_guest(volume, 2)

    def test_a_block_job_of_another_is_waited_for(self):
        """As Nova's own, when it moves a disk."""
        volume = self.attached()
        target, _ = self.disk(volume)
        copy = f"{self.cloud.place}/mnt/copy"
        virsh("blockcopy", self.server, target, "--dest", copy, "--format", "raw",
              "--transient-job")
        self.volumes.extend(volume, 2)
        until(lambda: self.volumes.show(volume)["status"] == "extending", TIMEOUT_S, "extending")
        self.cloud.kill_role("compute")
        self.cloud.start_role("compute")
        self.assertEqual(self.volumes.show(volume)["status"], "extending")
        virsh("blockjob", self.server, target, "--abort")
        self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)

    def test_agent_and_manager_die_while_a_disk_is_to_grow(self):
        volume = self.attached()
        for size_gb, roles in ((2, ("compute",)), (3, ("manager",)), (4, ("compute", "manager"))):
            with self.subTest(roles=roles):
                self.volumes.extend(volume, size_gb)
                for role in roles:
                    self.cloud.kill_role(role)
                for role in roles:
                    self.cloud.start_role(role)
                self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
                self.wait_guest(volume, size_gb)
                self.assert_size(volume, size_gb)

    def test_a_disk_grows_without_its_nova_compute(self):
        volume = self.attached()
        self.cloud.kill_nova("compute")
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.cloud.start_compute()
        self.assert_size(volume, 2)
        self.act("reboot", {"type": "HARD"})
        self.wait_server(self.server, "ACTIVE")
        self.wait_guest(volume, 2)

    def test_a_volume_that_nova_makes_grows_and_goes_with_its_server(self):
        server = self.own_server(block_device_mapping_v2=[
            {"uuid": self.cloud.image, "source_type": "image", "destination_type": "local",
             "boot_index": 0, "delete_on_termination": True},
            {"source_type": "blank", "destination_type": "volume", "volume_size": 1,
             "boot_index": -1, "delete_on_termination": True}])
        attached, = self.show_server(server)["os-extended-volumes:volumes_attached"]
        volume = attached["id"]
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.wait_guest(volume, 2, server=server)
        self.assert_size(volume, 2, server)
        self.remove_server(server)
        self.volumes.wait_gone(volume)

    def test_a_server_boots_from_a_volume_of_an_image_and_is_rebuilt(self):
        server = self.own_server(imageRef="", block_device_mapping_v2=[
            {"uuid": self.cloud.image, "source_type": "image", "destination_type": "volume",
             "volume_size": 1, "boot_index": 0, "delete_on_termination": True}])
        attached, = self.show_server(server)["os-extended-volumes:volumes_attached"]
        volume = attached["id"]
        self.assertEqual(self.first_bytes(volume, 6), b"system")
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.wait_guest(volume, 2, server=server)
        self.assert_size(volume, 2, server)
        self.act("rebuild", {"imageRef": self.cloud.other_image}, server)
        self.wait_server(server, "ACTIVE")
        self.assertEqual(self.first_bytes(volume, 6), b"other\0")
        self.assert_size(volume, 2, server)
        self.wait_guest(volume, 2, server=server)

    def test_a_server_boots_from_a_snapshot_of_an_image_volume(self):
        system = self.volume(imageRef=self.cloud.image)
        snapshot = self.volumes.snapshot(system)
        server = self.own_server(imageRef="", block_device_mapping_v2=[
            {"uuid": snapshot, "source_type": "snapshot", "destination_type": "volume",
             "boot_index": 0, "delete_on_termination": True}])
        attached, = self.show_server(server)["os-extended-volumes:volumes_attached"]
        volume = attached["id"]
        self.assertEqual(self.first_bytes(volume, 6), b"system")
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.wait_guest(volume, 2, server=server)
        self.assert_size(volume, 2, server)
        self.assertEqual(self.volumes.show(system)["size"], 1)
        self.remove_server(server)
        self.volumes.wait_gone(volume)

    def test_a_volume_of_two_servers_grows_under_both(self):
        kind = self.volumes.ask("POST", "/types", {"volume_type": {
            "name": "of several", "extra_specs": {"volume_backend_name": "plain",
                                                  "multiattach": "<is> True"}}})["volume_type"]
        self.addCleanup(self.volumes.ask, "DELETE", f"/types/{kind['id']}")
        volume = self.volume(volume_type=kind["id"])
        servers = self.server, self.own_server()
        for server in servers:
            self.attach(volume, server)
            self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        for server in servers:
            self.wait_guest(volume, 2, server=server)
            self.assert_size(volume, 2, server)
        self.remove_server(servers[1])
        until(lambda: len(self.volumes.show(volume)["attachments"]) == 1, TIMEOUT_S,
              "one attachment")
        self.extend(volume, 3)
        self.wait_guest(volume, 3)

    def test_a_resized_server_has_its_grown_volume(self):
        flavor = self.nova.ask("POST", "/flavors", {"flavor": {
            "name": "larger", "ram": 160, "vcpus": 1, "disk": 1}})["flavor"]["id"]
        self.addCleanup(self.nova.ask, "DELETE", f"/flavors/{flavor}")
        volume, server = self.volume(), self.own_server()
        self.attach(volume, server)
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.act("resize", {"flavorRef": flavor}, server)
        self.wait_server(server, "VERIFY_RESIZE")
        self.act("confirmResize", None, server)
        self.wait_server(server, "ACTIVE")
        self.wait_guest(volume, 2, server=server)
        self.extend(volume, 3)
        self.wait_guest(volume, 3, server=server)
        self.assert_size(volume, 3, server)
        self.remove_server(server)
        self.volumes.wait_status(volume, "available", TIMEOUT_S)

    def test_a_shelved_server_comes_back_with_its_volume(self):
        """No volume of a server that was offloaded grows, as in Cinder."""
        volume, server = self.volume(), self.own_server()
        self.attach(volume, server)
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.act("shelve", None, server)
        self.wait_server(server, "SHELVED_OFFLOADED")
        self.volumes.wait_status(volume, "reserved", TIMEOUT_S)
        answer = self.volumes.call("POST", f"/volumes/{volume}/action",
                                   {"os-extend": {"new_size": 3}})
        self.assertEqual(answer.status, 400)
        self.act("unshelve", None, server)
        self.wait_server(server, "ACTIVE")
        self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
        self.wait_guest(volume, 2, server=server)
        self.extend(volume, 3)
        self.wait_guest(volume, 3, server=server)

    def test_a_disk_grows_while_nova_takes_an_image_of_its_server(self):
        volume = self.attached()
        image = self.act("createImage", {"name": "copy"})["image_id"]
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)
        self.wait_server(self.server, "ACTIVE")
        _, found = self.cloud.glance.call("GET", f"/v2/images/{image}")
        self.assertEqual(found["status"], "active")
        self.cloud.glance.call("DELETE", f"/v2/images/{image}")

    def test_a_nova_without_the_completion_grows_no_disk(self):
        volume = self.attached()
        self.use_nova()
        self.volumes.extend(volume, 2)
        def ended():
            row = self.volumes.show(volume)
            return row if row["status"] != "extending" else None
        row = until(ended, TIMEOUT_S, "an end of the extend")
        self.assertEqual((row["status"], row["size"]), ("error_extending", 1))
        self.assert_size(volume, 1)
        self.volumes.action(volume, "os-reset_status", {"status": "in-use"})

    def test_a_nova_with_the_completion_grows_the_disk(self):
        volume = self.attached()
        self.use_nova("nova-compute-with-completion")
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)
        self.assert_written(volume, 2)

    def test_an_image_is_made_of_a_grown_volume(self):
        volume = self.attached()
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.detach(volume)
        image = self.volumes.ask("POST", f"/volumes/{volume}/action", {"os-volume_upload_image": {
            "image_name": "copy", "disk_format": "qcow2", "container_format": "bare"}})[
                "os-volume_upload_image"]["image_id"]
        self.volumes.wait_status(volume, "available", TIMEOUT_S)
        copy = self.volume(2, imageRef=image)
        self.assert_written(volume, 2)
        path, = glob.glob(f"{self.cloud.place}/mnt/*/volume-{copy}")
        self.attach(copy)
        self.wait_guest(copy, 2)
        self.assertEqual(os.stat(path).st_size, 2 * GIB)
        self.cloud.glance.call("DELETE", f"/v2/images/{image}")
