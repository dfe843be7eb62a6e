#include "replication/node/wish.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/reclaim_phase.h"
#include "common/utf8.h"
#include "json/json.h"

#include <stdatomic.h>
#include <string.h>

#define LARGEST (INT64_C(1) << 60)

struct held {
    struct wish wish; /* first: the one is the other */
    struct arena *arena;
    atomic_uint holders;
};

json_t *wish_text(const char *message) {
    size_t length = strlen(message);

    return json_string(utf8_valid(message, length) ? message : "(what was said is no UTF-8)");
}

const char *wish_pool(const struct wish_volume *volume, const char *replica) {
    for (unsigned i = 0; i < volume->count; i++) {
        if (strcmp(volume->replicas[i].uid, replica) == 0)
            return volume->pools[i];
    }
    return NULL;
}

/* ---- pieces ---- */

static int refuse(struct error *err, const struct wish *wish, const char *what) {
    return error_set(err, ERROR_BACKEND, "The document %.64s makes no sense: %s.",
                     wish->uid ? wish->uid : "without uid", what);
}

static const char *text_of(struct arena *arena, const json_t *tree, const char *path) {
    return arena_text(arena, json_text_at(tree, path));
}

/* NULL: it is none. */
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

static int read_snapshot(struct held *held, const json_t *entry, struct wish_snapshot *ret,
                         struct error *err) {
    *ret = (struct wish_snapshot){
        .uid = uid_of(held->arena, entry, "uid"),
        .source = { .uid = uid_of(held->arena, entry, "source"),
                    .pool = text_of(held->arena, entry, "sourcePath") },
        .remove = json_true_at(entry, "remove"),
    };
    if (!ret->uid || (ret->source.uid && (!ret->source.pool || ret->source.pool[0] != '/')))
        return refuse(err, &held->wish, "one of its snapshots");
    return 0;
}

static int read_snapshots(struct held *held, const json_t *spec, const struct wish_snapshot **ret,
                          unsigned *ret_count, struct error *err) {
    const json_t *list = json_object_get(spec, "snapshots");
    size_t count = json_array_size(list);
    struct wish_snapshot *all = arena_alloc(held->arena, (count + 1) * sizeof(*all));

    if (count > WISH_SNAPSHOTS_MOST)
        return refuse(err, &held->wish, "it has too many snapshots");
    for (size_t i = 0; i < count; i++) {
        if (read_snapshot(held, json_array_get(list, i), &all[i], err) < 0)
            return -1;
    }
    *ret = all;
    *ret_count = (unsigned)count;
    return 0;
}

/* ---- a replica ---- */

static int read_members(struct held *held, const json_t *spec, struct error *err) {
    struct wish_replica *replica = &held->wish.replica;
    const json_t *list = json_object_get(spec, "members");

    if (json_array_size(list) > REPLICAS_MOST)
        return refuse(err, &held->wish, "it has too many members");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        char uid[UUID_SIZE];

        if (!text || !uuid_parse(text, uid))
            return refuse(err, &held->wish, "a member is no replica");
        replica->members[replica->count++] = arena_text(held->arena, uid);
    }
    return 0;
}

static bool was_made(const json_t *document) {
    const char *phase = json_text_at(document, "status.phase");

    return phase && *phase && strcmp(phase, "Init") != 0;
}

static int read_reclaim(struct held *held, const json_t *document, struct error *err) {
    const json_t *wanted = json_at(document, "spec.reclaim");
    const json_t *told = json_at(document, "status.reclaim");
    struct wish_reclaim *reclaim = &held->wish.replica.reclaim;
    const char *phase = json_text_of(told, "phase"), *reason = json_text_of(told, "reason");

    if (!wanted)
        return 0;
    reclaim->number = count_of(wanted, "number");
    if (reclaim->number == 0)
        return refuse(err, &held->wish, "what it is to give back");
    if (!phase || count_of(told, "number") != reclaim->number)
        return 0;
    reclaim->phase = strcmp(phase, RECLAIM_PHASE_DONE) == 0     ? RECLAIM_DONE
                     : strcmp(phase, RECLAIM_PHASE_FAILED) == 0 ? RECLAIM_ENDED
                                                                : RECLAIM_PENDING;
    reclaim->unsupported = reason && strcmp(reason, RECLAIM_REASON_UNSUPPORTED) == 0;
    reclaim->before_bytes = count_of(told, "beforeBytes");
    reclaim->after_bytes = count_of(told, "afterBytes");
    return 0;
}

