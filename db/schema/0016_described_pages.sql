-- Pages by description cost nothing where there is none; the index of a volume's snapshots has a
-- project's in order of their volumes, too.
CREATE INDEX volumes_by_description ON volumes (display_description, project_id, created_at, id)
    WHERE display_description IS NOT NULL;
CREATE INDEX snapshots_by_description ON snapshots
    (display_description, project_id, created_at, id) WHERE display_description IS NOT NULL;
DROP INDEX snapshots_of_volume;
CREATE INDEX snapshots_in_order_of_volume ON snapshots (project_id, volume_id, created_at, id);
