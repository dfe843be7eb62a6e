"""
Unused space of volumes is reclaimed, and their content stays, whatever other requests come
meanwhile.
"""

import os
import subprocess
import uuid

from block_storage import until
from case import ServiceCase, in_threads

MIB = 1 << 20
DATA_MIB, ZEROS_MIB = 4, 12


def at_once(functions):
    """Their results, in their order."""
    answers = [None] * len(functions)

    def keep(index):
        answers[index] = functions[index]()
    in_threads([lambda index=index: keep(index) for index in range(len(functions))])
    return answers


class Reclaim:
    """Promises of every format."""

    format = None
    may_trim = None  # of connection_info: whether a guest's disk may discard

    def path(self, volume_id):
        return os.path.join(self.state, "volumes", f"volume-{volume_id}")

    def run_io(self, volume_id, word):
        """Data, zeros that take space, and data again: written, or read and compared."""
        for byte, at, size in ((171, 0, DATA_MIB), (0, DATA_MIB, ZEROS_MIB),
                               (205, DATA_MIB + ZEROS_MIB, 1)):
            command = f"{word} -P {byte} {at}M {size}M"

            def run(command=command):
                """A reclaim that an attach cut short has the image's locks a moment longer."""
                done = subprocess.run(["qemu-io", "-f", self.format, "-c", command,
                                       self.path(volume_id)], capture_output=True, check=False)
                return b"Failed to get" not in done.stderr and done

            done = until(run, 30, "the locks of the image")
            self.assertEqual(done.returncode, 0, f"{command}: {done.stdout} {done.stderr}")

    def fill(self, volume_id):
        self.run_io(volume_id, "write")
        subprocess.run(["sync", self.path(volume_id)], check=True)

    def assert_content(self, volume_id):
        self.run_io(volume_id, "read")
        if self.format == "qcow2":
            subprocess.run(["qemu-img", "check", "-q", "-f", "qcow2", self.path(volume_id)],
                           check=True)

    def used(self, volume_id):
        return os.stat(self.path(volume_id)).st_blocks * 512

    def reclaim(self, volume_id, arguments=None):
        return self.connect().call("POST", f"/volumes/{volume_id}/action",
                                   {"os-reclaim_space": arguments})

    def last(self, volume_id):
        return self.connect().ask("GET", f"/volumes/{volume_id}/reclaim_space")["reclaim_space"]

    def ended(self, volume_id):
        return until(lambda: self.last(volume_id)["finished_at"] and self.last(volume_id), 120,
                     "an end of giving back room")

    def test_space_is_reclaimed_and_the_content_stays(self):
        volume_id = self.volume()
        self.fill(volume_id)
        before = self.used(volume_id)
        self.assertEqual(self.last(volume_id)["status"], "none")
        self.assertEqual(self.reclaim(volume_id, {}).status, 202)
        last = self.ended(volume_id)
        self.assertEqual((last["status"], last["progress"], last["reason"]), ("done", 100, None))
        self.assertEqual((last["pre_usage"], last["post_usage"]), (before, self.used(volume_id)))
        self.assertGreaterEqual(before - last["post_usage"], ZEROS_MIB * MIB * 95 // 100)
        self.assert_content(volume_id)
        self.api.wait_status(volume_id, "available")
        self.assertEqual(self.reclaim(volume_id).status, 202)
        again = self.ended(volume_id)
        self.assertEqual((again["pre_usage"], again["post_usage"]),
                         (last["post_usage"], last["post_usage"]))
        self.assert_content(volume_id)

    def test_a_volume_in_use_is_refused_with_a_reason(self):
        volume_id = self.volume()
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), "elsewhere")
        self.api.attach_complete(attachment["id"])
        answer = self.reclaim(volume_id, {})
        self.assertEqual(answer.status, 400)
        self.assertIn("no agent of this service", answer.message)
        self.assertEqual(self.last(volume_id)["status"], "none")

    def test_an_image_open_in_another_program_is_left_alone(self):
        volume_id = self.volume()
        self.fill(volume_id)
        before = self.used(volume_id)
        with subprocess.Popen(["qemu-io", "-f", self.format, self.path(volume_id)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as guest:
            guest.stdin.write(b"read 0 512\n")
            guest.stdin.flush()
            guest.stdout.readline()
            self.assertEqual(self.reclaim(volume_id, {}).status, 202)
            last = self.ended(volume_id)
            guest.stdin.close()
        self.assertEqual((last["status"], last["reason"]), ("error", "busy"))
        self.assertEqual(self.used(volume_id), before)
        self.api.wait_status(volume_id, "available")
        self.assertTrue(self.api.messages(volume_id))

    def test_of_concurrent_reclaims_one_begins(self):
        volume_id = self.volume()
        self.fill(volume_id)
        answers = at_once([lambda: self.reclaim(volume_id, {}).status] * 8)
        self.assertTrue(set(answers) <= {202, 409} and 202 in answers, answers)
        self.assertEqual(self.ended(volume_id)["status"], "done")

    def is_snapshotted(self, volume_id):
        """A snapshot is being made, which does not show in the volume's status."""
        snapshots = self.connect().ask("GET", f"/snapshots/detail?volume_id={volume_id}")
        return any(snapshot["status"] == "creating" for snapshot in snapshots["snapshots"])

    def test_concurrent_operations_keep_the_content(self):
        """An attach, an extend, a snapshot and a delete, each at the same moment as it."""
        others = (("os-reserve", None), ("os-extend", {"new_size": 2}), ("snapshot", None),
                  ("os-unreserve", None), ("delete", None))

        def ask(volume_id, what):
            api = self.connect()
            if what[0] == "snapshot":
                return api.call("POST", "/snapshots", {"snapshot": {"volume_id": volume_id}}).status
            if what[0] == "delete":
                return api.call("DELETE", f"/volumes/{volume_id}").status
            return api.call("POST", f"/volumes/{volume_id}/action", {what[0]: what[1]}).status

        for other in others:
            volume_id = self.volume()
            self.fill(volume_id)
            answers = at_once([lambda what=what, volume_id=volume_id: ask(volume_id, what)
                               for what in (("os-reclaim_space", {}), other)])
            self.assertTrue(all(status < 500 for status in answers), (other, answers))
            self.assertTrue(any(status < 300 for status in answers), (other, answers))
            if other[0] == "delete" and answers[1] == 202:
                self.api.wait_gone(volume_id)
                continue
            until(lambda volume_id=volume_id: self.api.show(volume_id)["status"] in
                  ("available", "reserved", "attaching") and not self.is_snapshotted(volume_id),
                  120, f"{other}: an end")
            self.assert_content(volume_id)


    def test_an_attach_takes_precedence_over_a_reclaim(self):
        """Requested while it is queued or at work: the attach is taken and connected, and a guest
        writes at once."""
        volume_id = self.volume()
        self.fill(volume_id)
        for _ in range(4):
            self.assertEqual(self.reclaim(volume_id).status, 202)
            attachment = self.api.attach(volume_id, str(uuid.uuid4()), "here")
            self.assertTrue(attachment["connection_info"])
            self.assertEqual(attachment["connection_info"].get("discard"), self.may_trim)
            self.assertIn(self.last(volume_id)["status"], ("done", "error"))
            self.run_io(volume_id, "write")
            self.api.detach(attachment["id"])
            self.api.wait_status(volume_id, "available")
        self.assert_content(volume_id)


class RawReclaim(Reclaim, ServiceCase):
    format = "raw"


class Qcow2Reclaim(Reclaim, ServiceCase):
    format = "qcow2"
    options = ("--file.file_qcow2_volumes=true", "--file.report_discard_supported=true")
    may_trim = True


class ThickReclaim(ServiceCase):
    options = ("--file.file_sparsed_volumes=false",)

    def test_a_thick_volume_keeps_its_space(self):
        volume_id = self.volume()
        answer = self.api.call("POST", f"/volumes/{volume_id}/action", {"os-reclaim_space": {}})
        self.assertEqual(answer.status, 400)
        self.assertEqual(self.api.show(volume_id)["status"], "available")
