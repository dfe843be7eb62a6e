-- The pool of a replica, so that those of a pool are found by an index. Names of pools have nothing
-- that LIKE knows.
ALTER TABLE documents ADD COLUMN pool TEXT; -- of a CStorVolumeReplica; NULL: of any other
UPDATE documents SET pool = (SELECT MIN(p.name) FROM replica_pools p
        WHERE documents.body LIKE '%"poolName":"' || p.name || '"%')
    WHERE kind = 'CStorVolumeReplica';
CREATE INDEX documents_by_pool ON documents (pool) WHERE pool IS NOT NULL;
