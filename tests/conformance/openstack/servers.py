"""
Servers of a real Nova with volumes of this service, of each kind that Nova's hosts can use. Most
tests attach volumes of their own to one server, which has a guest system.
"""

import contextlib
import glob
import os
import re
import signal
import unittest

import program
from block_storage import until
from cloud import TIMEOUT_S, Cloud
from hypervisor import virsh

GIB = 1 << 30
SECTOR = 512


class Servers(unittest.TestCase):
    """Without tests of its own; a kind of volumes is a type, and the place of its files."""

    server = kind = None
    kind_of_several = None  # the backend of volumes that servers share
    files = None            # pattern of the files of a volume

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
        fields = {"volume_type": self.kind, **fields}
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

    def volume_of(self, server):
        """The only one that the server has."""
        attached, = self.show_server(server)["os-extended-volumes:volumes_attached"]
        return attached["id"]

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

    def snapshots_of(self, volume):
        return [row for row in self.volumes.snapshots() if row["volume_id"] == volume]

    def delete_snapshot(self, snapshot):
        self.volumes.ask("DELETE", f"/snapshots/{snapshot}")
        until(lambda: self.volumes.call("GET", f"/snapshots/{snapshot}").status == 404, TIMEOUT_S,
              f"snapshot {snapshot} gone")

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

    def path_of(self, volume):
        path, = glob.glob(self.files.format(place=self.cloud.place, volume=volume))
        return path

    def assert_written(self, volume, size_gb, guest=None):
        """The last sector is the guest's, which has the volume or had its source."""
        with open(self.path_of(volume), "rb") as file:
            file.seek(size_gb * GIB - SECTOR)
            text = file.read(SECTOR).rstrip(b"\0").decode()
        self.assertEqual(text, f"guest {(guest or volume)[:20]} {size_gb * GIB // SECTOR}\n")

    def first_bytes(self, volume, count):
        with open(self.path_of(volume), "rb") as file:
            return file.read(count)


class OfEachKind:
    """Tests of any kind of volumes."""

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

    def test_a_snapshot_below_a_guest_is_of_its_moment(self):
        """A volume of it, with the last sector of then, is another disk of the guest."""
        volume = self.attached()
        snapshot = self.volumes.snapshot(volume)
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        copy = self.volume(snapshot_id=snapshot)
        self.assert_written(copy, 1, volume)
        self.attach(copy)
        self.wait_guest(copy, 1)
        self.detach(copy)
        self.delete_snapshot(snapshot)
        self.assert_size(volume, 2)
        mark = self.mark()
        self.detach(volume)
        self.wait_guest_lost(volume, mark)
        self.attach(volume)
        self.wait_guest(volume, 2, mark)

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

    def test_a_server_boots_from_a_volume_and_leaves_it(self):
        volume = self.volume()
        self.volumes.action(volume, "os-set_bootable", {"bootable": True})
        self.volumes.action(volume, "os-set_image_metadata", {"metadata": self.cloud.system})
        server = self.own_server(imageRef="", block_device_mapping_v2=[
            {"uuid": volume, "source_type": "volume", "destination_type": "volume",
             "boot_index": 0}])
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.wait_guest(volume, 2, server=server)
        self.assert_size(volume, 2, server)
        self.remove_server(server)
        self.volumes.wait_status(volume, "available", TIMEOUT_S)
        self.attach(volume)
        self.wait_guest(volume, 2)

    def test_a_volume_that_nova_makes_grows_and_goes_with_its_server(self):
        server = self.own_server(block_device_mapping_v2=[
            {"uuid": self.cloud.image, "source_type": "image", "destination_type": "local",
             "boot_index": 0, "delete_on_termination": True},
            {"source_type": "blank", "destination_type": "volume", "volume_size": 1,
             "volume_type": self.kind, "boot_index": -1, "delete_on_termination": True}])
        volume = self.volume_of(server)
        self.wait_guest(volume, 1, server=server)
        self.extend(volume, 2)
        self.wait_guest(volume, 2, server=server)
        self.assert_size(volume, 2, server)
        self.remove_server(server)
        self.volumes.wait_gone(volume)

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


class OfFiles(OfEachKind):
    """Tests of volumes that are files to Nova's host."""

    def test_a_server_boots_from_a_volume_of_an_image_and_is_rebuilt(self):
        server = self.own_server(imageRef="", block_device_mapping_v2=[
            {"uuid": self.cloud.image, "source_type": "image", "destination_type": "volume",
             "volume_size": 1, "volume_type": self.kind, "boot_index": 0,
             "delete_on_termination": True}])
        volume = self.volume_of(server)
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
        volume = self.volume_of(server)
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
            "name": "of several", "extra_specs": {"volume_backend_name": self.kind_of_several,
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

    def test_each_service_dies_in_the_middle_of_a_growth(self):
        """Which waits for a block job on the disk, half a minute, as for Nova's own when it moves
        one."""
        volume = self.attached()
        target, _ = self.disk(volume)
        copy = f"{self.cloud.place}/mnt/copy-{volume}"
        virsh("blockcopy", self.server, target, "--dest", copy, "--format", "raw",
              "--transient-job")
        self.addCleanup(os.unlink, copy)
        for role in ("compute", "manager", "api"):
            self.addCleanup(self.cloud.have_role, role)
        self.volumes.extend(volume, 2)
        until(lambda: self.cloud.phase(volume) == "waiting", TIMEOUT_S, "the event at the agent")
        self.cloud.kill_role("compute")
        for role in ("manager", "api"):
            self.cloud.kill_role(role)
            self.cloud.start_role(role)
            self.volumes.close()
            self.assertEqual(self.volumes.show(volume)["status"], "extending")
        self.cloud.replace_compute()
        self.cloud.start_role("compute")
        self.assertEqual(self.volumes.show(volume)["status"], "extending")
        virsh("blockjob", self.server, target, "--abort")
        self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)

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
        self.assert_written(copy, 2, volume)
        self.attach(copy)
        self.wait_guest(copy, 2)
        self.assert_written(copy, 2)
        self.cloud.glance.call("DELETE", f"/v2/images/{image}")


