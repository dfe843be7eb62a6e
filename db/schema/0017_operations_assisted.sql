-- Whether a guest's host is at work on a volume's snapshots is asked before each job on the volume:
-- those few alone have a deadline.
CREATE INDEX operations_assisted ON operations (volume_id)
    WHERE target_id <> volume_id AND deadline IS NOT NULL;
