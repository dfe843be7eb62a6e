#include "drivers/fault.h"

#include "common/cleanup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

struct fault {
    const struct driver *next;
    void *next_handle;
    fault_decide *decide;
    void *decide_arg;
    atomic_bool crashed;

    /* When the plan of a configuration decides: */
    atomic_uint_fast64_t drawn; /* random numbers so far */
    uint64_t seed;
    size_t rule_count;
    struct fault_rule rules[16];
};

static const struct option own_options[] = {
    { .section = OPTION_BACKEND,
      .key = "fault_driver",
      .type = OPTION_TEXT,
      .fallback = "file",
      .help = "With the driver fault: the driver behind it, which takes its options from the same "
              "section." },
    { .section = OPTION_BACKEND,
      .key = "fault_plan",
      .type = OPTION_LIST,
      .help =
          "With the driver fault: what goes wrong, as call:action:probability[:milliseconds]. "
          "A call is a function of the driver (create_volume, extend_volume, …) or * for every "
          "one but open, an action fail, fail-after, delay, crash or crash-after; the first rule of the "
          "call that is drawn is taken." },
    { .section = OPTION_BACKEND,
      .key = "fault_seed",
      .type = OPTION_INT,
      .fallback = "1",
      .min = 0,
      .max = INT64_MAX,
      .help = "With the driver fault: the same seed gives the same faults in the same order of "
              "calls." },
    OPTIONS_END
};

static const struct option *const fault_options[] = { own_options, NULL };

static const char *const call_names[] = {
    "get_pools", "create_volume", "delete_volume", "rename_volume", "extend_volume",
    "get_size",  "connect",       "list_volumes",  "open",          "*",
};

static const struct {
    const char *word;
    enum fault_action action;
} action_words[] = {
    { "fail", FAULT_BEFORE },        { "fail-after", FAULT_AFTER },        { "delay", FAULT_PASS },
    { "crash", FAULT_CRASH_BEFORE }, { "crash-after", FAULT_CRASH_AFTER },
};

/* ---- the plan ---- */

static bool parse_call(const char *word, struct fault_rule *rule) {
    for (size_t i = 0; i < LENGTH(call_names); i++) {
        if (strcmp(word, call_names[i]) == 0) {
            strcpy(rule->call, word);
            return true;
        }
    }
    return false;
}

static bool parse_action(const char *word, struct fault_rule *rule) {
    for (size_t i = 0; i < LENGTH(action_words); i++) {
        if (strcmp(word, action_words[i].word) == 0) {
            rule->action = action_words[i].action;
            return true;
        }
    }
    return false;
}

int fault_parse_rule(const char *text, struct fault_rule *ret, struct error *err) {
    struct fault_rule rule = { .delay_ms = 0 };
    char call[32], action[32];
    int end = -1, end_with_delay = -1;
    int length = (int)strlen(text);

    if (sscanf(text, "%31[a-z_*]:%31[a-z-]:%lf%n:%" SCNd64 "%n", call, action, &rule.probability,
               &end, &rule.delay_ms, &end_with_delay) < 3 ||
        (end != length && end_with_delay != length))
        return error_set(err, ERROR_BAD_REQUEST,
                         "fault_plan: \"%s\" is not call:action:probability[:milliseconds].", text);
    if (!parse_call(call, &rule))
        return error_set(err, ERROR_BAD_REQUEST, "fault_plan: there is no call \"%s\".", call);
    if (!parse_action(action, &rule))
        return error_set(err, ERROR_BAD_REQUEST, "fault_plan: there is no action \"%s\".", action);
    if (!(rule.probability >= 0 && rule.probability <= 1) || rule.delay_ms < 0 ||
        rule.delay_ms > 3600000)
        return error_set(err, ERROR_BAD_REQUEST,
                         "fault_plan: \"%s\" has a probability outside 0 to 1 or a delay outside 0 "
                         "to 3600000 ms.",
                         text);
    *ret = rule;
    return 0;
}

/* The n-th number of the seed's sequence, 0 to 1 (splitmix64): no lock, and a run can be repeated.
 */
