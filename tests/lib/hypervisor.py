"""
Small QEMU domains through virsh, whose disks are volumes; and a libvirtd when none runs.

A domain has no guest system: its firmware finds nothing to boot and idles, which is enough for
everything that concerns its disks.  QEMU runs as root and libvirt changes no owner or mode, because
the service keeps its files to itself (0600 in directories of 0700).
"""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from typing import NamedTuple
from xml.sax.saxutils import escape

URI = "qemu:///system"
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


class HypervisorError(RuntimeError):
    pass


def virsh(*arguments, timeout=60, text=None):
    """The output of virsh; `text` is its standard input."""
    result = subprocess.run(["virsh", "-q", "-c", URI, *arguments], capture_output=True, text=True,
                            input=text, timeout=timeout, env=ENVIRONMENT, check=False)
    if result.returncode != 0:
        raise HypervisorError(f"virsh {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout.strip()


def answers():
    try:
        virsh("uri", timeout=60)
        return True
    except (HypervisorError, subprocess.TimeoutExpired):
        return False


class Daemons:
    """
    virtlogd and libvirtd when nothing answers; stop() ends them only if start() began them. There
    is one libvirtd on a machine, so the suite that started it waits for the stop() of the others.
    """

    PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libvirt_daemons.py")
    LOCK = "/run/scoria-tests-libvirt.lock"

    def __init__(self):
        self.process = self.lock = None

    def start(self):
        if self.lock is None:
            self.lock = open(self.LOCK, "w", encoding="ascii")
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        if answers():
            return self
        self.process = subprocess.Popen([sys.executable, self.PROGRAM], start_new_session=True)
        deadline = time.monotonic() + 300  # in an emulated machine, too
        while not answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.stop()
                raise HypervisorError("libvirtd does not answer")
            time.sleep(0.2)
        return self

    @property
    def ours(self):
        return self.process is not None

    def halt(self):
        """Until start() again; no other suite has a turn meanwhile."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(120)
        self.process = None

    def stop(self):
        self.halt()
        if self.lock is not None:
            self.lock.close()
            self.lock = None


class Disk(NamedTuple):
    volume_id: str
    path: str
    format: str = "raw"
    shareable: bool = False
    export: str = ""  # of the NBD server at the path


DISK = """\
    <disk type='file' device='disk'>
      <driver name='qemu' type='{format}'/>
      <source file='{path}'/>
      <target dev='{target}' bus='virtio'/>
      {shareable}<serial>{volume_id}</serial>
    </disk>
"""

# A request in progress when the server disconnects its clients stops the guest, and is repeated.
NETWORK_DISK = """\
    <disk type='network' device='disk'>
      <driver name='qemu' type='{format}' cache='none' error_policy='stop' rerror_policy='stop'/>
      <source protocol='nbd' name='{export}'><host transport='unix' socket='{path}'/></source>
      <target dev='{target}' bus='virtio'/>
      {shareable}<serial>{volume_id}</serial>
    </disk>
"""

# Without that capability libvirt asks QEMU two questions about the processor instead of 370, which
# is most of the time of a start; QEMU reads them letter by letter.
DOMAIN = """\
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <features><acpi/></features>
  <devices>
{disks}    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
  <seclabel type='static' model='dac' relabel='no'><label>+0:+0</label></seclabel>
  <qemu:capabilities><qemu:del capability='cpu-unavailable-features'/></qemu:capabilities>
</domain>
"""


def disk_of(attachment, shareable=False):
    """The disk that an attachment's connection_info describes."""
    info = attachment["connection_info"]
    # The service answers the driver's data either in `data` or, flattened, beside it.
    data = info.get("data", info)
    if info.get("driver_volume_type") == "nbd":
        return Disk(attachment["volume_id"], data["socket"], data["format"], export=data["export"])
    path = data.get("device_path")
    if not path:
        raise HypervisorError(f"no local file in {info}")
    return Disk(attachment["volume_id"], path, data.get("format") or "raw", shareable)


class Domain:
    def __init__(self, name, disks, instance=None):
        self.name = name
        self.disks = list(disks)
        self.uuid = instance or str(uuid.uuid4())
        self.targets = {disk.volume_id: f"vd{chr(ord('a') + i)}" for i, disk in enumerate(disks)}

    def xml(self):
        """Emulated: no guest system runs in it, and it works on every machine."""
        disks = "".join(
            (NETWORK_DISK if disk.export else DISK).format(
                format=disk.format, path=escape(disk.path, {"'": "&apos;"}), export=disk.export,
                target=self.targets[disk.volume_id], volume_id=disk.volume_id,
                shareable="<shareable/>" if disk.shareable else "")
            for disk in self.disks)
        return DOMAIN.format(name=self.name, uuid=self.uuid, disks=disks)

    def start(self):
        """A transient domain: destroying it leaves nothing."""
        virsh("create", "/dev/stdin", text=self.xml(), timeout=120)
        return self

    def define(self):
        """A domain that is off."""
        virsh("define", "/dev/stdin", text=self.xml(), timeout=120)
        return self

    def run(self):
        virsh("start", self.name)

    def suspend(self):
        virsh("suspend", self.name)

    def power_off(self):
        """At once, as by a cut of power; a defined domain stays defined."""
        virsh("destroy", self.name)

    def kill(self):
        """Its QEMU, with all that it has in memory."""
        with open(f"/run/libvirt/qemu/{self.name}.pid", encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while virsh("domstate", self.name).strip() != "shut off":
            if time.monotonic() > deadline:
                raise HypervisorError(f"{self.name} is not known to be off")
            time.sleep(0.05)

    def destroy(self, timeout=60):
        """Leaves nothing of it; it need not be there."""
        deadline = time.monotonic() + timeout
        failures = []
        while self.name in virsh("list", "--all", "--name").split():
            if time.monotonic() > deadline:
                raise HypervisorError("; ".join(failures))
            failures = []
            for command in ("destroy", "undefine"):
                try:
                    virsh(command, self.name)
                except HypervisorError as failure:
                    failures.append(str(failure))

    def capacity(self, volume_id):
        """Bytes of the disk as the domain has it."""
        text = virsh("domblkinfo", self.name, self.targets[volume_id])
        return int(re.search(r"^Capacity:\s+(\d+)", text, re.MULTILINE).group(1))

    def source(self, volume_id):
        """The file that the disk writes to."""
        rows = (line.split() for line in virsh("domblklist", self.name).splitlines())
        return next(row[1] for row in rows if row and row[0] == self.targets[volume_id])

    def is_known(self, volume_id):
        """Does libvirt answer for it? A daemon that has just started finds its domains later."""
        try:
            self.capacity(volume_id)
            return True
        except HypervisorError:
            return False

    def resize(self, volume_id, size_bytes):
        virsh("blockresize", self.name, self.targets[volume_id], f"{size_bytes}B")

    def write_disk(self, volume_id, byte, count, place=0):
        """The domain's QEMU writes to the disk, as its guest would, and through to its file; the
        result is in its log."""
        number = ord(self.targets[volume_id][-1]) - ord("a")
        answer = virsh("qemu-monitor-command", self.name, "--hmp",
                       f"qemu-io -d /machine/peripheral/virtio-disk{number}/virtio-backend "
                       f'"write -f -P {byte} {place} {count}"')
        if answer:
            raise HypervisorError(f"qemu-io: {answer}")

    def copy_disk(self, volume_id, destination):
        """Starts a block job on the disk; while it runs, QEMU refuses to resize it. The file
        `destination` is made."""
        virsh("blockcopy", self.name, self.targets[volume_id], "--dest", destination,
              "--format", "raw", "--transient-job")

    def pull(self, volume_id, base):
        """As a host that merges the files between the disk's and that one into the disk's."""
        virsh("blockpull", self.name, self.targets[volume_id], "--base", base,
              "--keep-relative", "--wait")

    def abort_copy(self, volume_id):
        virsh("blockjob", self.name, self.targets[volume_id], "--abort")


class LockHolder:
    """A QEMU process that no libvirt knows, with the image as its disk."""

    def __init__(self, path, image_format):
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-S", "-nodefaults", "-display", "none", "-m", "16",
             "-qmp", "stdio", "-drive", f"file={path},format={image_format},if=virtio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=ENVIRONMENT)
        self.process.stdin.write(b'{"execute": "qmp_capabilities"}')
        self.process.stdin.flush()
        for _ in ("greeting", "answer"):  # the answer comes when the disk is open
            self.process.stdout.readline()

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=20)
