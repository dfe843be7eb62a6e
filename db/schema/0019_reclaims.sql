-- What came of the last time that a volume was to give back room which holds nothing.
CREATE TABLE reclaims (
    volume_id TEXT PRIMARY KEY REFERENCES volumes (id),
    outcome TEXT NOT NULL,              -- running, done or error
    reason TEXT,                        -- of an error, for programs
    message TEXT,                       -- the same in words
    progress BIGINT NOT NULL,           -- percent
    pre_usage BIGINT,                   -- bytes; NULL until they were counted
    post_usage BIGINT,
    started_at BIGINT NOT NULL,
    finished_at BIGINT
);
