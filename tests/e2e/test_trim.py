"""
Space of volumes in running guests is reclaimed by their guests; the guest system is real
(guest_system.py lists its stand-ins).
"""

import os
import subprocess
import tempfile
import uuid

import machine
from block_storage import until
from case import DomainCase
from guest_system import GuestDomain
from hypervisor import disk_of

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
WASTE_MIB = 24

PREPARE = f"""\
echo kept >/volume/kept
dd if=/dev/zero of=/volume/waste bs=1M count={WASTE_MIB}
sync
rm /volume/waste
sync
"""


def setUpModule():
    DomainCase.start_hypervisor()


def tearDownModule():
    DomainCase.stop_hypervisor()


class Trims(DomainCase):
    def taken(self, disk):
        return os.stat(disk.path).st_blocks * 512

    def reclaim(self, volume_id):
        answer = self.connect().call("POST", f"/volumes/{volume_id}/action",
                                     {"os-reclaim_space": {}})
        self.assertEqual(answer.status, 202, answer.message)

        def ended():
            last = self.connect().ask("GET", f"/volumes/{volume_id}/reclaim_space")["reclaim_space"]
            return last["finished_at"] and last
        last = until(ended, 300, "an end of giving back room")
        self.api.wait_status(volume_id, "in-use")
        return last

    def guest(self, count):
        """A domain with volumes as disks, not started yet."""
        instance = str(uuid.uuid4())
        attachments = [self.attach(self.volume(), instance) for _ in range(count)]
        domain = GuestDomain(f"scoria-e2e-{uuid.uuid4().hex[:8]}",
                             [disk_of(attachment) for attachment in attachments], instance)
        self.addCleanup(domain.destroy)
        for attachment in attachments:
            self.api.attach_complete(attachment["id"])
            self.api.wait_status(attachment["volume_id"], "in-use")
        return domain

    def assert_refused(self, disk, reason, words):
        last = self.reclaim(disk.volume_id)
        self.assertEqual((last["status"], last["reason"]), ("error", reason), last)
        self.assertIn(words, last["message"])

    def test_deleted_blocks_of_a_guest_are_reclaimed(self):
        kernel = machine.Kernel(os.path.join(TOP, "build/kernel"))
        domain = self.guest(3)
        system, plain, keeping = domain.disks
        domain.keeping = (keeping.volume_id,)
        # whole at once: the guest's kernel has nothing to finish while its usage is looked at
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0",
                        system.path], check=True)
        with tempfile.TemporaryDirectory(prefix="scoria-guest-") as place:
            domain.bring_system(kernel, PREPARE, place)
            domain.start()
            until(domain.answers_within, 300, "the guest's agent")
            before = self.taken(system)
            self.assertGreater(before, WASTE_MIB * MIB)
            last = self.reclaim(system.volume_id)
            self.assertEqual((last["status"], last["progress"]), ("done", 100), last)
            self.assertGreaterEqual(last["pre_usage"], before)
            self.assertEqual(last["post_usage"], self.taken(system))
            self.assertGreaterEqual(last["pre_usage"] - last["post_usage"],
                                    WASTE_MIB * MIB * 95 // 100)
            self.assert_refused(plain, "unsupported", "no file system of the volume mounted")
            self.assert_refused(keeping, "unsupported", "discard='unmap'")
            domain.destroy()
        checked = subprocess.run(["e2fsck", "-f", "-y", system.path], capture_output=True,
                                 check=False)
        self.assertLessEqual(checked.returncode, 1, checked.stdout)
        kept = subprocess.run(["debugfs", "-R", "cat /kept", system.path], capture_output=True,
                              check=True)
        self.assertEqual(kept.stdout, b"kept\n")

    def test_a_guest_without_an_agent_is_refused(self):
        domain = self.guest(1)
        domain.start()
        before = self.taken(domain.disks[0])
        self.assert_refused(domain.disks[0], "unsupported", "guest agent")
        self.assertEqual(self.taken(domain.disks[0]), before)
