-- Pools that are to be emptied, and when each was last reported Online.
ALTER TABLE replica_pools ADD COLUMN draining BIGINT NOT NULL DEFAULT 0;
ALTER TABLE replica_pools ADD COLUMN online_at BIGINT; -- by the database's clock; NULL: not since this is kept

-- Configs of which a replica is being copied to another pool.
CREATE TABLE replica_moves (
    config_id TEXT PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE
);
