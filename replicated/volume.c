/*
 * Creating, deleting, renaming, extending and measuring volumes.
 */
#include "common/gib.h"
#include "common/log.h"
#include "common/quantity.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- create ---- */

static const char *spec_of(const struct driver_volume *volume, const char *key) {
    const char *text = json_text_of(volume->extra_specs, key);

    return text && *text ? text : NULL;
}

/* A type that cannot be satisfied fails at once: a config would wait for the policy. */
static const json_t *find_policy(const struct replicated_call *call, const char *name,
                                 struct error *err) {
    struct error failure;
    const json_t *policy =
        document_fetch(&call->api, call->arena, &replicated_policies, name, &failure);

    if (policy)
        return policy;
    if (failure.kind == ERROR_NOT_FOUND)
        error_set(err, ERROR_BAD_REQUEST, "Volume policy %s could not be found.", name);
    else
        *err = failure;
    return NULL;
}

static int read_count(const char *text, int64_t *ret, struct error *err) {
    char *end;
    long long count = strtoll(text, &end, 10);

    if (text[strspn(text, "0123456789")] || end == text || count < 1 || count > 99)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Extra spec " DRIVER_SPEC_REPLICAS " is no number of replicas: %.32s.",
                         text);
    *ret = count;
    return 0;
}

int replicated_read_spec(const struct replicated_call *call, const struct driver_volume *volume,
                         struct replicated_making *ret, struct error *err) {
    const char *policy = spec_of(volume, DRIVER_SPEC_POLICY);
    const char *count = spec_of(volume, DRIVER_SPEC_REPLICAS);
    const json_t *document = NULL, *pools;

    if (volume->multiattach || volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         volume->encrypted
                             ? "Replicated volumes cannot be encrypted."
                             : "A replicated volume is served on one host at a time: no "
                               "multiattach.");
    *ret = (struct replicated_making){
        .policy = policy ? policy : call->backend->policy,
        .replicas = call->backend->replicas,
        .bytes = volume->size_gb * GIB,
        .volume_id = volume->id,
    };
    if (ret->policy && !(document = find_policy(call, ret->policy, err)))
        return -1;
    pools = json_at(document, "spec.replicaPoolInfo");
    ret->replicas_given = count || json_array_size(pools) > 0;
    if (json_array_size(pools) > 0)
        ret->replicas = (int64_t)json_array_size(pools);
    return count ? read_count(count, &ret->replicas, err) : 0;
}

int replicated_read_made(struct replicated_call *call, struct error *err) {
    int found = replicated_read(call, err);

    if (found < 0)
        return -1;
    /* Its name belongs to another volume, or to the one that was deleted meanwhile. */
    if (call->config && (found == 0 || replicated_is_going(call))) {
        call->over = true;
        return error_set(err, ERROR_CONFLICT,
                         "Volume config %s already exists and belongs to another volume.",
                         call->name);
    }
    return found > 0 && replicated_size(call) > 0;
}

int replicated_make(struct replicated_call *call, const struct replicated_making *making,
                    struct error *err) {
    json_t *config;

    if (replicated_may(call, err) < 0)
        return -1;
    config = json_pack("{s:{s:s, s:{s:s, s:s}, s:{s:s, s:s}}, s:{s:{s:s}, s:{s:I}}}", "metadata",
                       "name", call->name, "labels", LABEL_VOLUME, call->name_id, LABEL_BACKEND,
                       call->backend->backend->name, "annotations", "scoria.io/volume-id",
                       making->volume_id, "scoria.io/quota", "none", "spec", "capacity", "storage",
                       quantity_text(call->arena, making->bytes), "provision", "replicaCount",
                       (json_int_t)making->replicas);
    json_keep(call->arena, config);
    if (making->policy)
        json_object_set_new(json_at(config, "metadata.annotations"), "openebs.io/volume-policy",
                            json_string(making->policy));
    if (making->source)
        json_object_set_new(json_object_get(config, "spec"), "cstorVolumeSource",
                            json_string(making->source));
    return document_send(&call->api, call->arena, &replicated_configs, config, err) ? 0 : -1;
}

static int create_step(struct replicated_call *call, void *arg, struct error *err) {
    int there = replicated_read_made(call, err);

    return there < 0 || call->config ? there : replicated_make(call, arg, err);
}

