"""
File systems without space during the life of an image and of its volumes: each operation ends in a
clear state with one message and one line of the log, leaves nothing, and succeeds again once there
is space, without a restart.
"""

import os
import subprocess

from block_storage import until
from case import GIB
from test_images import MIB, ImageCase, converted

DATA = os.urandom(24 * MIB)
REST = 4 * MIB
NO_STORAGE = "No space is left on the storage of the backend."
NO_CONVERSION = "No space is left in the directory for the conversion of images."


class FullImages(ImageCase):
    """Volumes on a small file system of their own, conversions on another."""

    @classmethod
    def user_options(cls):
        """Before the service starts."""
        cls.place = f"/tmp/scoria-e2e-full-{os.getpid()}"
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

    def files(self, without=None):
        """Of both directories, with the space that they take."""
        return {(name, os.stat(os.path.join(directory, name)).st_blocks)
                for directory in (self.volumes, self.conversion) for name in os.listdir(directory)
                if name != "filler" and not (without and without in name)}

    def fill(self, directory):
        """Behind the service's back, so that no scheduler can refuse.  A call ends it."""
        path = os.path.join(directory, "filler")
        space = os.statvfs(directory)

        def empty():
            if os.path.exists(path):
                os.unlink(path)
        self.addCleanup(empty)
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - REST)
        return empty

    def end_of(self, volume_id):
        def ended():
            status = self.api.show(volume_id)["status"]
            return status if not status.endswith("ing") else None
        return until(ended, 120, "an end of the operation")

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
