-- Connections that os-initialize_connection has given out: a host may open the volume at any moment,
-- though no attachment says so.
CREATE TABLE connections (
    id TEXT PRIMARY KEY,                -- of the connect operation that asked for it
    volume_id TEXT NOT NULL REFERENCES volumes (id) ON DELETE CASCADE,
    host TEXT NOT NULL,                 -- of the connector; '' where it names none
    created_at BIGINT NOT NULL
);
CREATE INDEX connections_of_volume ON connections (volume_id, created_at, id);
