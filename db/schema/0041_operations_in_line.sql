-- Who waits for a worker of a backend, project by project and in the order in which they were told of;
-- and who has one, which are few.
CREATE INDEX operations_in_line
    ON operations (host, project_id, (COALESCE(updated_at, created_at)), created_at, id)
    WHERE owner IS NULL AND phase <> 'answered';
CREATE INDEX operations_at_work ON operations (host, project_id) WHERE owner <> '';
