/*
 * The operations on volumes and snapshots: the list of their kinds, and the step that those on
 * volumes share; the other one is operation_leave().  Each has a file with its begin (in the
 * request's transaction) and its finish (in the job's).
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

#define OPERATION(name) extern const struct operation_kind kind_##name;
#include "model/operations.def"
#undef OPERATION

/*
 * Starts an operation: status to `meanwhile` in one conditional update, from a status in which the
 * kind may start; a miss is ERROR_BAD_REQUEST with upstream's text.  Also writes the operation row
 * and the outbox message to the backend's topic.  The caller adds reservations to
 * *ret_operation_id.
 */
int volume_begin(struct work *work, struct volume *volume, const struct operation_kind *kind,
                 const struct operation *fields, const char **ret_operation_id, struct error *err);
