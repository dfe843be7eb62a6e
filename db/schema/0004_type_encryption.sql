-- How volumes of a type are to be encrypted; at most one row for each type.

CREATE TABLE volume_type_encryption (
    volume_type_id TEXT PRIMARY KEY REFERENCES volume_types (id),
    encryption_id TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    control_location TEXT NOT NULL,     -- front-end, back-end
    cipher TEXT,
    key_size BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
