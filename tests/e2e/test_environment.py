"""
Bad surroundings: each ends in a refusal to start that names the fault, or in a failed request that
changes nothing.
"""

import contextlib
import json
import os
import re
import socket
import stat
import subprocess
import urllib.parse
import uuid

import program
from block_storage import BlockStorage, Refused, until
from case import GIB, Workplace, agent_endpoint
from ports import free_port


class BuiltInAgent(Workplace):
    """The agent inside `scoria serve` is registered before messages move, not by its first
    heartbeat: here that gets no response, because the agent has another address of the API."""

    def agents(self, service):
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        return [(row["host"], row["state"])
                for row in api.ask("GET", "/os-services?binary=scoria-compute")["services"]]

    def test_the_built_in_agent_is_registered_when_the_service_is_ready(self):
        elsewhere = f"http://127.0.0.1:{free_port()}/v3"
        service = program.serve(self.state, "--host=e2e-node",
                                "--compute_agent.libvirt_uri=test:///default",
                                f"--compute_agent.volume_endpoint={elsewhere}")
        self.addCleanup(service.kill)
        service.start()
        self.assertEqual(self.agents(service), [("e2e-node", "up")])
        first = agent_endpoint(self.state)
        self.assertEqual(first, service.endpoint.replace("/v3", "/compute/v2.1"))
        service.kill()
        port = urllib.parse.urlsplit(first).port
        with socket.create_server(("127.0.0.1", port)):  # it gets another one
            service.start()
        second = agent_endpoint(self.state)
        self.assertNotEqual(second, first)
        self.assertEqual(second, service.endpoint.replace("/v3", "/compute/v2.1"))


class Leftovers(Workplace):
    """Files that no row and no operation has: of a manager that died, or newer than a backup."""

    def find(self):
        return [finding["text"] for finding in program.check(self.state)]

    def test_a_file_without_a_row_is_taken_over_under_another_name_and_deleted(self):
        service = program.serve(self.state)
        self.addCleanup(service.kill)
        service.start()
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        kept = api.create_available(1)["id"]
        directory = os.path.join(self.state, "volumes")
        name_id = str(uuid.uuid4())
        for name, size in ((f"volume-{name_id}", GIB), (f".volume-{uuid.uuid4()}.new", 4096)):
            with open(os.path.join(directory, name), "wb") as file:
                file.truncate(size)
        found = self.find()
        self.assertEqual(len(found), 2, found)
        self.assertIn(f"has an object named {name_id}, which is no volume's", found[0])
        os.unlink(found[1].split("without an operation: ")[1])
        host = api.ask("GET", "/scheduler-stats/get_pools")["pools"][0]["name"]
        with self.assertRaises(Refused):  # it may be a volume's whose file an unmanage left
            self.manage(api, host, f"volume-{name_id}")
        os.rename(f"{directory}/volume-{name_id}", f"{directory}/leftover-{name_id}")
        leftover = self.manage(api, host, f"leftover-{name_id}")
        until(lambda: api.show(leftover)["status"] == "available", 60, "the file is a volume")
        self.assertEqual(self.find(), [])
        api.delete_and_wait(leftover)
        self.assertEqual([name for name in os.listdir(directory) if name_id in name], [])
        self.assertEqual(self.find(), [])
        self.assertEqual(api.show(kept)["status"], "available")
        self.assertEqual(service.stop(), 0)

    @staticmethod
    def manage(api, host, name):
        return api.ask("POST", "/os-volume-manage", {"volume": {
            "host": host, "ref": {"source-name": name}}})["volume"]["id"]


