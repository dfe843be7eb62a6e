#include "csi/node/pod_limiter.h"

#include "client/limits.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/ticker.h"
#include "csi/node/label.h"
#include "csi/node/throttle.h"

#include <linux/major.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define NUMBERS_MOST 65536

/* Used only by its ticker's thread. */
struct pod_limiter {
    struct pod_limiter_settings settings;
    struct ticker *ticker;
    bool failed; /* and logged */
    /* devices with limits of this process: cleared once another program has the number */
    bool limited[NUMBERS_MOST];
};

/* The present devices of the driver. */
struct staged {
    struct loop_name *loops;
    unsigned count;
};

static bool is_staged(const struct staged *staged, unsigned number) {
    for (unsigned i = 0; i < staged->count; i++)
        if (staged->loops[i].number == number)
            return true;
    return false;
}

static int set(struct pod_limiter *limiter, unsigned number, const struct io_limits *requested,
               struct error *err) {
    static const struct throttle none;
    const struct throttle rates = requested ? throttle_of(requested) : none;

    if (number < NUMBERS_MOST && requested)
        limiter->limited[number] = true;
    if (throttle_set(limiter->settings.group, makedev(LOOP_MAJOR, number), &rates, err) < 0)
        return -1;
    if (number < NUMBERS_MOST && !requested)
        limiter->limited[number] = false;
    return 0;
}

/* Limits of a device of the driver are removed with it; those of a previous process, only if the
 * device is unused: another program's device may have limits of its own. */
static int clear_one(struct pod_limiter *limiter, unsigned number, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found =
        number < NUMBERS_MOST && limiter->limited[number] ? 0 : loop_open(number, &loop, err);

    if (found != 0)
        return found < 0 ? -1 : 0;
    return set(limiter, number, NULL, err);
}

/* Sets the limits of a device; if its number belongs to another device by now, that one gets
 * none. */
static int limit_one(struct pod_limiter *limiter, const struct loop_name *name,
                     const struct io_limits *requested, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found;

    if (set(limiter, name->number, requested, err) < 0)
        return -1;
    found = loop_open(name->number, &loop, err);
    if (found < 0 || (found > 0 && strcmp(loop.label, name->label) == 0))
        return found < 0 ? -1 : 0;
    return set(limiter, name->number, NULL, err);
}

static int apply_limits(struct pod_limiter *limiter, struct arena *arena,
                        const struct staged *staged, struct error *err) {
    const struct pod_limiter_settings *settings = &limiter->settings;
    struct remote_limits *requested = NULL;
    int count = limits_list(&settings->api, arena, settings->host, &requested, err), result = 0;

    if (count < 0)
        return -1;
    for (unsigned i = 0; i < staged->count; i++) {
        const struct loop_name *name = &staged->loops[i];

        if (limit_one(limiter, name,
                      limits_find(requested, (unsigned)count, label_volume(name->label)), err) < 0)
            result = -1; /* the remaining devices are processed */
    }
    return result;
}

static int run_round(struct pod_limiter *limiter, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct staged staged = { 0 };
    unsigned *limited = NULL;
    int count = loop_list(arena, NODE_LABEL, &staged.loops, err), limited_count, result = 0;

    if (count < 0)
        return -1;
    staged.count = (unsigned)count;
    limited_count = throttle_list(limiter->settings.group, arena, &limited, err);
    if (limited_count < 0)
        return -1;
    for (int i = 0; i < limited_count; i++)
        if (!is_staged(&staged, limited[i]) && clear_one(limiter, limited[i], err) < 0)
            result = -1; /* the remaining devices are processed */
    return count > 0 && apply_limits(limiter, arena, &staged, err) < 0 ? -1 : result;
}

static int64_t run_limiter(void *arg) {
    struct pod_limiter *limiter = arg;
    struct error err = { 0 };
    int result = run_round(limiter, &err);

    if (result < 0 && !limiter->failed)
        log_warning(NULL, "I/O limits of volumes cannot be set", "reason", err.message, NULL);
    if (result == 0 && limiter->failed)
        log_info(NULL, "I/O limits of volumes are set again", NULL);
    limiter->failed = result < 0;
    return limiter->settings.pause_ms;
}

void pod_limiter_wake(struct pod_limiter *limiter) {
    if (limiter)
        ticker_wake(limiter->ticker);
}

struct pod_limiter *pod_limiter_new(const struct pod_limiter_settings *settings) {
    struct pod_limiter *limiter = heap_new(sizeof *limiter);

    limiter->settings = *settings;
    limiter->settings.api.repeats = 0; /* the next round is the retry */
    limiter->ticker = ticker_start("pod-limits", run_limiter, limiter);
    return limiter;
}

void pod_limiter_free(struct pod_limiter *limiter) {
    if (!limiter)
        return;
    ticker_stop(limiter->ticker);
    free(limiter);
}
