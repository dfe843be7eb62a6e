-- Since when a pool is told of without a pause; NULL: not since this is written down.
ALTER TABLE replica_pools ADD COLUMN up_since BIGINT;
