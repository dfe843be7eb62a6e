#!/usr/bin/python3
"""
The main job on real parts, printed step by step: a snapshot of the disk of a running QEMU domain
becomes a second volume; the disk grows through the Block Storage API; then the hypervisor refuses,
and nothing is lost.  Beside the domain a volume lives its life over CSI.

Exit status 0 only if every check held.
"""

import argparse
import fcntl
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import urllib.parse
import uuid

from block_storage import BlockStorage, Refused, until
from csi_demonstration import demonstrate
from hypervisor import Domain, disk_of

GIB = 1 << 30
NAME = "quickstart"
BEFORE, SINCE, COUNT = 0x5c, 0xa3, 65536  # the bytes written before the snapshot and since
FICLONE = 0x40049409  # linux/fs.h
SIGNALS = {signal.SIGINT, signal.SIGTERM}


class Story:
    """Prints each step and remembers whether all of it held."""

    def __init__(self):
        self.failures = 0

    @staticmethod
    def title(text):
        print(f"\n== {text}", flush=True)

    @staticmethod
    def line(text):
        print(f"   {text}", flush=True)

    def check(self, held, text):
        self.failures += not held
        self.line(f"{'ok    ' if held else 'FAILED'} {text}")


def describe(volume):
    target = volume["metadata"].get("extend_new_size")
    return (volume["status"], volume["size"], target)


def show_state(state):
    status, size, target = state
    return f"status={status} size={size}" + (f" metadata.extend_new_size={target}" if target else "")


def shares_blocks(directory):
    """Can a file there be made of another one's blocks?"""
    with tempfile.TemporaryFile(dir=directory) as one, \
            tempfile.TemporaryFile(dir=directory) as other:
        one.write(b"x")
        one.flush()
        try:
            fcntl.ioctl(other, FICLONE, one.fileno())
            return True
        except OSError:
            return False


def head_of(path):
    with open(path, "rb") as file:
        return file.read(COUNT)


