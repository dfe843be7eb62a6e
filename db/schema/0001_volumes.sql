-- Volumes and what belongs to them.  Instants are microseconds since 1970 (UTC), sizes GiB,
-- booleans 0 or 1.  "@serial@" is the engine's self-numbering key.

CREATE TABLE volume_types (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    description TEXT,
    is_public BIGINT NOT NULL,
    qos_specs_id TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);

CREATE TABLE volume_type_extra_specs (
    volume_type_id TEXT NOT NULL REFERENCES volume_types (id),
    key TEXT NOT NULL,
    value TEXT,
    PRIMARY KEY (volume_type_id, key)
);

CREATE TABLE volume_type_projects (
    volume_type_id TEXT NOT NULL REFERENCES volume_types (id),
    project_id TEXT NOT NULL,
    PRIMARY KEY (volume_type_id, project_id)
);

CREATE TABLE volumes (
    id TEXT PRIMARY KEY,
    name_id TEXT,                       -- other id in the file's name (after a migration)
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    host TEXT,                          -- node@backend#pool; NULL: never placed
    availability_zone TEXT NOT NULL,
    display_name TEXT,
    display_description TEXT,
    size_gb BIGINT NOT NULL,
    largest_gb BIGINT NOT NULL,         -- the backend's object may be this large (>= size_gb)
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,    -- an operator set the status: no operation owns it
    attach_status TEXT NOT NULL,
    migration_status TEXT,
    replication_status TEXT,
    volume_type_id TEXT REFERENCES volume_types (id),
    snapshot_id TEXT,
    source_volid TEXT,
    group_id TEXT,
    bootable BIGINT NOT NULL,
    multiattach BIGINT NOT NULL,
    use_quota BIGINT NOT NULL,
    shared_targets BIGINT,
    encryption_key_id TEXT,
    format TEXT,                        -- of the backend's object: raw, qcow2; NULL until made
    provider_location TEXT,
    provider_id TEXT,
    service_uuid TEXT,
    cluster_name TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    launched_at BIGINT
);
CREATE INDEX volumes_by_project ON volumes (project_id, created_at, id);
CREATE INDEX volumes_by_time ON volumes (created_at, id);
CREATE INDEX volumes_by_host ON volumes (host);
CREATE INDEX volumes_by_type ON volumes (volume_type_id);
CREATE INDEX volumes_by_status ON volumes (status);

CREATE TABLE volume_metadata (
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (volume_id, key)
);

CREATE TABLE volume_admin_metadata (
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (volume_id, key)
);

CREATE TABLE volume_glance_metadata (
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (volume_id, key)
);

CREATE TABLE attachments (
    id TEXT PRIMARY KEY,
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    project_id TEXT NOT NULL,           -- of the volume
    instance_uuid TEXT,
    attached_host TEXT,
    mountpoint TEXT,
    attach_status TEXT NOT NULL,
    attach_mode TEXT,
    connector TEXT,                     -- JSON
    connection_info TEXT,               -- JSON
    attached_at BIGINT,
    detached_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX attachments_by_volume ON attachments (volume_id);
CREATE INDEX attachments_by_project ON attachments (project_id, created_at, id);
CREATE INDEX attachments_by_instance ON attachments (instance_uuid);

-- Work in progress: the truth about every transient status.
CREATE TABLE operations (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,                 -- create, delete, extend, connect, notify
    target_id TEXT NOT NULL UNIQUE,     -- volume, attachment, or message: one operation for each
    volume_id TEXT NOT NULL,
    host TEXT NOT NULL,                 -- backend that does it: node@backend
    phase TEXT NOT NULL,                -- queued, running, sending, waiting, completing
    project_id TEXT NOT NULL,           -- of the volume
    user_id TEXT NOT NULL,              -- of the caller
    request_id TEXT NOT NULL,
    previous_status TEXT,
    new_size_gb BIGINT,
    failed BIGINT,                      -- completing: what the compute side reported
    owner TEXT,                         -- the manager that works on it
    lease_until BIGINT,                 -- after this its owner counts as dead
    deadline BIGINT,                    -- waiting: when the file itself decides
    attempts BIGINT NOT NULL,
    arguments TEXT,                     -- JSON, what only the kind itself reads
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX operations_by_host ON operations (host, lease_until);
CREATE INDEX operations_by_volume ON operations (volume_id);

CREATE TABLE outbox (
    id @serial@,
    topic TEXT NOT NULL,
    method TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE quotas (
    project_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    hard_limit BIGINT NOT NULL,
    PRIMARY KEY (project_id, resource)
);

CREATE TABLE quota_classes (
    class_name TEXT NOT NULL,
    resource TEXT NOT NULL,
    hard_limit BIGINT NOT NULL,
    PRIMARY KEY (class_name, resource)
);

CREATE TABLE quota_usages (
    project_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    in_use BIGINT NOT NULL,
    reserved BIGINT NOT NULL,
    PRIMARY KEY (project_id, resource)
);

CREATE TABLE reservations (
    id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL REFERENCES operations (id),
    project_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    delta BIGINT NOT NULL
);
CREATE INDEX reservations_by_operation ON reservations (operation_id);
CREATE INDEX reservations_by_project ON reservations (project_id, resource);

CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    resource_type TEXT,
    resource_uuid TEXT,
    action_id TEXT NOT NULL,
    detail_id TEXT NOT NULL,
    message_level TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX messages_by_project ON messages (project_id, created_at, id);
CREATE INDEX messages_by_expiry ON messages (expires_at);

CREATE TABLE services (
    id TEXT PRIMARY KEY,
    binary_name TEXT NOT NULL,          -- cinder-volume, cinder-scheduler, scoria-compute, …
    host TEXT NOT NULL,
    availability_zone TEXT NOT NULL,
    disabled BIGINT NOT NULL,
    disabled_reason TEXT,
    frozen BIGINT NOT NULL,
    endpoint TEXT,                      -- compute agents: where events go
    reported_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    UNIQUE (binary_name, host)
);

CREATE TABLE pools (
    name TEXT PRIMARY KEY,              -- node@backend#pool
    host TEXT NOT NULL,                 -- node@backend
    capabilities TEXT NOT NULL,         -- JSON as reported by the driver
    total_gb DOUBLE PRECISION,          -- NULL: unknown
    free_gb DOUBLE PRECISION,           -- NULL: unknown
    infinite BIGINT NOT NULL,
    allocated_gb BIGINT NOT NULL,       -- of volumes here, and of what open operations will add
    reported_at BIGINT NOT NULL
);
CREATE INDEX pools_by_host ON pools (host);
