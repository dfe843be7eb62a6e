/*
 * A clone is a config created from a snapshot.  A volume is cloned by a snapshot of its own, which
 * is deleted when the clone is complete; one that a crash leaves is deleted with its volume.
 */
#include "replicated/replicated.private.h"

#include "json/json.h"

struct cloning {
    struct replicated_making making;
    struct replicated_taking taking;
    bool own; /* the snapshot exists only for this clone */
};

static int make(struct replicated_call *call, struct cloning *cloning, struct error *err) {
    struct replicated_making *making = &cloning->making;
    const json_t *status;
    int64_t pools;
    int ready;

    if (cloning->own) {
        ready = replicated_take_one(call, &cloning->taking, err);
        if (ready <= 0)
            return ready;
    } else if (replicated_read_snapshot(call, &cloning->taking, err) < 0) {
        return -1;
    }
    if (!cloning->taking.found)
        return error_set(err, ERROR_NOT_FOUND, "Snapshot %s could not be found.",
                         cloning->taking.name);
    /* The whole of a source that is larger than its record, on the pools that have it. */
    status = json_object_get(cloning->taking.found, "status");
    pools = (int64_t)json_array_size(json_object_get(status, "poolInfo"));
    if (making->bytes < json_bytes_at(status, "capacity.storage"))
        making->bytes = json_bytes_at(status, "capacity.storage");
    if (!making->replicas_given && pools > 0 && making->replicas > pools)
        making->replicas = pools;
    making->source = arena_join(call->arena, json_text_at(cloning->taking.found, "spec.volumeName"),
                                "@", cloning->taking.name, NULL);
    return replicated_make(call, making, err);
}

static int clone_step(struct replicated_call *call, void *arg, struct error *err) {
    struct cloning *cloning = arg;
    int there = replicated_read_made(call, err), gone;

    if (there < 0)
        return -1;
    if (!call->config)
        return make(call, cloning, err);
    if (there == 0)
        return 0;
    /* A foreign clone keeps its source, which a volume of the service does not need. */
    if (json_text_of(json_at(call->config, "metadata.labels"), LABEL_SOURCE))
        return replicated_change(
            call, json_pack("{s:{s:{s:n}}}", "metadata", "labels", LABEL_SOURCE), err);
    if (!cloning->own)
        return 1;
    /* From here on the controller owns the snapshot, and deletes it. */
    gone = replicated_drop_snapshot(call, &cloning->taking, err);
    return gone < 0 ? -1 : gone > 0 || cloning->taking.begun;
}

static int clone(struct replicated *backend, struct arena *arena,
                 const struct driver_volume *volume, int64_t source_gb, struct cloning *cloning,
                 const struct driver_progress *progress, struct driver_created *ret,
                 struct error *err) {
    struct replicated_call call;

    if (volume->size_gb < source_gb)
        return error_set(err, ERROR_BAD_REQUEST, "Volume %s is smaller than its source.",
                         volume->id);
    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(backend, arena, volume, &call, err) < 0 ||
        replicated_read_spec(&call, volume, &cloning->making, err) < 0)
        return -1;
    call.progress = progress;
    return replicated_made(&call, clone_step, cloning, ret, err);
}

int replicated_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_snapshot *source,
                              const struct driver_progress *progress, struct driver_created *ret,
                              struct error *err) {
    struct cloning cloning = { .taking = replicated_taking_of(arena, source) };

    return clone(handle, arena, volume, source->size_gb, &cloning, progress, ret, err);
}

int replicated_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_volume *source,
                            const struct driver_progress *progress, struct driver_created *ret,
                            struct error *err) {
    struct cloning cloning = {
        .taking = { .name = replicated_clone_name(arena, volume->name_id),
                    .config = source->provider_location },
        .own = true,
    };

    if (!source->provider_location)
        return error_set(err, ERROR_NOT_FOUND, "Volume %s was never created.", source->id);
    return clone(handle, arena, volume, source->size_gb, &cloning, progress, ret, err);
}
