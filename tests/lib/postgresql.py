#!/usr/bin/python3
"""A PostgreSQL server of its own in a temporary directory: on a free port, gone with its parent.

    tests/lib/postgresql.py COMMAND...     runs the command with SCORIA_TEST_POSTGRESQL set to the
                                           URL of a superuser, from which tests make databases
"""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from block_storage import until
from ports import free_port
from program import is_gone, stop_and_wait

USER = "postgres"


def programs():
    """The directory of the newest server that is installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"),
                   key=lambda path: int(path.split("/")[4]))
    if not found:
        raise RuntimeError("no PostgreSQL server is installed")
    return os.path.dirname(found[-1])


class Cluster:
    """start(), kill() and start() again, stop(); also for `with`."""

    def __init__(self, settings=(), durable=False):
        self.directory = tempfile.mkdtemp(prefix="scoria-postgresql-")
        self.data = os.path.join(self.directory, "data")
        self.log = os.path.join(self.directory, "log")
        self.port = free_port()
        self.durable = durable
        self.settings = list(settings)
        self.process = None
        self.programs = programs()
        if os.geteuid() == 0:
            account = pwd.getpwnam(USER)
            os.chown(self.directory, account.pw_uid, account.pw_gid)

    def unprivileged(self):
        if os.geteuid() != 0:
            return ["setpriv", "--pdeathsig", "QUIT"]
        return ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups",
                "--pdeathsig", "QUIT"]

    def initialize(self):
        subprocess.run(self.unprivileged() +
                       [f"{self.programs}/initdb", "-D", self.data, "-A", "trust", "-U", USER,
                        "--locale=C", "--encoding=UTF8", "--no-sync"],
                       check=True, stdout=subprocess.DEVNULL, cwd=self.directory)

    def start(self):
        if not os.path.exists(self.data):
            self.initialize()
        words = [f"{self.programs}/postgres", "-D", self.data, "-p", str(self.port),
                 "-k", self.directory, "-c", "listen_addresses=127.0.0.1",
                 "-c", "max_connections=400", "-c", "max_pred_locks_per_transaction=256"]
        if not self.durable:
            words += ["-c", "fsync=off"]
        for setting in self.settings:
            words += ["-c", setting]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.unprivileged() + words, stdout=log, stderr=log,
                                            cwd=self.directory)
        self.wait_ready()
        return self

    def wait_ready(self, seconds=120):
        deadline = time.monotonic() + seconds
        while subprocess.run([f"{self.programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p",
                              str(self.port), "-U", USER], check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(self.log, encoding="utf-8", errors="replace") as log:
                    raise RuntimeError("PostgreSQL did not start:\n" + log.read()[-2000:])
            time.sleep(0.05)

    def url(self, database="postgres", user=USER):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def sql(self, text, database="postgres"):
        """Runs it and returns its output as plain rows."""
        return subprocess.run([f"{self.programs}/psql", "-X", "-q", "-A", "-t", "-v",
                               "ON_ERROR_STOP=1", "-c", text, self.url(database)],
                              check=True, capture_output=True, text=True).stdout.strip()

    def create(self, name):
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        return self.url(name)

    def end(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait()
        self.process = None

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as line:
            return [int(word) for word in line.read().split()]

    def stand_still(self):
        """All of its processes, which cannot begin another, until go_on()."""
        pid = self.process.pid
        stop_and_wait(pid)
        for child in self.children():
            stop_and_wait(child)

    def go_on(self):
        for pid in (*self.children(), self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill(self):
        """As a crash of the machine: nothing is flushed, and no process is left that could still
        write beside those of the next start."""
        self.stand_still()
        children = self.children()
        for child in children:
            os.kill(child, signal.SIGKILL)
        self.end(signal.SIGKILL)
        for child in children:
            until(lambda child=child: is_gone(child), 60, f"process {child} gone")
        pid_file = os.path.join(self.data, "postmaster.pid")
        if os.path.exists(pid_file):
            os.unlink(pid_file)

    def stop(self):
        self.end(signal.SIGINT)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()


def main(words):
    with Cluster() as cluster:
        environment = dict(os.environ, SCORIA_TEST_POSTGRESQL=cluster.url())
        return subprocess.run(words, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
