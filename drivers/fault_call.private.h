/*
 * What the filter does around a call of the driver behind it.
 */
#pragma once

#include "drivers/fault_plan.h"

#include <stdatomic.h>

struct fault {
    const struct driver *next;
    void *next_handle;
    fault_decide *decide;
    void *decide_arg;
    atomic_bool crashed;
    struct fault_plan plan; /* decides when nobody else does */
};

/* 0 with what is to happen behind the call, or -1: the driver is not called. */
int fault_before(struct fault *fault, const char *call, const struct driver_volume *volume,
                 enum fault_action *ret_action, struct error *err);

/* What the caller is told of the driver's result. */
int fault_after(struct fault *fault, const char *call, enum fault_action action, int result,
                struct error *err);

/* A call of a function whose outputs need no list: what it returns, or -1 and `err`.  What it
 * gives is the caller's only when it has succeeded in the caller's eyes. */
#define PASS_ON(handle, call, volume, ...)                                              \
    __extension__({                                                                     \
        struct fault *fault_ = handle;                                                  \
        enum fault_action action_;                                                      \
        int result_ = fault_before(fault_, #call, volume, &action_, err);               \
                                                                                        \
        if (result_ == 0) {                                                             \
            result_ = (int)fault_->next->call(fault_->next_handle, arena, __VA_ARGS__); \
            result_ = fault_after(fault_, #call, action_, result_, err);                \
        }                                                                               \
        result_;                                                                        \
    })

/* The same for a function that not every driver has. */
#define PASS_ON_OPTIONAL(handle, call, volume, ...)   \
    (((const struct fault *)(handle))->next->call     \
         ? PASS_ON(handle, call, volume, __VA_ARGS__) \
         : error_set(err, ERROR_BAD_REQUEST, "The driver behind the filter cannot do %s.", #call))
