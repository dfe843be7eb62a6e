"""
File systems without space during the life of images, volumes and snapshots: each operation ends in a
clear state with one message and one line of the log, leaves nothing, and succeeds again once there
is space, without a restart. The log and the output of tools report a loss.
"""

import contextlib
import os
import sqlite3
import subprocess

import program
from block_storage import BlockStorage, until
from case import GIB, ServiceCase, Workplace
from test_images import MIB, ImageCase, converted

DATA = os.urandom(24 * MIB)
REST = 4 * MIB
NO_STORAGE = "No space is left on the storage of the backend."
NO_CONVERSION = "No space is left in the directory for the conversion of images."


def fill_to_the_end(path):
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


class SmallDisks:
    """Volumes on a small file system of their own, conversions on another."""

    @classmethod
    def make_disks(cls):
        """Before the service starts; returns its options."""
        cls.place = f"/tmp/scoria-e2e-full-{os.getpid()}-{cls.__name__}"
        cls.volumes, cls.conversion = (os.path.join(cls.place, name)
                                       for name in ("volumes", "conversion"))
        image = os.path.join(cls.place, "image")
        for path in (cls.place, cls.volumes, cls.conversion):
            os.mkdir(path)
        cls.addClassCleanup(subprocess.run, ["rm", "-r", cls.place], check=False)
        with open(image, "wb") as file:
            file.truncate(3 * GIB)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        for directory, words in ((cls.volumes, ("-o", "loop", image)),
                                 (cls.conversion, ("-t", "tmpfs", "-o", "size=128m", "none"))):
            if subprocess.run(["mount", *words, directory], capture_output=True,
                              check=False).returncode:
                cls.skipTest(cls, "nothing can be mounted here")
            cls.addClassCleanup(subprocess.run, ["umount", "-l", directory], check=False)
        return (f"--file.file_volume_directory={cls.volumes}",
                f"--image_conversion_dir={cls.conversion}", "--file.file_sparsed_volumes=true")

    def path(self, volume_id):
        return os.path.join(self.volumes, f"volume-{volume_id}")

    def fill(self, directory, rest=REST):
        """Behind the service's back, so that no scheduler can refuse.  A call ends it."""
        path = os.path.join(directory, "filler")

        def empty():
            if os.path.exists(path):
                os.unlink(path)
        self.addCleanup(empty)
        with open(path, "wb", buffering=0) as file:
            space, at = os.statvfs(directory), 0
            piece = space.f_bavail * space.f_frsize - rest
            while piece >= space.f_frsize:
                try:
                    os.posix_fallocate(file.fileno(), at, piece)
                    at += piece
                    if rest:
                        break
                except OSError:  # blocks that the file itself needs
                    piece //= 2
        return empty

    def end_of(self, volume_id):
        def ended():
            status = self.api.show(volume_id)["status"]
            is_last = not status.endswith("ing") or status.startswith("error")
            return status if is_last else None
        return until(ended, 120, "an end of the operation")


