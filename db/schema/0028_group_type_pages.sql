-- Group types in order of creation, and of those the private ones. In order of name they have an index.
CREATE INDEX group_types_by_time ON group_types (created_at, id);
CREATE INDEX group_types_by_privacy ON group_types (is_public, created_at, id);
