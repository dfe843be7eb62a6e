#include "declared/phases.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "declared/volume_health.h"

#include <string.h>

static const char *const actions[] = { [PHASE_NO_EVENT] = "-",
                                       [PHASE_NORMAL_EVENT] = "Normal event",
                                       [PHASE_WARNING_EVENT] = "Warning event" };
static const char *const no_event[] = { "-" };

/* clang-format off */

/* ---- a config ---- */

static const char *const config_names[] = {
    [CONFIG_PENDING] = "Pending",
    [CONFIG_BOUND] = "Bound",
    [CONFIG_RECONCILING] = "Reconciling",
    [CONFIG_FAILED] = "Failed",
};

static const char *const config_events[] = {
    [CONFIG_WAITS] = "waits",
    [CONFIG_REPLICAS_MADE] = "replicas are made",
    [CONFIG_SOURCE_LOST] = "source is lost",
    [CONFIG_POLICY_EDITED] = "policy is edited",
    [CONFIG_REPLICAS_CHANGE] = "replicas change",
    [CONFIG_NODE_WORKS] = "node works",
    [CONFIG_SETTLED] = "settled",
};

static const struct state_row config_rows[] = {
    { CONFIG_PENDING, CONFIG_WAITS, CONFIG_PENDING, PHASE_NO_EVENT, "The volume is being made." },
    { CONFIG_PENDING, CONFIG_REPLICAS_MADE, CONFIG_BOUND, PHASE_NORMAL_EVENT, "The volume is ready." },
    { CONFIG_PENDING, CONFIG_SOURCE_LOST, CONFIG_FAILED, PHASE_WARNING_EVENT,
      "The snapshot that the volume was to be made of is lost." },
    { CONFIG_PENDING, CONFIG_POLICY_EDITED, CONFIG_PENDING, PHASE_NO_EVENT,
      "The volume will be made with the new policy." },
    { CONFIG_BOUND, CONFIG_SETTLED, CONFIG_BOUND, PHASE_NO_EVENT, "The policy holds." },
    { CONFIG_BOUND, CONFIG_NODE_WORKS, CONFIG_BOUND, PHASE_NO_EVENT,
      "The volume's node has not applied the last change yet." },
    { CONFIG_BOUND, CONFIG_POLICY_EDITED, CONFIG_RECONCILING, PHASE_NO_EVENT,
      "The edited policy is being applied." },
    { CONFIG_BOUND, CONFIG_REPLICAS_CHANGE, CONFIG_RECONCILING, PHASE_NO_EVENT,
      "Replicas are being added, removed or replaced." },
    { CONFIG_RECONCILING, CONFIG_REPLICAS_CHANGE, CONFIG_RECONCILING, PHASE_NO_EVENT,
      "Replicas are being added, removed or replaced." },
    { CONFIG_RECONCILING, CONFIG_POLICY_EDITED, CONFIG_RECONCILING, PHASE_NO_EVENT,
      "The edited policy is being applied." },
    { CONFIG_RECONCILING, CONFIG_NODE_WORKS, CONFIG_RECONCILING, PHASE_NO_EVENT,
      "The volume's node has not applied the last change yet." },
    { CONFIG_RECONCILING, CONFIG_SETTLED, CONFIG_BOUND, PHASE_NORMAL_EVENT, "The policy holds." },
    { CONFIG_FAILED, CONFIG_POLICY_EDITED, CONFIG_FAILED, PHASE_NO_EVENT,
      "The volume can no longer be made; the config can be deleted." },
};
static atomic_uint config_reached[LENGTH(config_rows)];

const struct state_table config_states = STATE_TABLE(
    "config", CONFIG_PENDING, config_names, config_events, actions, config_rows, config_reached);

/* ---- a volume ---- */

static const char *const volume_events[] = {
    [VOLUME_FOUND + VOLUME_IS_INIT] = "found Init",
    [VOLUME_FOUND + VOLUME_IS_HEALTHY] = "found Healthy",
    [VOLUME_FOUND + VOLUME_IS_DEGRADED] = "found Degraded",
    [VOLUME_FOUND + VOLUME_IS_OFFLINE] = "found Offline",
    [VOLUME_FOUND + VOLUME_IS_ERROR] = "found Error",
    [VOLUME_ASSIGNED] = "assigned to a node",
    [VOLUME_REVOKED] = "revoked from its node",
};

