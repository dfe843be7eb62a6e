-- Pages of snapshots by availability zone, and by what is in their metadata. The zone of a volume
-- never changes, so that a snapshot has it, too.
ALTER TABLE snapshots ADD COLUMN availability_zone TEXT;
UPDATE snapshots SET availability_zone =
    (SELECT v.availability_zone FROM volumes v WHERE v.id = snapshots.volume_id);
CREATE INDEX snapshots_by_zone ON snapshots (availability_zone, project_id, created_at, id);
