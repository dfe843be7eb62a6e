#include "replication/node/target_text.h"

#include "common/quantity.h"
#include "replication/node/device_export.h"
#include "json/json.h"

#include <stdint.h>
#include <string.h>

/* Whether there are any is not a counter. */
static json_t *count_json(int64_t count, bool counters) {
    return json_integer(counters ? count : count > 0);
}

/* NULL: none. */
static json_t *positive_json(int64_t number) {
    return number > 0 ? json_integer(number) : NULL;
}

static void put_progress(json_t *object, int64_t done, int64_t total, bool counters) {
    json_object_set_new(object, "doneBytes", json_integer(counters ? done : 0));
    json_object_set_new(object, "totalBytes", json_integer(counters ? total : 0));
}

static json_t *replica_json(const struct target_text *text, unsigned i, bool counters) {
    const struct target_status *status = text->status;
    const struct target_replica *replica = &status->replicas[i];
    const struct health *health = &text->health->replicas[i];
    const char *pool = assignment_pool(&text->assignment->volume, replica->replica.uid);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s*, s:o, s:o, s:o}", "replicaId", replica->replica.uid, "poolName",
        pool ? pool : "", "mode", health->phase, "reason", health->reason, "message",
        assignment_message(health->message), "mismatches",
        count_json(replica->mismatches, counters), "errors", count_json(replica->errors, counters));

    if (status->job == TARGET_REBUILD && strcmp(status->job_replica, replica->replica.uid) == 0)
        put_progress(object, status->done_bytes, status->total_bytes, counters);
    return object;
}

/* NULL: not accessible to clients. */
static const char *address_of(struct arena *arena, const struct target_text *text) {
    const struct assignment_volume *assigned = &text->assignment->volume;

    if (text->status->state != TARGET_SERVING || assigned->closed || assigned->revert.snapshot)
        return NULL;
    if (assigned->export == TARGET_EXPORT_NBD)
        return arena_format(arena, "nbd+unix:///%s?socket=%s/nbd", TARGET_EXPORT, text->run);
    if (assigned->device)
        return text->device_bytes > 0 ? device_export_path(arena, text->assignment->uid) : NULL;
    return text->status->has_file ? arena_format(arena, "%s/" TARGET_FILE, text->run) : NULL;
}

static const char *const states[] = {
    [TARGET_DOWN] = "Down",
    [TARGET_SERVING] = "Serving",
};

/* Exports to other hosts; a reported port is kept. */
static json_t *clients_json(const struct target_text *text) {
    const struct assignment_volume *assigned = &text->assignment->volume;
    json_t *list = json_array();

    for (unsigned i = 0; i < assigned->client_count && text->host; i++) {
        const struct export_client *client = &assigned->clients[i];
        unsigned port = text->ports[i] > 0 ? text->ports[i] : client->port;

        if (port > 0)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:I, s:s, s:i, s:s}", "nodeId", client->node, "state",
                                states[text->ports[i] > 0 ? TARGET_SERVING : TARGET_DOWN],
                                "generation", (json_int_t)text->assignment->generation, "host",
                                text->host, "port", (int)port, "export", text->assignment->uid));
    }
    return list;
}

/* The highest epoch of any replica; 0: unknown. */
static int64_t highest_epoch(const struct target_status *status) {
    int64_t highest = 0;

    for (unsigned i = 0; i < status->count; i++)
        if (status->replicas[i].probe.epoch > highest)
            highest = status->replicas[i].probe.epoch;
    return highest;
}

/* The highest number of a forced recovery after which any replica was written. */
static int64_t highest_recovery(const struct target_text *text) {
    const int64_t each = generation_floor(1); /* generations behind one recovery */
    int64_t highest = 0;

    for (unsigned i = 0; i < text->status->count; i++) {
        const struct replica_probe *probe = &text->status->replicas[i].probe;

        if (probe->has_state && probe->state.mark != REPLICA_EMPTY &&
            strcmp(probe->state.volume, text->assignment->uid) == 0 &&
            probe->state.generation.id.number / each > highest)
            highest = probe->state.generation.id.number / each;
    }
    return highest < RECOVERIES_MOST ? highest : RECOVERIES_MOST;
}

