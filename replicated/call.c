#include "replicated/replicated.private.h"

#include "client/volumes.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/quantity.h"
#include "identity/own_user.h"
#include "json/json.h"

#include <time.h>

#define PAUSE_FIRST_US ((int64_t)20000)
#define PAUSE_MOST_US  ((int64_t)1000000)
#define SLOW_US        ((int64_t)2000000)
#define HANGS_US       ((int64_t)10000000)
#define UNREACHABLE_US ((int64_t)15000000) /* a restarting API is back by then */

const struct remote_documents replicated_configs = { .collection = "volume_configs",
                                                     .word = "volume_config" };
const struct remote_documents replicated_policies = { .collection = "volume_policies",
                                                      .word = "volume_policy" };

/* ---- the API ---- */

static const char *text_of(const struct replicated *backend, const char *key) {
    return config_text(backend->backend->config, backend->backend->name, key);
}

static bool has_endpoint_option(const struct driver_backend *section) {
    return config_given(section->config, section->name, "volume_endpoint");
}

bool replicated_is_early(const struct replicated *backend) {
    const struct driver_backend *section = backend->backend;

    return !has_endpoint_option(section) && section->volume_url && !section->volume_url(section);
}

int replicated_api(const struct replicated *backend, struct client *ret, struct error *err) {
    const struct driver_backend *section = backend->backend;
    const char *url = text_of(backend, "volume_endpoint");

    if (replicated_is_early(backend))
        return error_set(err, ERROR_UNAVAILABLE, "The API of this process does not listen yet.");
    if (!has_endpoint_option(section) && section->volume_url)
        url = section->volume_url(section);
    else if (!has_endpoint_option(section) && own_user_is_known(backend->user))
        url = NULL;
    *ret = volumes_client(url, text_of(backend, "volume_token"), backend->user);
    return 0;
}

int replicated_begin(struct replicated *backend, struct arena *arena,
                     const struct driver_volume *volume, struct replicated_call *ret,
                     struct error *err) {
    *ret = (struct replicated_call){
        .backend = backend,
        .arena = arena,
        .name = volume->provider_location ? volume->provider_location
                                          : arena_format(arena, "volume-%s", volume->name_id),
        .name_id = volume->name_id,
        .fence = volume->fence,
        .hosts = volume->hosts,
    };
    return replicated_api(backend, &ret->api, err);
}

/* ---- the config ---- */

static const json_t *metadata_of(const struct replicated_call *call) {
    return json_object_get(call->config, "metadata");
}

const char *replicated_node(const struct replicated_call *call) {
    const char *node = json_text_at(call->config, "publish.nodeId");

    return node ? node : "";
}

const json_t *replicated_clients(const struct replicated_call *call) {
    return json_at(call->config, "publish.clients");
}

int64_t replicated_size(const struct replicated_call *call) {
    return json_bytes_at(call->config, "status.capacity.storage");
}

int64_t replicated_size_wanted(const struct replicated_call *call) {
    return json_bytes_at(call->config, "spec.capacity.storage");
}

bool replicated_is_going(const struct replicated_call *call) {
    return json_text_of(metadata_of(call), "deletionTimestamp") != NULL;
}

int replicated_none(const struct replicated_call *call, struct error *err) {
    return error_set(err, ERROR_NOT_FOUND, "Volume config %s of this volume could not be found.",
                     call->name);
}

/* ---- reads and changes ---- */

int replicated_read(struct replicated_call *call, struct error *err) {
    struct error failure;

    call->config =
        document_fetch(&call->api, call->arena, &replicated_configs, call->name, &failure);
    if (call->config)
        return json_text_is(json_object_get(metadata_of(call), "labels"), LABEL_VOLUME,
                            call->name_id);
    return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
}

int replicated_may(struct replicated_call *call, struct error *err) {
    call->over = driver_fence_check(call->fence, err) < 0;
    return call->over ? -1 : 0;
}

