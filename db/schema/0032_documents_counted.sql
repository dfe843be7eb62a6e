-- What the quotas of its project have of a document, in GiB.  NULL: of the kinds that count, one that
-- nobody has counted yet; 0: it is counted elsewhere.
ALTER TABLE documents ADD COLUMN size_gb BIGINT;
CREATE INDEX documents_counted ON documents (project_id, size_gb) WHERE size_gb > 0;
