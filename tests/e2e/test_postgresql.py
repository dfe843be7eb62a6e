"""
Faults of a PostgreSQL server, before the service starts and while it runs. At the start it is one
line that names option, place and reason, and never the password; later a client gets 503 with
Retry-After, and nothing has changed.
"""

import os
import re
import socket
import struct
import subprocess
import threading
import time
import unittest

import postgresql
import program
from block_storage import BlockStorage, until
from case import Workplace

SECRET = "s3cr3t-word"
ANSWER_S = 90  # 20 until a session counts as lost, 30 until a commit counts as in doubt, and some
DISK = 48 << 20

cluster = None


def setUpModule():
    global cluster  # pylint: disable=global-statement
    cluster = postgresql.Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()


def certificate(directory, name):
    """Files of a certificate that it has signed itself, for localhost."""
    key, cert = (os.path.join(directory, f"{name}.{end}") for end in ("key", "crt"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


class Server(postgresql.Cluster):
    """With passwords required and, where a certificate is given, TLS."""

    def __init__(self, settings=(), passwords=True, tls=False):
        super().__init__(settings)
        self.passwords, self.tls = passwords, tls

    def initialize(self):
        super().initialize()
        if self.passwords:
            with open(os.path.join(self.data, "pg_hba.conf"), "w", encoding="ascii") as rules:
                rules.write(f"host all {postgresql.USER} 127.0.0.1/32 trust\n"
                            "host all all 127.0.0.1/32 scram-sha-256\n")
        if self.tls:
            self.certificate, key = certificate(self.directory, "server")
            for path in (self.certificate, key):
                if os.geteuid() == 0:
                    subprocess.run(["chown", postgresql.USER, path], check=True)
            self.settings += ["ssl=on", f"ssl_cert_file={self.certificate}",
                              f"ssl_key_file={key}"]


class OldServer(threading.Thread):
    """Pretends to be PostgreSQL of a version, and accepts every statement."""

    def __init__(self, version):
        super().__init__(daemon=True)
        self.version = version
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self):
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rb") as stream:
            self.begin(connection, stream)
            while stream.read(1) == b"Q":
                stream.read(struct.unpack("!I", stream.read(4))[0] - 4)
                connection.sendall(self.message(b"C", b"SET\0") + self.message(b"Z", b"I"))

    def begin(self, connection, stream):
        code = 0
        while code != 3 << 16:  # before: may it be TLS or GSSAPI?
            length, code = struct.unpack("!II", stream.read(8))
            stream.read(length - 8)
            if code != 3 << 16:
                connection.sendall(b"N")
        connection.sendall(
            self.message(b"R", struct.pack("!I", 0)) +
            self.message(b"S", b"server_version\0" + self.version.encode() + b"\0") +
            self.message(b"Z", b"I"))

    @staticmethod
    def message(kind, body):
        return kind + struct.pack("!I", len(body) + 4) + body


class PostgresqlCase(Workplace):
    def service(self, url, *options):
        part = program.serve(self.state, "--host=e2e-node", "--quota_volumes=-1",
                             "--quota_gigabytes=-1", f"--database.connection={url}", *options)
        self.addCleanup(part.kill)
        return part

    def client(self, part, timeout=ANSWER_S):
        api = BlockStorage(part.endpoint, timeout=timeout)
        self.addCleanup(api.close)
        return api

    def assert_refused(self, url, *words):
        """The start fails with one line of these words behind the first one, and soon."""
        part = self.service(url)
        begin = time.monotonic()
        with self.assertRaises(program.NotStarted) as refused:
            part.start()
        text = str(refused.exception).strip()
        self.assertLess(time.monotonic() - begin, 40)
        self.assertIn(" INFO starting ", text.splitlines()[0])
        self.assertEqual(len(text.splitlines()), 2, text)
        for word in ("[database] connection: ", *words):
            self.assertIn(word, text)
        self.assertNotIn(SECRET, text)

    def assert_unavailable(self, answer):
        self.assertEqual(answer.status, 503, answer)
        self.assertTrue(answer.headers.get("Retry-After"), answer.headers)
        for private in (SECRET, "127.0.0.1", "port", "FATAL"):
            self.assertNotIn(private, str(answer.body))


class AtTheStart(PostgresqlCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(tls=True)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        cls.server.sql(f"CREATE ROLE scoria LOGIN PASSWORD '{SECRET}'")
        cls.server.create("scoria")
        cls.server.sql("ALTER DATABASE scoria OWNER TO scoria")

    def url(self, user=f"scoria:{SECRET}", name="scoria", host="127.0.0.1", words=""):
        return f"postgresql://{user}@{host}:{self.server.port}/{name}{words}"

    def test_a_wrong_password_is_refused_and_not_disclosed(self):
        self.assert_refused(self.url(f"scoria:{SECRET}x"), "password authentication failed",
                            f"127.0.0.1:{self.server.port}/scoria")

    def test_a_missing_database_is_named(self):
        self.assert_refused(self.url(name="nowhere"), '"nowhere" does not exist')

    def test_a_missing_role_is_refused(self):
        self.assert_refused(self.url(f"unknown:{SECRET}"), "unknown")

    def test_a_server_without_tls_is_refused_when_tls_is_required(self):
        url = cluster.create("without_tls").replace("postgres@", f"postgres:{SECRET}@")
        self.assert_refused(url + "?sslmode=require", "SSL")

    def test_a_certificate_of_an_unknown_authority_is_refused(self):
        other, _ = certificate(self.directory, "other")
        self.assert_refused(self.url(host="localhost",
                                     words=f"?sslmode=verify-full&sslrootcert={other}"),
                            "certificate verify failed")

    def test_a_certificate_of_another_name_is_refused(self):
        self.assert_refused(
            self.url(words=f"?sslmode=verify-full&sslrootcert={self.server.certificate}"),
            "does not match host name")

    def test_a_missing_certificate_file_is_named(self):
        self.assert_refused(self.url(words="?sslmode=verify-ca&sslrootcert=/nowhere.pem"),
                            "/nowhere.pem")

    def test_tls_with_the_right_certificate_works(self):
        part = self.service(self.url(host="localhost", words="?sslmode=verify-full&sslrootcert="
                                     + self.server.certificate)).start()
        self.client(part).create_available(1)
        self.assertEqual(self.server.sql(
            "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
            "WHERE usename = 'scoria'"), "t")
        self.assertEqual(part.stop(), 0)
        self.assertNotIn(SECRET, part.log())

    def test_a_server_that_is_too_old_is_refused(self):
        old = OldServer("12.22")
        self.addCleanup(old.listener.close)
        old.start()
        self.assert_refused(f"postgresql://scoria:{SECRET}@127.0.0.1:{old.port}/scoria",
                            "PostgreSQL 12", "at least 13")

    def test_a_schema_of_a_newer_program_is_refused_and_left_alone(self):
        url = cluster.create("newer")
        part = self.service(url).start()
        self.assertEqual(part.stop(), 0)
        cluster.sql("UPDATE schema_version SET number = 999", "newer")
        size = os.path.getsize(part.log_path)
        with self.assertRaises(program.NotStarted) as refused:
            self.service(url).start()
        self.assertRegex(str(refused.exception), r"\[database\] connection: .*999")
        self.assertEqual(cluster.sql("SELECT DISTINCT number FROM schema_version", "newer"),
                         "999")
        self.assertGreater(os.path.getsize(part.log_path), size)


class Copy(PostgresqlCase):
    """`manage db copy` looks at both sides before it writes."""

    def setUp(self):
        super().setUp()
        self.url = cluster.create(f"copy{os.getpid()}_{id(self) % 10**9}")
        self.name = self.url.rpartition("/")[2]
        self.source = program.serve(self.state, "--host=e2e-node")
        self.addCleanup(self.source.kill)
        self.source.start()

    def copy(self):
        return subprocess.run([program.BINARY, "manage", "db", "copy", "--state-dir", self.state,
                               f"--database.connection={self.url}"],
                              capture_output=True, text=True, check=False)

    def content(self):
        """Of the files of the source."""
        found = {}
        for name in os.listdir(self.state):
            path = os.path.join(self.state, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[name] = file.read()
        return found

    def tables(self):
        return cluster.sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'", self.name)

    def assert_nothing_written(self, text, tables):
        before = self.content()
        output = self.copy()
        self.assertEqual(output.returncode, 1, output)
        self.assertIn(text, output.stderr)
        self.assertEqual(self.content().keys(), before.keys())
        self.assertEqual(self.tables(), tables)
        return before

    def test_a_source_in_use_is_refused(self):
        self.client(self.source).create_available(1)
        self.assert_nothing_written("in use by another program", "0")
        self.assertEqual(self.source.stop(), 0)
        output = self.copy()
        self.assertEqual(output.returncode, 0, output)
        self.assertEqual(cluster.sql("SELECT COUNT(*) FROM volumes", self.name), "1")

    def test_a_target_with_anything_is_refused(self):
        self.assertEqual(self.source.stop(), 0)
        cluster.sql("CREATE TABLE theirs (id INT)", self.name)
        before = self.assert_nothing_written('a table "theirs"', "1")
        self.assertEqual(self.content(), before)


# Serializable transactions, each of which changes a row and reads another one.
FILL = """DO $$ BEGIN
    PERFORM set_config('default_transaction_isolation', 'serializable', false);
    COMMIT;
    FOR i IN 1..%d LOOP
        INSERT INTO filler VALUES (1000000 + i, 0);
        BEGIN
            PERFORM FROM filler WHERE id = i;
        EXCEPTION WHEN out_of_memory THEN
            EXIT;
        END;
        COMMIT;
    END LOOP;
END $$"""


class BesideALongTransaction(PostgresqlCase):
    """A serializable transaction of another program stays open, in another database: meanwhile the
    server keeps the reads and writes of every commit for its checks, as far as its memory allows."""

    def server(self, *settings):
        server = Server(settings, passwords=False)
        self.addCleanup(server.stop)
        server.start()
        server.sql("CREATE TABLE filler (id BIGINT PRIMARY KEY, value BIGINT)")
        server.sql("INSERT INTO filler SELECT id, 0 FROM generate_series(1, 20000) AS id")
        return server

    def hold(self, server):
        """Begins the transaction and gives it a number; the result ends it."""
        client = subprocess.Popen([f"{server.programs}/psql", "-X", "-q", "-A", "-t", server.url()],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.kill)
        client.stdin.write("BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT pg_current_xact_id();\n")
        client.stdin.flush()
        self.assertRegex(client.stdout.readline(), "^[0-9]+$")
        return client.communicate

    def assert_served(self, server, commits, reason):
        url = server.create("scoria")
        part = self.service(url).start()
        api = self.client(part)
        release = self.hold(server)
        for _ in range(3):
            api.create_available(1)
        server.sql(FILL % commits)
        for _ in range(5):
            api.create_available(1)
        with open(server.log, encoding="utf-8") as log:
            self.assertRegex(log.read(), reason)
        release()
        self.assertNotIn("too busy", part.log())
        self.assertEqual(part.stop(), 0)
        self.assertEqual(program.check(self.state, "--host=e2e-node",
                                       f"--database.connection={url}"), [])

    def test_more_commits_than_the_server_keeps_refuse_no_change(self):
        self.assert_served(self.server("max_connections=40"), 2000,
                           "Canceled on .*(old pivot|old committed transaction)")

    def test_more_locks_than_the_server_keeps_refuse_no_change(self):
        self.assert_served(self.server("max_pred_locks_per_transaction=10"), 20000,
                           "out of shared memory")


class WhileItRuns(PostgresqlCase):
    def test_too_many_connections_are_503_until_one_is_free(self):
        server = Server()
        self.addCleanup(server.stop)
        server.start()
        server.sql(f"CREATE ROLE scoria LOGIN PASSWORD '{SECRET}'")
        server.create("scoria")
        server.sql("ALTER DATABASE scoria OWNER TO scoria")
        part = self.service(f"postgresql://scoria:{SECRET}@127.0.0.1:{server.port}/scoria").start()
        api = self.client(part)
        volume_id = api.create_available(1)["id"]
        # No slot for another connection, and existing ones go: the server answers as when other
        # clients have taken every slot.
        server.sql("ALTER ROLE scoria CONNECTION LIMIT 0")
        until(lambda: server.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                                 "WHERE usename = 'scoria'") == "0", 60, "no connection left")
        for _ in range(3):
            self.assert_unavailable(api.call("POST", "/volumes", {"volume": {"size": 1}}))
            self.assert_unavailable(api.call("GET", f"/volumes/{volume_id}"))
        until(lambda: "too many connections" in part.log(), 60, "its reason in the log")
        self.assertEqual(server.sql("SELECT count(*) FROM volumes", "scoria"), "1")
        server.sql("ALTER ROLE scoria CONNECTION LIMIT -1")
        until(lambda: api.call("GET", f"/volumes/{volume_id}").status == 200 and
              api.call("POST", "/volumes", {"volume": {"size": 1}}).status == 202, 60,
              "room again", pause=0.2)
        until(lambda: all(row["status"] == "available" for row in api.list()), 60, "all done")
        self.assertEqual(part.stop(), 0)
        self.assertNotIn(SECRET, part.log())

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_full_disk_is_503_and_changes_nothing(self):
        disk = os.path.join(self.directory, "disk")
        os.mkdir(disk)
        os.chmod(self.directory, 0o711)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=777", "scoria-test", disk],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        space = os.path.join(disk, "space")
        os.mkdir(space)
        subprocess.run(["chown", postgresql.USER, space], check=True)
        cluster.sql(f"CREATE TABLESPACE tiny LOCATION '{space}'")
        self.addCleanup(cluster.sql, "DROP TABLESPACE tiny")
        cluster.sql("CREATE DATABASE full_disk TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' "
                    "TABLESPACE tiny")
        self.addCleanup(cluster.sql, "DROP DATABASE full_disk WITH (FORCE)")
        part = self.service(cluster.url("full_disk")).start()
        api = self.client(part)
        api.create_available(1)
        filler = os.path.join(disk, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        metadata = {f"key{number}": "x" * 200 for number in range(100)}
        made, refused = 0, None
        while not refused and made < 500:
            answer = api.call("POST", "/volumes", {"volume": {"size": 1, "metadata": metadata}})
            made += answer.status == 202
            refused = answer if answer.status != 202 else None
        self.assert_unavailable(refused)
        self.assertIn("disk of the database is full", part.log())
        self.assertNotIn("disk", str(refused.body))
        self.assertEqual(len(api.list("?limit=1000")), made + 1)
        os.unlink(filler)
        until(lambda: all(row["status"] == "available" for row in api.list("?limit=1000")), 180,
              "everything done that was accepted", pause=0.2)
        self.assertEqual(len(api.list("?limit=1000")), made + 1)
        api.create_available(1)
        self.assertEqual(part.stop(), 0)
        self.assertEqual(program.check(self.state, "--host=e2e-node", "--database.connection="
                                       + cluster.url("full_disk")), [])

    def test_a_suspended_server_is_503_in_time_and_leaves_nothing_half_done(self):
        url = cluster.create("still")
        part = self.service(url, "--service_down_time=600").start()
        api = self.client(part)
        volume_id = api.create_available(1)["id"]
        self.addCleanup(cluster.go_on)
        cluster.stand_still()
        begin = time.monotonic()
        answer = api.call("POST", f"/volumes/{volume_id}/action", {"os-extend": {"new_size": 2}})
        self.assertLess(time.monotonic() - begin, ANSWER_S)
        self.assert_unavailable(answer)
        self.assert_unavailable(api.call("GET", f"/volumes/{volume_id}"))
        cluster.go_on()
        until(lambda: api.call("GET", f"/volumes/{volume_id}").status == 200, 60, "it is back")
        volume = api.wait_status(volume_id, "available")
        known = not re.search("not known", str(answer.body))
        self.assertIn(api.show(volume_id)["size"], (1,) if known else (1, 2), volume)
        until(lambda: api.call("POST", "/volumes", {"volume": {"size": 1}}).status == 202, 60,
              "changes are possible again")
        until(lambda: all(row["status"] == "available" for row in api.list()), 60, "all done")
        self.assertEqual(part.stop(), 0)
        self.assertEqual(program.check(self.state, "--host=e2e-node",
                                       f"--database.connection={url}"), [])


if __name__ == "__main__":
    unittest.main()