class FullImages(SmallDisks, ImageCase):
    """Images and their volumes."""

    @classmethod
    def user_options(cls):
        return cls.make_disks()

    def files(self, without=None):
        """Of both directories, with the space that they take."""
        return {(name, os.stat(os.path.join(directory, name)).st_blocks)
                for directory in (self.volumes, self.conversion) for name in os.listdir(directory)
                if name != "filler" and not (without and without in name)}

    def again(self, **fields):
        """The next report of the pool has the space."""
        def made():
            volume_id = self.api.create(1, **fields)["id"]
            self.addCleanup(self.discard, volume_id)
            return volume_id if self.end_of(volume_id) == "available" else None
        return until(made, 120, "a volume", pause=1)

    def assert_told(self, volume_id, event, text, directory):
        """One message and one line of the log, with the request and the directory."""
        rows = self.api.messages(volume_id)
        self.assertEqual([row["event_id"] for row in rows], [event])
        self.assertIn(text, rows[0]["user_message"])
        lines = [line for line in self.service.log().splitlines()
                 if volume_id in line and (" ERROR " in line or " WARNING " in line)]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], "No space left|has no space")
        self.assertIn(directory, lines[0])
        self.assertIn("request_id=req-", lines[0])

    def create(self, event, directory, text, **fields):
        """A volume that fails, and the next one."""
        before = self.files()
        empty = self.fill(directory)
        volume_id = self.api.create(1, **fields)["id"]
        self.addCleanup(self.discard, volume_id)
        self.assertEqual(self.end_of(volume_id), "error")
        self.assert_told(volume_id, event, text, directory)
        self.assertEqual(self.files(), before)
        self.api.delete_and_wait(volume_id)
        empty()
        self.assert_content(self.again(**fields), DATA)

    def test_a_volume_of_an_image_without_space_leaves_nothing(self):
        converts = self.images.add(converted(DATA, "qcow2"), "qcow2")
        for image_id, directory, text in ((self.images.add(DATA), self.volumes, NO_STORAGE),
                                          (converts, self.conversion, NO_CONVERSION)):
            with self.subTest(directory):
                self.create("VOLUME_VOLUME_005_007", directory, text, imageRef=image_id)

    def test_a_clone_without_space_leaves_nothing(self):
        source = self.made(self.images.add(DATA))["id"]
        self.create("VOLUME_VOLUME_008_012", self.volumes, NO_STORAGE, source_volid=source)

    def test_an_upload_without_space_leaves_no_image(self):
        volume_id = self.made(self.images.add(DATA))["id"]
        before, images = self.files(), set(self.images.images)
        body = {"os-volume_upload_image": {"image_name": "of a volume", "disk_format": "vmdk"}}
        empty = self.fill(self.conversion)
        self.api.ask("POST", f"/volumes/{volume_id}/action", body)
        self.assertEqual(self.end_of(volume_id), "available")
        self.assert_told(volume_id, "VOLUME_VOLUME_003_004", NO_CONVERSION, self.conversion)
        self.assertEqual((self.files(), set(self.images.images)), (before, images))
        empty()
        made = self.api.ask("POST", f"/volumes/{volume_id}/action", body)
        self.assertEqual(self.end_of(volume_id), "available")
        image = self.images.images[made["os-volume_upload_image"]["image_id"]]
        self.assertEqual(image.description["status"], "active")

    def test_a_reimage_without_space_is_repeated(self):
        converts = self.images.add(converted(DATA, "qcow2"), "qcow2")
        for image_id, directory, text in ((self.images.add(DATA), self.volumes, NO_STORAGE),
                                          (converts, self.conversion, NO_CONVERSION)):
            with self.subTest(directory):
                volume_id = self.volume(1)
                before = self.files(without=volume_id)
                empty = self.fill(directory)
                self.api.action(volume_id, "os-reimage", {"image_id": image_id})
                self.assertEqual(self.end_of(volume_id), "error")
                self.assert_told(volume_id, "VOLUME_VOLUME_016_007", text, directory)
                self.assertEqual(self.files(without=volume_id), before)
                empty()
                self.api.reset(volume_id, "available")
                self.api.action(volume_id, "os-reimage", {"image_id": image_id})
                self.assertEqual(self.end_of(volume_id), "available")
                self.assert_content(volume_id, DATA)