class Shares(OfFiles, Servers):
    kind = "share"
    kind_of_several = "plain"
    files = "{place}/mnt/*/volume-{volume}"

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
        self.delete_snapshot(snapshot)
        self.assert_size(volume, 2)
        mark = self.mark()
        self.detach(volume)
        self.wait_guest_lost(volume, mark)
        self.attach(volume)
        self.wait_guest(volume, 2, mark)

    # ---- a Nova that grows the disks ----

    def use_nova(self, completing=None, more=()):
        """Until the end of the test; the options of API and manager, which are restarted."""
        self.addCleanup(self.volumes.close)
        options = self.cloud.use_nova(self, completing, more)
        self.volumes.close()
        return options

    @contextlib.contextmanager
    def held(self, moment):
        """nova-compute-with-completion waits there, and the next one does not."""
        path = os.path.join("/var/lib/nova", moment)
        with open(path, "x", encoding="ascii"):
            pass
        try:
            yield
        finally:
            os.unlink(path)

    def growths(self):
        """Events of extends that nova-compute has begun with."""
        path = f"/servers/{self.server}/os-instance-actions"
        return [event for row in self.nova.ask("GET", path)["instanceActions"]
                if row["action"] == "extend_volume" for event in self.nova.ask(
                    "GET", f"{path}/{row['request_id']}")["instanceAction"]["events"]]

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

    def test_a_nova_compute_that_dies_before_it_has_grown_the_disk(self):
        """The event is lost with it: the extend is rolled back, and the next one grows the disk."""
        volume = self.attached()
        self.use_nova("nova-compute-with-completion", ("--extend_deadline=30",))
        known = len(self.growths())
        with self.held("before"):
            self.volumes.extend(volume, 2)
            until(lambda: len(self.growths()) > known, TIMEOUT_S, "the event at nova-compute", 0.2)
            self.cloud.kill_nova("compute")
            self.volumes.wait_status(volume, "error_extending", TIMEOUT_S)
        self.cloud.start_compute(self.cloud.with_completion)
        self.assert_size(volume, 1)
        self.volumes.reset(volume, "in-use")
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.assert_size(volume, 2)

    def test_a_nova_compute_that_dies_after_it_has_grown_the_disk(self):
        """Its report is lost with it: the file decides."""
        volume = self.attached()
        self.use_nova("nova-compute-with-completion", ("--extend_deadline=30",))
        with self.held("after"):
            self.volumes.extend(volume, 2)
            self.wait_guest(volume, 2)
            self.cloud.kill_nova("compute")
            self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
        self.cloud.start_compute(self.cloud.with_completion)
        self.assert_size(volume, 2)
        self.extend(volume, 3)
        self.wait_guest(volume, 3)

    def test_manager_and_api_die_while_nova_grows_the_disk(self):
        volume = self.attached()
        options = self.use_nova("nova-compute-with-completion")
        with self.held("after"):
            self.volumes.extend(volume, 2)
            self.wait_guest(volume, 2)
            for role in ("manager", "api"):
                self.cloud.kill_role(role)
                self.cloud.start_role(role, *options)
                self.volumes.close()
                self.assertEqual(self.volumes.show(volume)["status"], "extending")
        self.volumes.wait_status(volume, "in-use", TIMEOUT_S)
        self.assert_size(volume, 2)
        self.assert_written(volume, 2)


class Files(OfFiles, Servers):
    """Of the driver for files, as gpfs."""

    kind = kind_of_several = "files"
    files = "{place}/files/volume-{volume}"


class Declared(OfEachKind, Servers):
    """Kept in three replicas, as a device of Nova's host."""

    kind = "declared"

    def replicated(self, volume):
        """The document of its data path, which belongs to the service's own project."""
        return self.cloud.volumes("scoria", "service").ask(
            "GET", f"/volume_configs/volume-{volume}/volume")["replicated_volume"]

    def path_of(self, volume):
        """Of a replica, which has the content at the same offsets."""
        replica = self.replicated(volume)["spec"]["replicas"][0]
        return os.path.join(replica["path"], replica["uid"], "data")

    def disk(self, volume, server=None):
        """By its serial number: the device has another name."""
        text = virsh("dumpxml", server or self.server)
        disk = next(disk for disk in re.findall(r"<disk .*?</disk>", text, re.DOTALL)
                    if f"<serial>{volume}</serial>" in disk)
        return (re.search(r"<target dev='(\w+)'", disk)[1],
                re.search(r"<source dev='([^']+)'", disk)[1])

    def test_the_storage_daemon_of_the_replicas_dies_below_a_guest(self):
        """Requests of the guest wait for the next one."""
        volume = self.attached()
        run = self.cloud.path("targets", self.replicated(volume)["metadata"]["uid"])
        former = program.daemon_of(run)
        os.kill(former, signal.SIGKILL)
        until(lambda: program.daemon_of(run) not in (None, former), TIMEOUT_S, "another daemon")
        self.extend(volume, 2)
        self.wait_guest(volume, 2)
        self.assert_written(volume, 2)
