-- The instance of the storage agent that reported the pool last, so that of two agents with one node
-- name one is refused.
ALTER TABLE replica_pools ADD COLUMN instance TEXT; -- NULL: its version has none
CREATE INDEX replica_pools_by_node ON replica_pools (node);
