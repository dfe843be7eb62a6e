"""
Volumes of images, and images of volumes: of a real Glance, and of an image service that sends
whatever it likes and receives what it likes.
"""

import contextlib
import hashlib
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import uuid

import program
from block_storage import BlockStorage, until
from case import ServiceCase
from glance import Glance
from image_service import STATUSES, ImageService

MIB = 1 << 20
GIB = 1 << 30
CONTENT = os.urandom(MIB) + bytes(2 * MIB) + os.urandom(MIB + 512)
FORMATS = (("qcow2", "qcow2", ()), ("vmdk", "vmdk", ()),
           ("vmdk", "vmdk", ("-o", "subformat=streamOptimized")), ("vdi", "vdi", ()),
           ("vhdx", "vhdx", ()), ("vpc", "vhd", ("-o", "force_size=on")),
           ("parallels", "ploop", ()))


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
        cls.options = (f"--glance_api_servers={cls.image_service_url()}",
                       "--glance_request_timeout=5", "--glance_num_retries=0",
                       *cls.user_options(), *cls.options_of_class)
        super().setUpClass()

    @classmethod
    def image_service_url(cls):
        return cls.images.url

    @classmethod
    def user_options(cls):
        return ()

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

    def assert_failed(self, reference, event, size_gb=1):
        volume = self.ended(reference, size_gb)
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
    options_of_class = ("--quota_gigabytes=-1",)

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
        for fault in ("short", "redirect", "none", "bytes", "withdrawn", *STATUSES):
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
                                  (huge, "qcow2"), (CONTENT, "ploop"), (CONTENT, "parallels")):
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

    def test_an_image_that_leaves_no_space_is_refused(self):
        found = os.statvfs(self.state)
        size_gb = found.f_bavail * found.f_frsize // GIB + 1
        image_id = self.images.add(converted(CONTENT, "qcow2"), "qcow2", size=size_gb * GIB)
        self.assert_failed(image_id, "VOLUME_VOLUME_005_007", size_gb)
        self.assertNotIn(image_id, [row[0] for row in self.images.downloads])

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


class CachedImages(ImageCase):
    options_of_class = ("--file.image_volume_cache_enabled=true",
                        "--cinder_internal_tenant_project_id=internal",
                        "--cinder_internal_tenant_user_id=internal")

    def downloads(self, image_id):
        return sum(row[0] == image_id and row[1] == 0 for row in self.images.downloads)

    def test_an_image_is_downloaded_once_for_all_its_volumes(self):
        for disk_format, data in (("raw", CONTENT), ("qcow2", converted(CONTENT, "qcow2"))):
            image_id = self.images.add(data, disk_format)
            self.assert_content(self.made(image_id, size_gb=2)["id"], CONTENT, 2)
            once = self.downloads(image_id)
            for size_gb in (2, 3):
                volume = self.made(image_id, size_gb=size_gb)
                self.assert_content(volume["id"], CONTENT, size_gb)
                self.assertEqual(volume["volume_image_metadata"]["image_id"], image_id)
            self.assertEqual(self.downloads(image_id), once)
            rows = self.api.call("GET", f"/volumes/detail?all_tenants=1&name=image-{image_id}")
            self.assertEqual([(row["status"], row["size"]) for row in rows.body["volumes"]],
                             [("maintenance", 1 if disk_format == "raw" else 2)])
        self.assert_nothing_left()

    def test_a_volume_without_right_to_the_image_is_none_of_its_cache(self):
        image_id = self.images.add(CONTENT)
        self.made(image_id)
        del self.images.images[image_id]
        self.assertEqual(self.refused(image_id)[0], 400)


