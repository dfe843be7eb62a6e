-- An operation that reads a part of another volume's files does not begin while a snapshot is taken
-- out of them, or a guest's host is at one.
ALTER TABLE operations ADD COLUMN reads_of TEXT;  -- the other volume; NULL: it reads none
UPDATE operations SET reads_of =
    COALESCE((SELECT s.volume_id FROM snapshots s WHERE s.id = turn_of), turn_of)
    WHERE turn_of <> volume_id AND object_id = volume_id;
CREATE INDEX operations_that_read ON operations (reads_of) WHERE reads_of IS NOT NULL;
-- Those that somebody has in his hands, and that change an object of the volume: few.
CREATE INDEX operations_at_parts ON operations (volume_id)
    WHERE turn_of = object_id AND owner <> '';
