"""
Volumes of images: of a real Glance, and of an image service that sends whatever it likes.
"""

import os
import subprocess
import tempfile
import uuid

from block_storage import until
from case import ServiceCase
from glance import Glance
from image_service import STATUSES, ImageService

MIB = 1 << 20
GIB = 1 << 30
CONTENT = os.urandom(MIB) + bytes(2 * MIB) + os.urandom(MIB + 512)
FORMATS = (("qcow2", "qcow2", ()), ("vmdk", "vmdk", ()),
           ("vmdk", "vmdk", ("-o", "subformat=streamOptimized")), ("vdi", "vdi", ()),
           ("vhdx", "vhdx", ()), ("vpc", "vhd", ("-o", "force_size=on")))


def converted(data, tool_format, options=()):
    """The same content as an image of another format."""
    with tempfile.TemporaryDirectory(prefix="scoria-e2e-") as directory:
        paths = [os.path.join(directory, name) for name in ("raw", "image")]
        with open(paths[0], "wb") as file:
            file.write(data)
        subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", tool_format, *options, *paths],
                       check=True)
        with open(paths[1], "rb") as file:
            return file.read()


class ImageCase(ServiceCase):
    """An image service of this test beside the service."""

    options_of_class = ()
    format = "raw"

    @classmethod
    def setUpClass(cls):
        cls.images = ImageService()
        cls.addClassCleanup(cls.images.end)
        cls.options = (f"--glance_api_servers={cls.image_service_url()}", "--glance_request_timeout=5",
                       "--glance_num_retries=0", *cls.options_of_class)
        super().setUpClass()

    @classmethod
    def image_service_url(cls):
        return cls.images.url

    def path(self, volume_id):
        return os.path.join(self.state, "volumes", f"volume-{volume_id}")

    def assert_content(self, volume_id, data, size_gb=1):
        """The data, and zeros after it."""
        with tempfile.NamedTemporaryFile(prefix="scoria-e2e-") as file:
            file.write(data)
            file.truncate(size_gb * GIB)
            done = subprocess.run(["qemu-img", "compare", "-f", "raw", "-F", self.format,
                                   file.name, self.path(volume_id)], capture_output=True,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def ended(self, reference, size_gb=1, **fields):
        """The new volume when it is not being made any more."""
        volume_id = self.api.create(size_gb, imageRef=reference, **fields)["id"]
        self.addCleanup(self.discard, volume_id)

        def end():
            volume = self.api.show(volume_id)
            return volume if volume["status"] not in ("creating", "downloading") else None
        return until(end, 120, "an end of making the volume")

    def made(self, reference, **fields):
        volume = self.ended(reference, **fields)
        self.assertEqual(volume["status"], "available", self.api.messages(volume["id"]))
        return volume

    def assert_nothing_left(self):
        directory = os.path.join(self.state, "conversion")
        self.assertEqual(os.listdir(directory) if os.path.exists(directory) else [], [])

    def assert_failed(self, reference, event):
        volume = self.ended(reference)
        self.assertEqual(volume["status"], "error")
        self.assertNotIn("volume_image_metadata", volume)
        self.assertFalse(os.path.exists(self.path(volume["id"])))
        messages = [row["event_id"] for row in self.api.messages(volume["id"])]
        self.assertEqual(messages, [event])
        self.assert_nothing_left()

    def refused(self, reference, size_gb=1, **fields):
        answer = self.api.call("POST", "/volumes",
                               {"volume": {"size": size_gb, "imageRef": reference, **fields}})
        return answer.status, answer.message


class Images:
    """Promises of every backend."""

    def test_a_raw_image_is_the_content(self):
        volume = self.made(self.images.add(CONTENT, name="the image", hw_disk_bus="virtio"))
        self.assert_content(volume["id"], CONTENT)
        self.assertEqual(volume["bootable"], "true")
        metadata = volume["volume_image_metadata"]
        self.assertEqual(
            {key: metadata[key] for key in ("image_name", "size", "min_disk", "hw_disk_bus",
                                            "disk_format", "container_format")},
            {"image_name": "the image", "size": str(len(CONTENT)), "min_disk": "0",
             "hw_disk_bus": "virtio", "disk_format": "raw", "container_format": "bare"})
        self.assertNotIn("owner", metadata)

    def test_images_of_other_formats_are_converted(self):
        for tool_format, disk_format, options in FORMATS:
            image_id = self.images.add(converted(CONTENT, tool_format, options), disk_format)
            volume = self.made(image_id)
            self.assert_content(volume["id"], CONTENT)
            self.assertEqual(volume["volume_image_metadata"]["disk_format"], disk_format)
        self.assert_nothing_left()

    def test_a_lost_connection_is_resumed(self):
        image_id = self.images.add(CONTENT, fault="broken")
        volume = self.made(image_id)
        self.assert_content(volume["id"], CONTENT)
        self.assertTrue(any(begin > 0 for _, begin in self.images.downloads))


class RawImages(Images, ImageCase):
    def test_requests_are_checked_in_order(self):
        add = self.images.add
        unknown = str(uuid.uuid4())
        self.assertEqual(self.refused(unknown)[0], 400)
        self.assertEqual(self.refused("no such name")[0], 400)
        self.assertEqual(self.refused(add(b"x", status="queued"))[0], 400)
        self.assertEqual(self.refused(add(b"x", status="deactivated"))[0], 400)
        self.assertEqual(self.refused(add(b"x", size=GIB + 1))[0], 400)
        self.assertEqual(self.refused(add(b"x", min_disk=2))[0], 400)
        self.assertEqual(self.refused(add(b"x", virtual_size=GIB + 1))[0], 400)
        self.assertEqual(self.refused(add(b"x", cinder_img_volume_type="no such type"))[0], 404)
        self.assertEqual(self.refused(add(b"x", img_signature="c2ln"))[0], 400)
        add(b"x", name="twice")
        add(b"x", name="twice")
        self.assertEqual(self.refused("twice")[0], 409)

    def test_an_image_is_found_by_id_by_url_and_by_name(self):
        image_id = self.images.add(CONTENT, name="one of a kind")
        for reference in (image_id, f"{self.images.url}/v2/images/{image_id}", "one of a kind"):
            volume = self.made(reference)
            self.assertEqual(volume["volume_image_metadata"]["image_id"], image_id)

    def test_a_service_that_fails_leaves_an_error_and_nothing_else(self):
        for fault in ("short", "redirect", "none", "bytes", *STATUSES):
            with self.subTest(fault):
                self.assert_failed(self.images.add(CONTENT, fault=fault),
                                   "VOLUME_VOLUME_005_012")

    def test_a_service_that_hangs_is_given_up(self):
        self.assert_failed(self.images.add(CONTENT, fault="hang"), "VOLUME_VOLUME_005_012")

    def test_other_work_goes_on_while_images_hang(self):
        image_id = self.images.add(CONTENT, fault="hang")
        hanging = [self.api.create(1, imageRef=image_id)["id"] for _ in range(20)]
        for volume_id in hanging:
            self.addCleanup(self.discard, volume_id)
        self.assert_answers()
        for volume_id in hanging:
            until(lambda volume_id=volume_id: self.api.show(volume_id)["status"] == "error", 240,
                  "the end of a hanging image")

    def test_hostile_images_are_refused_before_any_tool_reads_them(self):
        secret = os.path.join(self.directory, "secret")
        with open(secret, "wb") as file:
            file.write(b"secret" * 1000)
        qcow2 = bytearray(converted(CONTENT, "qcow2"))
        backing = bytearray(qcow2)
        backing[8:16] = (1024).to_bytes(8, "big")
        backing[16:20] = len(secret).to_bytes(4, "big")
        backing[1024:1024 + len(secret)] = secret.encode()
        data_file = bytearray(qcow2)
        data_file[79] |= 4
        flat = (f'# Disk DescriptorFile\nversion=1\nCID=ffffffff\nparentCID=ffffffff\n'
                f'createType="monolithicFlat"\nRW 2048 FLAT "{secret}" 0\n').encode()
        huge = bytearray(qcow2)
        huge[24:32] = (1 << 50).to_bytes(8, "big")
        for data, disk_format in ((backing, "qcow2"), (data_file, "qcow2"), (data_file, "raw"),
                                  (flat, "vmdk"), (qcow2, "raw"), (CONTENT, "qcow2"),
                                  (huge, "qcow2"), (CONTENT, "ploop")):
            with self.subTest(disk_format):
                self.assert_failed(self.images.add(bytes(data), disk_format),
                                   "VOLUME_VOLUME_005_029")
        for container in ("compressed", "ovf", "docker"):
            with self.subTest(container):
                self.assert_failed(self.images.add(CONTENT, container_format=container),
                                   "VOLUME_VOLUME_005_029")

    def test_an_image_larger_than_its_volume_is_refused(self):
        with tempfile.NamedTemporaryFile(prefix="scoria-e2e-") as file:
            subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", file.name, "2G"], check=True)
            with open(file.name, "rb") as image:
                image_id = self.images.add(image.read(), "qcow2")
        self.assert_failed(image_id, "VOLUME_VOLUME_005_007")

    def downloading(self, data, disk_format):
        """A volume and its image, whose second half does not come."""
        image_id = self.images.add(data, disk_format, fault="hang")
        volume_id = self.api.create(1, imageRef=image_id)["id"]
        self.addCleanup(self.discard, volume_id)
        until(lambda: any(row[0] == image_id for row in self.images.downloads), 120, "a download")
        return volume_id, self.images.images[image_id]

    def test_a_manager_that_dies_while_it_downloads_starts_again(self):
        for disk_format in ("raw", "qcow2"):
            with self.subTest(disk_format):
                volume_id, image = self.downloading(converted(CONTENT, disk_format), disk_format)
                self.service.kill()
                image.fault = None
                self.service.start()
                self.api = self.connect()
                self.api.wait_status(volume_id, "available")
                self.assert_content(volume_id, CONTENT)
                self.assert_nothing_left()

    def test_a_volume_that_is_deleted_meanwhile_leaves_nothing(self):
        for disk_format in ("raw", "qcow2"):
            with self.subTest(disk_format):
                volume_id, image = self.downloading(converted(CONTENT, disk_format), disk_format)
                self.api.reset(volume_id, "error")
                self.api.action(volume_id, "os-force_delete")
                self.api.wait_gone(volume_id)
                image.fault = None
                until(lambda volume_id=volume_id: not [
                    name for name in os.listdir(os.path.join(self.state, "volumes"))
                    if volume_id in name], 120, "the end of the file")
                self.assert_nothing_left()


class Qcow2Images(Images, ImageCase):
    options_of_class = ("--file.file_qcow2_volumes=true",)
    format = "qcow2"


class GlanceImages(ImageCase):
    """Of a real Glance."""

    @classmethod
    def setUpClass(cls):
        cls.glance = Glance().start()
        cls.addClassCleanup(cls.glance.end)
        super().setUpClass()

    @classmethod
    def image_service_url(cls):
        return cls.glance.url

    def test_volumes_are_made_of_its_images(self):
        for tool_format, disk_format, options in (("raw", "raw", ()), *FORMATS[:1]):
            data = converted(CONTENT, tool_format, options)
            image_id = self.glance.image(f"{disk_format} image", data, disk_format,
                                         os_distro="none")
            for reference in (image_id, f"{disk_format} image"):
                volume = self.made(reference)
                self.assert_content(volume["id"], CONTENT)
                metadata = volume["volume_image_metadata"]
                self.assertEqual((metadata["image_id"], metadata["os_distro"]),
                                 (image_id, "none"))

    def test_a_deactivated_image_is_refused(self):
        image_id = self.glance.image("hidden", CONTENT)
        self.assertEqual(self.glance.call("POST", f"/v2/images/{image_id}/actions/deactivate")[0],
                         204)
        self.assertEqual(self.refused(image_id)[0], 400)
