"""
Snapshots below running QEMU domains where files share no blocks: the agent puts overlays below the
guest and merges them again, and each holds the data that the guest had written then.
"""

import os
import signal
import subprocess
import uuid

import program
from block_storage import until
from case import GIB, DomainCase
from hypervisor import disk_of


def setUpModule():
    DomainCase.start_hypervisor()


def tearDownModule():
    DomainCase.stop_hypervisor()


class OverlayCase(DomainCase):
    """Common to both."""

    options = ("--file.file_snapshot_overlays=true",)

    def persistent(self):
        """A volume in use by a domain that can be started again: (volume, attachment, domain)."""
        volume_id = self.volume()
        attachment = self.attach(volume_id)
        domain = self.domain(attachment).define()
        domain.run()
        self.api.attach_complete(attachment["id"])
        self.api.wait_status(volume_id, "in-use")
        return volume_id, attachment["id"], domain

    def disk(self, attachment_id):
        attachment = self.api.ask("GET", f"/attachments/{attachment_id}")["attachment"]
        return disk_of(attachment)

    def byte_at(self, place, path, image_format="raw"):
        """Of the disk, even if another process has it open."""
        text = subprocess.run(["qemu-io", "-U", "-r", "-f", image_format, "-c", f"read -v {place} 1",
                               path], check=True, capture_output=True, text=True).stdout
        return int(text.split()[1], 16)

    def first_byte(self, path, image_format="raw"):
        return self.byte_at(0, path, image_format)

    def assert_content(self, snapshot_id, byte):
        clone = self.volume(2, snapshot_id=snapshot_id)
        attachment = self.attach(clone)
        self.assertEqual(self.first_byte(disk_of(attachment).path), byte)

    def delete_snapshot(self, snapshot_id):
        self.api.ask("DELETE", f"/snapshots/{snapshot_id}")

        def gone():
            rows = {row["id"]: row["status"] for row in self.api.snapshots()}
            self.assertNotEqual(rows.get(snapshot_id), "error_deleting")
            return snapshot_id not in rows
        until(gone, 120, f"snapshot {snapshot_id} to go")

    def group(self, volume_ids):
        """A group with these volumes, which they leave behind the test."""
        group_type = self.api.ask("POST", "/group_types", {
            "group_type": {"name": str(uuid.uuid4())}})["group_type"]["id"]
        group_id = self.api.ask("POST", "/groups", {"group": {
            "group_type": group_type, "volume_types": ["__DEFAULT__"]}})["group"]["id"]
        path, members = f"/groups/{group_id}", ",".join(volume_ids)
        self.api.ask("PUT", path, {"group": {"add_volumes": members}})

        def take_apart():
            api = self.client()
            api.ask("PUT", path, {"group": {"remove_volumes": members}})
            api.ask("POST", f"{path}/action", {"delete": {"delete-volumes": False}})
            api.ask("DELETE", f"/group_types/{group_type}")
            api.close()
        self.addCleanup(take_apart)
        return group_id

    def group_snapshot_status(self, group_snapshot_id):
        answer = self.api.call("GET", f"/group_snapshots/{group_snapshot_id}")
        return "gone" if answer.status == 404 else answer.body["group_snapshot"]["status"]

    def group_snapshot(self, group_id):
        """One that is available: its id, and of each volume the id of its member."""
        made = self.api.ask("POST", "/group_snapshots", {
            "group_snapshot": {"group_id": group_id}})["group_snapshot"]["id"]
        until(lambda: self.group_snapshot_status(made) != "creating", 120, "an end of making it")
        self.assertEqual(self.group_snapshot_status(made), "available")
        return {"id": made, "members": {row["volume_id"]: row["id"] for row in self.api.snapshots()
                                        if row["group_snapshot_id"] == made}}

    def shares_blocks(self, attachment_id):
        """The file system makes snapshots itself: no host is requested."""
        return self.disk(attachment_id).format == "raw"