static int read_replica(struct held *held, const json_t *document, struct error *err) {
    const json_t *spec = json_object_get(document, "spec");
    struct wish_replica *replica = &held->wish.replica;

    *replica = (struct wish_replica){
        .volume = uid_of(held->arena, spec, "volumeId"),
        .pool = text_of(held->arena, spec, "poolName"),
        .path = text_of(held->arena, spec, "path"),
        .size_bytes = bytes_of(spec, "capacity"),
        .maximum_bytes = bytes_of(spec, "maximum"),
        .source = uid_of(held->arena, spec, "source.replicaId"),
        .source_snapshot = uid_of(held->arena, spec, "source.snapshotId"),
        .phase = text_of(held->arena, document, "status.phase"),
        .made = was_made(document),
    };
    if (json_at(spec, "source") && (!replica->source || !replica->source_snapshot))
        return refuse(err, &held->wish, "what it is made of");
    if (!replica->volume || !replica->pool || !replica->path || replica->path[0] != '/')
        return refuse(err, &held->wish, "it names no volume, pool and path");
    if (replica->size_bytes <= 0 || replica->size_bytes > replica->maximum_bytes)
        return refuse(err, &held->wish, "its capacity");
    if (read_members(held, spec, err) < 0 || read_reclaim(held, document, err) < 0)
        return -1;
    return read_snapshots(held, spec, &replica->snapshots, &replica->snapshot_count, err);
}

/* ---- a volume ---- */

static int read_place(struct held *held, const json_t *place, struct error *err) {
    struct wish_volume *volume = &held->wish.volume;
    struct replica *replica = &volume->replicas[volume->count];

    replica->uid = uid_of(held->arena, place, "uid");
    replica->pool = text_of(held->arena, place, "path");
    volume->pools[volume->count] = text_of(held->arena, place, "poolName");
    volume->nodes[volume->count] = text_of(held->arena, place, "nodeId");
    volume->addresses[volume->count] = text_of(held->arena, place, "address");
    if (!replica->uid || !replica->pool || replica->pool[0] != '/' || !volume->pools[volume->count])
        return refuse(err, &held->wish, "one of its replicas");
    volume->count++;
    return 0;
}

static int read_places(struct held *held, const json_t *spec, struct error *err) {
    const json_t *list = json_object_get(spec, "replicas");

    if (json_array_size(list) > REPLICAS_MOST)
        return refuse(err, &held->wish, "it has too many replicas");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (read_place(held, json_array_get(list, i), err) < 0)
            return -1;
    }
    return 0;
}

/* The API has heard of this epoch that the node has a target, or is about to. */
static bool is_claimed(const json_t *document) {
    return count_of(document, "status.claimedEpoch") >= count_of(document, "spec.epoch");
}

static enum target_export export_of(const json_t *spec) {
    const char *text = json_text_of(spec, "export");

    return text && strcmp(text, "file") == 0 ? TARGET_EXPORT_FILE : TARGET_EXPORT_NBD;
}

static int read_revert(struct held *held, const json_t *document, struct error *err) {
    const json_t *wanted = json_at(document, "spec.revert");
    const json_t *told = json_at(document, "status.revert");
    struct wish_revert *revert = &held->wish.volume.revert;
    const char *phase = json_text_of(told, "phase");

    if (!wanted)
        return 0;
    *revert = (struct wish_revert){ .snapshot = uid_of(held->arena, wanted, "uid"),
                                    .number = count_of(wanted, "number"),
                                    .attempt = count_of(told, "attempt") };
    revert->done =
        phase && strcmp(phase, "Done") == 0 && count_of(told, "number") == revert->number;
    return revert->snapshot && revert->number > 0 ? 0 : refuse(err, &held->wish, "its revert");
}

static int read_salvage(struct held *held, const json_t *spec, struct error *err) {
    const json_t *wanted = json_object_get(spec, "salvage");
    struct wish_volume *volume = &held->wish.volume;

    volume->salvaged = count_of(spec, "salvaged");
    if (!wanted)
        return 0;
    volume->salvage = (struct wish_salvage){ .replica = uid_of(held->arena, wanted, "replicaId"),
                                             .number = count_of(wanted, "number") };
    return volume->salvage.replica && volume->salvage.number > 0
               ? 0
               : refuse(err, &held->wish, "its salvage");
}

