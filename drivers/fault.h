/*
 * A filter that makes its driver fail, lie and dawdle: for tests, and for drills by configuration.
 *
 *     volume_driver = fault
 *     fault_driver = file
 *     fault_plan = extend_volume:fail-after:0.1, *:delay:1:50
 *
 * Thread-safe, as long as the function that decides is.
 */
#pragma once

#include "drivers/driver.h"

enum fault_action {
    FAULT_PASS,
    FAULT_BEFORE,       /* fails, nothing is done */
    FAULT_AFTER,        /* done, and reported as failed */
    FAULT_CRASH_BEFORE, /* as FAULT_BEFORE, and every later call fails, too */
    FAULT_CRASH_AFTER,
};

struct fault_decision {
    enum fault_action action;
    int64_t delay_ms; /* before the call */
};

/* Asked once for each call; `call` is the name of the member of struct driver, `volume_id` NULL for
 * calls that are about no volume. */
typedef struct fault_decision fault_decide(void *arg, const char *call, const char *volume_id);

/* A handle around another driver's handle, which it closes in its own close(). */
void *fault_new(const struct driver *next, void *next_handle, fault_decide *decide, void *arg);

/* The filter as a driver that describes itself like `next`; for a handle of fault_new(). */
void fault_describe(const struct driver *next, struct driver *ret);

bool fault_crashed(void *handle);
void fault_reset(void *handle); /* the service was started anew: calls come through again */

/* A plan as in fault_plan, one item: "call:action:probability[:milliseconds]". */
struct fault_rule {
    char call[32]; /* "*": every one */
    enum fault_action action;
    double probability;
    int64_t delay_ms;
};
int fault_parse_rule(const char *text, struct fault_rule *ret, struct error *err);
