#include "drivers/fault.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "drivers/fault_call.private.h"

#include <stdatomic.h>

/* clang-format off */
static const struct option own_options[] = {
    { .section = OPTION_BACKEND, .key = "fault_driver", .type = OPTION_TEXT, .fallback = "file",
      .help = "With the driver fault: the driver behind it, which takes its options from the same "
              "section." },
    { .section = OPTION_BACKEND, .key = "fault_plan", .type = OPTION_LIST,
      .help = "With the driver fault: the faults to inject, as call:action:probability[:milliseconds]. A call is a "
              "function of the driver (create_volume, extend_volume, …) or * for every one but open, an action fail, "
              "fail-after, delay, crash, crash-after, busy or long; the first rule of the call that is drawn applies." },
    { .section = OPTION_BACKEND, .key = "fault_seed", .type = OPTION_INT, .fallback = "1", .min = 0, .max = INT64_MAX,
      .help = "With the driver fault: the same seed gives the same faults in the same order of "
              "calls." },
    OPTIONS_END
};
/* clang-format on */

static const struct option *const fault_options[] = { own_options, NULL };

/* ---- functions of every storage (the rest: fault_optional.c) ---- */

static int fault_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                           struct error *err) {
    struct fault *fault = handle;
    struct driver_pool *pools = NULL;
    enum fault_action action;
    int count, result;

    if (fault_before(fault, "get_pools", NULL, &action, err) < 0)
        return -1;
    count = fault->next->get_pools(fault->next_handle, arena, &pools, err);
    result = fault_after(fault, "get_pools", action, count, err);
    for (int i = 0; result < 0 && i < count; i++)
        json_decref(pools[i].capabilities);
    if (result >= 0)
        *ret = pools;
    return result;
}

static int fault_create_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, struct driver_created *ret,
                               struct error *err) {
    struct driver_created created = { 0 };
    int result = PASS_ON(handle, create_volume, volume, volume, &created, err);

    if (result == 0)
        *ret = created;
    return result;
}

static int fault_delete_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, struct error *err) {
    return PASS_ON(handle, delete_volume, volume, volume, err);
}

static int fault_rename_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, const char *new_name_id,
                               struct error *err) {
    return PASS_ON(handle, rename_volume, volume, volume, new_name_id, err);
}

static enum driver_outcome fault_extend_volume(void *handle, struct arena *arena,
                                               const struct driver_volume *volume, int64_t new_gb,
                                               struct error *err) {
    return (enum driver_outcome)PASS_ON(handle, extend_volume, volume, volume, new_gb, err);
}

static int fault_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                          int64_t *ret_bytes, struct error *err) {
    int64_t bytes = 0;
    int result = PASS_ON(handle, get_size, volume, volume, &bytes, err);

    if (result == 0)
        *ret_bytes = bytes;
    return result;
}

static int fault_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const json_t *connector, json_t **ret, struct error *err) {
    json_t *info = NULL;
    int result = PASS_ON(handle, connect, volume, volume, connector, &info, err);

    if (result == 0)
        *ret = info;
    else
        json_decref(info);
    return result;
}

static int fault_disconnect(void *handle, struct arena *arena, const struct driver_volume *volume,
                            struct error *err) {
    return PASS_ON_OPTIONAL(handle, disconnect, volume, volume, err);
}

static int fault_list_volumes(void *handle, struct arena *arena,
                              void (*found)(void *arg, const char *name_id, int64_t bytes),
                              void *arg, struct error *err) {
    return PASS_ON(handle, list_volumes, NULL, found, arg, err);
}

static void fault_extend_finished(void *handle, const struct driver_volume *volume, int64_t size_gb,
                                  bool grown) {
    const struct fault *fault = handle;

    if (fault->next->extend_finished && !atomic_load(&fault->crashed))
        fault->next->extend_finished(fault->next_handle, volume, size_gb, grown);
}

/* ---- the filter itself ---- */

void *fault_new(const struct driver *next, void *next_handle, fault_decide *decide, void *arg) {
    struct fault *fault = heap_new(sizeof *fault);

    fault->next = next;
    fault->next_handle = next_handle;
    fault->decide = decide;
    fault->decide_arg = arg;
    return fault;
}

bool fault_crashed(void *handle) {
    const struct fault *fault = handle;

    return atomic_load(&fault->crashed);
}

void fault_reset(void *handle) {
    struct fault *fault = handle;

    atomic_store(&fault->crashed, false);
}