#define VOLUME_ROWS(STATE) \
    { STATE, VOLUME_FOUND + VOLUME_IS_INIT, VOLUME_IS_INIT, PHASE_NO_EVENT, \
      "The volume is not served yet." }, \
    { STATE, VOLUME_FOUND + VOLUME_IS_HEALTHY, VOLUME_IS_HEALTHY, PHASE_NO_EVENT, \
      "All replicas are in sync." }, \
    { STATE, VOLUME_FOUND + VOLUME_IS_DEGRADED, VOLUME_IS_DEGRADED, PHASE_NO_EVENT, \
      "Replicas are missing or out of sync, or blocks have no majority." }, \
    { STATE, VOLUME_FOUND + VOLUME_IS_OFFLINE, VOLUME_IS_OFFLINE, PHASE_NO_EVENT, \
      "Too few replicas can be used." }, \
    { STATE, VOLUME_FOUND + VOLUME_IS_ERROR, VOLUME_IS_ERROR, PHASE_NO_EVENT, \
      "The volume cannot be served." }, \
    { STATE, VOLUME_ASSIGNED, VOLUME_IS_INIT, PHASE_NO_EVENT, "The volume is not served yet." }, \
    { STATE, VOLUME_REVOKED, VOLUME_IS_OFFLINE, PHASE_NO_EVENT, \
      "The volume is served by no node that reports." }

static const struct state_row volume_rows[] = {
    VOLUME_ROWS(VOLUME_IS_INIT),
    VOLUME_ROWS(VOLUME_IS_HEALTHY),
    VOLUME_ROWS(VOLUME_IS_DEGRADED),
    VOLUME_ROWS(VOLUME_IS_OFFLINE),
    VOLUME_ROWS(VOLUME_IS_ERROR),
};
static atomic_uint volume_reached[LENGTH(volume_rows)];

const struct state_table volume_states = {
    .name = "volume", .initial = VOLUME_IS_INIT, .states = volume_phase_names,
    .events = volume_events, .actions = no_event, .state_count = VOLUME_PHASES,
    .event_count = LENGTH(volume_events), .action_count = LENGTH(no_event), .rows = volume_rows,
    .count = LENGTH(volume_rows), .reached = volume_reached,
};

/* ---- a replica ---- */

const char *const replica_phase_names[] = {
    [REPLICA_INIT] = "Init", [REPLICA_RECREATE] = "Recreate", [REPLICA_REBUILDING] = "Rebuilding",
    [REPLICA_HEALTHY] = "Healthy", [REPLICA_DEGRADED] = "Degraded", [REPLICA_OFFLINE] = "Offline",
    [REPLICA_ERROR] = "Error", [REPLICA_DELETION_FAILED] = "DeletionFailed",
    [REPLICA_DELETED] = "Deleted", [REPLICA_PHASES] = NULL,
};

#define REPLICA_GOING(STATE) \
    { STATE, REPLICA_OFFLINE, REPLICA_OFFLINE, PHASE_NO_EVENT, "Its pool cannot be used." }, \
    { STATE, REPLICA_DELETION_FAILED, REPLICA_DELETION_FAILED, PHASE_NO_EVENT, \
      "Its data cannot be removed yet." }, \
    { STATE, REPLICA_DELETED, REPLICA_DELETED, PHASE_NO_EVENT, "Its data are gone." }

/* A node's report depends on the pool's present contents, which may have been replaced. */
#define REPLICA_LIVING(STATE) \
    REPLICA_GOING(STATE), \
    { STATE, REPLICA_INIT, REPLICA_INIT, PHASE_NO_EVENT, "Its file is not made yet." }, \
    { STATE, REPLICA_RECREATE, REPLICA_RECREATE, PHASE_NO_EVENT, \
      "Its file is empty and is to be rebuilt." }, \
    { STATE, REPLICA_REBUILDING, REPLICA_REBUILDING, PHASE_NO_EVENT, "It is being rebuilt." }, \
    { STATE, REPLICA_HEALTHY, REPLICA_HEALTHY, PHASE_NO_EVENT, "Its file can be used." }, \
    { STATE, REPLICA_DEGRADED, REPLICA_DEGRADED, PHASE_NO_EVENT, "Its pool takes no writes." }, \
    { STATE, REPLICA_ERROR, REPLICA_ERROR, PHASE_NO_EVENT, "Its file is damaged or cannot be made." }

static const struct state_row replica_rows[] = {
    REPLICA_LIVING(REPLICA_INIT),
    REPLICA_LIVING(REPLICA_RECREATE),
    REPLICA_LIVING(REPLICA_REBUILDING),
    REPLICA_LIVING(REPLICA_HEALTHY),
    REPLICA_LIVING(REPLICA_DEGRADED),
    REPLICA_LIVING(REPLICA_OFFLINE),
    REPLICA_LIVING(REPLICA_ERROR),
    REPLICA_GOING(REPLICA_DELETION_FAILED),
    { REPLICA_DELETED, REPLICA_DELETED, REPLICA_DELETED, PHASE_NO_EVENT, "Its data are gone." },
};
static atomic_uint replica_reached[LENGTH(replica_rows)];