class UnixSocket(Workplace):
    """The whole service behind a file: its clients, its own agent, and another start."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.directory, "api.sock")

    def serve(self, state="state"):
        service = program.serve(os.path.join(self.directory, state), "--host=e2e-node",
                                "--compute_agent.libvirt_uri=test:///default",
                                listen=f"unix:{self.path}")
        self.addCleanup(service.kill)
        return service

    def curl(self, path, *options):
        done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60",
                               "--unix-socket", self.path, "--header",
                               "OpenStack-API-Version: volume 3.71", *options,
                               f"http://localhost/v3{path}"],
                              check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout) if done.stdout else None

    def reported(self):
        return self.curl("/os-services?binary=scoria-compute")["services"][0]["updated_at"]

    def test_clients_and_the_agent_come_through_the_file(self):
        service = self.serve().start()
        name = self.path.replace("/", "%2F")
        self.assertEqual(service.endpoint, f"http+unix://{name}/v3")
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o660)
        made = self.curl("/volumes", "--json", '{"volume": {"size": 1}}')["volume"]["id"]
        until(lambda: self.curl(f"/volumes/{made}")["volume"]["status"] == "available", 60,
              "an available volume")
        self.assertEqual(agent_endpoint(self.state), f"http+unix://{name}/compute/v2.1")
        first = self.reported()
        until(lambda: self.reported() != first, 60, "the agent's next report")
        self.assertNotIn("does not accept this host's reports", service.log())
        self.assertEqual(service.stop(), 0)
        self.assertFalse(os.path.exists(self.path))

    def test_a_stale_socket_is_replaced_and_one_in_use_refused(self):
        service = self.serve().start()
        service.kill()
        self.assertTrue(os.path.exists(self.path))
        service.start()
        with self.assertRaises(program.NotStarted) as caught:
            self.serve("other").start()
        self.assertIn(f"unix:{self.path}: another process listens there", str(caught.exception))
        self.assertEqual(self.curl("/volumes"), {"volumes": []})
        self.assertEqual(service.stop(), 0)

    def test_no_agent_registers_a_socket_file(self):
        self.serve().start()
        answer = self.curl("/os-services/report", "--request", "PUT", "--json", json.dumps(
            {"binary": "scoria-compute", "host": "elsewhere",
             "endpoint": "http+unix://%2Frun%2Fdocker.sock/v1"}))
        self.assertEqual(answer["badRequest"]["code"], 400)


class Start(Workplace):
    """Starts that must be refused."""

    def refuse(self, *texts, options=(), listen="127.0.0.1:0", state=None):
        service = program.serve(state or self.state, *options, listen=listen)
        service.log_path = os.path.join(self.directory, "serve.log")
        self.addCleanup(service.kill)
        with self.assertRaises(program.NotStarted) as caught:
            service.start()
            service.stop()
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def accept(self, *options, state=None):
        service = program.serve(state or self.state, *options)
        service.log_path = os.path.join(self.directory, "serve.log")
        self.addCleanup(service.kill)
        return service.start()

    def write(self, name, text, mode="w"):
        path = os.path.join(self.directory, name)
        with open(path, mode, encoding=None if "b" in mode else "utf-8") as file:
            file.write(text)
        return path

    def test_an_unknown_key_is_refused_with_line_and_nearest_name(self):
        path = self.write("scoria.conf", "[DEFAULT]\n# words\nquota_volume = 3\n")
        self.refuse(f"{path}:3", "quota_volume", "quota_volumes",
                    options=("--config-file", path))

    def test_an_invalid_value_is_refused_with_line_and_key(self):
        for value in ("many", "-2", "99999999999999999999", "3x", ""):
            path = self.write("scoria.conf", f"[DEFAULT]\nquota_volumes = {value}\n")
            with self.subTest(value=value):
                self.refuse(f"{path}:2", "quota_volumes", options=("--config-file", path))

    def test_an_invalid_line_is_refused(self):
        path = self.write("scoria.conf", "[DEFAULT]\nhost = a\nnonsense\n")
        self.refuse(f"{path}:3", options=("--config-file", path))

    def test_an_unknown_section_is_refused(self):
        path = self.write("scoria.conf", "[databas]\nconnection = x\n")
        self.refuse(path, "databas", options=("--config-file", path))

    def test_a_missing_configuration_file_is_refused(self):
        self.refuse("/nowhere.conf", options=("--config-file", "/nowhere.conf"))

    def test_an_unknown_option_is_refused(self):
        self.refuse("quota_volume", options=("--quota_volume=3",))

    def test_an_unknown_driver_is_refused_with_the_nearest(self):
        self.refuse("fil", '"file"', options=("--file.volume_driver=fil",))

    def test_a_port_in_use_is_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.refuse(str(other.getsockname()[1]),
                        listen=f"127.0.0.1:{other.getsockname()[1]}")

    def test_an_exposed_address_is_refused_without_consent(self):
        for address in ("0.0.0.0", "[::]"):
            with self.subTest(address=address):
                self.refuse("allow_insecure_listen", listen=f"{address}:0")

    def test_an_invalid_address_is_refused(self):
        for listen in ("nonsense", "127.0.0.1:", ":80", "127.0.0.1:99999", "127.0.0.1:x",
                       "999.0.0.1:80"):
            with self.subTest(listen=listen):
                self.refuse(listen=listen)

    def test_a_state_directory_that_is_a_file_is_refused(self):
        path = self.write("state", "")
        self.refuse(path, state=path)

    def test_a_read_only_state_directory_is_refused(self):
        os.mkdir(self.state)
        self.mount("-t", "tmpfs", "-o", "ro", "none", self.state)
        self.refuse(self.state, "Read-only file system")

    def test_a_state_directory_in_use_is_refused(self):
        self.accept()
        self.refuse(self.state, "lock")

    def test_an_invalid_database_is_refused(self):
        self.accept().stop()
        for name in ("scoria.db-wal", "scoria.db-shm"):
            path = os.path.join(self.state, name)
            if os.path.exists(path):
                os.unlink(path)
        database = os.path.join(self.state, "scoria.db")
        with open(database, "rb") as file:
            whole = bytearray(file.read())
        damaged = bytearray(whole)
        damaged[100:4096] = os.urandom(3996)
        for what, content in (("text", b"this is no database\n" * 100),
                              ("damaged", damaged), ("cut", whole[:3000])):
            self.write("state/scoria.db", bytes(content), mode="wb")
            with self.subTest(what=what):
                self.refuse("scoria.db")
                with open(database, "rb") as file:
                    self.assertEqual(file.read(), content, "it was changed")

    def test_a_database_of_a_later_version_is_refused(self):
        self.accept().stop()
        subprocess.run(["/usr/bin/python3", "-c", """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