static double draw(struct fault *fault) {
    uint64_t z = fault->seed + (atomic_fetch_add(&fault->drawn, 1) + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static struct fault_decision follow_plan(void *arg, const char *call, const char *volume_id) {
    struct fault *fault = arg;

    (void)volume_id;
    for (size_t i = 0; i < fault->rule_count; i++) {
        const struct fault_rule *rule = &fault->rules[i];

        bool any = strcmp(rule->call, "*") == 0 && strcmp(call, "open") != 0;

        if ((any || strcmp(rule->call, call) == 0) && draw(fault) < rule->probability)
            return (struct fault_decision){ .action = rule->action, .delay_ms = rule->delay_ms };
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

static int load_plan(struct fault *fault, const struct driver_backend *backend, struct error *err) {
    const char *text;

    fault->seed = (uint64_t)config_int(backend->config, backend->name, "fault_seed");
    for (size_t i = 0; (text = config_item(backend->config, backend->name, "fault_plan", i)); i++) {
        if (i == LENGTH(fault->rules))
            return error_set(err, ERROR_BAD_REQUEST, "fault_plan: more than %zu rules.", i);
        if (fault_parse_rule(text, &fault->rules[i], err) < 0)
            return -1;
        fault->rule_count = i + 1;
    }
    return 0;
}

/* ---- around a call ---- */

static void wait_ms(int64_t delay_ms) {
    struct timespec left = { .tv_sec = (time_t)(delay_ms / 1000),
                             .tv_nsec = (long)(delay_ms % 1000 * 1000000) };

    while (nanosleep(&left, &left) < 0)
        ;
}

static int before(struct fault *fault, const char *call, const struct driver_volume *volume,
                  enum fault_action *ret_action, struct error *err) {
    struct fault_decision decision;

    if (atomic_load(&fault->crashed))
        return error_set(err, ERROR_UNAVAILABLE, "The backend has crashed.");
    decision = fault->decide(fault->decide_arg, call, volume ? volume->id : NULL);
    if (decision.delay_ms > 0)
        wait_ms(decision.delay_ms);
    *ret_action = decision.action;
    if (decision.action == FAULT_CRASH_BEFORE)
        atomic_store(&fault->crashed, true);
    if (decision.action == FAULT_BEFORE || decision.action == FAULT_CRASH_BEFORE)
        return error_set(err, ERROR_BACKEND, "A fault was put before %s.", call);
    return 0;
}

static int after(struct fault *fault, const char *call, enum fault_action action, int result,
                 struct error *err) {
    if (action == FAULT_CRASH_AFTER)
        atomic_store(&fault->crashed, true);
    if (result >= 0 && (action == FAULT_AFTER || action == FAULT_CRASH_AFTER))
        return error_set(err, ERROR_BACKEND, "A fault was put behind %s.", call);
    return result;
}

static int fault_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                           struct error *err) {
    struct fault *fault = handle;
    struct driver_pool *pools = NULL;
    enum fault_action action;
    int count, result;

    if (before(fault, "get_pools", NULL, &action, err) < 0)
        return -1;
    count = fault->next->get_pools(fault->next_handle, arena, &pools, err);
    result = after(fault, "get_pools", action, count, err);
    for (int i = 0; result < 0 && i < count; i++)
        json_decref(pools[i].capabilities);
    if (result >= 0)
        *ret = pools;
    return result;
}

static int fault_create_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, struct driver_created *ret,
                               struct error *err) {
    struct fault *fault = handle;
    struct driver_created created;
    enum fault_action action;
    int result;

    if (before(fault, "create_volume", volume, &action, err) < 0)
        return -1;
    result = fault->next->create_volume(fault->next_handle, arena, volume, &created, err);
    if (after(fault, "create_volume", action, result, err) < 0)
        return -1;
    *ret = created;
    return 0;
}

static int fault_delete_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, struct error *err) {
    struct fault *fault = handle;
    enum fault_action action;
    int result;

    if (before(fault, "delete_volume", volume, &action, err) < 0)
        return -1;
    result = fault->next->delete_volume(fault->next_handle, arena, volume, err);
    return after(fault, "delete_volume", action, result, err);
}

static int fault_rename_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, const char *new_name_id,
                               struct error *err) {
    struct fault *fault = handle;
    enum fault_action action;
    int result;

    if (before(fault, "rename_volume", volume, &action, err) < 0)
        return -1;
    result = fault->next->rename_volume(fault->next_handle, arena, volume, new_name_id, err);
    return after(fault, "rename_volume", action, result, err);
}