const struct state_table replica_states = {
    .name = "replica", .initial = REPLICA_INIT, .states = replica_phase_names,
    .events = replica_phase_names, .actions = no_event, .state_count = REPLICA_PHASES,
    .event_count = REPLICA_PHASES, .action_count = LENGTH(no_event), .rows = replica_rows,
    .count = LENGTH(replica_rows), .reached = replica_reached,
};

/* ---- a snapshot ---- */

static const char *const snapshot_names[] = {
    [SNAPSHOT_PENDING] = "Pending", [SNAPSHOT_READY] = "Ready", [SNAPSHOT_FAILED] = "Failed",
};

static const char *const snapshot_events[] = {
    [SNAPSHOT_WAITS] = "too few replicas hold it yet",
    [SNAPSHOT_HELD] = "most replicas hold it",
    [SNAPSHOT_LOST] = "too few copies are left",
};

static const struct state_row snapshot_rows[] = {
    { SNAPSHOT_PENDING, SNAPSHOT_WAITS, SNAPSHOT_PENDING, PHASE_NO_EVENT,
      "The snapshot is being taken." },
    { SNAPSHOT_PENDING, SNAPSHOT_HELD, SNAPSHOT_READY, PHASE_NORMAL_EVENT, "The snapshot is ready." },
    { SNAPSHOT_PENDING, SNAPSHOT_LOST, SNAPSHOT_FAILED, PHASE_WARNING_EVENT,
      "Too few replicas have taken the snapshot." },
    { SNAPSHOT_READY, SNAPSHOT_WAITS, SNAPSHOT_READY, PHASE_NO_EVENT,
      "Replicas that lack the snapshot copy it." },
    { SNAPSHOT_READY, SNAPSHOT_HELD, SNAPSHOT_READY, PHASE_NO_EVENT, "The snapshot is ready." },
    { SNAPSHOT_READY, SNAPSHOT_LOST, SNAPSHOT_FAILED, PHASE_WARNING_EVENT,
      "No replica holds the snapshot any more." },
};
static atomic_uint snapshot_reached[LENGTH(snapshot_rows)];

const struct state_table snapshot_states =
    STATE_TABLE("snapshot", SNAPSHOT_PENDING, snapshot_names, snapshot_events, actions,
                snapshot_rows, snapshot_reached);

/* ---- a revert ---- */

static const char *const revert_names[] = {
    [REVERT_IS_NONE] = "None", [REVERT_IS_PENDING] = "Pending", [REVERT_IS_DONE] = "Done",
};

static const char *const revert_events[] = {
    [REVERT_REQUESTED] = "requested",
    [REVERT_WAITS] = "node works",
    [REVERT_SNAPSHOT_LOST] = "snapshot is lost",
    [REVERT_REPORTED_DONE] = "node reports Done",
};

static const struct state_row revert_rows[] = {
    { REVERT_IS_NONE, REVERT_REQUESTED, REVERT_IS_PENDING, PHASE_NO_EVENT,
      "The volume is to be reverted, and is published nowhere meanwhile." },
    { REVERT_IS_PENDING, REVERT_REQUESTED, REVERT_IS_PENDING, PHASE_NO_EVENT,
      "The volume is to be reverted to another snapshot." },
    { REVERT_IS_PENDING, REVERT_WAITS, REVERT_IS_PENDING, PHASE_NORMAL_EVENT,
      "The volume is being reverted." },
    { REVERT_IS_PENDING, REVERT_SNAPSHOT_LOST, REVERT_IS_PENDING, PHASE_WARNING_EVENT,
      "The snapshot is lost; the volume has to be reverted to another one." },
    { REVERT_IS_PENDING, REVERT_REPORTED_DONE, REVERT_IS_DONE, PHASE_NORMAL_EVENT,
      "The volume has been reverted." },
    { REVERT_IS_DONE, REVERT_REQUESTED, REVERT_IS_PENDING, PHASE_NO_EVENT,
      "The volume is to be reverted once more." },
};
static atomic_uint revert_reached[LENGTH(revert_rows)];

const struct state_table revert_states = STATE_TABLE(
    "revert", REVERT_IS_NONE, revert_names, revert_events, actions, revert_rows, revert_reached);

/* ---- forced recovery ---- */

