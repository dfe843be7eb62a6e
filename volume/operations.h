/*
 * The operations on volumes: the list of their kinds, and the two steps that all of them share.
 * Each has a file, where begin (in the request's transaction) and finish (in the job's) stand
 * together.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/volume.h"

#define OPERATION(name) extern const struct operation_kind kind_##name;
#include "volume/operations.def"
#undef OPERATION

/*
 * Starts an operation: status to `meanwhile` in one conditional update, from a status the kind may
 * start from; a miss is ERROR_BAD_REQUEST with upstream's words.  Also writes the operation row and
 * the outbox message to the backend's topic.  The caller adds reservations to *ret_operation_id.
 */
int volume_begin(struct work *work, struct volume *volume, const struct operation_kind *kind,
                 const struct operation *fields, const char **ret_operation_id, struct error *err);

/* Ends an operation's hold on the volume: from `meanwhile` to `status`; 1 when the status was no
 * longer the operation's (an operator reset it): then it stays. */
int volume_finish(struct work *work, const char *volume_id, const struct operation_kind *kind,
                  enum volume_status status, struct error *err);
