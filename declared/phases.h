/*
 * The phases of documents as state tables (common/state_table.h): events in each phase, the next
 * one, and the sentence for status and events.
 *
 * A phase is stored by its name. An event without a row leaves it unchanged.
 */
#pragma once

#include "common/state_table.h"

#include <jansson.h>
#include <stdbool.h>

enum phase_action {
    PHASE_NO_EVENT,
    PHASE_NORMAL_EVENT,
    PHASE_WARNING_EVENT
}; /* the event to record */

/* ---- a config ---- */

enum config_phase { CONFIG_PENDING, CONFIG_BOUND, CONFIG_RECONCILING, CONFIG_FAILED };
enum config_event {
    CONFIG_WAITS, /* for pools, a policy, or nodes that create the replicas */
    CONFIG_REPLICAS_MADE,
    CONFIG_SOURCE_LOST, /* of a clone */
    CONFIG_POLICY_EDITED,
    CONFIG_REPLICAS_CHANGE,
    CONFIG_NODE_WORKS,
    CONFIG_SETTLED,
};
extern const struct state_table config_states;

/* ---- a volume: enum volume_phase (declared/volume_health.h) ---- */

enum volume_event {
    VOLUME_FOUND, /* plus the phase reported by its node or implied by its pools */
    VOLUME_ASSIGNED = VOLUME_FOUND + 5,
    VOLUME_REVOKED, /* from an unresponsive node */
};
extern const struct state_table volume_states;

/* ---- a replica ---- */

enum replica_phase {
    REPLICA_INIT,
    REPLICA_RECREATE,
    REPLICA_REBUILDING,
    REPLICA_HEALTHY,
    REPLICA_DEGRADED,
    REPLICA_OFFLINE,
    REPLICA_ERROR,
    REPLICA_DELETION_FAILED,
    REPLICA_DELETED,
    REPLICA_PHASES
};
/* Each event is the phase reported by its node, by the same number. */
extern const struct state_table replica_states;
extern const char *const replica_phase_names[]; /* ended with NULL */

/* ---- a snapshot ---- */

enum snapshot_phase { SNAPSHOT_PENDING, SNAPSHOT_READY, SNAPSHOT_FAILED };
enum snapshot_event { SNAPSHOT_WAITS, SNAPSHOT_HELD, SNAPSHOT_LOST };
extern const struct state_table snapshot_states;

/* ---- a revert, status.revert of a config ---- */

enum revert_phase { REVERT_IS_NONE, REVERT_IS_PENDING, REVERT_IS_DONE };
enum revert_event { REVERT_REQUESTED, REVERT_WAITS, REVERT_SNAPSHOT_LOST, REVERT_REPORTED_DONE };
extern const struct state_table revert_states;

/* ---- forced recovery from one replica, spec.salvage of a volume ---- */

enum recovery_phase { RECOVERY_IS_NONE, RECOVERY_IS_REQUESTED, RECOVERY_IS_CONFIRMED };
enum recovery_event {
    RECOVERY_REQUESTED,
    RECOVERY_WAITS,
    RECOVERY_ABLE,
    RECOVERY_REFUSED,
    RECOVERY_NODE_LOST,
    RECOVERY_NODE_UNRESPONSIVE,
    RECOVERY_DONE,
};
extern const struct state_table recovery_states;

/* All tables, ended with NULL. */
extern const struct state_table *const phase_tables[];

/* The state of that name; the initial one when there is none. */
unsigned phase_named(const struct state_table *table, const char *name);
/* Of a status, or of any object with a phase. */
bool phase_is(const struct state_table *table, const json_t *status, unsigned state);
/* The row for the phase that a node reports of the object `id`, which may be any text: NULL when
 * the table has none, which is logged at most once a minute per object. */
const struct state_row *phase_reported(const struct state_table *table, const char *phase,
                                       unsigned event, const char *id);
/* The row of a phase by its name; NULL: the event is refused. */
const struct state_row *phase_next(const struct state_table *table, const char *phase,
                                   unsigned event);
