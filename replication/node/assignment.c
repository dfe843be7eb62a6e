#include "replication/node/assignment.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/reclaim_phase.h"
#include "common/utf8.h"
#include "common/words.h"
#include "json/json.h"

#include <stdatomic.h>
#include <string.h>

#define LARGEST (INT64_C(1) << 60)

struct parsed {
    struct assignment assignment; /* first: a pointer to one is a pointer to the other */
    struct arena *arena;
    atomic_uint holders;
};

json_t *assignment_message(const char *message) {
    size_t length = strlen(message);

    return json_string(utf8_valid(message, length) ? message : "(message is not valid UTF-8)");
}

const char *assignment_pool(const struct assignment_volume *volume, const char *replica) {
    for (unsigned i = 0; i < volume->count; i++) {
        if (strcmp(volume->replicas[i].uid, replica) == 0)
            return volume->pools[i];
    }
    return NULL;
}

/* ---- pieces ---- */

static int assignment_refuse(struct error *err, const struct assignment *assignment,
                             const char *field) {
    return error_set(err, ERROR_BACKEND, "Invalid document %.64s: %s.",
                     assignment->uid ? assignment->uid : "without uid", field);
}

static const char *text_of(struct arena *arena, const json_t *tree, const char *path) {
    return arena_text(arena, json_text_at(tree, path));
}

/* NULL: missing or invalid. */
static const char *uid_of(struct arena *arena, const json_t *tree, const char *path) {
    const char *text = json_text_at(tree, path);
    char uid[UUID_SIZE];

    return text && uuid_parse(text, uid) ? arena_text(arena, uid) : NULL;
}

static int64_t bytes_of(const json_t *tree, const char *path) {
    int64_t bytes = json_bytes_at(tree, path);

    return bytes < LARGEST ? bytes : 0;
}

static int64_t count_of(const json_t *tree, const char *path) {
    int64_t value = json_int_at(tree, path);

    return value > 0 ? value : 0;
}

/* ---- snapshots ---- */

static int read_snapshots(struct parsed *parsed, const json_t *spec,
                          const struct assignment_snapshot **ret, unsigned *ret_count,
                          struct error *err) {
    const json_t *list = json_object_get(spec, "snapshots");
    size_t count = json_array_size(list);
    struct assignment_snapshot *all = arena_alloc(parsed->arena, (count + 1) * sizeof(*all));

    if (count > ASSIGNMENT_SNAPSHOTS_MOST)
        return assignment_refuse(err, &parsed->assignment, "too many snapshots");
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        struct replica *source = &all[i].source;

        all[i] = (struct assignment_snapshot){
            .uid = uid_of(parsed->arena, entry, "uid"),
            .source = { .uid = uid_of(parsed->arena, entry, "source"),
                        .pool = text_of(parsed->arena, entry, "sourcePath") },
            .remove = json_true_at(entry, "remove"),
        };
        if (!all[i].uid || (source->uid && (!source->pool || source->pool[0] != '/')))
            return assignment_refuse(err, &parsed->assignment, "snapshots");
    }
    *ret = all;
    *ret_count = (unsigned)count;
    return 0;
}

/* ---- a replica ---- */

static int read_members(struct parsed *parsed, const json_t *spec, struct error *err) {
    struct assignment_replica *replica = &parsed->assignment.replica;
    const json_t *list = json_object_get(spec, "members");

    if (json_array_size(list) > REPLICAS_MOST)
        return assignment_refuse(err, &parsed->assignment, "too many members");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        char uid[UUID_SIZE];

        if (!text || !uuid_parse(text, uid) || words_have(replica->members, replica->count, uid))
            return assignment_refuse(err, &parsed->assignment, "members");
        assert(replica->count < LENGTH(replica->members));
        replica->members[replica->count++] = arena_text(parsed->arena, uid);
    }
    return 0;
}

static int read_reclaim(struct parsed *parsed, const json_t *document, struct error *err) {
    const json_t *assigned = json_at(document, "spec.reclaim");
    const json_t *reported = json_at(document, "status.reclaim");
    struct assignment_reclaim *reclaim = &parsed->assignment.replica.reclaim;
    const char *phase = json_text_of(reported, "phase"), *reason = json_text_of(reported, "reason");

    if (!assigned)
        return 0;
    reclaim->number = count_of(assigned, "number");
    if (reclaim->number == 0)
        return assignment_refuse(err, &parsed->assignment, "reclaim.number");
    if (!phase || count_of(reported, "number") != reclaim->number)
        return 0;
    reclaim->phase = strcmp(phase, RECLAIM_PHASE_DONE) == 0     ? RECLAIM_DONE
                     : strcmp(phase, RECLAIM_PHASE_FAILED) == 0 ? RECLAIM_ENDED
                                                                : RECLAIM_PENDING;
    reclaim->unsupported = reason && strcmp(reason, RECLAIM_REASON_UNSUPPORTED) == 0;
    reclaim->before_bytes = count_of(reported, "beforeBytes");
    reclaim->after_bytes = count_of(reported, "afterBytes");
    return 0;
}

