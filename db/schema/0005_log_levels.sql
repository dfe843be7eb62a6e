-- Log levels of services as JSON objects (logger: level): what was asked for and not taken up yet,
-- and what the service last said.

ALTER TABLE services ADD COLUMN log_wanted TEXT;
ALTER TABLE services ADD COLUMN log_levels TEXT;