int replicated_made(struct replicated_call *call, replicated_step *step, void *arg,
                    struct driver_created *ret, struct error *err) {
    struct error failure, ignored;

    if (replicated_walk(call, step, arg, &failure) == 0) {
        *ret = (struct driver_created){ .provider_location = call->name, .format = "raw" };
        return 0;
    }
    /* A creation that has timed out is not completed later. */
    if (!call->over && failure.kind == ERROR_BACKEND && replicated_may(call, &ignored) == 0)
        document_drop(&call->api, call->arena, &replicated_configs, call->name, &ignored);
    return error_pass(err, &failure);
}

int replicated_create_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct driver_created *ret, struct error *err) {
    struct replicated_call call;
    struct replicated_making making;

    if (replicated_begin(handle, arena, volume, &call, err) < 0 ||
        replicated_read_spec(&call, volume, &making, err) < 0)
        return -1;
    return replicated_made(&call, create_step, &making, ret, err);
}

/* ---- delete ---- */

struct ending {
    bool made;  /* as far as is recorded */
    bool begun; /* its deletion */
};

static int delete_step(struct replicated_call *call, void *arg, struct error *err) {
    struct ending *ending = arg;
    int found = replicated_read(call, err);
    const char *version;

    if (found < 0)
        return -1;
    if (found == 0)
        return ending->made ? 1 : replicated_delete_clone_snapshot(call, err);
    if (replicated_is_going(call)) {
        ending->begun = true;
        return 0;
    }
    if (*replicated_node(call))
        return replicated_change(
            call, json_pack("{s:{s:s, s:n}}", "publish", "nodeId", "", "clients"), err);
    version = json_text_at(call->config, "metadata.resourceVersion");
    if (replicated_delete_clone_snapshots(call, err) < 0 || replicated_may(call, err) < 0)
        return -1;
    return document_drop_version(&call->api, call->arena, &replicated_configs, call->name, version,
                                 err);
}

/* Once requested the config is deleted, also when a pool of it is offline for a week. */
int replicated_delete_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct error *err) {
    struct replicated_call call;
    struct error failure;
    struct ending ending = { .made = volume->provider_location != NULL };

    if (volume->attached)
        return error_set(err, ERROR_BACKEND, "Volume %s is in use.", volume->id);
    if (replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    if (replicated_walk(&call, delete_step, &ending, &failure) == 0)
        return 0;
    if (!ending.begun || failure.kind != ERROR_BACKEND)
        return error_pass(err, &failure);
    log_warning(NULL, "data of a deleted volume are removed later", "volume_id", volume->id,
                "reason", failure.message, NULL);
    return 0;
}

/* ---- rename ---- */

static int rename_step(struct replicated_call *call, void *arg, struct error *err) {
    const char *new_name_id = arg;
    int found = replicated_read(call, err);

    if (found <= 0)
        return found < 0 ? -1 : 1;
    return replicated_change(
               call, json_pack("{s:{s:{s:s}}}", "metadata", "labels", LABEL_VOLUME, new_name_id),
               err) < 0
               ? -1
               : 1;
}

int replicated_rename_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const char *new_name_id, struct error *err) {
    struct replicated_call call;

    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    return replicated_walk(&call, rename_step, (void *)(uintptr_t)new_name_id, err);
}

/* ---- extend ---- */

/* It grows to one size after the other: an abandoned earlier extend may still be in progress. */
static int extend_step(struct replicated_call *call, void *arg, struct error *err) {
    const int64_t *bytes = arg;
    int found = replicated_read(call, err);
    const char *size = quantity_text(call->arena, *bytes);

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : replicated_none(call, err);
    if (replicated_size(call) >= *bytes)
        return 1;
    if (replicated_size_wanted(call) >= *bytes)
        return 0;
    return replicated_change(call, json_pack("{s:{s:{s:s}}}", "spec", "capacity", "storage", size),
                             err);
}

enum driver_outcome replicated_extend_volume(void *handle, struct arena *arena,
                                             const struct driver_volume *volume, int64_t new_gb,
                                             struct error *err) {
    struct replicated_call call;
    int64_t bytes = new_gb * GIB;

    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0 ||
        replicated_walk(&call, extend_step, &bytes, err) < 0)
        return DRIVER_FAILED;
    return DRIVER_DONE;
}

int replicated_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                        int64_t *ret_bytes, struct error *err) {
    struct replicated_call call;
    int found;

    if (replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    found = replicated_read(&call, err);
    if (found <= 0 || replicated_is_going(&call))
        return found < 0 ? -1 : replicated_none(&call, err);
    if (replicated_size(&call) == 0)
        return error_set(err, ERROR_UNAVAILABLE, "Volume config %s has no size yet.", call.name);
    *ret_bytes = replicated_size(&call);
    return 0;
}