class Demonstration:
    def __init__(self, endpoint, state_directory):
        self.story = Story()
        self.api = BlockStorage(endpoint)
        self.state = state_directory
        self.host = socket.gethostname()
        self.volume_id = None
        self.attachment_id = None
        self.snapshot_id = None
        self.path = None
        self.domain = None
        self.copies = tempfile.mkdtemp(prefix="copy-", dir=state_directory)

    # ---- steps ----

    def remove_leftovers(self):
        """An earlier run may have been killed: its domain and its volume."""
        port = urllib.parse.urlsplit(self.api.endpoint).port
        self.domain = Domain(f"scoria-{NAME}-{port}", [])
        self.domain.destroy()
        for volume in self.api.list(f"?name={NAME}"):
            self.api.remove(volume["id"])
            self.api.wait_gone(volume["id"], 60)

    def create(self):
        self.story.title("A volume of 1 GiB")
        volume = self.api.create_available(1, name=NAME)
        self.volume_id = volume["id"]
        self.story.line(show_state(describe(volume)) + f" id={self.volume_id}")
        self.story.check(volume["size"] == 1, "it is available")

    def attach(self):
        self.story.title("A running QEMU domain with this disk")
        instance = str(uuid.uuid4())
        attachment = self.api.attach(self.volume_id, instance, self.host)
        disk = disk_of(attachment)
        self.attachment_id, self.path = attachment["id"], disk.path
        self.story.line(f"attachment {attachment['id']} says: {disk.format} file {disk.path}")
        self.domain = Domain(self.domain.name, [disk], instance)
        self.domain.start()
        self.api.attach_complete(attachment["id"])
        volume = self.api.wait_status(self.volume_id, "in-use")
        self.story.line(f"virsh domblkinfo {self.domain.name} vda: {self.capacity()} bytes")
        self.story.check(self.capacity() == GIB and len(volume["attachments"]) == 1,
                         "the volume is in-use, and the domain has a disk of 1 GiB")

    def snapshot(self):
        """Only where files share blocks there is one below a guest; else the domain ends for it."""
        story = self.story
        story.title("A snapshot of the disk of the running domain")
        self.domain.write_disk(self.volume_id, BEFORE, COUNT)
        story.check(head_of(self.path) == bytes([BEFORE]) * COUNT,
                    "the domain has written at the head of its disk")
        snapshot = self.api.snapshot_made(self.volume_id)
        if shares_blocks(self.state):
            story.check(snapshot["status"] == "available",
                        "it is available; the domain has run all the while")
        else:
            story.line(f"files in {self.state} share no blocks, as on XFS and btrfs they would:")
            story.line("no snapshot can be taken there below a running domain")
            snapshot = self.snapshot_later(snapshot)
        self.domain.write_disk(self.volume_id, SINCE, COUNT)
        story.line("the domain has written something else there")
        self.snapshot_id = snapshot["id"]

    def snapshot_later(self, refused):
        story = self.story
        messages = self.api.messages(refused["id"])
        story.check(refused["status"] == "error" and bool(messages),
                    "refused, and the user is told: "
                    + (messages[0]["user_message"] if messages else "no message"))
        self.api.ask("DELETE", f"/snapshots/{refused['id']}")
        self.leave()
        snapshot = self.api.snapshot_made(self.volume_id)
        story.check(snapshot["status"] == "available", "with the domain off it is available")
        self.attach()
        return snapshot

    def make_second(self):
        story = self.story
        story.title("A second volume, made of the snapshot")
        second = self.api.create_available(1, name=NAME, snapshot_id=self.snapshot_id)
        attachment = self.api.attach(second["id"], str(uuid.uuid4()), self.host)
        path = disk_of(attachment).path
        story.line(f"status={second['status']} size={second['size']} id={second['id']}")
        story.check(head_of(path) == bytes([BEFORE]) * COUNT,
                    "it holds what the first held when the snapshot was taken")
        story.check(head_of(self.path) == bytes([SINCE]) * COUNT,
                    "the first holds what was written since")
        self.api.detach(attachment["id"])
        self.api.delete_and_wait(second["id"])
        story.check(not os.path.exists(path), "deleted; the first and its snapshot are still there")

    def grow(self):
        """The whole takes some tens of milliseconds: queried in one go, and again if we missed it."""
        self.story.title("The disk grows while the domain runs")
        for size in range(2, 12):
            before = self.api.gigabytes()
            states = self.watch_extend(size)
            for elapsed, state in states:
                self.story.line(f"{elapsed * 1000:7.1f} ms  {show_state(state)}")
            if any(state == ("extending", size - 1, str(size)) for _, state in states):
                break
            self.story.line("it was too fast to be seen; once more")
        else:
            self.story.check(False, "extending with extend_new_size was visible")
            return size
        self.story.check(True, "extending, with the target in extend_new_size and the old size")
        self.check_grown(size, before)
        return size

    def refuse(self, size):
        """A copy job on the disk: QEMU refuses to resize, and the agent gives up after a while."""
        story = self.story
        story.title("The hypervisor refuses: another job holds the disk")
        before = self.api.gigabytes()
        self.domain.copy_disk(self.volume_id, os.path.join(self.copies, "disk"))
        story.line(f"virsh blockcopy {self.domain.name} vda ... (a copy runs)")
        story.line(f"asked to extend to {size + 1} GiB; the agent waits half a minute for the disk")
        self.api.extend(self.volume_id, size + 1)
        pending = until(lambda: self.pending(size + 1), 120, "the pending extend")
        held = self.api.gigabytes()
        story.line(show_state(describe(pending)))
        story.check(pending["size"] == size and held["reserved"] == before["reserved"] + 1,
                    f"pending; quota: {held['in_use']} GiB in use, {held['reserved']} reserved")
        ended = until(self.ended, 120, "an end of the pending extend", pause=0.2)
        story.line(show_state(describe(ended)))
        story.check(describe(ended) == ("error_extending", size, None),
                    "error_extending, the size is the old one")
        after = self.api.gigabytes()
        story.check(after == before,
                    f"quota given back: {after['in_use']} GiB in use, {after['reserved']} reserved")
        story.check(self.capacity() == os.path.getsize(self.path) == size * GIB,
                    f"the domain and the file still have {size} GiB")
        messages = self.api.messages(self.volume_id)
        story.check(bool(messages), "the user is told: "
                    + (messages[0]["user_message"] if messages else "no message"))

    def recover(self, size):
        self.story.title("Back from error_extending")
        self.domain.abort_copy(self.volume_id)
        self.api.reset(self.volume_id, "in-use")
        self.story.check(self.api.show(self.volume_id)["status"] == "in-use",
                         'os-reset_status {"status": "in-use"}: the copy is over, the volume in-use')
        before = self.api.gigabytes()
        for elapsed, state in self.watch_extend(size + 1):
            self.story.line(f"{elapsed * 1000:7.1f} ms  {show_state(state)}")
        self.check_grown(size + 1, before)

    def finish(self):
        self.story.title("The domain ends")
        size = self.api.show(self.volume_id)["size"]
        self.leave()
        status = os.stat(self.path)
        self.story.check((status.st_uid, status.st_mode & 0o777) == (os.geteuid(), 0o600),
                         "available again; the file is still the service's alone (0600)")
        self.api.extend(self.volume_id, size + 1)
        grown = self.api.wait_status(self.volume_id, "available")
        self.story.check(grown["size"] == size + 1
                         and os.path.getsize(self.path) == (size + 1) * GIB,
                         f"detached it grows too: {size + 1} GiB")
        self.api.ask("DELETE", f"/volumes/{self.volume_id}?cascade=true")
        self.api.wait_gone(self.volume_id)
        answer = self.api.call("GET", f"/snapshots/{self.snapshot_id}")
        self.story.check(not os.path.exists(self.path) and answer.status == 404,
                         "deleted with its snapshot; its file is gone")

    # ---- parts of the steps ----

    def leave(self):
        self.domain.destroy()
        self.api.detach(self.attachment_id)
        self.api.wait_status(self.volume_id, "available")

    def capacity(self):
        return self.domain.capacity(self.volume_id)

    def pending(self, target):
        volume = self.api.show(self.volume_id)
        return volume if volume["metadata"].get("extend_new_size") == str(target) else None

    def ended(self):
        volume = self.api.show(self.volume_id)
        return volume if volume["status"] != "extending" else None

    def watch_extend(self, size):
        """Every state that was seen: [(seconds since the request, state)]."""
        self.story.line(f'POST /v3/volumes/{self.volume_id}/action '
                        f'{{"os-extend": {{"new_size": {size}}}}}')
        begin = time.monotonic()
        self.api.extend(self.volume_id, size)
        states = []

        def look():
            state = describe(self.api.show(self.volume_id))
            if not states or states[-1][1] != state:
                states.append((time.monotonic() - begin, state))
            return state[0] != "extending"
        until(look, 120, "an end of the extend", pause=0)
        return states

    def check_grown(self, size, before):
        volume, after = self.api.show(self.volume_id), self.api.gigabytes()
        capacity = self.capacity()
        self.story.line(f"virsh domblkinfo {self.domain.name} vda: {capacity} bytes")
        self.story.check(describe(volume) == ("in-use", size, None), f"in-use with {size} GiB")
        self.story.check(capacity == os.path.getsize(self.path) == size * GIB,
                         f"the domain has a disk of {size} GiB, the file is as large")
        self.story.check(after == {**before, "in_use": before["in_use"] + 1},
                         f"quota: {after['in_use']} GiB in use, {after['reserved']} reserved")

    def paste(self):
        endpoint = self.api.endpoint
        self.story.title("To try by hand")
        for text in (
                f"openstack --os-auth-type none --os-endpoint {endpoint} volume list",
                f"openstack --os-auth-type none --os-endpoint {endpoint} "
                "volume create --size 1 mine",
                f"curl -s {endpoint}/volumes/detail",
                f"curl -s {endpoint}/volumes/{self.volume_id}",
                f"curl -s -X POST {endpoint}/volumes/{self.volume_id}/action "
                "-H 'Content-Type: application/json' "
                "-H 'OpenStack-API-Version: volume 3.71' "
                "-d '{\"os-extend\": {\"new_size\": 8}}'",
                f"curl -s '{endpoint}/os-quota-sets/admin?usage=true'"):
            self.story.line(text)

    def clean_up(self):
        if self.domain:
            self.domain.destroy()
        shutil.rmtree(self.copies, ignore_errors=True)
        self.api.close()

    def stay(self):
        """Until the demonstration is stopped; false when the service ends before."""
        self.story.title("The service, the domain and its disk stay until Ctrl-C")
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        while signal.sigtimedwait(SIGNALS, 2) is None:
            try:
                self.api.show(self.volume_id)
            except OSError:
                self.story.check(False, "the service still answers")
                return False
            except Refused:
                continue
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return True

    def run(self, stay):
        self.remove_leftovers()
        self.create()
        self.attach()
        self.snapshot()
        self.make_second()
        size = self.grow()
        self.refuse(size)
        self.recover(size)
        demonstrate(self.story, self.api, self.state)
        self.paste()
        if not stay or self.stay():
            self.finish()
        return self.story.failures == 0


def end(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--state-dir", required=True)
    parser.add_argument("--stay", action="store_true")
    arguments = parser.parse_args()
    for number in SIGNALS:
        signal.signal(number, end)
    demonstration = Demonstration(arguments.endpoint, arguments.state_dir)
    try:
        return 0 if demonstration.run(arguments.stay) else 1
    except KeyboardInterrupt:
        return 130
    except (AssertionError, OSError, RuntimeError) as failure:
        demonstration.story.check(False, f"{type(failure).__name__}: {failure}")
        return 1
    finally:
        demonstration.clean_up()


if __name__ == "__main__":
    sys.exit(main())
