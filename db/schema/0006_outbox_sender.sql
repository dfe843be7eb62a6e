-- Which process wrote a message: it sends its own at once and leaves those of others to them.
ALTER TABLE outbox ADD COLUMN sender TEXT;
