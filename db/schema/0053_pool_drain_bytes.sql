-- When a drained pool began to be, by the database's clock, and what its replicas took then.
ALTER TABLE replica_pools ADD COLUMN drain_at BIGINT; -- NULL: it is not drained, or was before this was kept
ALTER TABLE replica_pools ADD COLUMN drain_bytes BIGINT;