/* 0: none was told. */
static unsigned port_of(const json_t *document, const char *node) {
    const json_t *list = json_at(document, "status.target.clients");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *told = json_array_get(list, i);
        const char *name = json_text_of(told, "nodeId");
        int64_t port = count_of(told, "port");

        if (name && strcmp(name, node) == 0 && port <= UINT16_MAX)
            return (unsigned)port;
    }
    return 0;
}

static int read_clients(struct held *held, const json_t *document, struct error *err) {
    const json_t *list = json_at(document, "spec.clients");
    struct wish_volume *volume = &held->wish.volume;

    if (json_array_size(list) > GATES_MOST)
        return refuse(err, &held->wish, "it has too many clients");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *node = text_of(held->arena, json_array_get(list, i), "nodeId");

        if (!node || !*node)
            return refuse(err, &held->wish, "one of its clients");
        volume->clients[volume->client_count++] =
            (struct gate_client){ .node = node, .port = port_of(document, node) };
    }
    return 0;
}

static int read_volume(struct held *held, const json_t *document, struct error *err) {
    const json_t *spec = json_object_get(document, "spec");
    const char *node = json_text_of(spec, "nodeId");
    struct wish_volume *volume = &held->wish.volume;

    *volume = (struct wish_volume){
        .size_bytes = bytes_of(spec, "capacity"),
        .maximum_bytes = bytes_of(spec, "maximum"),
        .node = arena_text(held->arena, node ? node : ""),
        .has_target = json_at(document, "status.target") != NULL,
        .observed = count_of(document, "status.observedGeneration"),
        .phase = text_of(held->arena, document, "status.phase"),
        .had_bytes = bytes_of(document, "status.capacity"),
        .text = json_text(held->arena, document),
        .export = export_of(spec),
        .qos = { count_of(spec, "qos.iops"), count_of(spec, "qos.bytesPerSecond") },
        .epoch = count_of(spec, "epoch"),
        .claimed = is_claimed(document),
        .removing = uid_of(held->arena, spec, "removing"),
        .closed = json_is_false(json_object_get(spec, "serve")),
    };
    if (volume->size_bytes <= 0 || volume->size_bytes > volume->maximum_bytes)
        return refuse(err, &held->wish, "its capacity");
    if (read_places(held, spec, err) < 0 || read_revert(held, document, err) < 0 ||
        read_salvage(held, spec, err) < 0 || read_clients(held, document, err) < 0)
        return -1;
    return read_snapshots(held, spec, &volume->snapshots, &volume->snapshot_count, err);
}

/* ---- the whole ---- */

static int read_metadata(struct held *held, const json_t *document, struct error *err) {
    const json_t *metadata = json_object_get(document, "metadata");
    const char *version = json_text_of(metadata, "resourceVersion");

    held->wish.uid = uid_of(held->arena, metadata, "uid");
    held->wish.generation = count_of(metadata, "generation");
    held->wish.going = json_text_of(metadata, "deletionTimestamp") != NULL;
    if (!version || !json_digits(version, &held->wish.version) || !held->wish.uid)
        return refuse(err, &held->wish, "its metadata");
    return 0;
}

int wish_read(enum wish_kind kind, const json_t *document, struct wish **ret, struct error *err) {
    struct held *held = heap_new(sizeof(*held));
    int outcome;

    held->arena = arena_new();
    held->wish.kind = kind;
    atomic_init(&held->holders, 1);
    outcome = read_metadata(held, document, err);
    if (outcome == 0)
        outcome = kind == WISH_VOLUME ? read_volume(held, document, err)
                                      : read_replica(held, document, err);
    if (outcome < 0) {
        wish_release(&held->wish);
        return -1;
    }
    *ret = &held->wish;
    return 0;
}

struct wish *wish_hold(struct wish *wish) {
    atomic_fetch_add(&((struct held *)wish)->holders, 1);
    return wish;
}

void wish_release(struct wish *wish) {
    struct held *held = (struct held *)wish;

    if (!held || atomic_fetch_sub(&held->holders, 1) > 1)
        return;
    arena_free(held->arena);
    free(held);
}