name = next(name for name in tables if "migration" in name or "schema" in name)
column = [row[1] for row in db.execute(f"PRAGMA table_info({name})")][0]
db.execute(f"UPDATE {name} SET {column} = 999")
db.commit()
""", os.path.join(self.state, "scoria.db")], check=True)
        self.refuse("999")

    def test_a_shares_file_with_a_climbing_path_is_refused(self):
        for line in ("server:/export/../../etc", "../../etc", "server:relative", "nonsense",
                     "-o rw server:/x"):
            path = self.write("shares", f"# shares\n{line}\n")
            with self.subTest(line=line):
                self.refuse(f"{path}:2", options=(
                    "--enabled_backends=nfs", "--nfs.volume_driver=nfs",
                    f"--nfs.nfs_shares_config={path}",
                    f"--nfs.nfs_mount_point_base={self.directory}/mnt"))

    def test_an_invalid_policy_file_is_refused(self):
        path = self.write("policy.yaml", '"volume:create": "role:admin and"\n')
        self.refuse(path, options=(f"--oslo_policy.policy_file={path}",))

    def mount(self, *arguments):
        if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", arguments[-1]], check=False)


class FirstWords(Workplace):
    """Input of a first-time user."""

    def output_of(self, *words):
        return subprocess.run([program.BINARY, *words], capture_output=True, text=True, check=False)

    def test_every_command_prints_its_usage(self):
        commands = ["serve", "api", "manager", "compute", "manage"]
        manage = ["check", "operations", "db sync", "db version", "db copy", "config", "policy",
                  "routes", "drivers", "options-man"]
        for words in (["--help"], ["-h"], ["help"]):
            output = self.output_of(*words)
            self.assertEqual((output.returncode, output.stderr), (0, ""), words)
            for command in commands:
                self.assertIn(f"\n  {command} ", output.stdout)
        for words in commands + [f"manage {what}" for what in manage] + ["manage db"]:
            first = self.output_of(*words.split(), "--help")
            self.assertEqual((first.returncode, first.stderr), (0, ""), words)
            self.assertIn(f"usage: scoria {words} ", first.stdout)
            self.assertEqual(self.output_of(*words.split(), "-h").stdout, first.stdout)
            self.assertEqual(self.output_of("help", *words.split()).stdout, first.stdout)
        options = self.output_of("serve", "--help-all", "--quota_volumes=3").stdout
        for option in ("--listen ", "--quota_volumes=", "--database.connection=",
                       "--BACKEND.file_volume_directory="):
            self.assertIn(option, options)
        self.assertEqual(os.listdir(self.directory), [])

    def test_the_version_is_printed_and_begins_the_log(self):
        output = self.output_of("--version").stdout
        version = re.fullmatch(r"scoria (\d+\.\d+\.\d+(?: \([0-9a-z.-]+\))?)\n", output)
        self.assertIsNotNone(version, output)
        service = program.serve(self.state, "--compute_agent.enabled=false")
        self.addCleanup(service.kill)
        service.start()
        self.assertRegex(service.log().partition("\n")[0],
                         r' INFO starting version="?' + re.escape(version.group(1)) + '"?$')
        self.assertEqual(service.stop(), 0)

    def completed(self, *words):
        """The offers of bash's completion for the last of the words."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scoria; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        output = subprocess.run(
            ["bash", "-c", script, "bash",
             os.path.join(program.REPOSITORY, "etc/scoria.bash-completion"), program.BINARY, *words],
            capture_output=True, text=True, check=True)
        return set(output.stdout.split())

    def test_completion_offers_every_command(self):
        commands = re.findall(r"^  ([a-z]+) ", self.output_of("--help").stdout, re.M)
        tools = re.findall(r"^  ([a-z][a-z-]*(?: [a-z]+)?)  ", self.output_of("manage", "--help").stdout, re.M)
        self.assertIn("storage", commands)
        self.assertIn("salvage", tools)
        self.assertIn("host rename", tools)
        self.assertLessEqual(set(commands), self.completed(""))
        self.assertEqual(set(commands), self.completed("help", ""))
        self.assertEqual(set(), self.completed("help", "serve", ""))
        self.assertEqual({what.split()[0] for what in tools}, self.completed("manage", ""))
        self.assertEqual({what.split()[1] for what in tools if what.startswith("db ")},
                         self.completed("manage", "db", ""))
        self.assertEqual({"rename"}, self.completed("manage", "host", ""))
        self.assertIn("--quota_volumes=", self.completed("serve", "--quota_v"))

    def test_completion_offers_every_option(self):
        commands = re.findall(r"^  ([a-z]+) ", self.output_of("--help").stdout, re.M)
        tools = re.findall(r"^  ([a-z][a-z-]*)(?: [a-z]+)?  ", self.output_of("manage", "--help").stdout, re.M)
        for words in [[command] for command in commands] + [["manage", what] for what in tools]:
            shown = set(re.findall(r"^  (?:-[a-z], )?(--[a-z-]+)(?= |$)",
                                   self.output_of(*words, "--help").stdout, re.M))
            self.assertLessEqual({"--config-file", "--help"}, shown)
            offered = {word for word in self.completed(*words, "--") if not word.endswith("=")}
            self.assertEqual(offered, shown, words)
        self.assertIn("--stopped", self.completed("manage", "salvage", "replica", "--st"))
        self.assertIn("--stop", self.completed("manage", "drain", "--"))
        self.assertNotIn("--stop", self.completed("manage", "get", "--"))

    def test_the_installed_pages_name_the_paths_of_the_program(self):
        build = os.path.dirname(program.BINARY)
        if not os.path.exists(os.path.join(build, "Makefile")):
            self.skipTest("the program is in no build tree")
        subprocess.run(["make", "-s", "-C", build, "install-data", f"DESTDIR={self.directory}",
                        "sysconfdir=/opt/etc", "localstatedir=/opt/var", "mandir=/man"],
                       capture_output=True, check=True)
        for page in ("man1/scoria.1", "man5/scoria.conf.5"):
            with open(os.path.join(self.directory, "man", page), encoding="utf-8") as file:
                text = file.read()
            self.assertIn("/opt/etc/scoria/scoria.conf", text)
            self.assertIn("/opt/var/lib/scoria", text)
            self.assertEqual([], re.findall(r"(?<!/opt)/(?:etc|var/lib)/scoria", text))

    def test_an_unknown_command_is_refused_with_the_nearest(self):
        for words, nearest in ((["serv"], "serve"), (["mange", "check"], "manage"),
                               (["help", "computte"], "compute"), (["manage", "chexck"], "check"),
                               (["manage", "db", "syncc"], "db sync"),
                               (["manage", "route", "--help"], "routes")):
            output = self.output_of(*words)
            self.assertEqual((output.returncode, output.stdout), (2, ""), words)
            self.assertIn(f'did you mean "{nearest}"?', output.stderr)
        for words in ([], ["xyzzyxyzzy"], ["manage"], ["manage", "xyzzyxyzzy"], ["serve", "now"],
                      ["manage", "check", "--format=xml"]):
            output = self.output_of(*words)
            self.assertEqual((output.returncode, output.stdout), (2, ""), words)
            self.assertNotEqual(output.stderr, "")


