-- Each operation changes the rows of its indices twice or three times: one that waits in no queue is not
-- in the index of queues, and those of a host are found by its workers' indices alone.
DROP INDEX operations_by_host;
DROP INDEX operations_by_turn;
CREATE INDEX operations_by_turn ON operations (turn_of, created_at, id) WHERE turn_of IS NOT NULL;
-- Of two indices that fit a query SQLite takes the one made last: this one must be it.
DROP INDEX operations_that_change;
CREATE INDEX operations_that_change ON operations (turn_of, created_at, id)
    WHERE turn_of = object_id;
DROP INDEX operations_at_work;
CREATE INDEX operations_at_work ON operations (host, is_long, project_id) WHERE owner IS NOT NULL;
