#include "drivers/fault.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "data/volume_io.h"

#include <stdatomic.h>
#include <time.h>

struct fault {
    const struct driver *next;
    void *next_handle;
    fault_decide *decide;
    void *decide_arg;
    atomic_bool crashed;
    struct fault_plan plan; /* used when the owner gives no decision function */
};

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

/* ---- before and after a call of the next driver ---- */

/* 0 with the action after the call, or -1: the driver is not called. */
static int fault_before(struct fault *fault, const char *call, const struct driver_volume *volume,
                        enum fault_action *ret_action, struct error *err) {
    struct fault_decision decision;
    struct timespec left;

    if (atomic_load(&fault->crashed))
        return error_set(err, ERROR_UNAVAILABLE, "The backend has crashed.");
    decision = fault->decide(fault->decide_arg, call, volume ? volume->id : NULL);
    if (decision.action == FAULT_LONG &&
        driver_fence_take_long(volume ? volume->fence : NULL, INT64_MAX, 0, err) < 0)
        return -1;
    left = (struct timespec){ .tv_sec = (time_t)(decision.delay_ms / 1000),
                              .tv_nsec = (long)(decision.delay_ms % 1000 * 1000000) };
    while (decision.delay_ms > 0 && nanosleep(&left, &left) < 0)
        ;
    *ret_action = decision.action;
    if (decision.action == FAULT_BUSY)
        return driver_fence_busy(volume ? volume->fence : NULL, err, "volume files");
    if (decision.action == FAULT_CRASH_BEFORE)
        atomic_store(&fault->crashed, true);
    if (decision.action == FAULT_BEFORE || decision.action == FAULT_CRASH_BEFORE)
        return error_set(err, ERROR_BACKEND, "Injected fault before %s.", call);
    return 0;
}

/* The result of the driver as reported to the caller. */
static int fault_after(struct fault *fault, const char *call, enum fault_action action, int result,
                       struct error *err) {
    if (action == FAULT_CRASH_AFTER)
        atomic_store(&fault->crashed, true);
    if (result >= 0 && (action == FAULT_AFTER || action == FAULT_CRASH_AFTER))
        return error_set(err, ERROR_BACKEND, "Injected fault after %s.", call);
    return result;
}

/* ---- the calls of driver.def ---- */

static void release_pools(const struct driver_pool *pools, int count) {
    for (int i = 0; i < count; i++)
        json_decref(pools[i].capabilities);
}

/* By output: *ret is as before a call that is reported as failed. */
#define KEEP_NOTHING (void)0
#define KEEP_VALUE   const __typeof__(*ret) kept = *ret
#define KEEP_JSON    KEEP_VALUE
#define KEEP_POOLS   KEEP_VALUE
#define KEEP_DATA    KEEP_VALUE
#define UNDO_NOTHING (void)0
#define UNDO_VALUE   (*ret = kept)
#define UNDO_DATA    (volume_io_close(*ret), UNDO_VALUE)
#define UNDO_JSON    (json_decref(*ret), UNDO_VALUE)
#define UNDO_POOLS   (release_pools(*ret, result), UNDO_VALUE)

#define CALL(feature, result_type, name, parameters, arguments, subject, output)                \
    static result_type fault_##name(void *handle, struct arena *arena, DRIVER_LIST parameters,  \
                                    struct error *err) {                                        \
        struct fault *fault = handle;                                                           \
        enum fault_action action;                                                               \
        int result, reported;                                                                   \
        KEEP_##output;                                                                          \
                                                                                                \
        if (!fault->next->name)                                                                 \
            return (result_type)error_set(err, ERROR_BAD_REQUEST,                               \
                                          "The driver behind the filter cannot do %s.", #name); \
        if (fault_before(fault, #name, subject, &action, err) < 0)                              \
            return (result_type)-1;                                                             \
        result = (int)fault->next->name(fault->next_handle, arena, DRIVER_LIST arguments, err); \
        reported = fault_after(fault, #name, action, result, err);                              \
        if (reported != result)                                                                 \
            UNDO_##output;                                                                      \
        return (result_type)reported;                                                           \
    }
#include "drivers/driver.def"

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
    .properties =
        DRIVER_CONTENT | DRIVER_MULTIATTACH | DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK,
    .reads_extra_specs = true,
    .options = fault_options,
    .open = fault_open,
    .close = fault_close,
    .extend_finished = fault_extend_finished,
#define CALL(feature, result, name, parameters, arguments, subject, output) .name = fault_##name,
#include "drivers/driver.def"
};

/* The filter has exactly the functions of the next driver. */
void fault_describe(const struct driver *next, struct driver *ret) {
    *ret = fault_driver;
    ret->name = next->name;
    ret->vendor_name = next->vendor_name;
    ret->storage_protocol = next->storage_protocol;
    ret->properties = next->properties;
    ret->reads_extra_specs = next->reads_extra_specs;
    ret->options = next->options;
    ret->extend_finished = next->extend_finished ? fault_extend_finished : NULL;
#define CALL(feature, result, name, parameters, arguments, subject, output) \
    ret->name = next->name ? fault_##name : NULL;
#include "drivers/driver.def"
}