class UploadCase(ImageCase):
    options_of_class = ("--enable_force_upload=true",)

    def tearDown(self):
        self.images.refuses, self.images.fault = False, None
        super().tearDown()

    def source(self):
        """A volume with a content."""
        return self.made(self.images.add(CONTENT, os_distro="none", min_ram=64))["id"]

    def begin(self, volume_id, **fields):
        """The response to the request of an image."""
        body = {"os-volume_upload_image": {"image_name": "of a volume", "disk_format": "qcow2",
                                           **fields}}
        return self.api.ask("POST", f"/volumes/{volume_id}/action",
                            body)["os-volume_upload_image"]

    def uploaded(self, volume_id, **fields):
        """The image, when the upload has ended."""
        image_id = self.begin(volume_id, **fields)["image_id"]
        self.api.wait_status(volume_id, "available", 240)
        return self.images.images.get(image_id)

    def uploading(self, volume_id):
        """An image of which the rest does not arrive."""
        self.images.fault = "hang"
        image = self.images.images[self.begin(volume_id)["image_id"]]
        until(lambda: image.id in self.images.uploads, 120, "an upload")
        return image

    def assert_data(self, image, disk_format, data=CONTENT):
        self.assertEqual(image.description["status"], "active")
        with tempfile.NamedTemporaryFile(prefix="scoria-e2e-") as found, \
                tempfile.NamedTemporaryFile(prefix="scoria-e2e-") as expected:
            found.write(image.data)
            found.flush()
            expected.write(data)
            expected.truncate(GIB)
            done = subprocess.run(["qemu-img", "compare", "-f", disk_format, "-F", "raw",
                                   found.name, expected.name], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_events(self, volume_id, *events):
        self.assertEqual([row["event_id"] for row in self.api.messages(volume_id)], list(events))


class UploadsOfAUser(UploadCase):
    @classmethod
    def user_options(cls):
        return (f"--glance.auth_url={cls.images.url}/v3", "--glance.username=u",
                "--glance.password=p", "--glance.project_name=s")

    def test_a_token_that_expires_meanwhile_is_renewed(self):
        volume_id = self.source()
        self.images.fault = "token"
        image = self.uploaded(volume_id)
        self.assertIsNotNone(image.refused)
        self.assert_data(image, "qcow2")


class Uploads(UploadCase):
    def test_a_volume_becomes_a_raw_image(self):
        volume_id = self.source()
        before = self.api.gigabytes()
        image = self.uploaded(volume_id, disk_format="raw")
        digest = hashlib.sha512(CONTENT)
        for _ in range((GIB - len(CONTENT)) // MIB):
            digest.update(bytes(MIB))
        digest.update(bytes((GIB - len(CONTENT)) % MIB))
        self.assertEqual((image.description["size"], image.description["os_hash_value"]),
                         (GIB, digest.hexdigest()))
        self.assertEqual(self.api.gigabytes(), before)

    def test_a_volume_becomes_a_qcow2_image_that_a_volume_is_made_of(self):
        image = self.uploaded(self.source())
        self.assertLess(image.description["size"], len(CONTENT) + MIB)
        self.assert_data(image, "qcow2")
        image.description["virtual_size"] = None
        self.assert_content(self.made(image.id)["id"], CONTENT)

    def test_a_volume_becomes_an_image_of_another_format_that_a_volume_is_made_of(self):
        volume_id = self.source()
        for disk_format, tool_format in (("vmdk", "vmdk"), ("vdi", "vdi"), ("vhd", "vpc"),
                                         ("vhdx", "vhdx"), ("ploop", "parallels")):
            with self.subTest(disk_format):
                image = self.uploaded(volume_id, disk_format=disk_format)
                self.assert_data(image, tool_format)
                image.description["virtual_size"] = None
                self.assert_content(self.made(image.id)["id"], CONTENT)
                self.assert_nothing_left()

    def test_a_header_that_a_guest_has_written_is_content(self):
        volume_id, data = self.volume(), converted(CONTENT, "qcow2")
        with open(self.path(volume_id), "r+b") as file:
            file.write(data)
        self.assert_data(self.uploaded(volume_id), "qcow2", data)
        self.assert_data(self.uploaded(volume_id, disk_format="vdi"), "vdi", data)

    def test_the_image_has_the_properties_of_the_volume(self):
        volume_id = self.source()
        image = self.uploaded(volume_id, visibility="shared", protected=True)
        fields = ("name", "os_distro", "visibility", "protected", "disk_format")
        self.assertEqual([image.description[key] for key in fields],
                         ["of a volume", "none", "shared", True, "qcow2"])
        self.assertEqual(image.description["min_ram"], 0)

    def test_a_refused_image_changes_nothing(self):
        volume_id = self.source()
        self.images.refuses = True
        answer = self.api.call("POST", f"/volumes/{volume_id}/action",
                               {"os-volume_upload_image": {"image_name": "x"}})
        self.assertEqual((answer.status, self.api.show(volume_id)["status"]), (400, "available"))

    def test_a_failed_upload_leaves_the_volume_and_no_image(self):
        for fault in ("deleted", "expired", "too large", "sum"):
            with self.subTest(fault):
                volume_id = self.source()
                self.images.fault = fault
                self.assertIsNone(self.uploaded(volume_id))
                self.assert_events(volume_id, "VOLUME_VOLUME_003_004")
                self.assert_content(volume_id, CONTENT)

    def test_a_service_that_is_away_or_hangs_is_given_up(self):
        for fault in ("away", "hang"):
            with self.subTest(fault):
                volume_id = self.source()
                self.images.fault = fault
                self.assertIsNone(self.uploaded(volume_id))
                self.assert_events(volume_id, "VOLUME_VOLUME_003_004")

    def test_a_broken_upload_is_repeated(self):
        volume_id = self.source()
        self.images.fault = "broken"
        self.assert_data(self.uploaded(volume_id), "qcow2")
        self.assert_events(volume_id)

    def test_a_manager_that_dies_while_it_uploads_starts_again(self):
        volume_id = self.source()
        image = self.uploading(volume_id)
        self.service.kill()
        image.fault = None
        until(lambda: image.description["status"] != "saving", 120, "the end of the connection")
        self.service.start()
        self.api = self.connect()
        self.api.wait_status(volume_id, "available")
        self.assert_data(image, "qcow2")

    def test_an_upload_that_is_reset_leaves_no_image(self):
        volume_id = self.source()
        image = self.uploading(volume_id)
        self.api.reset(volume_id, "available")
        until(lambda: image.id not in self.images.images, 120, "the end of the image")
        image.fault = None
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), "host")
        self.api.detach(attachment["id"])
        self.assert_content(volume_id, CONTENT)

    def test_an_attached_volume_is_read_at_one_moment_or_not_at_all(self):
        volume_id = self.source()
        attachment = self.api.attach(volume_id, str(uuid.uuid4()), "host")
        self.api.attach_complete(attachment["id"])
        answer = self.api.call("POST", f"/volumes/{volume_id}/action",
                               {"os-volume_upload_image": {"image_name": "x"}})
        self.assertEqual(answer.status, 400)
        snapshot = self.api.snapshot_made(volume_id)
        image_id = self.begin(volume_id, force=True)["image_id"]
        self.api.wait_status(volume_id, "in-use")
        if snapshot["status"] == "available":
            self.assert_data(self.images.images[image_id], "qcow2")
        else:
            self.assertNotIn(image_id, self.images.images)
        self.assertEqual([name for name in os.listdir(os.path.join(self.state, "volumes"))
                          if "snapshot" in name and snapshot["id"] not in name], [])