static const char *const recovery_names[] = {
    [RECOVERY_IS_NONE] = "None",
    [RECOVERY_IS_REQUESTED] = "Requested",
    [RECOVERY_IS_CONFIRMED] = "Confirmed",
};

static const char *const recovery_events[] = {
    [RECOVERY_REQUESTED] = "requested",
    [RECOVERY_WAITS] = "node works",
    [RECOVERY_ABLE] = "node reports Able",
    [RECOVERY_REFUSED] = "node reports Refused",
    [RECOVERY_NODE_LOST] = "another node has it",
    [RECOVERY_NODE_UNRESPONSIVE] = "node is unresponsive",
    [RECOVERY_DONE] = "node reports Done",
};

static const struct state_row recovery_rows[] = {
    { RECOVERY_IS_NONE, RECOVERY_REQUESTED, RECOVERY_IS_REQUESTED, PHASE_NO_EVENT,
      "Forced recovery from one replica is requested and not confirmed yet." },
    { RECOVERY_IS_REQUESTED, RECOVERY_REQUESTED, RECOVERY_IS_REQUESTED, PHASE_NO_EVENT,
      "Another replica is requested." },
    { RECOVERY_IS_REQUESTED, RECOVERY_WAITS, RECOVERY_IS_REQUESTED, PHASE_WARNING_EVENT,
      "The node finds out whether the volume can be served without it." },
    { RECOVERY_IS_REQUESTED, RECOVERY_ABLE, RECOVERY_IS_CONFIRMED, PHASE_WARNING_EVENT,
      "It is confirmed: what the other replicas hold is discarded." },
    { RECOVERY_IS_REQUESTED, RECOVERY_REFUSED, RECOVERY_IS_NONE, PHASE_WARNING_EVENT,
      "The node refuses it, and nothing is discarded." },
    { RECOVERY_IS_REQUESTED, RECOVERY_NODE_LOST, RECOVERY_IS_NONE, PHASE_WARNING_EVENT,
      "It is withdrawn: the volume's node has changed." },
    { RECOVERY_IS_REQUESTED, RECOVERY_NODE_UNRESPONSIVE, RECOVERY_IS_NONE, PHASE_WARNING_EVENT,
      "It is withdrawn: the volume's node does not report." },
    { RECOVERY_IS_CONFIRMED, RECOVERY_REQUESTED, RECOVERY_IS_REQUESTED, PHASE_NO_EVENT,
      "Another replica is requested, as the first one is lost, too." },
    { RECOVERY_IS_CONFIRMED, RECOVERY_WAITS, RECOVERY_IS_CONFIRMED, PHASE_WARNING_EVENT,
      "The node makes the volume of this replica." },
    { RECOVERY_IS_CONFIRMED, RECOVERY_DONE, RECOVERY_IS_NONE, PHASE_NORMAL_EVENT,
      "The volume is what this replica holds; the others are rebuilt." },
};
static atomic_uint recovery_reached[LENGTH(recovery_rows)];

const struct state_table recovery_states =
    STATE_TABLE("forced recovery", RECOVERY_IS_NONE, recovery_names, recovery_events, actions,
                recovery_rows, recovery_reached);
/* clang-format on */

/* ---- all ---- */

const struct state_table *const phase_tables[] = {
    &config_states,   &volume_states, &replica_states, &snapshot_states, &revert_states,
    &recovery_states, NULL,
};

unsigned phase_named(const struct state_table *table, const char *name) {
    for (unsigned i = 0; name && i < table->state_count; i++)
        if (strcmp(table->states[i], name) == 0)
            return i;
    return table->initial;
}

bool phase_is(const struct state_table *table, const json_t *status, unsigned state) {
    const char *name = json_string_value(json_object_get(status, "phase"));

    assert(state < table->state_count);
    return name && strcmp(name, table->states[state]) == 0;
}

const struct state_row *phase_next(const struct state_table *table, const char *phase,
                                   unsigned event) {
    unsigned state = phase_named(table, phase);

    assert(event < table->event_count);
    return state_table_next(table, &state, event);
}

const struct state_row *phase_reported(const struct state_table *table, const char *phase,
                                       unsigned event, const char *id) {
    static struct log_limit refused = LOG_LIMIT;
    unsigned state = phase_named(table, phase), others;

    if (state_table_find(table, state, event))
        return state_table_next(table, &state, event);
    if (log_limit_allows(&refused, id, clock_monotonic_us(), &others))
        log_warning(NULL, "reported phase refused", "object", table->name, "id", id, "phase",
                    table->states[state], "reported",
                    event < table->event_count ? table->events[event] : "unknown", "others",
                    LOG_INT(others), NULL);
    return NULL;
}
