-- What is declared: each is a document, and what has become of it stands in its status.
CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_id TEXT REFERENCES documents (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,        -- of its last change, among those of all documents
    first_version BIGINT NOT NULL,  -- of its making
    generation BIGINT NOT NULL,
    metadata TEXT NOT NULL,         -- JSON: labels, annotations, finalizers
    body TEXT NOT NULL,             -- JSON: what is wanted
    status TEXT NOT NULL,           -- JSON: what is
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    deleted_at BIGINT,              -- it goes when its finalizers have
    UNIQUE (kind, project_id, name)
);
CREATE INDEX documents_in_order ON documents (kind, project_id, created_at, id);
CREATE INDEX documents_by_version ON documents (kind, version);
CREATE INDEX documents_by_owner ON documents (owner_id) WHERE owner_id IS NOT NULL;

CREATE TABLE document_labels (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    project_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (document_id, key)
);
CREATE INDEX document_labels_by_pair ON document_labels
    (project_id, key, value, created_at, document_id);

-- Those that have gone: who watches is told.
CREATE TABLE documents_gone (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL      -- by the database's clock
);
CREATE INDEX documents_gone_by_version ON documents_gone (kind, version);

-- The number of the last change of any document: one row.
CREATE TABLE document_versions (version BIGINT NOT NULL);
INSERT INTO document_versions (version) VALUES (0);
