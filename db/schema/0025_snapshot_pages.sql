-- Snapshots change seldom: also in the order of their changes a page costs the same among all.
CREATE INDEX snapshots_in_order_of_change ON snapshots
    (project_id, COALESCE(updated_at, -1), created_at, id);
-- Those of one answer may be few among many.
CREATE INDEX snapshots_by_quota ON snapshots (use_quota, project_id, created_at, id);
