/*
 * Forced recovery: a volume that has lost the majority of its replicas for ever, or refuses blocks
 * that have none, is made of one replica at an administrator's request.  A request is for one loss
 * and for none that comes later:
 *
 *   - spec.salvage of the volume names the replica, under a number greater than any before;
 *   - its node evaluates whether the volume can be served without it, admits no client to one that
 *     cannot meanwhile, and reports Refused or Able: then the request is withdrawn or confirmed;
 *   - when it is confirmed (spec.salvaged has its number) nothing counts any more that any replica
 *     has of before, wherever it is, and the node makes the named one the volume, and reports Done.
 */
#pragma once

#include "declared/document.h"

#include "ledger/work.h"

#define RECOVERY_PHASE_ABLE    "Able"
#define RECOVERY_PHASE_REFUSED "Refused"
#define RECOVERY_PHASE_DONE    "Done"

extern const char *const recovery_reasons[]; /* of a node that refuses */

struct recovery_request {
    const char *version; /* of the volume, as it was read; NULL: not said */
    const char *stopped; /* status.silentNodes, which are known to serve it no more; NULL: none */
};

/* Forced recovery from the replica is requested. *ret: its volume.  ERROR_CONFLICT: why not. */
int volume_recovery_request(struct work *work, const struct document *replica,
                            const struct recovery_request *request, struct document *ret,
                            struct error *err);

/* Where it stands, as the spec of the volume has it (declared/phases.h). */
unsigned volume_recovery_state(const json_t *spec);

/* Why the node has refused, as a sentence's end. */
const char *volume_recovery_refusal(const json_t *report);

/* What its node tells of another salvage than is wanted is not heard. */
void volume_recovery_keep(const struct document *before, struct document *after);

/* The nodes that lost the volume without a word are known as long as nobody after them has had the
 * replicas that they would need. */
void volume_silent_nodes_keep(const struct document *before, struct document *after);