static int read_replica(struct parsed *parsed, const json_t *document, struct error *err) {
    const json_t *spec = json_object_get(document, "spec");
    struct assignment_replica *replica = &parsed->assignment.replica;

    *replica = (struct assignment_replica){
        .volume = uid_of(parsed->arena, spec, "volumeId"),
        .pool = text_of(parsed->arena, spec, "poolName"),
        .path = text_of(parsed->arena, spec, "path"),
        .size_bytes = bytes_of(spec, "capacity"),
        .maximum_bytes = bytes_of(spec, "maximum"),
        .source = uid_of(parsed->arena, spec, "source.replicaId"),
        .source_snapshot = uid_of(parsed->arena, spec, "source.snapshotId"),
        .phase = text_of(parsed->arena, document, "status.phase"),
    };
    replica->created = replica->phase && *replica->phase && strcmp(replica->phase, "Init") != 0;
    if (json_at(spec, "source") && (!replica->source || !replica->source_snapshot))
        return assignment_refuse(err, &parsed->assignment, "source");
    if (!replica->volume || !replica->pool || !replica->path || replica->path[0] != '/')
        return assignment_refuse(err, &parsed->assignment, "volumeId, poolName or path");
    if (replica->size_bytes <= 0 || replica->size_bytes > replica->maximum_bytes)
        return assignment_refuse(err, &parsed->assignment, "capacity");
    if (read_members(parsed, spec, err) < 0 || read_reclaim(parsed, document, err) < 0)
        return -1;
    return read_snapshots(parsed, spec, &replica->snapshots, &replica->snapshot_count, err);
}

/* ---- a volume ---- */

static int read_replicas(struct parsed *parsed, const json_t *spec, struct error *err) {
    const json_t *list = json_object_get(spec, "replicas");
    struct assignment_volume *volume = &parsed->assignment.volume;

    if (json_array_size(list) > LENGTH(volume->replicas))
        return assignment_refuse(err, &parsed->assignment, "too many replicas");
    for (; volume->count < json_array_size(list); volume->count++) {
        const json_t *entry = json_array_get(list, volume->count);
        struct replica *replica = &volume->replicas[volume->count];

        assert(volume->count < LENGTH(volume->replicas));
        replica->uid = uid_of(parsed->arena, entry, "uid");
        replica->pool = text_of(parsed->arena, entry, "path");
        volume->pools[volume->count] = text_of(parsed->arena, entry, "poolName");
        volume->nodes[volume->count] = text_of(parsed->arena, entry, "nodeId");
        volume->addresses[volume->count] = text_of(parsed->arena, entry, "address");
        if (!replica->uid || !replica->pool || replica->pool[0] != '/' ||
            !volume->pools[volume->count])
            return assignment_refuse(err, &parsed->assignment, "replicas");
    }
    return 0;
}

/* A revert and a forced recovery, as an administrator requested them. */
static int read_requests(struct parsed *parsed, const json_t *document, struct error *err) {
    const json_t *revert = json_at(document, "spec.revert");
    const json_t *recovery = json_at(document, "spec.salvage");
    const json_t *reported = json_at(document, "status.revert");
    struct assignment_volume *volume = &parsed->assignment.volume;

    volume->recovered = count_of(document, "spec.salvaged");
    if (revert) {
        volume->revert =
            (struct assignment_revert){ .snapshot = uid_of(parsed->arena, revert, "uid"),
                                        .number = count_of(revert, "number"),
                                        .attempt = count_of(reported, "attempt") };
        volume->revert.done = json_text_is(reported, "phase", "Done") &&
                              count_of(reported, "number") == volume->revert.number;
        if (!volume->revert.snapshot || volume->revert.number == 0)
            return assignment_refuse(err, &parsed->assignment, "revert");
    }
    if (recovery) {
        volume->recovery =
            (struct assignment_recovery){ .replica = uid_of(parsed->arena, recovery, "replicaId"),
                                          .number = count_of(recovery, "number") };
        if (!volume->recovery.replica || volume->recovery.number == 0)
            return assignment_refuse(err, &parsed->assignment, "salvage");
    }
    return 0;
}

