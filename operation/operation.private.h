/*
 * Common parts of the statements about operations.
 */
#pragma once

#include "operation/operation.h"

#define OPERATION_COLUMNS                                                                       \
    "id, kind, target_id, volume_id, host, phase, project_id, user_id, request_id, "            \
    "previous_status, new_size_gb, failed, owner, lease_until, deadline, attempts, arguments, " \
    "created_at, updated_at, COALESCE(object_id, target_id), turn_of, waits_for, is_long, "     \
    "COALESCE(progress, -1)"

/* The phases as conditions. */
#define IS_CANCELLED       "phase = 'cancelled'"
#define TARGETS_ITSELF(of) of ".target_id = " of ".id" /* as for all cancelled ones */
#define IS_NOT_CANCELLED   "phase <> 'cancelled'"
#define AWAITS_REPORT      "phase IN ('sending', 'waiting')"
#define IS_ASSISTED(of) \
    of ".deadline IS NOT NULL AND " of ".phase IN ('preparing', 'sending', 'waiting', 'completing')"
#define IS_ANSWERED   "phase = 'answered'"
#define HAS_NO_ANSWER "phase <> 'answered'"
/* Operations that a worker may claim; `now`: the parameter of an instant. */
#define IS_DUE(now) HAS_NO_ANSWER " AND (phase <> 'waiting' OR deadline <= " now ")"

/* Any operation that names the queue $1: mostly there is none. */
#define ANY_OF_QUEUE                                         \
    "SELECT 1 FROM operations WHERE turn_of = $1 UNION ALL " \
    "SELECT 1 FROM operation_turns WHERE turn_of = $1 LIMIT 1"

/* The results of `query`: how many, or -1. */
int operation_all(struct work *work, struct db_rows *query, struct operation **ret,
                  struct error *err);
/* 1 found, 0 none. */
int operation_one(struct work *work, struct db_rows *query, struct operation *ret,
                  struct error *err);
