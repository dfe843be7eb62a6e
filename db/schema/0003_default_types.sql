-- Default volume types of projects: they come before the configured default.

CREATE TABLE default_volume_types (
    project_id TEXT PRIMARY KEY,
    volume_type_id TEXT NOT NULL REFERENCES volume_types (id),
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX default_volume_types_by_type ON default_volume_types (volume_type_id);