class FullVolumes(Workplace):
    """The volumes lie on a small file system."""

    MAKE = ("mkfs.xfs", "-q")
    SPARSE = False

    def setUp(self):
        super().setUp()
        self.volumes = os.path.join(self.directory, "volumes")
        os.mkdir(self.volumes)
        image = os.path.join(self.directory, "image")
        with open(image, "wb") as file:
            file.truncate(3 * GIB)
        made = subprocess.run([*self.MAKE, image], capture_output=True, check=False)
        if made.returncode or subprocess.run(["mount", "-o", "loop", image, self.volumes],
                                             capture_output=True, check=False).returncode:
            self.skipTest("no loop device here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.volumes], check=False)
        self.service = program.serve(self.state, f"--file.file_volume_directory={self.volumes}",
                                     f"--file.file_sparsed_volumes={str(self.SPARSE).lower()}")
        self.addCleanup(self.service.kill)
        self.service.start()
        self.api = BlockStorage(self.service.endpoint)
        self.addCleanup(self.api.close)

    def fill(self, rest=200 << 20):
        """Behind the service's back, so that no scheduler can refuse."""
        path = os.path.join(self.volumes, "filler")
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.free() - rest)
        return path

    def free(self):
        space = os.statvfs(self.volumes)
        return space.f_bavail * space.f_frsize

    def assert_says_space(self, resource_id):
        """Before the report of the pool, the storage refuses; behind it the scheduler."""
        texts = [message["user_message"] for message in self.api.messages(resource_id)]
        self.assertTrue([text for text in texts if "No space is left on the storage" in text or
                         "has too little space" in text], texts)

    def assert_logs_space(self, resource_id, where):
        """One line has the object, the place and the reason."""
        lines = [line for line in self.service.log().splitlines()
                 if resource_id in line and where in line and
                 ("No space left" in line or "has no space" in line)]
        self.assertTrue(lines, self.service.log())