static json_t *target_json(struct arena *arena, const struct target_text *text) {
    json_t *clients = json_keep(arena, clients_json(text));
    int64_t highest = highest_epoch(text->status), recovery = highest_recovery(text);

    return json_pack("{s:s, s:s, s:s*, s:O*, s:o*, s:o*, s:o*, s:o*}", "nodeId", text->node,
                     "state", states[text->status->state], "address", address_of(arena, text),
                     "clients", json_array_size(clients) > 0 ? clients : NULL, "epoch",
                     positive_json(text->epoch), "highestEpoch",
                     text->epoch > 0 && highest > text->epoch ? json_integer(highest) : NULL,
                     "highestSalvage",
                     recovery > text->assignment->volume.recovered ? json_integer(recovery) : NULL,
                     "decidedBlocks", positive_json(text->status->decided_blocks));
}

/* The current or last size seen by clients. */
static int64_t size_of(const struct target_text *text) {
    const struct assignment_volume *assigned = &text->assignment->volume;

    if (text->status && text->status->state == TARGET_SERVING &&
        (!assigned->device || text->device_bytes > 0))
        return assigned->device ? text->device_bytes : text->status->size_bytes;
    return assigned->reported_bytes > 0 ? assigned->reported_bytes : assigned->size_bytes;
}

/* Progress, end of the last scrub, and its findings. */
static json_t *scrub_json(const struct target_text *text, bool counters) {
    const struct target_scrub *scrub = text->scrub;
    json_t *object = json_pack("{s:o, s:o}", "damagedBlocks", count_json(scrub->damaged, counters),
                               "undecidedBlocks", count_json(scrub->undecided, counters));

    if (text->scrubs)
        put_progress(object, scrub->at_bytes, text->status->size_bytes, counters);
    if (text->status->resynchronizing)
        json_object_set_new(object, "resynchronizing", json_true());
    if (*text->scrubbed_at)
        json_object_set_new(object, "finishedAt", json_string(text->scrubbed_at));
    return object;
}

static json_t *revert_json(const struct target_text *text, bool counters) {
    const struct target_status *status = text->status;
    json_t *object = json_pack(
        "{s:I, s:I, s:s}", "number", (json_int_t)text->assignment->volume.revert.number, "attempt",
        (json_int_t)text->attempt, "phase", text->reverted ? "Done" : "Pending");

    if (status->job == TARGET_REVERT)
        put_progress(object, status->done_bytes, status->total_bytes, counters);
    return object;
}

const char *target_text(struct arena *arena, const struct target_text *text, bool counters) {
    json_t *status =
        json_keep(arena, json_pack("{s:s, s:I, s:o, s:s}", "phase", text->health->volume.phase,
                                   "observedGeneration", (json_int_t)text->generation, "message",
                                   assignment_message(text->health->volume.message), "capacity",
                                   quantity_text(arena, size_of(text))));
    json_t *replicas;

    if (!text->status)
        return json_text(arena, status);
    replicas = json_array();
    for (unsigned i = 0; i < text->status->count; i++)
        json_array_append_new(replicas, replica_json(text, i, counters));
    json_object_set_new(status, "replicaStatuses", replicas);
    json_object_set_new(status, "target", target_json(arena, text));
    if (text->scrubs || *text->scrubbed_at || text->status->resynchronizing)
        json_object_set_new(status, "scrub", scrub_json(text, counters));
    if (text->assignment->volume.revert.snapshot && text->attempt > 0)
        json_object_set_new(status, "revert", revert_json(text, counters));
    if (text->assignment->volume.recovery.replica && text->recovery)
        json_object_set_new(status, "salvage",
                            json_pack("{s:I, s:s, s:s*, s:o}", "number",
                                      (json_int_t)text->assignment->volume.recovery.number, "phase",
                                      text->recovery, "reason", text->recovery_reason, "message",
                                      assignment_message(text->recovery_message)));
    if (json_array_size(text->snapshots) > 0)
        json_object_set(status, "snapshots", (json_t *)(uintptr_t)text->snapshots);
    return json_text(arena, status);
}
