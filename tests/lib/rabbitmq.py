"""
A RabbitMQ of our own: free ports on loopback, its state in a scratch directory, nothing left behind.
"""

import ctypes
import glob
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import zipfile

from ports import free_ports

SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"
CONTROL = "/usr/lib/rabbitmq/lib/*/escript/rabbitmqctl"
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """Whatever ends the tests ends their servers too."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def answers(port):
    with socket.socket() as one:
        one.settimeout(0.5)
        return one.connect_ex(("127.0.0.1", port)) == 0


class Control:
    """
    rabbitmqctl, of which one process serves all commands: to begin one takes most of its time. A
    line in is a command's words; its output comes out, and a line with how it ended. It ends with
    its input.
    """

    END = "\x1e"
    LOOP = """
        application:ensure_all_started(elixir),
        application:load(rabbitmqctl),
        Print = fun(Output, Command, Options) ->
            'Elixir.RabbitMQ.CLI.Core.Output':print_output(
                'Elixir.RabbitMQ.CLI.Core.Output':format_output(
                    Output, 'Elixir.RabbitMQ.CLI.Core.Config':get_formatter(Command, Options),
                    Options),
                'Elixir.RabbitMQ.CLI.Core.Config':get_printer(Command, Options), Options)
        end,
        Serve = fun Serve() ->
            Line = io:get_line(""),
            is_binary(Line) orelse halt(0),
            Words = string:split(string:trim(Line, trailing, "\n"), "\t", all),
            End = (catch 'Elixir.RabbitMQCtl':exec_command(Words, Print)),
            io:format("~s~0tp~n", [[16#1e], End]),
            Serve()
        end,
        Serve().
    """

    def __init__(self, node, environment, directory):
        self.node = node
        self.turn = threading.Lock()
        code = os.path.join(directory, "control")
        with zipfile.ZipFile(glob.glob(CONTROL)[0]) as archive:  # behind a script's first line
            archive.extractall(code)
        self.process = subprocess.Popen(
            ["erl", "-noshell", "-hidden", "-pa", code, "-start_epmd", "false",
             "-kernel", "inet_dist_use_interface", "{127,0,0,1}", "-kernel", "logger_level", "none",
             "-eval", self.LOOP, "-extra", "rabbitmqctl"],
            env=environment, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)

    def run(self, *words):
        with self.turn:
            print("-n", self.node, "-q", *words, sep="\t", file=self.process.stdin, flush=True)
            lines = []
            while not lines or not lines[-1].startswith(self.END):
                lines.append(self.process.stdout.readline() or self.END + "it has died")
        end = lines.pop()[1:].strip()
        if end != "ok" and not end.startswith("{ok,"):
            raise RuntimeError(f"rabbitmqctl {' '.join(words)}: {end}")
        return "".join(lines)

    def stop(self):
        self.process.kill()
        self.process.communicate()


class Broker:
    def __init__(self, tls=None):
        """tls: a dict of ca, cert and key files for a listener with TLS beside the plain one."""
        self.directory = tempfile.mkdtemp(prefix="scoria-rabbitmq-")
        self.port, self.tls_port, self.distribution_port, self.epmd_port = free_ports(4)
        self.node = f"scoria-{secrets.token_hex(4)}@localhost"
        self.server = self.epmd = self.ctl = None
        self.tls = tls
        self._write("conf-env", "")
        self._write("plugins", "[].\n")
        self._write("rabbitmq.conf", self._configuration())
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory, "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(self.distribution_port),
            "RABBITMQ_MNESIA_BASE": self._path("mnesia"),
            "RABBITMQ_LOG_BASE": self._path("log"),
            "RABBITMQ_PID_FILE": self._path("pid"),
            "RABBITMQ_CONFIG_FILE": self._path("rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": self._path("plugins"),
            "RABBITMQ_CONF_ENV_FILE": self._path("conf-env"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false",
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _write(self, name, text):
        with open(self._path(name), "w", encoding="ascii") as file:
            file.write(text)

    def _configuration(self):
        lines = ["loopback_users = none", "log.file.level = warning",
                 "disk_free_limit.absolute = 50MB", "raft.wal_max_size_bytes = 16777216"]
        if self.tls:
            lines += [f"listeners.ssl.default = 127.0.0.1:{self.tls_port}",
                      f"ssl_options.cacertfile = {self.tls['ca']}",
                      f"ssl_options.certfile = {self.tls['cert']}",
                      f"ssl_options.keyfile = {self.tls['key']}",
                      "ssl_options.verify = verify_peer",
                      "ssl_options.fail_if_no_peer_cert = true"]
        return "\n".join(lines) + "\n"

    # ---- life ----

    def start(self, timeout=180):
        if self.epmd is None:
            self.epmd = subprocess.Popen(
                ["epmd", "-address", "127.0.0.1", "-port", str(self.epmd_port)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                preexec_fn=die_with_parent)
        with open(self._path("output"), "ab") as output:
            # A process group of its own: its helpers end with it.
            self.server = subprocess.Popen([SERVER], env=self.environment, cwd=self.directory,
                                           stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                           preexec_fn=die_with_parent, start_new_session=True)
        deadline = time.monotonic() + timeout
        while not self._is_up():
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("RabbitMQ does not start: " + self.output()[-3000:])
            time.sleep(0.1)
        if self.ctl is None:
            self.ctl = Control(self.node, self.environment, self.directory)
        return self

    def _is_up(self):
        return answers(self.port) and "completed with" in self.output(self.output_start)

    output_start = 0

    def output(self, start=0):
        with open(self._path("output"), encoding="utf-8", errors="replace") as file:
            file.seek(start)
            return file.read()

    @property
    def pid(self):
        """Of the Erlang machine itself, not of the script that started it."""
        with open(self._path("pid"), encoding="ascii") as file:
            return int(file.read())

    def _end(self, signal_number, timeout):
        if self.server is None:
            return
        try:
            os.kill(self.pid, signal_number)
        except (OSError, ValueError):
            pass
        try:
            self.server.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait()
        try:
            os.killpg(self.server.pid, signal.SIGKILL)  # the Erlang machine's helpers
        except OSError:
            pass
        self.server = None
        self.output_start = os.path.getsize(self._path("output"))

    def kill(self):
        """
        As a crash of the machine does: kill -9. But the names of its queues are in their file by
        then. RabbitMQ writes it half a second late, and a quorum queue whose broker dies before
        comes back as one that answers no client.
        """
        self.control("eval", "[dets:sync(Table) || Table <- dets:all()].")
        self._end(signal.SIGKILL, 20)

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def stop(self):
        self._end(signal.SIGTERM, 30)
        if self.ctl is not None:
            self.ctl.stop()
            self.ctl = None
        if self.epmd is not None:
            self.epmd.kill()
            self.epmd.wait()
            self.epmd = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()

    # ---- talking to it ----

    def url(self, vhost="", user="guest", password="guest", port=None):
        return f"rabbit://{user}:{password}@127.0.0.1:{port or self.port}/{vhost}"

    def control(self, *words):
        """The output of rabbitmqctl."""
        return self.ctl.run(*words)

    def queues(self, vhost="/"):
        """Of every queue how many messages wait in it and with consumers; of a quorum queue as it
        was some seconds ago."""
        text = self.control("list_queues", "-p", vhost, "--no-table-headers", "name", "messages")
        rows = (line.rsplit("\t", 1) for line in text.splitlines() if "\t" in line)
        return {name: int(messages) for name, messages in rows}

    def taken(self, vhost="/"):
        """Names of the queues that have a consumer."""
        return set(self.control("list_consumers", "-p", vhost, "--no-table-headers",
                                "queue_name").split())
