-- Pages of volumes and snapshots by a pair of their metadata: each row has the project and the birth
-- of its owner, which never change, so that the index has the owners of a pair in a page's order. A
-- key and a project have up to 255 bytes, a value up to 255 characters of 4 bytes: with the rest less
-- than the 2,704 bytes that a row of an index of PostgreSQL may have.
CREATE TABLE volume_pairs (
    volume_id TEXT NOT NULL REFERENCES volumes (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    project_id TEXT NOT NULL,           -- of the volume, as the next
    created_at BIGINT NOT NULL,
    PRIMARY KEY (volume_id, key)
);
INSERT INTO volume_pairs
    SELECT m.volume_id, m.key, m.value, v.project_id, v.created_at
    FROM volume_metadata m JOIN volumes v ON v.id = m.volume_id;
DROP TABLE volume_metadata;
ALTER TABLE volume_pairs RENAME TO volume_metadata;
CREATE INDEX volume_metadata_by_pair ON volume_metadata
    (key, value, project_id, created_at, volume_id);

CREATE TABLE snapshot_pairs (
    snapshot_id TEXT NOT NULL REFERENCES snapshots (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    project_id TEXT NOT NULL,           -- of the snapshot, as the next
    created_at BIGINT NOT NULL,
    PRIMARY KEY (snapshot_id, key)
);
INSERT INTO snapshot_pairs
    SELECT m.snapshot_id, m.key, m.value, s.project_id, s.created_at
    FROM snapshot_metadata m JOIN snapshots s ON s.id = m.snapshot_id;
DROP TABLE snapshot_metadata;
ALTER TABLE snapshot_pairs RENAME TO snapshot_metadata;
CREATE INDEX snapshot_metadata_by_pair ON snapshot_metadata
    (key, value, project_id, created_at, snapshot_id);