/* 0: none in its status. */
static unsigned port_of(const json_t *document, const char *node) {
    const json_t *list = json_at(document, "status.target.clients");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *reported = json_array_get(list, i);
        const char *name = json_text_of(reported, "nodeId");
        int64_t port = count_of(reported, "port");

        if (name && strcmp(name, node) == 0 && port <= UINT16_MAX)
            return (unsigned)port;
    }
    return 0;
}

static int read_clients(struct parsed *parsed, const json_t *document, struct error *err) {
    const json_t *list = json_at(document, "spec.clients");
    struct assignment_volume *volume = &parsed->assignment.volume;

    if (json_array_size(list) > CLIENT_EXPORTS_MOST)
        return assignment_refuse(err, &parsed->assignment, "too many clients");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *node = text_of(parsed->arena, json_array_get(list, i), "nodeId");

        if (!node || !*node)
            return assignment_refuse(err, &parsed->assignment, "clients");
        volume->clients[volume->client_count++] =
            (struct export_client){ .node = node, .port = port_of(document, node) };
    }
    return 0;
}

static int read_volume(struct parsed *parsed, const json_t *document, struct error *err) {
    const json_t *spec = json_object_get(document, "spec");
    const char *node = json_text_of(spec, "nodeId");
    struct assignment_volume *volume = &parsed->assignment.volume;

    *volume = (struct assignment_volume){
        .size_bytes = bytes_of(spec, "capacity"),
        .maximum_bytes = bytes_of(spec, "maximum"),
        .node = arena_text(parsed->arena, node ? node : ""),
        .has_target = json_at(document, "status.target") != NULL,
        .observed = count_of(document, "status.observedGeneration"),
        .phase = text_of(parsed->arena, document, "status.phase"),
        .reported_bytes = bytes_of(document, "status.capacity"),
        .text = json_text(parsed->arena, document),
        .export = json_text_is(spec, "export", "file") || json_text_is(spec, "export", "device")
                      ? TARGET_EXPORT_FILE
                      : TARGET_EXPORT_NBD,
        .device = json_text_is(spec, "export", "device"),
        .qos = { count_of(spec, "qos.iops"), count_of(spec, "qos.bytesPerSecond") },
        .epoch = count_of(spec, "epoch"),
        /* The API knows that this node starts, or has, a target in this epoch. */
        .claimed = count_of(document, "status.claimedEpoch") >= count_of(spec, "epoch"),
        .removing = uid_of(parsed->arena, spec, "removing"),
        .closed = json_is_false(json_object_get(spec, "serve")),
    };
    if (volume->size_bytes <= 0 || volume->size_bytes > volume->maximum_bytes)
        return assignment_refuse(err, &parsed->assignment, "capacity");
    if (read_replicas(parsed, spec, err) < 0 || read_requests(parsed, document, err) < 0 ||
        read_clients(parsed, document, err) < 0)
        return -1;
    return read_snapshots(parsed, spec, &volume->snapshots, &volume->snapshot_count, err);
}

/* ---- a document ---- */

int assignment_read(enum assignment_kind kind, const json_t *document, struct assignment **ret,
                    struct error *err) {
    struct parsed *parsed = heap_new(sizeof(*parsed));
    struct assignment *assignment = &parsed->assignment;
    const json_t *metadata = json_object_get(document, "metadata");
    const char *version = json_text_of(metadata, "resourceVersion");
    int outcome;

    parsed->arena = arena_new();
    atomic_init(&parsed->holders, 1);
    assignment->kind = kind;
    assignment->uid = uid_of(parsed->arena, metadata, "uid");
    assignment->generation = count_of(metadata, "generation");
    assignment->deleting = json_text_of(metadata, "deletionTimestamp") != NULL;
    if (!version || !json_digits(version, &assignment->version) || !assignment->uid)
        outcome = assignment_refuse(err, assignment, "metadata");
    else
        outcome = kind == ASSIGNMENT_VOLUME ? read_volume(parsed, document, err)
                                            : read_replica(parsed, document, err);
    if (outcome < 0) {
        assignment_release(assignment);
        return -1;
    }
    *ret = assignment;
    return 0;
}

struct assignment *assignment_hold(struct assignment *assignment) {
    unsigned before = atomic_fetch_add(&((struct parsed *)assignment)->holders, 1);

    assert(before > 0);
    return assignment;
}

void assignment_release(struct assignment *assignment) {
    struct parsed *parsed = (struct parsed *)assignment;
    unsigned before = parsed ? atomic_fetch_sub(&parsed->holders, 1) : 0;

    assert(!parsed || before > 0);
    if (before != 1)
        return;
    arena_free(parsed->arena);
    free(parsed);
}