static void fault_close(void *handle) {
    struct fault *fault = handle;

    fault->next->close(fault->next_handle);
    free(fault);
}

static int fault_open(const struct driver_backend *backend, void **ret_handle, struct error *err) {
    const char *name = config_text(backend->config, backend->name, "fault_driver");
    const struct driver *next = driver_find(backend->drivers, name);
    autofree struct fault *fault = fault_new(next, NULL, fault_plan_follow, NULL);
    enum fault_action action;

    fault->decide_arg = &fault->plan;
    if (!next || next == &fault_driver)
        return error_set(err, ERROR_BAD_REQUEST,
                         "fault_driver: \"%s\" is not a driver to put a "
                         "filter before; did you mean %s?",
                         name, driver_nearest(backend->drivers, name));
    if (fault_plan_load(&fault->plan, backend, err) < 0 ||
        fault_before(fault, "open", NULL, &action, err) < 0 ||
        next->open(backend, &fault->next_handle, err) < 0)
        return -1;
    if (fault_after(fault, "open", action, 0, err) < 0) {
        next->close(fault->next_handle);
        return -1;
    }
    *ret_handle = take(fault);
    return 0;
}

const struct driver fault_driver = {
    .name = "fault",
    .vendor_name = "Open Source",
    .storage_protocol = "fault",
    .features = DRIVER_MULTIATTACH | DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK |
                DRIVER_SNAPSHOT | DRIVER_CLONE | DRIVER_REVERT | DRIVER_ASSIST | DRIVER_RECLAIM,
    .options = fault_options,
    .open = fault_open,
    .close = fault_close,
    .get_pools = fault_get_pools,
    .create_volume = fault_create_volume,
    .delete_volume = fault_delete_volume,
    .rename_volume = fault_rename_volume,
    .extend_volume = fault_extend_volume,
    .get_size = fault_get_size,
    .connect = fault_connect,
    .disconnect = fault_disconnect,
    .list_volumes = fault_list_volumes,
    .extend_finished = fault_extend_finished,
    .list_drafts = fault_list_drafts,
    .create_snapshot = fault_create_snapshot,
    .delete_snapshot = fault_delete_snapshot,
    .prepare_assist = fault_prepare_assist,
    .complete_assist = fault_complete_assist,
    .list_snapshots = fault_list_snapshots,
    .clone_volume = fault_clone_volume,
    .clone_snapshot = fault_clone_snapshot,
    .revert_volume = fault_revert_volume,
    .get_manageable = fault_get_manageable,
    .manage_volume = fault_manage_volume,
    .unmanage_volume = fault_unmanage_volume,
    .list_manageable = fault_list_manageable,
    .get_manageable_snapshot = fault_get_manageable_snapshot,
    .manage_snapshot = fault_manage_snapshot,
    .unmanage_snapshot = fault_unmanage_snapshot,
    .list_manageable_snapshots = fault_list_manageable_snapshots,
    .get_usage = fault_get_usage,
    .reclaim_volume = fault_reclaim_volume,
};

/* The filter has exactly the optional functions of the next driver. */
#define DESCRIBE(call)        \
    do {                      \
        if (!next->call)      \
            ret->call = NULL; \
    } while (0)

void fault_describe(const struct driver *next, struct driver *ret) {
    *ret = fault_driver;
    ret->name = next->name;
    ret->vendor_name = next->vendor_name;
    ret->storage_protocol = next->storage_protocol;
    ret->features = next->features;
    ret->options = next->options;
    DESCRIBE(disconnect);
    DESCRIBE(extend_finished);
    DESCRIBE(list_drafts);
    DESCRIBE(create_snapshot);
    DESCRIBE(delete_snapshot);
    DESCRIBE(prepare_assist);
    DESCRIBE(complete_assist);
    DESCRIBE(list_snapshots);
    DESCRIBE(clone_volume);
    DESCRIBE(clone_snapshot);
    DESCRIBE(revert_volume);
    DESCRIBE(get_manageable);
    DESCRIBE(manage_volume);
    DESCRIBE(unmanage_volume);
    DESCRIBE(list_manageable);
    DESCRIBE(get_manageable_snapshot);
    DESCRIBE(manage_snapshot);
    DESCRIBE(unmanage_snapshot);
    DESCRIBE(list_manageable_snapshots);
    DESCRIBE(get_usage);
    DESCRIBE(reclaim_volume);
}
