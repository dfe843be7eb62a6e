-- Offers of volumes to other projects. The key that accepts one is stored as a salted digest.
CREATE TABLE transfers (
    id TEXT PRIMARY KEY,
    volume_id TEXT NOT NULL UNIQUE REFERENCES volumes (id),
    project_id TEXT NOT NULL,           -- the volume's
    display_name TEXT,
    no_snapshots BIGINT NOT NULL,       -- they stay with the former owner
    salt TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX transfers_by_project ON transfers (project_id, created_at, id);
