"""
Volume groups on a service that has just been started, without any preparation: the whole life of a
group, as both texts of CSI-Addons have it.
"""

from csi_client import Code, identity
from test_csi_controller import UNKNOWN_ID, DriverCase


class Fresh(DriverCase):
    def groups(self, method, **fields):
        return self.driver.groups(method, **fields)

    def group(self, name, **fields):
        return self.groups("CreateVolumeGroup", name=name, **fields).volume_group

    def shown(self, group_id):
        return self.groups("ControllerGetVolumeGroup", volume_group_id=group_id).volume_group

    def modify(self, group_id, ids):
        return self.groups("ModifyVolumeGroupMembership", volume_group_id=group_id,
                           volume_ids=ids).volume_group

    def listed(self):
        found, token = [], ""
        while True:
            page = self.groups("ListVolumeGroups", max_entries=1, starting_token=token)
            found += [entry.volume_group.volume_group_id for entry in page.entries]
            token = page.next_token
            if not token:
                return found

    def members(self, group):
        return sorted(volume.volume_id for volume in group.volumes)

    def test_a_group_is_created_by_its_name_alone(self):
        name = self.name()
        group = self.group(name)
        self.assertEqual(self.members(group), [])
        self.assertEqual(self.group(name), group)
        self.assertEqual(self.shown(group.volume_group_id), group)
        self.assertEqual(self.listed(), [group.volume_group_id])

        ids = sorted(self.create().volume_id for _ in range(3))
        for members in ids, ids, ids[:1], ids[1:], [], ids[:2]:
            changed = self.modify(group.volume_group_id, members)
            self.assertEqual(self.members(changed), members)
            self.assertEqual(self.members(self.shown(group.volume_group_id)), members)
        self.assertEqual(self.members(self.group(name)), ids[:2])
        self.refuses(Code.FAILED_PRECONDITION, self.driver.controller, "DeleteVolume",
                     volume_id=ids[0])
        self.refuses(Code.NOT_FOUND, self.groups, "ModifyVolumeGroupMembership",
                     volume_group_id=group.volume_group_id, volume_ids=[UNKNOWN_ID])
        self.assertEqual(self.members(self.shown(group.volume_group_id)), ids[:2])

        for _ in range(2):
            self.groups("DeleteVolumeGroup", volume_group_id=group.volume_group_id)
        self.refuses(Code.NOT_FOUND, self.groups, "ControllerGetVolumeGroup",
                     volume_group_id=group.volume_group_id)
        self.assertEqual(self.listed(), [])
        for volume_id in ids[:2]:
            self.refuses(Code.NOT_FOUND, self.driver.controller, "ControllerGetVolume",
                         volume_id=volume_id)
        self.assertTrue(self.api.exists(ids[2]))

    def test_a_group_is_created_of_volumes(self):
        ids = sorted(self.create().volume_id for _ in range(2))
        name = self.name()
        group = self.group(name, volume_ids=ids)
        self.assertEqual(self.members(group), ids)
        self.assertEqual(self.group(name, volume_ids=ids), group)
        self.refuses(Code.ALREADY_EXISTS, self.groups, "CreateVolumeGroup", name=name,
                     parameters={"group_type": "default_cgsnapshot_type"})
        snapshots = self.driver.snapshots("CreateVolumeGroupSnapshot", name=self.name(),
                                          source_volume_ids=ids).group_snapshot
        self.assertEqual(sorted(row.source_volume_id for row in snapshots.snapshots), ids)
        self.refuses(Code.FAILED_PRECONDITION, self.groups, "DeleteVolumeGroup",
                     volume_group_id=group.volume_group_id)
        self.driver.snapshots("DeleteVolumeGroupSnapshot",
                              group_snapshot_id=snapshots.group_snapshot_id)
        self.groups("DeleteVolumeGroup", volume_group_id=group.volume_group_id)

    def test_groups_are_announced(self):
        rows = self.driver.call(identity, "Identity", "GetCapabilities").capabilities
        kinds = {row.volume_group.type for row in rows if row.WhichOneof("type") == "volume_group"}
        self.assertTrue(kinds)
        self.assertNotIn(0, kinds)
