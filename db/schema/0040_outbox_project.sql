-- Whose work a message is about: workers are shared out among projects.  NULL: nobody's, or written by
-- a release that did not say it.
ALTER TABLE outbox ADD COLUMN project_id TEXT;
