-- Until when a message is kept, by the database's clock; expires_at is the same instant as the wall's
-- clock had it, which is shown.
ALTER TABLE messages ADD COLUMN keep_until BIGINT NOT NULL DEFAULT 0;
UPDATE messages SET keep_until = expires_at;
DROP INDEX messages_by_expiry;
CREATE INDEX messages_by_end ON messages (keep_until);
