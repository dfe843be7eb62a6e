-- What an operation is about, also once it is cancelled; and whose turn it waits for: of those with
-- the same turn_of the oldest is worked on, the others wait.
ALTER TABLE operations ADD COLUMN object_id TEXT;  -- NULL: the target
ALTER TABLE operations ADD COLUMN turn_of TEXT;    -- a volume; NULL: waits for none
UPDATE operations SET object_id = CASE WHEN phase = 'cancelled' THEN volume_id ELSE target_id END;
CREATE INDEX operations_by_turn ON operations (turn_of, created_at, id);
