#!/usr/bin/python3
"""
Volumes as Cinder makes them: rows by its objects, files by its driver for NFS, in a share that is
mounted. make.py CONF: its output is JSON, the ids by the names of the volumes below. make.py CONF
running|stopped: a service reports now, or is gone.
"""

import json
import os
import sys

from oslo_concurrency import processutils
from oslo_config import cfg

from cinder import context, coordination, db, objects

objects.register_all()  # before modules that name its classes

# pylint: disable=wrong-import-position
from cinder.volume import configuration, volume_types  # noqa: E402
from cinder.volume.drivers import nfs, remotefs  # noqa: E402

SHARE = "127.0.0.1:/share"
CONNECTOR = {"host": "compute", "ip": "192.0.2.7", "initiator": "iqn.x:y", "multipath": False}


class Maker:
    def __init__(self, conf):
        cfg.CONF(["--config-file", conf], project="cinder", version="21")
        coordination.COORDINATOR.start()
        self.context = context.RequestContext("user", "project", is_admin=True)
        self.made = {}

    def driver(self, name):
        config = configuration.Configuration(nfs.nfs_opts + remotefs.nas_opts, config_group=name)
        driver = nfs.NfsDriver(execute=processutils.execute, configuration=config)
        driver._execute_as_root = False  # pylint: disable=protected-access
        driver._mounted_shares = [SHARE]  # pylint: disable=protected-access
        driver.shares = {SHARE: None}
        driver._ensure_shares_mounted = lambda: None  # pylint: disable=protected-access
        driver._ensure_share_mounted = lambda share: None  # pylint: disable=protected-access
        return driver

    def volume(self, name, backend="nfs-1", status="available", **more):
        volume = objects.Volume(
            self.context, size=1, status=status, attach_status="detached", display_name=name,
            user_id="user", project_id="project", availability_zone="nova",
            host=f"ctrl@{backend}#{backend}", volume_type_id=self.type_id,
            metadata={"made": "by cinder"}, admin_metadata={"readonly": "False"}, use_quota=True,
            **more)
        volume.create()
        if backend.startswith("nfs"):
            update = self.driver(backend).create_volume(volume)
            volume.update(update)
        else:
            volume.provider_location = "192.0.2.1:3260,1 iqn.x lun"
        volume.save()
        self.made[name] = volume.id
        return volume

    def snapshot(self, volume, name):
        snapshot = objects.Snapshot(
            self.context, volume_id=volume.id, volume_size=1, status="available", user_id="user",
            project_id="project", display_name=name, volume_type_id=self.type_id, use_quota=True,
            metadata={"of": name}, progress="100%")
        snapshot.create()
        self.driver("nfs-1").create_snapshot(objects.Snapshot.get_by_id(self.context, snapshot.id))
        self.made[name] = snapshot.id
        return snapshot

    def delete_snapshot(self, name):
        snapshot = objects.Snapshot.get_by_id(self.context, self.made.pop(name))
        self.driver("nfs-1").delete_snapshot(snapshot)
        snapshot.destroy()

    def attach(self, volume, name):
        info = self.driver("nfs-1").initialize_connection(volume, CONNECTOR)
        attachment = objects.VolumeAttachment(
            self.context, volume_id=volume.id, instance_uuid="6d0f2b4e-0a51-4d0e-9a3c-000000000001",
            attached_host="compute", mountpoint="/dev/vdb", attach_status="attached",
            attach_mode="rw")
        attachment.create()
        attachment.update({"connector": CONNECTOR, "connection_info": info})
        attachment.save()
        volume.update({"status": "in-use", "attach_status": "attached"})
        volume.save()
        self.made[name] = attachment.id

    def migrated(self, name):
        """It has the file of the volume that it was copied to."""
        volume = self.volume(name)
        other = "0f0e0d0c-0000-4000-8000-00000000abcd"
        directory = os.path.dirname(self.driver("nfs-1").local_path(volume))
        os.rename(f"{directory}/volume-{volume.id}", f"{directory}/volume-{other}")
        db.volume_update(self.context, volume.id, {"_name_id": other,
                                                   "migration_status": "success"})

    def report(self, running):
        """As cinder-volume does."""
        if running:
            service = objects.Service(self.context, host="ctrl@nfs-1", binary="cinder-volume",
                                      topic="cinder-volume")
            service.create()
            service.report_count = 1
            service.save()
        else:
            objects.Service.get_by_args(self.context, "ctrl@nfs-1", "cinder-volume").destroy()

    def all(self):
        self.type_id = volume_types.create(
            self.context, "shared", {"volume_backend_name": "nfs-1"}, description="of the share").id
        self.made["type"] = self.type_id
        db.quota_create(self.context, "project", "volumes", 25)
        self.volume("plain")
        in_use = self.volume("in-use")
        self.snapshot(in_use, "of-in-use")
        self.attach(objects.Volume.get_by_id(self.context, in_use.id), "attachment")
        chain = self.volume("chain")
        for name in ("first", "second", "third"):
            self.snapshot(chain, name)
        self.delete_snapshot("second")
        alone = self.volume("alone-again")
        self.snapshot(alone, "gone")
        self.delete_snapshot("gone")
        self.volume("qcow2", backend="nfs-2")
        self.migrated("migrated")
        self.volume("left-extending", status="extending")
        self.volume("left-encrypted",
                    backend="lvm", encryption_key_id="6d0f2b4e-0a51-4d0e-9a3c-000000000002")
        self.volume("left-lvm", backend="lvm")
        deleted = self.volume("deleted")
        self.driver("nfs-1").delete_volume(deleted)
        deleted.destroy()
        del self.made["deleted"]
        print(json.dumps(self.made))


if len(sys.argv) > 2:
    Maker(sys.argv[1]).report(sys.argv[2] == "running")
else:
    Maker(sys.argv[1]).all()
