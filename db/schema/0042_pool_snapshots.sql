-- The space of a pool that is promised to snapshots: of each, its size; 0 where the pool had no space
-- for it, or where a release made it that did not count.
ALTER TABLE snapshots ADD COLUMN promised_gb BIGINT NOT NULL DEFAULT 0;
UPDATE snapshots SET promised_gb = size_gb;
ALTER TABLE pools ADD COLUMN snapshots_gb BIGINT NOT NULL DEFAULT 0;
UPDATE pools SET snapshots_gb = (SELECT COALESCE(CAST(SUM(s.promised_gb) AS BIGINT), 0)
    FROM snapshots s JOIN volumes v ON v.id = s.volume_id WHERE v.host = pools.name);