class Overlays(OverlayCase):
    def test_a_chain_below_a_running_domain(self):
        volume_id, attachment_id, domain = self.persistent()
        snapshots = []
        for byte in (1, 2, 3):
            domain.write_disk(volume_id, byte, "64k")
            snapshots.append(self.api.snapshot(volume_id))
        domain.write_disk(volume_id, 4, "64k")
        if self.shares_blocks(attachment_id):
            self.skipTest("files share blocks here")
        self.assertEqual(os.path.basename(self.disk(attachment_id).path),
                         f"volume-{volume_id}.{snapshots[2]}")
        self.api.extend(volume_id, 2)
        self.assert_grown(volume_id, domain, 2)
        for snapshot_id, byte in zip(snapshots, (1, 2, 3)):
            self.assert_content(snapshot_id, byte)

        self.delete_snapshot(snapshots[1])  # in the middle: committed
        self.assert_content(snapshots[0], 1)
        self.assert_content(snapshots[2], 3)
        self.delete_snapshot(snapshots[2])  # the newest: pulled
        self.assert_content(snapshots[0], 1)
        domain.power_off()
        domain.run()
        disk = self.disk(attachment_id)
        self.assertEqual(self.first_byte(disk.path, disk.format), 4)
        domain.write_disk(volume_id, 5, "64k")
        self.delete_snapshot(snapshots[0])  # the last one
        self.assertEqual(self.first_byte(disk.path, disk.format), 5)
        self.assertEqual(domain.capacity(volume_id), 2 * GIB)

        domain.destroy()
        self.api.detach(attachment_id)
        self.api.delete_and_wait(volume_id)

    def test_a_domain_killed_after_a_merge_has_lost_nothing(self):
        """QEMU keeps in memory which blocks it has merged, until a flush."""
        for newest in (True, False):
            volume_id, attachment_id, domain = self.persistent()
            domain.write_disk(volume_id, 1, "64k")
            first = self.api.snapshot(volume_id)
            domain.write_disk(volume_id, 2, "64M")
            second = self.api.snapshot(volume_id)
            if self.shares_blocks(attachment_id):
                self.skipTest("files share blocks here")
            domain.write_disk(volume_id, 3, "64k")
            self.delete_snapshot(second if newest else first)
            domain.kill()
            disk = self.disk(attachment_id)
            self.assertEqual([self.byte_at(place, disk.path, disk.format)
                              for place in ("0", "64k", "60M")], [3, 2, 2])

    def test_a_group_below_running_domains(self):
        members = [self.persistent() for _ in range(2)]
        loose = self.volume()
        group_id = self.group([member[0] for member in members] + [loose])
        for volume_id, _, domain in members:
            domain.write_disk(volume_id, 7, "64k")
        made = self.group_snapshot(group_id)
        self.assertEqual(len(made["members"]), 3)
        for volume_id, attachment_id, domain in members:
            domain.write_disk(volume_id, 8, "64k")
            self.assert_content(made["members"][volume_id], 7)
            if not self.shares_blocks(attachment_id):
                self.assertEqual(os.path.basename(self.disk(attachment_id).path),
                                 f"volume-{volume_id}.{made['members'][volume_id]}")
        self.assert_content(made["members"][loose], 0)

        self.api.ask("DELETE", f"/group_snapshots/{made['id']}")
        until(lambda: self.group_snapshot_status(made["id"]) == "gone", 120, "all of it to go")
        self.assertEqual(self.api.snapshots(), [])
        for volume_id, attachment_id, domain in members:
            domain.power_off()
            disk = self.disk(attachment_id)
            self.assertEqual(self.first_byte(disk.path, disk.format), 8)
            kept = [name for name in os.listdir(os.path.dirname(disk.path)) if volume_id in name
                    and name not in (os.path.basename(disk.path), f"volume-{volume_id}",
                                     f"volume-{volume_id}.info")]
            self.assertEqual(kept, [])

    def test_a_merge_while_a_domain_is_off_leaves_it_startable(self):
        volume_id, attachment_id, domain = self.persistent()
        domain.write_disk(volume_id, 1, "64k")
        old = self.api.snapshot(volume_id)
        if self.shares_blocks(attachment_id):
            self.skipTest("files share blocks here")
        domain.write_disk(volume_id, 2, "64k")
        new = self.api.snapshot(volume_id)
        domain.power_off()
        self.api.detach(attachment_id)
        self.delete_snapshot(old)
        attachment = self.attach(volume_id)
        domain.run()
        self.api.attach_complete(attachment["id"])
        disk = self.disk(attachment["id"])
        self.assertEqual(self.first_byte(disk.path, disk.format), 2)
        self.assert_content(new, 2)

    def test_a_domain_that_is_off_needs_no_request(self):
        volume_id, attachment_id, domain = self.persistent()
        domain.write_disk(volume_id, 1, "64k")
        domain.power_off()
        made = self.api.snapshot_made(volume_id)
        disk = self.disk(attachment_id)
        self.assertIn(made["status"], ("available", "error"))
        self.assertEqual(self.first_byte(disk.path, disk.format), 1)


class NoCapableHost(OverlayCase):
    options = OverlayCase.options + ("--compute_agent.enabled=false",)

    def test_a_snapshot_without_a_capable_host_changes_nothing(self):
        volume_id, attachment_id, domain = self.persistent()
        domain.write_disk(volume_id, 1, "64k")
        made = self.api.snapshot_made(volume_id)
        if made["status"] == "available":
            self.skipTest("files share blocks here")
        domain.write_disk(volume_id, 2, "64k")
        disk = self.disk(attachment_id)
        self.assertEqual((os.path.basename(disk.path), disk.format), (f"volume-{volume_id}", "raw"))
        self.assertEqual(self.first_byte(disk.path), 2)
        self.delete_snapshot(made["id"])
        directory = os.path.dirname(disk.path)
        self.assertFalse([name for name in os.listdir(directory) if made["id"] in name])
        domain.power_off()
        domain.run()
        domain.write_disk(volume_id, 3, "64k")
        self.assertEqual(self.first_byte(disk.path), 3)


