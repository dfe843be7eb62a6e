-- The schema of an empty database: steps 0001 to 0054 in one text, with their names and their order,
-- so that a database has the same schema whichever way it was made. The steps explain it; those
-- after 0054 run on it as on any older schema.

CREATE TABLE qos_specs (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    consumer TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);

CREATE TABLE volume_types (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    description TEXT,
    is_public BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    qos_specs_id TEXT REFERENCES qos_specs (id) DEFERRABLE INITIALLY DEFERRED
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
    name_id TEXT,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    host TEXT,
    availability_zone TEXT NOT NULL,
    display_name TEXT,
    display_description TEXT,
    size_gb BIGINT NOT NULL,
    largest_gb BIGINT NOT NULL,
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,
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
    format TEXT,
    provider_location TEXT,
    provider_id TEXT,
    service_uuid TEXT,
    cluster_name TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    launched_at BIGINT,
    extend_unreported_us BIGINT
);
CREATE INDEX volumes_by_project ON volumes (project_id, created_at, id);
CREATE INDEX volumes_by_time ON volumes (created_at, id);
CREATE INDEX volumes_by_host ON volumes (host);
CREATE INDEX volumes_by_type ON volumes (volume_type_id);

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
    project_id TEXT NOT NULL,
    instance_uuid TEXT,
    attached_host TEXT,
    mountpoint TEXT,
    attach_status TEXT NOT NULL,
    attach_mode TEXT,
    connector TEXT,
    connection_info TEXT,
    attached_at BIGINT,
    detached_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX attachments_by_volume ON attachments (volume_id);
CREATE INDEX attachments_by_project ON attachments (project_id, created_at, id);
CREATE INDEX attachments_by_instance ON attachments (instance_uuid);

CREATE TABLE operations (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    target_id TEXT NOT NULL UNIQUE,
    volume_id TEXT NOT NULL,
    host TEXT NOT NULL,
    phase TEXT NOT NULL,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    previous_status TEXT,
    new_size_gb BIGINT,
    failed BIGINT,
    owner TEXT,
    lease_until BIGINT,
    deadline BIGINT,
    attempts BIGINT NOT NULL,
    arguments TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    object_id TEXT,
    turn_of TEXT,
    reads_of TEXT,
    waits_for TEXT,
    is_long BIGINT NOT NULL DEFAULT 0,
    progress BIGINT
);

CREATE TABLE outbox (
    id @serial@,
    topic TEXT NOT NULL,
    method TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    sender TEXT,
    project_id TEXT
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
    used BIGINT NOT NULL DEFAULT 0,
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
    expires_at BIGINT NOT NULL,
    keep_until BIGINT NOT NULL DEFAULT 0,
    reason TEXT
);
CREATE INDEX messages_by_project ON messages (project_id, created_at, id);

CREATE TABLE services (
    id TEXT PRIMARY KEY,
    binary_name TEXT NOT NULL,
    host TEXT NOT NULL,
    availability_zone TEXT NOT NULL,
    disabled BIGINT NOT NULL,
    disabled_reason TEXT,
    frozen BIGINT NOT NULL,
    endpoint TEXT,
    reported_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    log_wanted TEXT,
    log_levels TEXT,
    UNIQUE (binary_name, host)
);

