-- Groups of volumes and their types, and snapshots of whole groups.
CREATE TABLE group_types (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    description TEXT,
    is_public BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);

CREATE TABLE group_type_specs (
    group_type_id TEXT NOT NULL REFERENCES group_types (id),
    key TEXT NOT NULL,
    value TEXT,
    PRIMARY KEY (group_type_id, key)
);

CREATE TABLE group_type_projects (
    group_type_id TEXT NOT NULL REFERENCES group_types (id),
    project_id TEXT NOT NULL,
    PRIMARY KEY (group_type_id, project_id)
);

-- Its volumes are those whose group_id it is.
CREATE TABLE volume_groups (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    host TEXT,                          -- node@backend#pool; NULL: never placed
    availability_zone TEXT NOT NULL,
    display_name TEXT,
    display_description TEXT,
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,    -- an operator set the status
    group_type_id TEXT NOT NULL REFERENCES group_types (id),
    group_snapshot_id TEXT,             -- what it was made of
    source_group_id TEXT,
    replication_status TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX volume_groups_by_project ON volume_groups (project_id, created_at, id);
CREATE INDEX volume_groups_by_time ON volume_groups (created_at, id);
CREATE INDEX volume_groups_by_type ON volume_groups (group_type_id);

CREATE TABLE group_volume_types (       -- those that its volumes may have
    group_id TEXT NOT NULL REFERENCES volume_groups (id),
    volume_type_id TEXT NOT NULL REFERENCES volume_types (id),
    PRIMARY KEY (group_id, volume_type_id)
);
CREATE INDEX group_volume_types_by_type ON group_volume_types (volume_type_id);

-- Its snapshots are those whose group_snapshot_id it is.
CREATE TABLE group_snapshots (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    group_id TEXT NOT NULL REFERENCES volume_groups (id),
    group_type_id TEXT NOT NULL REFERENCES group_types (id),
    display_name TEXT,
    display_description TEXT,
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,    -- an operator set the status
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX group_snapshots_by_project ON group_snapshots (project_id, created_at, id);
CREATE INDEX group_snapshots_by_time ON group_snapshots (created_at, id);
CREATE INDEX group_snapshots_by_group ON group_snapshots (group_id);
CREATE INDEX group_snapshots_by_type ON group_snapshots (group_type_id);

-- Most volumes and snapshots are in no group, and not in these.
CREATE INDEX volumes_by_group ON volumes (group_id, project_id, created_at, id)
    WHERE group_id IS NOT NULL;
CREATE INDEX snapshots_by_group_snapshot ON snapshots (group_snapshot_id, project_id, created_at, id)
    WHERE group_snapshot_id IS NOT NULL;
