"""
A domain with a guest system: Debian's cloud kernel, emulated, over a first file system of its own,
that mounts its first disk and speaks for its file systems as QEMU's guest agent does.

The kernel, its block device, its file system and its FITRIM are real. The agent inside is a script
that answers the commands of libvirt: guest-sync, guest-get-fsinfo and guest-fstrim.
"""

import os

import machine
from hypervisor import Domain, HypervisorError, virsh

MODULES = ("virtio_pci", "virtio_blk", "virtio_console", "ext4")

# `prepare` is done in the mounted /volume before the first response.
INIT = """\
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /volume
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module; done
until mount -t ext4 /dev/vda /volume; do sleep 1; done
{prepare}
port=$(basename $(dirname $(grep -l org.qemu.guest_agent.0 /sys/class/virtio-ports/*/name)))
address=$(readlink -f /sys/block/vda/device | grep -o '0000:00:[0-9a-f]*' | tail -1)
slot=$((0x${{address##*:}}))
exec 3<>/dev/$port
say() {{ echo "{{\\"return\\":$1}}" >&3; }}
while :; do
    read -r line <&3 || {{ sleep 1; continue; }}
    case $line in
    *guest-sync*) id=${{line##*\\"id\\":}}; say "${{id%%\\}}*}}" ;;
    *guest-get-fsinfo*) say "[{{\\"name\\":\\"vda\\",\\"mountpoint\\":\\"/volume\\",\\"type\\":\\"ext4\\",\\
\\"disk\\":[{{\\"bus-type\\":\\"virtio\\",\\"bus\\":0,\\"target\\":0,\\"unit\\":0,\\"pci-controller\\":\\
{{\\"domain\\":0,\\"bus\\":0,\\"slot\\":$slot,\\"function\\":0}}}}]}}]" ;;
    *guest-fstrim*) sync; fstrim /volume; say '{{"paths":[]}}' ;;
    *) echo '{{"error":{{"class":"CommandNotFound","desc":"not here"}}}}' >&3 ;;
    esac
done
"""

CHANNEL = """\
    <channel type='unix'>
      <source mode='bind' path='{socket}'/>
      <target type='virtio' name='org.qemu.guest_agent.0'/>
    </channel>
    <serial type='file'><source path='{console}'/></serial>
"""


class GuestDomain(Domain):
    """Its disks pass on the discards of their guest, but those in `keeping`."""

    keeping = ()
    system = None

    def bring_system(self, kernel, prepare, place):
        """With a guest system, whose files are in the directory `place`."""
        initramfs = os.path.join(place, "initramfs")
        machine.make_initramfs(kernel, initramfs, MODULES, INIT.format(prepare=prepare))
        self.system = (kernel.image, initramfs, place)

    def xml(self):
        text = super().xml()
        for disk in self.disks:
            if disk.volume_id not in self.keeping:
                driver = f"<driver name='qemu' type='{disk.format}'/>\n      <source file='{disk.path}'"
                text = text.replace(driver, driver.replace("/>", " discard='unmap'/>", 1))
        if self.system is None:
            return text
        image, initramfs, place = self.system
        channel = CHANNEL.format(socket=os.path.join(place, "agent"),
                                 console=os.path.join(place, "console"))
        boot = f"<kernel>{image}</kernel><initrd>{initramfs}</initrd>" \
               "<cmdline>console=ttyS0 quiet panic=-1</cmdline>"
        return text.replace("</os>", f"{boot}</os>").replace(
            "<memory unit='MiB'>64</memory>", "<memory unit='MiB'>256</memory>").replace(
            "    <controller type='usb'", f"{channel}    <controller type='usb'")

    def answers_within(self):
        """Does the agent inside answer?"""
        try:
            return "/volume" in virsh("domfsinfo", self.name)
        except HypervisorError:
            return False
