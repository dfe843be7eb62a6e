"""
A small machine with a kernel of its own over the root file system of this one, for tests that need
a kernel: NFS, block devices.

Debian's cloud kernel under QEMU, emulated, with the host's own root file system below an overlay:
every program that is installed or built here runs there, and nothing that it writes comes back,
except into one shared directory.
"""

import contextlib
import os
import subprocess
import tempfile

MODULES = ("virtio_pci", "virtiofs", "overlay", "loop", "xfs", "nfsd", "nfsv3", "nfsv4")
KERNEL_PACKAGE = "linux-image-cloud-amd64"
MEMORY_MIB = 3072

INIT = """\
#!/bin/busybox sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /lower /upper /new
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module; done
mount -t virtiofs root /lower
mount -t tmpfs -o size=80% upper /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work over /new
mount -t virtiofs share /new/mnt
mount --move /proc /new/proc
mount --move /sys /new/sys
mount --move /dev /new/dev
exec switch_root /new /bin/sh /mnt/start
"""

START = """\
export HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1
mkdir -p /dev/pts /dev/shm
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs -o mode=755 run /run
hostname machine
busybox ifconfig lo 127.0.0.1 up
sh /mnt/command </dev/null >/mnt/output 2>&1
echo $? >/mnt/status
sync
echo o >/proc/sysrq-trigger
sleep 60
"""


class MachineError(RuntimeError):
    pass


def run(*arguments, **options):
    result = subprocess.run(arguments, capture_output=True, check=False, **options)
    if result.returncode != 0:
        raise MachineError(f"{' '.join(arguments)}: {result.stderr.decode().strip()}")
    return result.stdout


class Kernel:
    """The kernel in `directory`, brought there from the package archive when it is not."""

    def __init__(self, directory):
        self.directory = directory
        if not os.path.isdir(os.path.join(directory, "boot")):
            self._fetch()
        self.version = os.listdir(os.path.join(directory, "lib/modules"))[0]
        self.image = os.path.join(directory, f"boot/vmlinuz-{self.version}")

    def _fetch(self):
        os.makedirs(self.directory, exist_ok=True)
        depends = run("apt-cache", "depends", KERNEL_PACKAGE).decode()
        package = depends.partition("Depends: ")[2].split()[0]
        with tempfile.TemporaryDirectory(dir=self.directory) as place:
            run("apt-get", "download", package, cwd=place)
            archive = os.path.join(place, os.listdir(place)[0])
            unpacked = os.path.join(place, "unpacked")
            run("dpkg", "-x", archive, unpacked)
            run("depmod", "-b", unpacked, os.listdir(os.path.join(unpacked, "lib/modules"))[0])
            os.rename(os.path.join(unpacked, "lib"), os.path.join(self.directory, "lib"))
            os.rename(os.path.join(unpacked, "boot"), os.path.join(self.directory, "boot"))

    def modules(self, names):
        """The files of the modules and of all that they need, in the order of loading."""
        files = []
        for name in names:
            shown = run("modprobe", "-d", self.directory, "-S", self.version, "--show-depends",
                        name).decode()
            files += [line.split()[1] for line in shown.splitlines() if line.startswith("insmod")]
        return list(dict.fromkeys(files))


def make_initramfs(kernel, path, modules=MODULES, script=INIT):
    """A first file system with busybox, these modules and the script that loads them."""
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "bin"))
        os.makedirs(os.path.join(tree, "modules"))
        run("cp", "/bin/busybox", os.path.join(tree, "bin/busybox"))
        files = kernel.modules(modules)
        run("cp", *files, os.path.join(tree, "modules"))
        with open(os.path.join(tree, "modules/order"), "w", encoding="ascii") as order:
            order.writelines(os.path.basename(file) + "\n" for file in files)
        with open(os.path.join(tree, "init"), "w", encoding="ascii") as init:
            init.write(script)
        os.chmod(os.path.join(tree, "init"), 0o755)
        run("sh", "-c", f"find . | cpio --quiet -o -H newc | gzip -1 >'{path}'", cwd=tree)


@contextlib.contextmanager
def shared(directory, socket, log, cache):
    """A directory of this machine for the other one. With "auto" a file's pages are read again at
    each open, with "always" only once: the files must not change meanwhile."""
    daemon = subprocess.Popen(["/usr/lib/qemu/virtiofsd", f"--socket-path={socket}", "-f",
                               "-o", f"source={directory},cache={cache},sandbox=chroot"],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield ["-chardev", f"socket,id=c-{os.path.basename(socket)},path={socket}"]
    finally:
        daemon.kill()
        daemon.wait()


def boot(kernel, command, timeout, share):
    """Runs the shell command in a machine of its own; `share` is its /mnt. Returns the command's
    exit status, or raises MachineError with the console's last words."""
    share = os.path.abspath(share)
    for name, text in (("start", START), ("command", command)):
        with open(os.path.join(share, name), "w", encoding="utf-8") as file:
            file.write(text)
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="scoria-machine-"))
        log = stack.enter_context(open(os.path.join(place, "log"), "w+b"))
        initramfs = os.path.join(place, "initramfs")
        make_initramfs(kernel, initramfs)
        # The kernel's check of its timer fails where the processors of the host are busy.
        arguments = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1",
                     "-machine", "q35,memory-backend=memory", "-m", str(MEMORY_MIB),
                     "-object", f"memory-backend-memfd,id=memory,size={MEMORY_MIB}M,share=on",
                     "-kernel", kernel.image, "-initrd", initramfs, "-no-reboot", "-nographic",
                     "-append", "console=ttyS0 quiet panic=-1 no_timer_check", "-nic", "none"]
        for tag, directory, cache in (("root", "/", "always"), ("share", share, "auto")):
            arguments += stack.enter_context(shared(directory, os.path.join(place, tag), log,
                                                    cache))
            arguments += ["-device", f"vhost-user-fs-pci,chardev=c-{tag},tag={tag}"]
        machine = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            machine.wait(timeout)
        except subprocess.TimeoutExpired:
            raise MachineError(f"the machine has not ended within {timeout} s") from None
        finally:
            machine.kill()
            machine.wait()
        try:
            with open(os.path.join(share, "status"), encoding="ascii") as status:
                return int(status.read())
        except FileNotFoundError:
            log.seek(0)
            words = log.read().decode(errors="replace")[-4000:]
            raise MachineError(f"the machine ended without a status:\n{words}") from None
