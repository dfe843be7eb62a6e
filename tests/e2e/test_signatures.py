"""
Volumes of signed images: with a real Keystone, Barbican and Glance, which verifies them, too; and
with a key manager and an image service that send whatever they like.
"""

import itertools
import os

from block_storage import BlockStorage
from glance import Glance
from barbican import Barbican
from key_manager import STATUSES, KeyManager
from keystone import PASSWORD, Keystone
from ports import free_port
from signing import KEYS, Signer
from test_images import CONTENT, ImageCase, converted

REFUSED = "VOLUME_VOLUME_005_011"
REIMAGE_REFUSED = "VOLUME_VOLUME_016_011"


class SignedImages(ImageCase):
    options_of_class = ("--barbican.barbican_request_timeout=5",)

    @classmethod
    def setUpClass(cls):
        cls.keys = KeyManager()
        cls.addClassCleanup(cls.keys.end)
        cls.options_of_class += (f"--barbican.barbican_endpoint={cls.keys.url}",)
        super().setUpClass()
        cls.signer = Signer(cls.directory, "ECC_SECP384R1")

    def signed(self, data, disk_format="raw", certificate=None, fault=None, **properties):
        certificate_id = self.keys.add(certificate or self.signer.pem, fault)
        return self.images.add(data, disk_format, **{
            **self.signer.properties(data, certificate_id), **properties})

    def assert_verified(self, reference, verified="True"):
        volume = self.made(reference)
        self.assert_content(volume["id"], CONTENT)
        self.assertEqual(volume["volume_image_metadata"]["signature_verified"], verified)

    def test_an_image_of_any_format_is_verified(self):
        for disk_format in ("raw", "qcow2"):
            self.assert_verified(self.signed(converted(CONTENT, disk_format), disk_format))
        self.assert_verified(self.images.add(CONTENT), "False")

    def test_a_lost_connection_is_resumed(self):
        self.assert_verified(self.signed(CONTENT, fault=None))
        image_id = self.signed(CONTENT)
        self.images.images[image_id].fault = "broken"
        self.assert_verified(image_id)

    def test_another_content_is_refused(self):
        for disk_format in ("raw", "qcow2"):
            with self.subTest(disk_format):
                data = converted(CONTENT, disk_format)
                self.assert_failed(
                    self.signed(data, disk_format, img_signature=self.signer.sign(b"other")),
                    REFUSED)

    def test_a_certificate_that_is_not_sent_is_an_error_and_nothing_else(self):
        for fault in ("redirect", "hang", "passphrase", *STATUSES):
            with self.subTest(fault):
                image_id = self.signed(CONTENT, fault=fault)
                self.assert_failed(image_id, REFUSED)
                self.assertNotIn(image_id, [row[0] for row in self.images.downloads])

    def test_a_bad_certificate_is_an_error_and_nothing_else(self):
        for payload in (b"", b"x", self.signer.der[:-1], self.signer.pem + b"\n" * (16 << 10),
                        b"\x30\x84\x7f\xff\xff\xff" + bytes(100), b"x" * (17 << 20)):
            with self.subTest(payload[:40]):
                self.assert_failed(self.signed(CONTENT, certificate=payload or b"\n"), REFUSED)
        self.assert_failed(self.signed(CONTENT, img_signature_certificate_uuid="../orders"),
                           REFUSED)

    def test_a_volume_is_written_anew_from_a_signed_image_alone(self):
        volume_id = self.made(self.images.add(CONTENT[::-1]))["id"]
        for image_id, status, messages in (
                (self.signed(CONTENT), "available", []),
                (self.signed(CONTENT, img_signature=self.signer.sign(b"other")), "error",
                 [REIMAGE_REFUSED])):
            self.api.ask("POST", f"/volumes/{volume_id}/action",
                         {"os-reimage": {"image_id": image_id}})
            self.api.wait_status(volume_id, status)
            self.assertEqual([row["event_id"] for row in self.api.messages(volume_id)], messages)
        self.assert_nothing_left()

    def test_signatures_stay_with_their_image(self):
        volume = self.made(self.signed(CONTENT))
        self.assertIn("img_signature", volume["volume_image_metadata"])
        answer = self.api.ask("POST", f"/volumes/{volume['id']}/action", {
            "os-volume_upload_image": {"image_name": "of a volume", "disk_format": "raw"}})
        self.api.wait_status(volume["id"], "available", 240)
        image = self.images.images[answer["os-volume_upload_image"]["image_id"]]
        self.assertEqual(image.description["status"], "active")
        self.assertFalse([key for key in image.description if "signature" in key])


