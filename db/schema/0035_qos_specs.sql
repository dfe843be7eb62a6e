-- What volumes of some types may take, or are to have.
CREATE TABLE qos_specs (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    consumer TEXT NOT NULL,             -- front-end, back-end, both
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX qos_specs_by_time ON qos_specs (created_at, id);

CREATE TABLE qos_spec_pairs (
    qos_specs_id TEXT NOT NULL REFERENCES qos_specs (id),
    key TEXT NOT NULL,
    value TEXT,
    PRIMARY KEY (qos_specs_id, key)
);

-- No type had any before.  Deferred: tables are copied in the order in which they came.
ALTER TABLE volume_types DROP COLUMN qos_specs_id;
ALTER TABLE volume_types ADD COLUMN qos_specs_id TEXT
    REFERENCES qos_specs (id) DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX volume_types_of_qos_specs ON volume_types (qos_specs_id)
    WHERE qos_specs_id IS NOT NULL;