class FullSnapshots(SmallDisks, ServiceCase):
    """Snapshots as overlays, which need space for each step."""

    @classmethod
    def setUpClass(cls):
        cls.options = (*cls.make_disks(), "--file.file_snapshot_overlays=true")
        super().setUpClass()

    def write(self, path, byte, image_format):
        subprocess.run(["qemu-io", "-f", image_format, "-c", f"write -P {byte} 0 1M", path],
                       check=True, capture_output=True)

    def await_report(self):
        """The scheduler knows of the space that another test has made."""
        room = os.statvfs(self.volumes)
        free_gb = 0.9 * room.f_bavail * room.f_frsize / 2**30
        until(lambda: self.api.ask("GET", "/scheduler-stats/get_pools?detail=true")["pools"][0][
            "capabilities"]["free_capacity_gb"] >= free_gb, 60, "a report of the free space")

    def written(self):
        """A volume with a snapshot, written before and after it: (volume, snapshot, its disk)."""
        self.await_report()
        volume_id = self.volume()
        self.write(self.path(volume_id), 1, "raw")
        snapshot_id = self.api.snapshot(volume_id)
        disk = f"{self.path(volume_id)}.{snapshot_id}"
        self.write(disk, 2, "qcow2")
        return volume_id, snapshot_id, disk

    def assert_no_space(self, object_id):
        """The newest message, and the line of the log."""
        self.assertIn(NO_STORAGE, self.api.messages(object_id)[0]["user_message"])
        line = [line for line in self.service.log().splitlines()
                if object_id in line and " ERROR " in line][-1]
        self.assertRegex(line, "No space left|has no space")
        self.assertIn(self.volumes, line)

    def delete_snapshot(self, snapshot_id):
        """Its status at the end, None when it is gone."""
        path = f"/snapshots/{snapshot_id}"
        self.api.ask("DELETE", path)

        def ended():
            answer = self.api.call("GET", path)
            status = answer.status != 404 and answer.body["snapshot"]["status"]
            return (status or None,) if status != "deleting" else None
        return until(ended, 120, "an end of the delete")[0]

    def test_operations_without_space_change_nothing_and_are_repeated(self):
        volume_id, snapshot_id, disk = self.written()
        before = sorted(os.listdir(self.volumes))
        empty = self.fill(self.volumes, 0)
        self.api.extend(volume_id, 2)
        self.assertEqual(self.end_of(volume_id), "error_extending")
        self.assert_no_space(volume_id)
        self.api.reset(volume_id, "available")
        second = self.api.snapshot_made(volume_id)
        self.assertEqual(second["status"], "error")
        self.assert_no_space(second["id"])
        self.assertIsNone(self.delete_snapshot(second["id"]))
        self.assertEqual(self.delete_snapshot(snapshot_id), "error_deleting")
        self.assert_no_space(snapshot_id)
        self.assertEqual(sorted({*os.listdir(self.volumes)} - {"filler"}), before)
        self.assertEqual(subprocess.run(["qemu-io", "-f", "qcow2", "-c", "read -P 2 0 1M", disk],
                                        capture_output=True, check=False).returncode, 0)
        empty()
        self.api.extend(volume_id, 2)
        self.assertEqual(self.end_of(volume_id), "available")
        self.api.ask("POST", f"/snapshots/{snapshot_id}/action",
                     {"os-reset_status": {"status": "error"}})
        self.assertIsNone(self.delete_snapshot(snapshot_id))
        self.assertEqual(subprocess.run(
            ["qemu-io", "-f", "raw", "-c", "read -P 2 0 1M", self.path(volume_id)],
            capture_output=True, check=False).returncode, 0)

    def test_a_revert_without_space_is_repeated(self):
        volume_id, snapshot_id, _ = self.written()
        empty = self.fill(self.volumes, 0)
        self.api.action(volume_id, "revert", {"snapshot_id": snapshot_id})
        self.assertEqual(self.end_of(volume_id), "error")
        self.assert_no_space(volume_id)
        empty()
        self.api.reset(volume_id, "available")
        self.api.ask("POST", f"/snapshots/{snapshot_id}/action",
                     {"os-reset_status": {"status": "available"}})
        self.api.action(volume_id, "revert", {"snapshot_id": snapshot_id})
        self.assertEqual(self.end_of(volume_id), "available")

    def test_a_volume_is_deleted_with_its_snapshots_on_a_full_disk(self):
        volume_id, _, disk = self.written()
        for byte in 3, 4:
            snapshot_id = self.api.snapshot(volume_id)
            disk = f"{self.path(volume_id)}.{snapshot_id}"
            self.write(disk, byte, "qcow2")
        self.fill(self.volumes, 0)
        self.api.ask("DELETE", f"/volumes/{volume_id}?cascade=true")
        self.api.wait_gone(volume_id)
        self.assertEqual([name for name in os.listdir(self.volumes) if volume_id in name], [])

    def test_a_volume_that_had_snapshots_is_deleted_on_a_full_disk(self):
        volume_id, snapshot_id, _ = self.written()
        self.assertIsNone(self.delete_snapshot(snapshot_id))
        self.fill(self.volumes, 0)
        self.api.delete_and_wait(volume_id)
        self.assertEqual([name for name in os.listdir(self.volumes) if volume_id in name], [])


