-- Work that moves much data has workers of its own, and is shared out among projects apart from the rest.
ALTER TABLE operations ADD COLUMN is_long BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN progress BIGINT;  -- percent of the work; NULL: not known
DROP INDEX operations_in_line;
CREATE INDEX operations_in_line
    ON operations (host, is_long, project_id, (COALESCE(updated_at, created_at)), created_at, id)
    WHERE owner IS NULL AND phase <> 'answered';
DROP INDEX operations_at_work;
CREATE INDEX operations_at_work ON operations (host, is_long, project_id) WHERE owner <> '';