class AgentOfItsOwn(OverlayCase):
    """An agent that has taken on its part of a snapshot, and loses it."""

    options = OverlayCase.options + ("--compute_agent.enabled=false", "--compute.event_timeout=2")

    def begin(self, volume_id):
        """A snapshot that was requested of its host."""
        made = self.api.ask("POST", "/snapshots", {"snapshot": {"volume_id": volume_id}})["snapshot"]

        def requested():
            row = self.api.ask("GET", f"/snapshots/{made['id']}")["snapshot"]
            if row["status"] == "available":
                self.skipTest("files share blocks here")
            return program.phase(self.state, volume_id, *self.options) == "waiting"
        until(requested, 120, "the host to be asked")
        return made["id"]

    def assert_made(self, snapshot_id):
        def made():
            status = self.api.ask("GET", f"/snapshots/{snapshot_id}")["snapshot"]["status"]
            self.assertIn(status, ("creating", "available"))
            return status == "available"
        until(made, 180, f"snapshot {snapshot_id}")

    def test_a_killed_agent_is_requested_again(self):
        agent = self.start_agent()
        volume_id, domain = self.running()
        domain.write_disk(volume_id, 1, "64k")
        self.hold(volume_id, domain)
        snapshot_id = self.begin(volume_id)
        agent.kill()
        domain.abort_copy(volume_id)
        self.start_agent()
        self.assert_made(snapshot_id)
        domain.write_disk(volume_id, 2, "64k")
        self.assert_content(snapshot_id, 1)
        self.delete_snapshot(snapshot_id)

    def test_a_suspended_agent_is_replaced_and_changes_nothing_later(self):
        stopped = self.start_agent()
        volume_id, domain = self.running()
        domain.write_disk(volume_id, 1, "64k")
        stopped.process.send_signal(signal.SIGSTOP)
        snapshot_id = self.begin(volume_id)
        agent = self.start_agent()
        self.assert_made(snapshot_id)
        domain.write_disk(volume_id, 2, "64k")
        stopped.process.send_signal(signal.SIGCONT)
        self.assertEqual(stopped.stop(), 0)
        self.assertEqual(agent.stop(), 0)
        self.start_agent()
        self.assert_content(snapshot_id, 1)
        self.delete_snapshot(snapshot_id)
        self.assert_volume(volume_id, "in-use", 1)

    def test_a_domain_killed_before_its_flush_has_lost_nothing(self):
        """The host has merged the files, and QEMU has not written which blocks: the agent cannot
        have it do that."""
        agent = self.start_agent()
        volume_id, attachment_id, domain = self.persistent()
        domain.write_disk(volume_id, 1, "64k")
        first = self.api.snapshot(volume_id)
        if self.shares_blocks(attachment_id):
            self.skipTest("files share blocks here")
        domain.write_disk(volume_id, 2, "64M")
        second = self.api.snapshot(volume_id)
        domain.write_disk(volume_id, 3, "64k")
        disk = self.disk(attachment_id)
        agent.process.send_signal(signal.SIGSTOP)
        self.api.ask("DELETE", f"/snapshots/{second}")
        until(lambda: program.phase(self.state, volume_id, *self.options) == "waiting", 120,
              "the host to be asked")
        domain.pull(volume_id, os.path.join(os.path.dirname(disk.path), f"volume-{volume_id}"))
        domain.kill()
        self.assertEqual(self.byte_at("60M", disk.path, disk.format), 0)  # otherwise: no such test
        agent.process.send_signal(signal.SIGCONT)

        def status():
            return {row["id"]: row["status"] for row in self.api.snapshots()}.get(second)
        until(lambda: status() != "deleting", 240, "an end of the delete")
        self.assertEqual([self.byte_at(place, disk.path, disk.format)
                          for place in ("0", "64k", "60M")], [3, 2, 2])
        self.assert_content(first, 1)
        self.api.detach(attachment_id)
        if status():
            self.api.ask("POST", f"/snapshots/{second}/action", {"os-reset_status": {"status": "error"}})
            self.delete_snapshot(second)
        disk = self.disk(self.attach(volume_id)["id"])
        self.assertEqual([self.byte_at(place, disk.path, disk.format)
                          for place in ("0", "64k", "60M")], [3, 2, 2])
        self.assertEqual([name for name in os.listdir(os.path.dirname(disk.path))
                          if second in name and name != os.path.basename(disk.path)], [])