CONFIGURATION = """\
[DEFAULT]
auth_strategy = keystone
glance_api_servers = {glance}
[keystone_authtoken]
auth_url = {keystone}
username = scoria
password = {password}
project_name = service
[glance]
auth_section = keystone_authtoken
[key_manager]
backend = barbican
[barbican_service_user]
auth_section = keystone_authtoken
"""
GLANCE = """\
[keystone_authtoken]
auth_type = password
auth_url = {keystone}
www_authenticate_uri = {keystone}
username = glance
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
[key_manager]
backend = barbican
[barbican]
barbican_endpoint = {barbican}
auth_endpoint = {keystone}
"""


class RealKeyManager(ImageCase):
    """All services are real, and found in the catalog; the user owns images and certificates."""

    @classmethod
    def setUpClass(cls):
        cls.keystone = Keystone()
        cls.addClassCleanup(cls.keystone.end)
        cls.keystone.start()
        cls.keystone.user("scoria", "service", ("admin", "service"))
        cls.keystone.user("glance", "service", ("admin", "service"))
        cls.keystone.user("mia", "mine", ("admin", "member", "reader", "creator"))
        cls.keystone.user("olga", "others", ("member", "reader", "creator"))
        cls.token = cls.keystone.token("mia", "mine")
        cls.barbican = Barbican(cls.keystone)
        cls.addClassCleanup(cls.barbican.end)
        cls.barbican.start()
        sections = GLANCE.format(keystone=cls.keystone.url, password=PASSWORD,
                                 barbican=cls.barbican.url)
        cls.glance = Glance(sections, "keystone", cls.token)
        cls.addClassCleanup(cls.glance.end)
        cls.glance.start()
        cls.keystone.service("image", cls.glance.url)
        port = free_port()
        cls.listen = f"127.0.0.1:{port}"
        cls.keystone.service("volumev3", f"http://127.0.0.1:{port}/v3/%(project_id)s")
        super().setUpClass()

    @classmethod
    def image_service_url(cls):
        return cls.glance.url

    @classmethod
    def user_options(cls):
        path = os.path.join(cls.glance.directory, "scoria.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(glance=cls.glance.url, keystone=cls.keystone.url,
                                            password=PASSWORD))
        return (f"--config-file={path}",)

    @classmethod
    def client(cls):
        return BlockStorage(cls.service.endpoint, token=cls.token)

    def assert_verified(self, image_id):
        volume = self.made(image_id)
        self.assert_content(volume["id"], CONTENT)
        self.assertEqual(volume["volume_image_metadata"]["signature_verified"], "True")

    def test_images_that_the_image_service_has_verified_are_verified(self):
        for key_type, bits in zip(KEYS, itertools.cycle((224, 256, 384, 512))):
            with self.subTest(key_type):
                signer = Signer(self.glance.directory, key_type)
                secret_id = self.barbican.secret(self.token, signer.pem)
                self.assert_verified(self.glance.image("signed", CONTENT, **signer.properties(
                    CONTENT, secret_id, bits)))

    def test_each_form_of_a_stored_certificate_is_read(self):
        signer = Signer(self.glance.directory, "RSA-PSS")
        data = converted(CONTENT, "qcow2")
        for payload, content_type in ((signer.pem, "application/octet-stream"),
                                      (signer.pem.decode(), "text/plain"),
                                      (signer.der, "application/octet-stream")):
            secret_id = self.barbican.secret(self.token, payload, content_type=content_type)
            image_id = self.glance.image("signed", data, "qcow2")
            self.change(image_id, signer.properties(data, secret_id))
            self.assert_verified(image_id)

    def change(self, image_id, properties):
        """The image service does not verify those of an image that has its data."""
        status, _ = self.glance.call("PATCH", f"/v2/images/{image_id}", [
            {"op": "add", "path": f"/{key}", "value": value}
            for key, value in properties.items()],
            "application/openstack-images-v2.1-json-patch")
        self.assertEqual(status, 200)

    def test_another_signature_or_certificate_is_refused(self):
        signer, other = (Signer(self.glance.directory, key_type)
                         for key_type in ("ECC_SECP521R1", "DSA"))
        own = self.barbican.secret(self.token, signer.pem)
        foreign = self.barbican.secret(self.keystone.token("olga", "others"), signer.pem)
        passphrase = self.barbican.secret(self.token, "secret", "passphrase", "text/plain")
        right = signer.properties(CONTENT, own)
        for wrong in ({"img_signature": signer.sign(b"other")},
                      {"img_signature_hash_method": "SHA-512"},
                      {"img_signature_key_type": "DSA"},
                      {"img_signature_certificate_uuid": self.barbican.secret(self.token, other.pem)},
                      {"img_signature_certificate_uuid": foreign},
                      {"img_signature_certificate_uuid": passphrase},
                      {"img_signature_certificate_uuid": "00000000-0000-4000-8000-000000000000"}):
            with self.subTest(wrong):
                image_id = self.glance.image("signed", CONTENT)
                self.change(image_id, {**right, **wrong})
                self.assert_failed(image_id, REFUSED)
