"""
The listener behind TLS: clients admitted by their certificates, accepted versions, and the error of
a start that cannot be secure.
"""

import http.client
import json
import os
import shutil
import socket
import ssl
import tempfile
import unittest
import urllib.parse

import program
from block_storage import BlockStorage, until
from case import ServiceCase
from certificates import Certificates

NO_AGENT = ("--compute_agent.enabled=false",)


class TlsCase(ServiceCase):
    @classmethod
    def setUpClass(cls):
        cls.workplace = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.workplace, ignore_errors=True)
        cls.certificates = Certificates(cls.workplace)
        path = cls.certificates.path
        cls.options = (f"--ssl.cert_file={path('server.pem')}",
                       f"--ssl.key_file={path('server.key')}", *cls.more_options(), *NO_AGENT)
        super().setUpClass()

    @classmethod
    def more_options(cls):
        return ()

    @classmethod
    def client(cls, certificate="client"):
        api = BlockStorage(cls.service.endpoint)
        api.connection = http.client.HTTPSConnection(
            "127.0.0.1", api.connection.port, timeout=30,
            context=cls.certificates.context(certificate))
        return api


class Clients(TlsCase):
    @classmethod
    def more_options(cls):
        cls.certificates.make("web", "serverAuth")
        cls.certificates.make("person", "clientAuth")
        return (f"--ssl.ca_file={cls.certificates.path('ca.pem')}",)

    def assert_shut_out(self, certificate):
        stranger = self.client(certificate)
        self.addCleanup(stranger.close)
        with self.assertRaises((OSError, http.client.HTTPException)):
            stranger.call("GET", "/volumes")
        self.assert_answers()

    def test_only_clients_with_a_certificate_are_served(self):
        self.assert_answers()
        self.assert_shut_out(None)

    def test_a_certificate_of_a_server_makes_no_client(self):
        person = self.client("person")
        self.addCleanup(person.close)
        self.assertEqual(person.call("GET", "/volumes").status, 200)
        self.assert_shut_out("web")


class Versions(TlsCase):
    def handshake(self, version):
        """The version that was agreed on when only that one is offered."""
        url = urllib.parse.urlsplit(self.service.endpoint)
        context = self.certificates.context()
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
        with socket.create_connection((url.hostname, url.port), 30) as connection:
            with context.wrap_socket(connection, server_hostname="127.0.0.1") as secured:
                return secured.version()

    def test_an_invalid_length_is_refused_once(self):
        url = urllib.parse.urlsplit(self.service.endpoint)
        context = self.certificates.context()
        answer = b""
        with socket.create_connection((url.hostname, url.port), 30) as connection:
            with context.wrap_socket(connection, server_hostname="127.0.0.1") as secured:
                secured.sendall(b"POST /v3/volumes HTTP/1.1\r\nHost: localhost\r\n"
                                b"Content-Length: x\r\n\r\n")
                while piece := secured.recv(65536):
                    answer += piece
        head, body = answer.split(b"\r\n\r\n", 1)
        self.assertTrue(head.startswith(b"HTTP/1.1 400 "), answer)
        self.assertIn(b"\r\nx-openstack-request-id: req-", head)
        self.assertEqual(list(json.loads(body)), ["badRequest"])
        self.assert_answers()

    @unittest.skipUnless(ssl.HAS_TLSv1_1, "this OpenSSL speaks no TLS 1.1")
    def test_old_versions_are_refused(self):
        self.assertEqual(self.handshake(ssl.TLSVersion.TLSv1_3), "TLSv1.3")
        self.assertEqual(self.handshake(ssl.TLSVersion.TLSv1_2), "TLSv1.2")
        for version in (ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1):
            with self.assertRaises(OSError):
                self.handshake(version)
        self.assert_answers()


class ConnectionLimit(TlsCase):
    @classmethod
    def more_options(cls):
        return ("--osapi_volume_connections=50",)

    def test_endless_handshakes_leave_slots_to_others(self):
        url = urllib.parse.urlsplit(self.service.endpoint)
        for i in range(200):
            connection = socket.create_connection((url.hostname, url.port), 60)
            self.addCleanup(connection.close)
            connection.sendall(b"\x16\x03\x01\x02\x00" if i % 2 else b"")
        for _ in range(5):
            until(self.is_served, 60, "a newcomer is served")

    def is_served(self):
        """A client among the idlest may be disconnected, and comes again."""
        api = self.client()
        try:
            return api.call("GET", "/volumes").status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            api.close()


class Priorities(TlsCase):
    @classmethod
    def more_options(cls):
        return ("--ssl.priorities=NORMAL:-VERS-ALL:+VERS-TLS1.3",)

    handshake = Versions.handshake

    def test_only_configured_versions_are_accepted(self):
        self.assertEqual(self.handshake(ssl.TLSVersion.TLSv1_3), "TLSv1.3")
        with self.assertRaises(OSError):
            self.handshake(ssl.TLSVersion.TLSv1_2)


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="scoria-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)

    def assert_not_started(self, reason, *options):
        service = program.serve(os.path.join(self.directory, "state"), *NO_AGENT, *options)
        self.addCleanup(service.kill)
        with self.assertRaises(program.NotStarted) as failure:
            service.start()
        self.assertIn(reason, str(failure.exception))

    def test_an_insecure_configuration_prevents_the_start(self):
        empty = os.path.join(self.directory, "empty.pem")
        with open(empty, "w", encoding="ascii") as file:
            file.write("no certificate\n")
        for path, reason in (("/none/such.pem", "cannot read /none/such.pem"), (empty, "empty.pem")):
            self.assert_not_started(reason, f"--ssl.cert_file={path}")

    def test_invalid_or_outdated_priorities_prevent_the_start(self):
        certificates = Certificates(self.directory)
        files = (f"--ssl.cert_file={certificates.path('server.pem')}",
                 f"--ssl.key_file={certificates.path('server.key')}")
        self.assert_not_started("NONSENSE", *files, "--ssl.priorities=NORMAL:+NONSENSE")
        self.assert_not_started("TLS1.1", *files, "--ssl.priorities=NORMAL:+VERS-TLS1.1")
