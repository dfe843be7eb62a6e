-- By zone and in order of zones, which never change: one index for both.
CREATE INDEX volumes_in_order_of_zone ON volumes (project_id, availability_zone, created_at, id);
DROP INDEX snapshots_by_zone;
CREATE INDEX snapshots_in_order_of_zone ON snapshots
    (project_id, availability_zone, created_at, id);

-- Groups and their snapshots are few beside what is in them and change seldom: whatever a client
-- filters and sorts by has an index.
DROP INDEX volume_groups_by_type;
CREATE INDEX volume_groups_by_type ON volume_groups (group_type_id, project_id, created_at, id);
CREATE INDEX volume_groups_by_status ON volume_groups (status, project_id, created_at, id);
CREATE INDEX volume_groups_by_name ON volume_groups (display_name, project_id, created_at, id)
    WHERE display_name IS NOT NULL;
CREATE INDEX volume_groups_by_description ON volume_groups
    (display_description, project_id, created_at, id) WHERE display_description IS NOT NULL;
CREATE INDEX volume_groups_in_order_of_zone ON volume_groups
    (project_id, availability_zone, created_at, id);
CREATE INDEX volume_groups_in_order_of_name ON volume_groups
    (project_id, COALESCE(display_name, ''), created_at, id);
CREATE INDEX volume_groups_in_order_of_status ON volume_groups
    (project_id, COALESCE(status, ''), created_at, id);
CREATE INDEX volume_groups_in_order_of_change ON volume_groups
    (project_id, COALESCE(updated_at, -1), created_at, id);
CREATE INDEX volume_groups_in_order_of_id ON volume_groups (project_id, id, created_at);

DROP INDEX group_snapshots_by_group;
CREATE INDEX group_snapshots_by_group ON group_snapshots (group_id, project_id, created_at, id);
CREATE INDEX group_snapshots_by_status ON group_snapshots (status, project_id, created_at, id);
CREATE INDEX group_snapshots_by_name ON group_snapshots (display_name, project_id, created_at, id)
    WHERE display_name IS NOT NULL;
CREATE INDEX group_snapshots_by_description ON group_snapshots
    (display_description, project_id, created_at, id) WHERE display_description IS NOT NULL;
CREATE INDEX group_snapshots_in_order_of_name ON group_snapshots
    (project_id, COALESCE(display_name, ''), created_at, id);
CREATE INDEX group_snapshots_in_order_of_status ON group_snapshots
    (project_id, COALESCE(status, ''), created_at, id);
CREATE INDEX group_snapshots_in_order_of_change ON group_snapshots
    (project_id, COALESCE(updated_at, -1), created_at, id);
CREATE INDEX group_snapshots_in_order_of_id ON group_snapshots (project_id, id, created_at);
