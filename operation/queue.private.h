/*
 * Queues of operations: the conditions on rows of `operations` under which one may begin, and the
 * notification of the next one.
 *
 * Operations of one queue (`turn_of`) do not overlap, and the oldest is first; but an operation
 * that waits for a report blocks no other, and those that only read the object of the queue,
 * because they are about another one, do not wait for each other.  A cancelled one waits for none.
 *
 * Besides, a volume's files may be one chain.  Once a guest's host works on one of its snapshots no
 * other operation begins there; and while a snapshot is removed from it, or an operation that
 * changes it waits for its files, no reader of any part begins.
 */
#pragma once

#include "operation/operation.private.h"

#define IS_IN_LINE "phase NOT IN ('sending', 'waiting', 'answered')"
#define IS_IN_FRONT                                                           \
    "other.id <> operations.id AND (COALESCE(other.owner, '') <> '' OR "      \
    "(other." IS_IN_LINE " AND (other.created_at < operations.created_at OR " \
    "(other.created_at = operations.created_at AND other.id < operations.id))))"
#define NONE_IN_FRONT(those) "NOT EXISTS (SELECT 1 FROM " those " AND " IS_IN_FRONT ")"
#define CHANGES(of)          of ".turn_of = " of ".object_id"
/* Its one queue, or each of its several, against those of others. */
#define ONE_ONE "operations other WHERE other.turn_of = operations.turn_of"
#define ONE_SEVERAL                                                                   \
    "operation_turns theirs JOIN operations other ON other.id = theirs.operation_id " \
    "WHERE theirs.turn_of = operations.turn_of"
#define SEVERAL_ONE                                                               \
    "operation_turns mine JOIN operations other ON other.turn_of = mine.turn_of " \
    "WHERE mine.operation_id = operations.id"
#define SEVERAL_SEVERAL                                                                  \
    "operation_turns mine JOIN operation_turns theirs ON theirs.turn_of = mine.turn_of " \
    "JOIN operations other ON other.id = theirs.operation_id "                           \
    "WHERE mine.operation_id = operations.id"
#define ONE_CHANGES(those, of)    those " AND (" CHANGES("operations") " OR " of ")"
#define SEVERAL_CHANGE(those, of) those " AND (mine.only_reads = 0 OR " of ")"
#define THEIRS                    "theirs.only_reads = 0"

/* Another operation is at the volume's files. */
/* clang-format off */
#define NO_HOST_IS_AT(volume) \
    "NOT EXISTS (SELECT 1 FROM operations other WHERE other.volume_id = " volume " AND " \
    "other.id <> operations.id AND other.target_id <> other.volume_id AND " \
    IS_ASSISTED("other") ")"
#define NO_HOST_IS_AT_ITS_VOLUMES \
    "NOT EXISTS (SELECT 1 FROM operation_turns mine JOIN operations other ON " \
    "other.volume_id = mine.turn_of WHERE mine.operation_id = operations.id AND " \
    "other.target_id <> other.volume_id AND " IS_ASSISTED("other") ")"
#define NOTHING_IS_TAKEN_OUT_OF(volume) \
    "NOT EXISTS (SELECT 1 FROM operations other WHERE other.volume_id = " volume " AND " \
    "other.object_id <> other.volume_id AND " CHANGES("other") " AND (other.owner <> '' OR other.waits_for IS NOT NULL)) AND " \
    "NOT EXISTS (SELECT 1 FROM operation_turns theirs JOIN operations other ON " \
    "other.id = theirs.operation_id WHERE theirs.turn_of = " volume " AND " \
    "(other.owner <> '' OR other.waits_for IS NOT NULL) AND " \
    "EXISTS (SELECT 1 FROM operation_turns theirs WHERE theirs.operation_id = other.id AND " \
    THEIRS "))"
/* Else readers could block a change of the volume for ever, one after the other. */
#define NONE_WAITS_FOR_FILES(volume) \
    "NOT EXISTS (SELECT 1 FROM operations other WHERE other.volume_id = " volume " AND " \
    "other.waits_for IS NOT NULL AND other.reads_of IS NULL AND other." IS_IN_LINE " AND " \
    "other.id <> operations.id)"
#define MAY_BEGIN_AT_FILES \
    "(turn_of IS NULL OR " NO_HOST_IS_AT("operations.volume_id") ") AND " \
    "(reads_of IS NULL OR (" NO_HOST_IS_AT("operations.reads_of") " AND " \
    NOTHING_IS_TAKEN_OUT_OF("operations.reads_of") " AND " \
    NONE_WAITS_FOR_FILES("operations.reads_of") "))"

/* Most creates: none of the conditions below concerns it.  One with `turn_of` has no other queue
 * (operation_insert()). */
#define IS_IN_NO_QUEUE \
    "turn_of IS NULL AND reads_of IS NULL AND NOT EXISTS " \
    "(SELECT 1 FROM operation_turns mine WHERE mine.operation_id = operations.id)"
#define IS_FIRST_IN_SEVERAL \
    NONE_IN_FRONT(SEVERAL_CHANGE(SEVERAL_ONE, CHANGES("other"))) " AND " \
    NONE_IN_FRONT(SEVERAL_CHANGE(SEVERAL_SEVERAL, THEIRS)) " AND " NO_HOST_IS_AT_ITS_VOLUMES

/* In one queue those that change its object are found by an index of theirs, so that many readers
 * cost nothing. */
#define IS_ITS_TURN \
    "(" IS_CANCELLED " OR (" IS_IN_NO_QUEUE ") OR (" \
    NONE_IN_FRONT(ONE_ONE " AND " CHANGES("other")) " AND " \
    "(turn_of IS NULL OR NOT " CHANGES("operations") " OR " NONE_IN_FRONT(ONE_ONE) ") AND " \
    NONE_IN_FRONT(ONE_CHANGES(ONE_SEVERAL, THEIRS)) " AND " \
    "(turn_of IS NOT NULL OR (" IS_FIRST_IN_SEVERAL ")) AND " MAY_BEGIN_AT_FILES "))"
/* clang-format on */

/* The columns returned about an ended operation, or one that has lost its worker. */
#define RETURNING_PASSED                                                \
    " RETURNING id, turn_of, object_id, volume_id, CASE WHEN deadline " \
    "IS NULL THEN 0 ELSE 1 END, CASE WHEN waits_for IS NULL THEN 0 ELSE 1 END"

/* Runs `query`, which ends with RETURNING_PASSED, and notifies the waiting operations that have
 * none before them now.  How many it has ended, 1 or 0; or -1. */
int queue_advance(struct work *work, struct db_rows *query, struct error *err);
/* The same for one whose row is deleted already, as it was read in this transaction or since it was
 * claimed. */
int queue_advance_ended(struct work *work, const struct operation *ended, struct error *err);
/* The same for an operation that is gone. */
int queue_advance_removed(struct work *work, struct db_rows *query, struct error *err);
/* Notifies those that the dead worker of a remaining operation has blocked. */
int queue_advance_past(struct work *work, const struct operation *operation, struct error *err);
/* A cancelled operation of the volume is gone: notifies those that waited for that. */
int queue_notify_volume(struct work *work, const char *volume_id, struct error *err);
/* Notifies the first of the queue. */
int queue_notify_next(struct work *work, const char *turn_of, struct error *err);