int replicated_change(struct replicated_call *call, json_t *patch, struct error *err) {
    const json_t *config;
    json_t *metadata;

    json_keep(call->arena, patch);
    if (!json_object_get(patch, "metadata"))
        json_object_set_new(patch, "metadata", json_object());
    metadata = json_object_get(patch, "metadata");
    json_object_set(metadata, "uid", json_object_get(metadata_of(call), "uid"));
    json_object_set(metadata, "resourceVersion",
                    json_object_get(metadata_of(call), "resourceVersion"));
    if (replicated_may(call, err) < 0)
        return -1;
    config = document_change(&call->api, call->arena, &replicated_configs, call->name, patch, err);
    if (!config)
        return -1;
    call->config = config;
    return 0;
}

/* ---- step by step ---- */

/* With the last event that operators must know. */
static int fail_overdue(struct replicated_call *call, struct error *err) {
    struct error ignored;
    const json_t *events = document_fetch_below(&call->api, call->arena, &replicated_configs,
                                                call->name, "events", "events", &ignored);
    const char *message = NULL;

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);

        if (json_text_is(event, "type", "Warning"))
            message = json_text_of(event, "message");
    }
    return error_set(err, ERROR_BACKEND, "Volume config %s is not ready after %jd s: %s",
                     call->name, (intmax_t)(call->backend->timeout_us / 1000000),
                     message ? message : "it has no warning event");
}

/* Is the failure temporary, so that the step may be repeated?  1. */
static bool is_temporary(const struct replicated_call *call, const struct error *failure,
                         int64_t unreachable_us) {
    if (call->over || replicated_is_early(call->backend))
        return false; /* or it is too late: this process ends */
    return failure->kind == ERROR_CONFLICT ||
           (failure->kind == ERROR_UNAVAILABLE && unreachable_us < UNREACHABLE_US);
}

/* Before the next step, unless the call must end.  A longer wait is for the workers for long work.
 * A host that connects gets there only when something hangs. */
static int pause_walk(struct replicated_call *call, int64_t waited_us, int64_t pause_us,
                      struct error *err) {
    struct timespec left = { .tv_sec = (time_t)(pause_us / 1000000),
                             .tv_nsec = (long)(pause_us % 1000000 * 1000) };

    if (replicated_may(call, err) < 0 ||
        driver_progress_report(call->progress, call->done_bytes,
                               call->all_bytes > 0 ? call->all_bytes : 1, err) < 0)
        return -1;
    if (waited_us >= (call->connects ? HANGS_US : SLOW_US) &&
        driver_fence_take_long(call->fence, INT64_MAX, 0, err) < 0)
        return -1;
    while (nanosleep(&left, &left) < 0)
        ;
    return 0;
}

int replicated_walk(struct replicated_call *call, replicated_step *step, void *arg,
                    struct error *err) {
    static const struct backoff_limits pauses = { .first_us = PAUSE_FIRST_US,
                                                  .most_us = PAUSE_MOST_US,
                                                  .growth_percent = 50 };
    int64_t begun_us = clock_boottime_us(), unreachable_since_us = 0;
    int64_t entered_us = begun_us, moved = call->moved;
    unsigned pauses_made = 0;

    for (;;) {
        struct error failure;
        int64_t read_us = clock_boottime_us();
        int done = step(call, arg, &failure);
        int64_t now_us = clock_boottime_us();

        if (done > 0)
            return 0;
        if (call->moved > moved) {
            moved = call->moved;
            begun_us = now_us;
        }
        if (done == 0 || failure.kind != ERROR_UNAVAILABLE)
            unreachable_since_us = 0;
        else if (unreachable_since_us == 0) /* after a suspension, silence before does not count */
            unreachable_since_us = read_us;
        if (done < 0 && !is_temporary(call, &failure, now_us - unreachable_since_us))
            return error_pass(err, &failure);
        if (now_us - begun_us >= call->backend->timeout_us)
            return done < 0 ? error_pass(err, &failure) : fail_overdue(call, err);
        if (pause_walk(call, now_us - entered_us, backoff_pause_us(&pauses, ++pauses_made), err) <
            0)
            return -1;
    }
}
