"""
Debian's own commands, openstack and cinder, begun by a process that has read their modules already:
that is nearly all of their run time.
"""

import multiprocessing
import os
import runpy
import sys
import tempfile

SECONDS = 180

starter = multiprocessing.get_context("forkserver")
# Not cinderclient.shell, which sets up the log as soon as it is read.
starter.set_forkserver_preload(["openstackclient.shell", "openstackclient.volume.v2.volume",
                                "openstack.connection", "cinderclient.v3.shell"])


class ClientFailed(Exception):
    pass


def become(arguments, variables, output, errors):
    """In a process of its own: the command, as if the shell had started it."""
    os.environ.clear()
    os.environ.update(variables)
    for path, number in ((os.devnull, 0), (output, 1), (errors, 2)):
        os.dup2(os.open(path, os.O_RDWR), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")


def run_client(arguments, **variables):
    """Its output."""
    with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
        process = starter.Process(target=become, args=(
            list(arguments), {"PATH": os.environ["PATH"], "HOME": "/nonexistent",
                              "LC_ALL": "C.UTF-8", "COLUMNS": "200", **variables},
            output.name, errors.name))
        process.start()
        process.join(SECONDS)
        process.kill()
        process.join()
        text = output.read()
        if process.exitcode != 0:
            raise ClientFailed(errors.read().strip() or text.strip())
        return text
