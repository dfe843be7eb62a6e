-- How many bytes of a document are its project's to answer for, and how many a project has of each
-- kind.  Of those that are older characters are counted, until they are written again.
ALTER TABLE documents ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE document_counts ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX document_counts_by_project ON document_counts (project_id);
UPDATE documents SET bytes = LENGTH(metadata) + LENGTH(body)
    WHERE kind IN ('CStorVolumePolicy', 'CStorVolumeConfig', 'CStorVolumeSnapshot');
UPDATE document_counts SET bytes = COALESCE((SELECT SUM(d.bytes) FROM documents d
    WHERE d.kind = document_counts.kind AND d.project_id = document_counts.project_id), 0);