class FullOutput(Workplace):
    """The log, and the output of tools."""

    def test_a_log_without_space_delays_nothing_and_reports_its_loss(self):
        logs = os.path.join(self.directory, "logs")
        os.mkdir(logs)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", logs],
                          capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", logs], check=False)
        service = program.Program("serve", os.path.join(logs, "serve.log"), "--state-dir",
                                  self.state, "--listen", "127.0.0.1:0", "--log_level=debug")
        self.addCleanup(service.kill)
        service.start()
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        api.wait_manager()
        filler = os.path.join(logs, "filler")
        fill_to_the_end(filler)
        for _ in range(40):  # lines fill the last page of the log
            api.delete_and_wait(api.create_available(1)["id"])
        os.unlink(filler)
        api.delete_and_wait(api.create_available(1)["id"])
        self.assertEqual(service.stop(), 0)
        self.assertRegex(service.log(), r"(?m)^\S+ WARNING log lines lost lines=\d+ "
                         'reason="No space left on device"$')

    def stopped_on_a_small_disk(self, *options):
        """The state of a service that has ended."""
        os.mkdir(self.state)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", self.state],
                          capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state], check=False)
        service = program.serve(self.state, *options)
        self.addCleanup(service.kill)
        service.start()
        self.assertEqual(service.stop(), 0)

    def test_a_database_without_space_for_its_index_is_reported_as_full(self):
        self.stopped_on_a_small_disk()
        fill_to_the_end(os.path.join(self.state, "filler"))
        done = subprocess.run([program.BINARY, "manage", "operations", "--state-dir", self.state],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("scoria.db: The disk of the database is full: No space left on device",
                      done.stderr)
        os.unlink(os.path.join(self.state, "filler"))
        self.assertEqual(program.check(self.state), [])

    def test_a_rename_names_the_database_that_runs_full_at_any_point(self):
        self.stopped_on_a_small_disk("--host=old")
        with open(os.path.join(self.state, "host"), "w", encoding="utf-8") as file:
            file.write("old\n")
        database, filler = (os.path.join(self.state, name) for name in ("scoria.db", "filler"))
        with contextlib.closing(sqlite3.connect(database)) as base, base:
            base.execute("UPDATE services SET reported_at = 0")  # it ended long ago
        seen = set()
        for free in range(0, 1 << 20, 8192):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(database + "-reserve")
            fill_to_the_end(filler)
            os.truncate(filler, os.path.getsize(filler) - free)
            done = subprocess.run([program.BINARY, "manage", "host", "rename", "old", "new",
                                   "--state-dir", self.state], capture_output=True, text=True,
                                  timeout=60, check=False)
            os.unlink(filler)
            if done.returncode == 0:
                break
            self.assertRegex(done.stderr, f"database {database}: The disk of the database is full: |"
                             f"The rows are renamed, but {self.state}/host is not: ")
            seen.add(done.stderr.rpartition(": ")[2])
        self.assertEqual((done.returncode, len(seen)), (0, 2), (done.stderr, seen))
        self.assertEqual(program.check(self.state, "--host=new"), [])

    def test_a_tool_whose_output_has_no_space_fails(self):
        for words in (("manage", "config"), ("manage", "drivers", "--format=json"), ("--help",),
                      ("--version",)):
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = subprocess.run([program.BINARY, *words], stdout=full, text=True,
                                      stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, "scoria: writing the output: No space left on device\n"))
