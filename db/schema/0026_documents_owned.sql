-- Documents that the service makes of others: who has to act on each, and what became of it.
ALTER TABLE documents ADD COLUMN node TEXT; -- that has to act on it; NULL: none
CREATE INDEX documents_by_node ON documents (node, kind, version) WHERE node IS NOT NULL;
ALTER TABLE documents_gone ADD COLUMN node TEXT;
ALTER TABLE documents_gone ADD COLUMN owner_id TEXT; -- that it belonged to

-- How many a project has of each kind, so that nobody counts them.
CREATE TABLE document_counts (
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    documents BIGINT NOT NULL,
    PRIMARY KEY (kind, project_id)
);
INSERT INTO document_counts (kind, project_id, documents)
    SELECT kind, project_id, COUNT(*) FROM documents GROUP BY kind, project_id;

-- What happened to a document: the same once, with how often.
CREATE TABLE document_events (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    number BIGINT NOT NULL,         -- of its last time, among those of the document
    times BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (document_id, type, reason, message)
);
CREATE INDEX document_events_in_order ON document_events (document_id, number);

-- Places for files of replicas, as their nodes tell of them.
CREATE TABLE replica_pools (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    path TEXT NOT NULL,
    labels TEXT NOT NULL,           -- JSON
    read_only BIGINT NOT NULL,
    total_bytes BIGINT NOT NULL,
    free_bytes BIGINT NOT NULL,
    state TEXT NOT NULL,
    seen_at BIGINT NOT NULL,        -- by the database's clock
    created_at BIGINT NOT NULL
);