class FullDisk(FullVolumes):
    """The service goes on when it is full."""

    def grown(self, volume_id):
        """False when the scheduler still knows the full disk: then nothing has changed."""
        self.api.extend(volume_id, 2)
        return self.api.wait_status(volume_id, "available")["size"] == 2

    def wait_end(self, volume_id):
        return until(lambda: self.ended(volume_id), 120, "an end")

    def ended(self, volume_id):
        volume = self.api.show(volume_id)
        return volume if not volume["status"].endswith("ing") or \
            volume["status"] == "error_extending" else None

    def test_a_volume_that_does_not_fit_fails_and_releases_its_quota(self):
        volume_id = self.api.create_available(1)["id"]
        filler = self.fill()
        usage = self.api.gigabytes()
        self.api.extend(volume_id, 2)
        ended = self.wait_end(volume_id)
        self.assertIn((ended["status"], ended["size"]),
                      (("error_extending", 1), ("available", 1)))
        self.assertEqual(self.api.gigabytes(), usage)
        self.assert_says_space(volume_id)
        created = self.wait_end(self.api.create(1)["id"])
        self.assertEqual(created["status"], "error")
        self.assert_says_space(created["id"])
        self.api.delete_and_wait(created["id"])
        os.unlink(filler)
        until(lambda: self.free() > 3 * GIB // 2, 60, "room")  # XFS frees in the background
        if ended["status"] != "available":
            self.api.reset(volume_id, "available")
        until(lambda: self.grown(volume_id), 60, "a report of the room", pause=0.5)
        self.api.delete_and_wait(volume_id)
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(program.check(self.state,
                                       f"--file.file_volume_directory={self.volumes}"), [])


class FullOfCopies(FullVolumes):
    """A pool of sparse volumes may promise more than it has, and finds out while it copies."""

    MAKE = ("mkfs.ext4", "-q", "-F", "-m", "0")
    SPARSE = True

    def test_the_message_and_the_log_name_lack_of_space(self):
        source = self.api.create_available(1)["id"]
        with open(os.path.join(self.volumes, f"volume-{source}"), "r+b") as file:
            for _ in range(300):
                file.write(os.urandom(1 << 20))
        self.fill(20 << 20)
        volume_id = self.api.create(1, source_volid=source)["id"]
        snapshot_id = self.api.ask("POST", "/snapshots",
                                   {"snapshot": {"volume_id": source}})["snapshot"]["id"]
        for kind, object_id, event in (
                ("volumes", volume_id, "VOLUME_VOLUME_008_012"),
                ("snapshots", snapshot_id, "VOLUME_VOLUME_SNAPSHOT_009_013")):
            status = until(lambda path=f"/{kind}/{object_id}", key=kind[:-1]: self.ended_of(
                path, key), 120, f"the end of {kind}")
            self.assertEqual(status, "error")
            self.assertEqual([message["event_id"] for message in self.api.messages(object_id)],
                             [event])
            self.assert_says_space(object_id)
            self.assert_logs_space(object_id, self.volumes)
        self.assertEqual(self.api.show(source)["status"], "available")

    def ended_of(self, path, key):
        status = self.api.ask("GET", path)[key]["status"]
        return status if status != "creating" else None


class MissingMount(Workplace):
    """The volumes' directory is there but empty, as when its file system was not mounted."""

    def test_no_volume_of_a_missing_mount_counts_as_deleted(self):
        volumes, away = (os.path.join(self.directory, name) for name in ("volumes", "away"))
        service = program.serve(self.state, f"--file.file_volume_directory={volumes}")
        self.addCleanup(service.kill)
        service.start()
        api = BlockStorage(service.endpoint)
        volume_id = api.create_available(1)["id"]
        api.close()
        service.stop()
        os.rename(volumes, away)
        service.start()
        self.assertIn("is it mounted?", service.log())
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        api.delete(volume_id)
        self.assertEqual(api.show(volume_id)["status"], "deleting")
        self.assertEqual(os.listdir(volumes), [])
        os.rmdir(volumes)
        os.rename(away, volumes)
        until(lambda: not [name for name in os.listdir(volumes) if "volume-" in name], 120,
              "the delete in the right place")
        self.assertIn("backend opened after the start", service.log())


class FullState(Workplace):
    """The database itself has no space: requests fail, nothing is lost."""

    def test_requests_fail_until_there_is_space(self):
        os.mkdir(self.state)
        volumes = os.path.join(self.directory, "volumes")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", self.state],
                          capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state], check=False)
        options = (f"--file.file_volume_directory={volumes}", "--quota_volumes=-1",
                   "--quota_gigabytes=-1")
        service = program.serve(self.state, *options)
        self.addCleanup(service.kill)
        service.start()
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        filler = os.path.join(self.state, "filler")
        made = api.create_available(1)["id"]
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        refused = None
        accepted = [made]
        for _ in range(3000):
            answer = api.call("POST", "/volumes", {"volume": {"size": 1}})
            if answer.status != 202:
                refused = answer
                break
            accepted.append(answer.body["volume"]["id"])
        self.assertIsNotNone(refused, "the state directory was never full")
        self.assertIn(refused.status, (500, 503, 507))
        self.assertEqual(api.show(made)["status"], "available")
        os.unlink(filler)
        service.kill()
        service.start()
        api = BlockStorage(service.endpoint)
        self.addCleanup(api.close)
        for volume_id in accepted:
            api.wait_status(volume_id, "available")
        self.assertEqual({volume["id"] for volume in api.list()}, set(accepted))
        self.assertEqual(service.stop(), 0)
        self.assertEqual(program.check(self.state, *options), [])


