-- Documents that are found by other labels, or at another node, than before: who watches by them is
-- told.
CREATE TABLE document_moves (
    version BIGINT PRIMARY KEY,     -- of the change, among those of all documents
    kind TEXT NOT NULL,
    document_id TEXT NOT NULL       -- perhaps gone since
);
CREATE INDEX document_moves_by_version ON document_moves (kind, version);
