/*
 * The faults of a driver's calls: decided by a test, or by the plan of a configuration.
 */
#pragma once

#include "drivers/driver.h"

#include <stdatomic.h>

enum fault_action {
    FAULT_PASS,
    FAULT_BEFORE,       /* fails, nothing is done */
    FAULT_AFTER,        /* done, and reported as failed */
    FAULT_CRASH_BEFORE, /* as FAULT_BEFORE, and every later call fails, too */
    FAULT_CRASH_AFTER,
    FAULT_BUSY, /* an object of the call is in use, nothing is done */
    FAULT_LONG, /* the call moves much data */
};

struct fault_decision {
    enum fault_action action;
    int64_t delay_ms; /* before the call */
};

/* Called once for each call; `call` is the name of the member of struct driver, `volume_id` NULL
 * for calls without a volume. */
typedef struct fault_decision fault_decide(void *arg, const char *call, const char *volume_id);

/* A plan as in fault_plan, one item: "call:action:probability[:milliseconds]". */
struct fault_rule {
    char call[32]; /* "*": every one */
    enum fault_action action;
    double probability;
    int64_t delay_ms;
};
int fault_parse_rule(const char *text, struct fault_rule *ret, struct error *err);

struct fault_plan {
    atomic_uint_fast64_t drawn; /* count of random numbers drawn */
    uint64_t seed;
    size_t rule_count;
    struct fault_rule rules[16];
};

/* Into one that is all zero. */
int fault_plan_load(struct fault_plan *plan, const struct driver_backend *backend,
                    struct error *err);
/* A fault_decide whose argument is the plan. */
struct fault_decision fault_plan_follow(void *arg, const char *call, const char *volume_id);
