-- An operation that found its volume's files in use leaves its worker, and keeps new readers of them
-- away until it has had them.
ALTER TABLE operations ADD COLUMN waits_for TEXT;   -- what its last worker found in use; NULL: nothing
DROP INDEX operations_at_parts;
CREATE INDEX operations_at_parts ON operations (volume_id)
    WHERE turn_of = object_id AND (owner <> '' OR waits_for IS NOT NULL);
