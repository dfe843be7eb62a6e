"""
tempest and its plugin for Cinder, from PyPI in an environment of their own: users for them,
processes that run their tests, and the lists of those that are not run.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess

import program
from keystone import PASSWORD, die_with_parent

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "requirements.txt")
PLACE = os.path.join(program.REPOSITORY, "build/conformance")
ENVIRONMENT = os.path.join(PLACE, "environment")


class Failed(RuntimeError):
    pass


def have_environment():
    """The programs of tempest, built again when their requirements have changed."""
    with open(REQUIREMENTS, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    stamp = os.path.join(ENVIRONMENT, digest)
    os.makedirs(PLACE, exist_ok=True)
    with open(os.path.join(PLACE, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(stamp):
            return
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([os.path.join(ENVIRONMENT, "bin/pip"), "install", "--quiet", "--no-deps",
                        "--requirement", REQUIREMENTS], check=True)
        with open(stamp, "x", encoding="ascii"):
            pass


def accounts(keystone, number, services=0):
    """The users that tempest needs at once: three in a project, one of another, one of the system;
    and so many administrators of that project that are services, too."""
    rows = []

    def add(name, project, *roles):  # tests read the role from the end of the name
        keystone.user(name, project, roles, system=not project)
        rows.append({"username": name, "password": PASSWORD, "roles": roles,
                     **({"project_name": project} if project else {"system": "all"})})
    for project, role in ((f"others-{number}", "member"), (f"tests-{number}", "admin"),
                          (f"tests-{number}", "member"), (f"tests-{number}", "reader"),
                          (None, "admin")):
        add(f"{project or f'system-{number}'}-{role}", project, role)
    for i in range(services):
        add(f"tests-{number}-service-{i}-admin", f"tests-{number}", "admin", "service")
    return rows


class Worker:
    """A process that runs the tests of one class after the other, of those below these
    packages."""

    def __init__(self, directory, configuration, packages):
        with open(os.path.join(directory, "worker.log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(ENVIRONMENT, "bin/python3"), "-B", os.path.join(HERE, "worker"),
                 *packages],
                cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, "HOME": directory, "TEMPEST_CONFIG_DIR": directory,
                     "TEMPEST_CONFIG": os.path.basename(configuration)},
                preexec_fn=die_with_parent)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"a worker has ended: {self.process.wait()}")
        return json.loads(line)

    def ready(self):
        """The ids of all tests."""
        return self.answer()["tests"]

    def run(self, name, tests):
        """Yields the outcome of each, of the fixtures too if they fail."""
        print(name, *tests, file=self.process.stdin, flush=True)
        while "end" not in (row := self.answer()):
            yield row

    def end(self):
        self.process.kill()
        self.process.wait()


def left_out(path):
    """Patterns and reasons of such a file."""
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield line.strip().partition(" # ")[::2]


def stay(tests, path):
    """The tests that are not left out, and the lines of that file without a reason or a test."""
    wrong, gone = [], set()
    for pattern, reason in left_out(path):
        found = {test for test in tests if re.search(pattern, test)} - gone
        if not found or not reason:
            wrong.append(f"left_out: {pattern}: {'no reason' if found else 'no further test'}")
        gone |= found
    return [test for test in tests if test not in gone], wrong