class VolumesFillTheState(Workplace):
    """State directory and volumes share a file system that guests fill: deleting a volume is the
    way out, also after an orderly stop that has left the database without a log."""

    def setUp(self):
        super().setUp()
        image, self.place = (os.path.join(self.directory, name) for name in ("image", "place"))
        os.mkdir(self.place)
        with open(image, "wb") as file:
            file.truncate(200 << 20)
        if subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], capture_output=True,
                          check=False).returncode or \
                subprocess.run(["mount", "-o", "loop", image, self.place], capture_output=True,
                               check=False).returncode:
            self.skipTest("no loop device here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.place], check=False)
        self.state = os.path.join(self.place, "state")
        self.reserve = os.path.join(self.state, "scoria.db-reserve")
        self.service = program.serve(self.state)
        self.addCleanup(self.service.kill)

    def start(self):
        self.service.start()
        api = BlockStorage(self.service.endpoint)
        self.addCleanup(api.close)
        return api

    def test_a_volume_is_deleted_after_a_start_without_space(self):
        api = self.start()
        full, kept = (api.create_available(1)["id"] for _ in range(2))
        self.assertEqual(self.service.stop(), 0)
        self.assertTrue(os.path.exists(self.reserve))
        self.fill(os.path.join(self.state, "volumes", f"volume-{full}"))
        self.fill(os.path.join(self.place, "filler"))
        api = self.start()
        self.assertFalse(os.path.exists(self.reserve))
        self.assertIn("reserve of disk space released", self.service.log())
        api.delete_and_wait(full)
        self.assertEqual(api.show(kept)["status"], "available")
        self.assertEqual(self.service.stop(), 0)
        self.start()
        self.assertTrue(os.path.exists(self.reserve))
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(program.check(self.state), [])

    def test_changes_use_the_reserve_until_there_is_space_again(self):
        api = self.start()
        full, kept = (api.create_available(1)["id"] for _ in range(2))
        self.fill(os.path.join(self.state, "volumes", f"volume-{full}"))
        self.fill(os.path.join(self.place, "filler"))
        for i in range(200):
            api.ask("PUT", f"/volumes/{kept}", {"volume": {"name": f"name {i}"}})
            if not os.path.exists(self.reserve):
                break
        self.assertFalse(os.path.exists(self.reserve))
        api.delete_and_wait(full)
        for i in range(2000):
            api.ask("PUT", f"/volumes/{kept}", {"volume": {"name": f"other name {i}"}})
            if os.path.exists(self.reserve):
                break
        self.assertTrue(os.path.exists(self.reserve))
        self.assertEqual(api.show(kept)["name"], f"other name {i}")
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(program.check(self.state), [])

    def test_the_last_space_is_left_to_deletes(self):
        api = self.start()
        full, kept = (api.create_available(1)["id"] for _ in range(2))
        self.fill(os.path.join(self.place, "filler"))
        for i in range(200):
            api.ask("PUT", f"/volumes/{kept}", {"volume": {"name": f"name {i}"}})
            if not os.path.exists(self.reserve):
                break
        found = os.statvfs(self.place)
        with open(os.path.join(self.place, "more"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - (3 << 20))
        with self.assertRaisesRegex(Refused, "503"):
            api.ask("POST", "/volumes", {"volume": {"size": 1}})
        self.assertIn("objects can only be deleted", self.service.log())
        api.delete_and_wait(full)
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(program.check(self.state), [])

    @staticmethod
    def fill(path):
        with open(path, "r+b" if os.path.exists(path) else "wb", buffering=0) as file, \
                contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
