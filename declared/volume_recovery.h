/*
 * Forced recovery: a volume that has lost the majority of its replicas for ever, or refuses blocks
 * without a majority, is recovered from one replica at an administrator's request. A request is
 * for one loss and not for later ones:
 *
 *   - spec.salvage of the volume names the replica, under a number greater than any before, also
 *     after the database was restored from a backup;
 *   - its node evaluates whether the volume can be served without forced recovery, admits no
 *     client to one that cannot meanwhile, and reports Refused or Able: then the request is
 *     withdrawn or confirmed;
 *   - a confirmed request (spec.salvaged has its number) invalidates all earlier data of the other
 *     replicas, wherever they are; the node recovers the volume from the named one, and reports
 *     Done.
 */
#pragma once

#include "declared/document.h"

#include "operation/work.h"

#define RECOVERY_PHASE_ABLE    "Able"
#define RECOVERY_PHASE_REFUSED "Refused"
#define RECOVERY_PHASE_DONE    "Done"

#define RECOVERY_MOST ((int64_t)1 << 27) /* the highest number */

extern const char *const recovery_reasons[]; /* of a refusal by the node */

struct recovery_request {
    const char *version; /* of the volume, as it was read; NULL: not given */
    const char *stopped; /* status.silentNodes, confirmed to have stopped; NULL: none */
};

/* Requests forced recovery from the replica. *ret: its volume. ERROR_CONFLICT. */
int volume_recovery_request(struct work *work, const struct document *replica,
                            const struct recovery_request *request, struct document *ret,
                            struct error *err);

/* The number of the next request.  More than RECOVERY_MOST: there are no more. */
json_int_t volume_recovery_next(const struct work *work, const struct document *volume);
/* The highest number that its node has found in a replica; 0: no higher one than spec.salvaged. */
json_int_t volume_recovery_found(const struct document *volume);

/* Its state in the spec of the volume (declared/phases.h). */
unsigned volume_recovery_state(const json_t *spec);

/* Why the node has refused, as the end of a sentence. */
const char *volume_recovery_refusal(const json_t *report);

/* Ignores its node's report about another request. */
void volume_recovery_keep(const struct document *before, struct document *after);

/* Keeps the nodes that lost the volume without confirming their stop, until a later node has the
 * replicas that they would need. */
void volume_silent_nodes_keep(const struct document *before, struct document *after);
