/*
 * Conditions of a document, beside its phase, as in status.conditions.
 *
 * There is at most one of each type; lastTransitionTime changes with the status alone (P23-P27).
 * Trees of conditions belong to the caller, `now` is wall clock time.
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
/* False: another node is wanted, and cannot have it yet */
#define CONDITION_MOVING      "Moving"
#define CONDITION_STOPPING    "Stopping" /* False: its node has not reported its stop yet */
#define CONDITION_NOT_REMOVED "ReplicaDeletionFailed"
#define CONDITION_REVERTING   "Reverting" /* False: the snapshot to revert to is lost */
#define CONDITION_RECOVERING  "Salvaging" /* forced recovery from one replica */
/* replicas are added or removed; the message names what is awaited */
#define CONDITION_SCALING "Scaling"
/* clients can read and write, or could if it were published */
#define CONDITION_AVAILABLE  "Available"
#define CONDITION_REDUNDANT  "Redundant"  /* all replicas are in sync */
#define CONDITION_REBUILDING "Rebuilding" /* a replica is being rebuilt */
#define CONDITION_NEAR_FULL  "NearFull"   /* a replica's pool has little space left */

struct condition {
    const char *type, *status; /* "True", "False", "Unknown" */
    const char *reason;        /* in CamelCase */
    const char *message;
};

#define CONDITIONS_MOST 16

/* Fields of one condition; a message written by a node is for administrators. */
extern const struct schema_field condition_fields[];

/* NULL: there is none. */
const json_t *condition_find(const json_t *conditions, const char *type);
bool condition_is(const json_t *conditions, const char *type, const char *status);

/* For the document's owner: adds, changes and removes. True: the list has changed. */
bool condition_put(json_t *conditions, const struct condition *condition, int64_t now_us);
bool condition_remove(json_t *conditions, const char *type);
/* For others: changes an existing condition; false, too, when there is none. */
bool condition_change(json_t *conditions, const struct condition *condition, int64_t now_us);

/* Replaces all conditions about resizing with these; the others stay. */
bool condition_put_resize(json_t *conditions, const struct condition *of_size, unsigned count,
                          int64_t now_us);