class ClonedUploads(UploadCase):
    options_of_class = (*UploadCase.options_of_class,
                        "--file.image_upload_use_cinder_backend=true",
                        "--allowed_direct_url_schemes=cinder")

    def tearDown(self):
        self.images.locations = None
        super().tearDown()

    def clones(self, image):
        return [volume for volume in self.api.ask("GET", "/volumes/detail")["volumes"]
                if volume["name"] == f"image-{image.id}"]

    def test_a_raw_image_is_a_clone_and_its_volumes_are_clones_of_that(self):
        for self.images.locations in ("routes", "member"):
            with self.subTest(self.images.locations):
                image = self.uploaded(self.source(), disk_format="raw")
                clone, = self.clones(image)
                self.addCleanup(self.discard, clone["id"])
                self.assertEqual(image.description["locations"],
                                 [{"url": f"cinder://{clone['id']}", "metadata": {}}])
                self.assertNotIn(image.id, self.images.uploads)
                self.assertEqual((clone["status"], clone["metadata"]["glance_image_id"],
                                  clone["metadata"]["readonly"]), ("available", image.id, "True"))
                image.description.update(owner=clone["metadata"]["image_owner"], size=GIB)
                image.fault = "deleted"  # its bytes
                self.assert_content(self.made(image.id)["id"], CONTENT)

    def test_the_bytes_are_sent_where_the_image_takes_no_location(self):
        image = self.uploaded(self.source(), disk_format="raw")
        self.assertEqual((image.description["status"], image.data[:len(CONTENT)]),
                         ("active", CONTENT))
        until(lambda: not self.clones(image), 120, "the end of the clone")


