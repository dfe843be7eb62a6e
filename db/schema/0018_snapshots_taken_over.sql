-- Snapshots that somebody else has made: until one has a provider_location, what lies under its name
-- is not its own.
ALTER TABLE snapshots ADD COLUMN taken_over BIGINT NOT NULL DEFAULT 0;
