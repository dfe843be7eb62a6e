-- Where the replicas of a pool are reached from other nodes, HOST:PORT; NULL: nowhere.
ALTER TABLE replica_pools ADD COLUMN address TEXT;
