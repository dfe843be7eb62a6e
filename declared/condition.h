/*
 * Conditions: what goes on with a document beside its phase, as status.conditions has it.
 *
 * Of each type there is at most one; its lastTransitionTime is when its status changed, and no
 * other instant (P23-P27).  Trees of conditions are the caller's own, `now` is an instant that is
 * shown.
 */
#pragma once

#include "declared/schema.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CONDITION_RESIZING          "Resizing"
#define CONDITION_RESIZE_PENDING    "VolumeResizePending"
#define CONDITION_RESIZE_FAILED     "VolumeResizeFailed"
#define CONDITION_RESIZE_SUCCESSFUL "VolumeResizeSuccessful"
#define CONDITION_MOVING            "Moving" /* False: another node is to serve it, and cannot yet */
#define CONDITION_STOPPING          "Stopping" /* False: its node has to say that it serves it no more */
#define CONDITION_NOT_REMOVED       "ReplicaDeletionFailed"
#define CONDITION_REVERTING         "Reverting" /* False: what it is reverted to is there no more */
#define CONDITION_RECOVERING        "Salvaging" /* forced recovery from one replica */
#define CONDITION_SCALING           "Scaling" /* replicas come or go; the message says what it waits for */
#define CONDITION_AVAILABLE         "Available"  /* clients can read and write, or could */
#define CONDITION_REDUNDANT         "Redundant"  /* all replicas are in sync */
#define CONDITION_REBUILDING        "Rebuilding" /* a replica is being rebuilt */
#define CONDITION_NEAR_FULL         "NearFull"   /* a replica's pool has little space left */

struct condition {
    const char *type, *status; /* "True", "False", "Unknown" */
    const char *reason;        /* in CamelCase */
    const char *message;
};

#define CONDITIONS_MOST 16

/* Of one, as a status has it; its message in the words of a node is for administrators. */
extern const struct schema_field condition_fields[];

/* NULL: there is none. */
const json_t *condition_find(const json_t *conditions, const char *type);
bool condition_is(const json_t *conditions, const char *type, const char *status);

/* Whoever owns the document adds, changes and takes away.  True: that made a difference. */
bool condition_put(json_t *conditions, const struct condition *condition, int64_t now_us);
bool condition_remove(json_t *conditions, const char *type);
/* Others change what is there: false as well when it is not. */
bool condition_change(json_t *conditions, const struct condition *condition, int64_t now_us);

/* Those that tell of a change of size become these; the rest stays. */
bool condition_put_resize(json_t *conditions, const struct condition *of_size, unsigned count,
                          int64_t now_us);