static enum driver_outcome fault_extend_volume(void *handle, struct arena *arena,
                                               const struct driver_volume *volume, int64_t new_gb,
                                               struct error *err) {
    struct fault *fault = handle;
    enum fault_action action;
    enum driver_outcome outcome;

    if (before(fault, "extend_volume", volume, &action, err) < 0)
        return DRIVER_FAILED;
    outcome = fault->next->extend_volume(fault->next_handle, arena, volume, new_gb, err);
    return (enum driver_outcome)after(fault, "extend_volume", action, (int)outcome, err);
}

static int fault_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                          int64_t *ret_bytes, struct error *err) {
    struct fault *fault = handle;
    enum fault_action action;
    int64_t bytes = 0;
    int result;

    if (before(fault, "get_size", volume, &action, err) < 0)
        return -1;
    result = fault->next->get_size(fault->next_handle, arena, volume, &bytes, err);
    if (after(fault, "get_size", action, result, err) < 0)
        return -1;
    *ret_bytes = bytes;
    return 0;
}

static int fault_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const json_t *connector, json_t **ret, struct error *err) {
    struct fault *fault = handle;
    enum fault_action action;
    json_t *info = NULL;
    int result;

    if (before(fault, "connect", volume, &action, err) < 0)
        return -1;
    result = fault->next->connect(fault->next_handle, arena, volume, connector, &info, err);
    if (after(fault, "connect", action, result, err) < 0) {
        json_decref(info);
        return -1;
    }
    *ret = info;
    return 0;
}

static int fault_list_volumes(void *handle, struct arena *arena,
                              void (*found)(void *arg, const char *name_id, int64_t bytes),
                              void *arg, struct error *err) {
    struct fault *fault = handle;
    enum fault_action action;
    int result;

    if (before(fault, "list_volumes", NULL, &action, err) < 0)
        return -1;
    result = fault->next->list_volumes(fault->next_handle, arena, found, arg, err);
    return after(fault, "list_volumes", action, result, err);
}

static void fault_extend_finished(void *handle, const struct driver_volume *volume, int64_t size_gb,
                                  bool grown) {
    const struct fault *fault = handle;

    if (fault->next->extend_finished && !atomic_load(&fault->crashed))
        fault->next->extend_finished(fault->next_handle, volume, size_gb, grown);
}

/* ---- the filter itself ---- */

void *fault_new(const struct driver *next, void *next_handle, fault_decide *decide, void *arg) {
    struct fault *fault = calloc(1, sizeof(*fault));

    assert(fault);
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
    const struct driver *next = driver_find(name);
    autofree struct fault *fault = fault_new(next, NULL, follow_plan, NULL);
    enum fault_action action;

    fault->decide_arg = fault;
    if (!next || next == &fault_driver)
        return error_set(err, ERROR_BAD_REQUEST,
                         "fault_driver: \"%s\" is not a driver to put a "
                         "filter before; did you mean %s?",
                         name, driver_nearest(name));
    if (load_plan(fault, backend, err) < 0 || before(fault, "open", NULL, &action, err) < 0 ||
        next->open(backend, &fault->next_handle, err) < 0)
        return -1;
    if (after(fault, "open", action, 0, err) < 0) {
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
    .features = DRIVER_MULTIATTACH | DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK,
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
    .list_volumes = fault_list_volumes,
    .extend_finished = fault_extend_finished,
};

void fault_describe(const struct driver *next, struct driver *ret) {
    *ret = fault_driver;
    ret->name = next->name;
    ret->vendor_name = next->vendor_name;
    ret->storage_protocol = next->storage_protocol;
    ret->features = next->features;
    ret->options = next->options;
}
