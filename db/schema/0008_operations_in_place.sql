-- The index by host without the lease: a change of an operation then changes no index, which
-- PostgreSQL does in place, and which disturbs nobody who looks for another operation.
DROP INDEX operations_by_host;
CREATE INDEX operations_by_host ON operations (host);