CREATE TABLE pools (
    name TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    total_gb DOUBLE PRECISION,
    free_gb DOUBLE PRECISION,
    infinite BIGINT NOT NULL,
    allocated_gb BIGINT NOT NULL,
    reported_at BIGINT NOT NULL,
    snapshots_gb BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX pools_by_host ON pools (host);
CREATE INDEX volumes_by_status ON volumes (status, project_id, created_at, id);
CREATE INDEX volumes_by_name ON volumes (display_name, project_id, created_at, id)
    WHERE display_name IS NOT NULL;

CREATE TABLE default_volume_types (
    project_id TEXT PRIMARY KEY,
    volume_type_id TEXT NOT NULL REFERENCES volume_types (id),
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX default_volume_types_by_type ON default_volume_types (volume_type_id);

CREATE TABLE volume_type_encryption (
    volume_type_id TEXT PRIMARY KEY REFERENCES volume_types (id),
    encryption_id TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    control_location TEXT NOT NULL,
    cipher TEXT,
    key_size BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX messages_by_end ON messages (keep_until);

CREATE TABLE clock (
    base TEXT NOT NULL,
    ahead_us BIGINT NOT NULL,
    told_us BIGINT NOT NULL
);
CREATE VIEW clock_seen AS
    SELECT MAX(created_at) AS seen_us FROM operations UNION ALL
    SELECT MAX(updated_at) FROM operations UNION ALL
    SELECT MAX(lease_until) FROM operations UNION ALL
    SELECT MAX(reported_at) FROM services UNION ALL
    SELECT MAX(created_at) FROM outbox;

CREATE TABLE snapshots (
    id TEXT PRIMARY KEY,
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    display_name TEXT,
    display_description TEXT,
    size_gb BIGINT NOT NULL,
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,
    progress TEXT,
    use_quota BIGINT NOT NULL,
    counted_gb BIGINT NOT NULL,
    delete_begun BIGINT NOT NULL,
    format TEXT,
    provider_location TEXT,
    group_snapshot_id TEXT,
    asked_us BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    taken_over BIGINT NOT NULL DEFAULT 0,
    availability_zone TEXT,
    promised_gb BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX snapshots_by_project ON snapshots (project_id, created_at, id);
CREATE INDEX snapshots_by_time ON snapshots (created_at, id);
CREATE INDEX snapshots_by_volume ON snapshots (volume_id, asked_us);

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

CREATE TABLE volume_groups (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    host TEXT,
    availability_zone TEXT NOT NULL,
    display_name TEXT,
    display_description TEXT,
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,
    group_type_id TEXT NOT NULL REFERENCES group_types (id),
    group_snapshot_id TEXT,
    source_group_id TEXT,
    replication_status TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX volume_groups_by_project ON volume_groups (project_id, created_at, id);
CREATE INDEX volume_groups_by_time ON volume_groups (created_at, id);

CREATE TABLE group_volume_types (
    group_id TEXT NOT NULL REFERENCES volume_groups (id),
    volume_type_id TEXT NOT NULL REFERENCES volume_types (id),
    PRIMARY KEY (group_id, volume_type_id)
);
CREATE INDEX group_volume_types_by_type ON group_volume_types (volume_type_id);

CREATE TABLE group_snapshots (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    group_id TEXT NOT NULL REFERENCES volume_groups (id),
    group_type_id TEXT NOT NULL REFERENCES group_types (id),
    display_name TEXT,
    display_description TEXT,
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX group_snapshots_by_project ON group_snapshots (project_id, created_at, id);
CREATE INDEX group_snapshots_by_time ON group_snapshots (created_at, id);
CREATE INDEX group_snapshots_by_type ON group_snapshots (group_type_id);
CREATE INDEX volumes_by_group ON volumes (group_id, project_id, created_at, id)
    WHERE group_id IS NOT NULL;
CREATE INDEX snapshots_by_group_snapshot ON snapshots
    (group_snapshot_id, project_id, created_at, id) WHERE group_snapshot_id IS NOT NULL;

CREATE TABLE operation_turns (
    operation_id TEXT NOT NULL,
    turn_of TEXT NOT NULL,
    only_reads BIGINT NOT NULL,
    PRIMARY KEY (operation_id, turn_of)
);
CREATE INDEX operation_turns_by_turn ON operation_turns (turn_of);
CREATE INDEX operations_by_volume ON operations (volume_id, object_id);
CREATE INDEX operations_cancelled ON operations (volume_id) WHERE target_id = id;
CREATE INDEX snapshots_by_status ON snapshots (status, project_id, created_at, id);
CREATE INDEX snapshots_by_name ON snapshots (display_name, project_id, created_at, id)
    WHERE display_name IS NOT NULL;
CREATE INDEX snapshots_in_order_of_name ON snapshots
    (project_id, COALESCE(display_name, ''), created_at, id);
CREATE INDEX snapshots_in_order_of_size ON snapshots
    (project_id, COALESCE(size_gb, -1), created_at, id);
CREATE INDEX snapshots_in_order_of_status ON snapshots
    (project_id, COALESCE(status, ''), created_at, id);
CREATE INDEX snapshots_in_order_of_id ON snapshots (project_id, id, created_at);
CREATE INDEX volumes_by_description ON volumes (display_description, project_id, created_at, id)
    WHERE display_description IS NOT NULL;
CREATE INDEX snapshots_by_description ON snapshots (display_description, project_id, created_at, id)
    WHERE display_description IS NOT NULL;
CREATE INDEX snapshots_in_order_of_volume ON snapshots (project_id, volume_id, created_at, id);
CREATE INDEX operations_assisted ON operations (volume_id)
    WHERE target_id <> volume_id AND deadline IS NOT NULL;

CREATE TABLE reclaims (
    volume_id TEXT PRIMARY KEY REFERENCES volumes (id),
    outcome TEXT NOT NULL,
    reason TEXT,
    message TEXT,
    progress BIGINT NOT NULL,
    pre_usage BIGINT,
    post_usage BIGINT,
    started_at BIGINT NOT NULL,
    finished_at BIGINT
);

CREATE TABLE volume_metadata (
    volume_id TEXT NOT NULL CONSTRAINT volume_pairs_volume_id_fkey REFERENCES volumes (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    project_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT volume_pairs_pkey PRIMARY KEY (volume_id, key)
);
CREATE INDEX volume_metadata_by_pair ON volume_metadata
    (key, value, project_id, created_at, volume_id);

CREATE TABLE snapshot_metadata (
    snapshot_id TEXT NOT NULL CONSTRAINT snapshot_pairs_snapshot_id_fkey REFERENCES snapshots (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    project_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT snapshot_pairs_pkey PRIMARY KEY (snapshot_id, key)
);
CREATE INDEX snapshot_metadata_by_pair ON snapshot_metadata
    (key, value, project_id, created_at, snapshot_id);
CREATE INDEX volumes_in_order_of_zone ON volumes (project_id, availability_zone, created_at, id);
CREATE INDEX snapshots_in_order_of_zone ON snapshots
    (project_id, availability_zone, created_at, id);
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
CREATE INDEX operations_that_read ON operations (reads_of) WHERE reads_of IS NOT NULL;

CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_id TEXT REFERENCES documents (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    first_version BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    deleted_at BIGINT,
    node TEXT,
    size_gb BIGINT,
    bytes BIGINT NOT NULL DEFAULT 0,
    pool TEXT,
    UNIQUE (kind, project_id, name)
);
CREATE INDEX documents_in_order ON documents (kind, project_id, created_at, id);
CREATE INDEX documents_by_version ON documents (kind, version);
CREATE INDEX documents_by_owner ON documents (owner_id) WHERE owner_id IS NOT NULL;

CREATE TABLE document_labels (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    project_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (document_id, key)
);
CREATE INDEX document_labels_by_pair ON document_labels
    (project_id, key, value, created_at, document_id);

CREATE TABLE documents_gone (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    node TEXT,
    owner_id TEXT
);
CREATE INDEX documents_gone_by_version ON documents_gone (kind, version);

CREATE TABLE document_versions (version BIGINT NOT NULL);
INSERT INTO document_versions (version) VALUES (0);
CREATE INDEX snapshots_in_order_of_change ON snapshots
    (project_id, COALESCE(updated_at, -1), created_at, id);
CREATE INDEX snapshots_by_quota ON snapshots (use_quota, project_id, created_at, id);
CREATE INDEX documents_by_node ON documents (node, kind, version) WHERE node IS NOT NULL;

CREATE TABLE document_counts (
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    documents BIGINT NOT NULL,
    bytes BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, project_id)
);

CREATE TABLE document_events (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    number BIGINT NOT NULL,
    times BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (document_id, type, reason, message)
);
CREATE INDEX document_events_in_order ON document_events (document_id, number);

CREATE TABLE replica_pools (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    path TEXT NOT NULL,
    labels TEXT NOT NULL,
    read_only BIGINT NOT NULL,
    total_bytes BIGINT NOT NULL,
    free_bytes BIGINT NOT NULL,
    state TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    address TEXT,
    up_since BIGINT,
    draining BIGINT NOT NULL DEFAULT 0,
    online_at BIGINT,
    instance TEXT,
    drain_at BIGINT,
    drain_bytes BIGINT
);

CREATE TABLE document_moves (
    version BIGINT PRIMARY KEY,
    kind TEXT NOT NULL,
    document_id TEXT NOT NULL
);
CREATE INDEX document_moves_by_version ON document_moves (kind, version);
CREATE INDEX group_types_by_time ON group_types (created_at, id);
CREATE INDEX group_types_by_privacy ON group_types (is_public, created_at, id);
CREATE INDEX documents_counted ON documents (project_id, size_gb) WHERE size_gb > 0;
CREATE INDEX qos_specs_by_time ON qos_specs (created_at, id);

CREATE TABLE qos_spec_pairs (
    qos_specs_id TEXT NOT NULL REFERENCES qos_specs (id),
    key TEXT NOT NULL,
    value TEXT,
    PRIMARY KEY (qos_specs_id, key)
);
CREATE INDEX volume_types_of_qos_specs ON volume_types (qos_specs_id)
    WHERE qos_specs_id IS NOT NULL;
CREATE INDEX attachments_of_host ON attachments (attached_host) WHERE attached_host IS NOT NULL;
CREATE INDEX document_counts_by_project ON document_counts (project_id);

CREATE TABLE connections (
    id TEXT PRIMARY KEY,
    volume_id TEXT NOT NULL REFERENCES volumes (id) ON DELETE CASCADE,
    host TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX connections_of_volume ON connections (volume_id, created_at, id);
CREATE INDEX operations_at_parts ON operations (volume_id)
    WHERE turn_of = object_id AND (owner <> '' OR waits_for IS NOT NULL);
CREATE INDEX operations_in_line ON operations
    (host, is_long, project_id, (COALESCE(updated_at, created_at)), created_at, id)
    WHERE owner IS NULL AND phase <> 'answered';

CREATE TABLE replica_moves (config_id TEXT PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE);
CREATE INDEX documents_by_pool ON documents (pool) WHERE pool IS NOT NULL;
CREATE INDEX replica_pools_by_node ON replica_pools (node);
CREATE INDEX operations_by_turn ON operations (turn_of, created_at, id) WHERE turn_of IS NOT NULL;
CREATE INDEX operations_that_change ON operations (turn_of, created_at, id)
    WHERE turn_of = object_id;
CREATE INDEX operations_at_work ON operations (host, is_long, project_id) WHERE owner IS NOT NULL;

-- Each step that it stands for.
INSERT INTO schema_version (number) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10),
    (11), (12), (13), (14), (15), (16), (17), (18), (19), (20), (21), (22), (23), (24), (25),
    (26), (27), (28), (31), (32), (35), (36), (37), (38), (39), (40), (41), (42), (43), (44),
    (45), (46), (47), (48), (49), (50), (51), (52), (53), (54);