class Qcow2Uploads(UploadCase):
    options_of_class = ("--file.file_qcow2_volumes=true",)
    format = "qcow2"

    def test_a_volume_becomes_a_qcow2_image(self):
        volume_id = self.source()
        self.api.snapshot(volume_id)
        self.assert_data(self.uploaded(volume_id), "qcow2")


class Compute(http.server.BaseHTTPRequestHandler):
    """A compute service that accepts every event."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        events = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["events"]
        version = self.headers["OpenStack-API-Version"]
        self.server.events += [(version, event) for event in events]
        data = json.dumps({"events": [{"status": "completed", **event, "code": 200}
                                      for event in events]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Reimages(ImageCase):
    other = os.urandom(MIB)

    @classmethod
    def setUpClass(cls):
        cls.compute = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Compute)
        cls.compute.daemon_threads = True
        cls.compute.events = []
        thread = threading.Thread(target=cls.compute.serve_forever, daemon=True)
        thread.start()
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(cls.compute.server_close)
        cls.addClassCleanup(cls.compute.shutdown)
        port = cls.compute.server_address[1]
        cls.options_of_class = (f"--compute.endpoint=http://127.0.0.1:{port}/v2.1",
                                *cls.options_of_class)
        super().setUpClass()

    def source(self):
        return self.made(self.images.add(CONTENT, os_distro="former"))["id"]

    def reimage(self, volume_id, image_id, **fields):
        return self.api.call("POST", f"/volumes/{volume_id}/action",
                             {"os-reimage": {"image_id": image_id, **fields}}).status

    def assert_other(self, volume_id, image_id):
        self.assert_content(volume_id, self.other)
        volume = self.api.show(volume_id)
        self.assertEqual(volume["bootable"], "true")
        metadata = volume["volume_image_metadata"]
        self.assertEqual((metadata["image_id"], metadata.get("os_distro")), (image_id, None))

    def test_the_content_of_another_image_replaces_all_of_the_former(self):
        for tool_format in ("raw", "qcow2"):
            with self.subTest(tool_format):
                volume_id = self.source()
                image_id = self.images.add(converted(self.other, tool_format), tool_format)
                self.assertEqual(self.reimage(volume_id, image_id), 202)
                self.api.wait_status(volume_id, "available")
                self.assert_other(volume_id, image_id)
                self.assert_nothing_left()

    def test_a_volume_in_error_stays_so(self):
        volume_id, image_id = self.source(), self.images.add(self.other)
        self.api.reset(volume_id, "error")
        self.assertEqual(self.reimage(volume_id, image_id), 202)
        until(lambda: self.api.show(volume_id)["volume_image_metadata"]["image_id"] == image_id,
              120, "the new content")
        self.assertEqual(self.api.show(volume_id)["status"], "error")
        self.assert_other(volume_id, image_id)

    def test_the_server_of_a_reserved_volume_gets_an_event(self):
        for fault, status, end in ((None, "reserved", {}),
                                   ("short", "error", {"status": "failed"})):
            with self.subTest(status):
                volume_id, image_id = self.source(), self.images.add(self.other, fault=fault)
                instance = str(uuid.uuid4())
                self.api.ask("POST", "/attachments", {"attachment": {
                    "volume_uuid": volume_id, "instance_uuid": instance}})
                self.assertEqual(self.reimage(volume_id, image_id), 400)
                self.assertEqual(self.reimage(volume_id, image_id, reimage_reserved=True), 202)
                self.api.wait_status(volume_id, status)
                event = ("compute 2.93", {"name": "volume-reimaged", "server_uuid": instance,
                                          "tag": volume_id, **end})
                until(lambda event=event: event in self.compute.events, 120, "the event")

    def test_requests_that_cannot_be_met_change_nothing(self):
        volume_id = self.source()
        large = self.images.add(b"x", size=GIB + 1)
        self.assertEqual(self.reimage(volume_id, str(uuid.uuid4())), 404)
        self.assertEqual(self.reimage(volume_id, large), 400)
        self.assertEqual(self.reimage(volume_id, self.images.add(b"x", min_disk=2)), 400)
        self.assertEqual(self.reimage(volume_id, self.images.add(b"x", status="queued")), 400)
        self.assertEqual(self.api.show(volume_id)["status"], "available")
        self.assert_content(volume_id, CONTENT)

    def test_a_failure_is_an_error_with_a_message(self):
        for fault, disk_format, detail in ((None, "qcow2", "029"), ("short", "raw", "028")):
            with self.subTest(disk_format):
                volume_id = self.source()
                image_id = self.images.add(CONTENT, disk_format, fault=fault)
                self.assertEqual(self.reimage(volume_id, image_id), 202)
                self.api.wait_status(volume_id, "error")
                self.assertEqual([row["event_id"] for row in self.api.messages(volume_id)],
                                 [f"VOLUME_VOLUME_016_{detail}"])
                self.assert_nothing_left()

    def test_a_manager_that_dies_meanwhile_starts_again(self):
        volume_id = self.source()
        image_id = self.images.add(self.other, fault="hang")
        self.assertEqual(self.reimage(volume_id, image_id), 202)
        until(lambda: any(row[0] == image_id for row in self.images.downloads), 120, "a download")
        self.service.kill()
        self.images.images[image_id].fault = None
        self.service.start()
        self.api = self.connect()
        self.api.wait_status(volume_id, "available")
        self.assert_other(volume_id, image_id)

    def io(self, volume_id, command):
        subprocess.run(["qemu-io", "-f", self.format, "-c", command, self.path(volume_id)],
                       check=True, stdout=subprocess.DEVNULL)

    def test_a_restored_backup_replaces_no_content_after_the_steps(self):
        volume_id, image_id = self.source(), self.images.add(self.other, fault="hang")
        database = os.path.join(self.state, "scoria.db")
        backup = os.path.join(self.directory, "backup.db")
        self.assertEqual(self.reimage(volume_id, image_id), 202)
        until(lambda: any(row[0] == image_id for row in self.images.downloads), 120, "a download")
        with contextlib.closing(sqlite3.connect(database)) as now:
            now.execute("VACUUM INTO ?", (backup,))
        self.images.images[image_id].fault = None
        self.service.kill()
        self.service.start()
        self.api = self.connect()
        self.api.wait_status(volume_id, "available")
        self.io(volume_id, "write -P 7 0 64k")
        self.assertEqual(self.service.stop(), 0)
        shutil.copy(backup, database)
        alone = program.Program("api", os.path.join(self.directory, "api.log"), "--state-dir",
                                self.state, "--listen=127.0.0.1:0", *self.options)
        self.addCleanup(alone.kill)
        alone.start()
        self.assertIsNotNone(program.phase(self.state, volume_id))
        BlockStorage(alone.endpoint).reset(volume_id, "error")
        self.assertIn(program.phase(self.state, volume_id), (None, "cancelled"))
        self.assertEqual(alone.stop(), 0)
        self.service.start()
        self.api = self.connect()
        self.api.reset(volume_id, "available")
        self.made(self.images.add(self.other))  # the manager has begun with the work that it found
        self.io(volume_id, "read -P 7 0 64k")


class Qcow2Reimages(Reimages):
    options_of_class = ("--file.file_qcow2_volumes=true",)
    format = "qcow2"


class GlanceImages(ImageCase):
    """Of a real Glance, which has no store cinder: bytes of uploads are sent."""

    options_of_class = ("--file.image_upload_use_cinder_backend=true",)

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

    def test_an_image_is_made_of_a_volume(self):
        volume_id = self.made(self.glance.image("source", CONTENT))["id"]
        for disk_format in ("qcow2", "raw"):
            answer = self.api.ask("POST", f"/volumes/{volume_id}/action", {
                "os-volume_upload_image": {"image_name": "of a volume",
                                           "disk_format": disk_format}})
            image_id = answer["os-volume_upload_image"]["image_id"]
            self.api.wait_status(volume_id, "available", 240)
            self.assertEqual(self.api.messages(volume_id), [])
            image = self.glance.call("GET", f"/v2/images/{image_id}")[1]
            self.assertEqual((image["status"], image["name"]), ("active", "of a volume"))
            self.assert_content(self.made(image_id)["id"], CONTENT)

    def test_a_deactivated_image_is_refused(self):
        image_id = self.glance.image("hidden", CONTENT)
        self.assertEqual(self.glance.call("POST", f"/v2/images/{image_id}/actions/deactivate")[0],
                         204)
        self.assertEqual(self.refused(image_id)[0], 400)
