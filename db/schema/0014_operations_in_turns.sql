-- An operation on several volumes or snapshots waits for the turn of each, and has all of them at
-- once; that of an operation with one alone is in operations.turn_of.
CREATE TABLE operation_turns (
    operation_id TEXT NOT NULL,
    turn_of TEXT NOT NULL,
    only_reads BIGINT NOT NULL,         -- beside others that only read it
    PRIMARY KEY (operation_id, turn_of)
);
CREATE INDEX operation_turns_by_turn ON operation_turns (turn_of);
