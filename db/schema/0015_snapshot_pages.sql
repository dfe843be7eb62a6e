-- What stands on one volume is found without a look at all that is queued there: what is about one
-- object, what was cancelled, and what changes that which it has its turn at. Nothing that changes
-- while an operation is worked on is in an index or its condition.
DROP INDEX operations_by_volume;
CREATE INDEX operations_by_volume ON operations (volume_id, object_id);
CREATE INDEX operations_cancelled ON operations (volume_id) WHERE target_id = id;
CREATE INDEX operations_that_change ON operations (turn_of, created_at, id)
    WHERE turn_of = object_id;

-- Pages of a project's snapshots by what clients filter and sort by.
CREATE INDEX snapshots_by_status ON snapshots (status, project_id, created_at, id);
CREATE INDEX snapshots_by_name ON snapshots (display_name, project_id, created_at, id)
    WHERE display_name IS NOT NULL;
CREATE INDEX snapshots_of_volume ON snapshots (volume_id, created_at, id);
CREATE INDEX snapshots_in_order_of_name ON snapshots
    (project_id, COALESCE(display_name, ''), created_at, id);
CREATE INDEX snapshots_in_order_of_size ON snapshots
    (project_id, COALESCE(size_gb, -1), created_at, id);
CREATE INDEX snapshots_in_order_of_status ON snapshots
    (project_id, COALESCE(status, ''), created_at, id);
CREATE INDEX snapshots_in_order_of_id ON snapshots (project_id, id, created_at);
