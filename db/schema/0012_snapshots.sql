-- Snapshots of volumes: host, zone and type are their volume's.
CREATE TABLE snapshots (
    id TEXT PRIMARY KEY,
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    display_name TEXT,
    display_description TEXT,
    size_gb BIGINT NOT NULL,            -- of its volume when it was made
    status TEXT NOT NULL,
    status_by_reset BIGINT NOT NULL,    -- an operator set the status: no operation owns it
    progress TEXT,
    use_quota BIGINT NOT NULL,
    counted_gb BIGINT NOT NULL,         -- of the quota of gigabytes: size_gb or 0
    delete_begun BIGINT NOT NULL,       -- the backend was told to destroy it: nobody gets it any more
    format TEXT,                        -- of the backend's object; NULL until made
    provider_location TEXT,
    group_snapshot_id TEXT,
    asked_us BIGINT NOT NULL,           -- by the database's clock: which of a volume's is the newest
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX snapshots_by_project ON snapshots (project_id, created_at, id);
CREATE INDEX snapshots_by_time ON snapshots (created_at, id);
CREATE INDEX snapshots_by_volume ON snapshots (volume_id, asked_us);

CREATE TABLE snapshot_metadata (
    snapshot_id TEXT NOT NULL REFERENCES snapshots (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (snapshot_id, key)
);
