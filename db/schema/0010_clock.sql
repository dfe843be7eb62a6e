-- The database's clock (db/clock.h): one row, and what was told of it.
CREATE TABLE clock (
    base TEXT NOT NULL,        -- what it is ahead of: a boot of this machine by its id, or "server"
    ahead_us BIGINT NOT NULL,
    told_us BIGINT NOT NULL    -- an instant that it has told already
);
CREATE VIEW clock_seen AS
    SELECT MAX(created_at) AS seen_us FROM operations
    UNION ALL SELECT MAX(updated_at) FROM operations
    UNION ALL SELECT MAX(lease_until) FROM operations
    UNION ALL SELECT MAX(reported_at) FROM services
    UNION ALL SELECT MAX(created_at) FROM outbox;
