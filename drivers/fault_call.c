#include "drivers/fault_call.private.h"

#include <time.h>

static void wait_ms(int64_t delay_ms) {
    struct timespec left = { .tv_sec = (time_t)(delay_ms / 1000),
                             .tv_nsec = (long)(delay_ms % 1000 * 1000000) };

    while (nanosleep(&left, &left) < 0)
        ;
}

int fault_before(struct fault *fault, const char *call, const struct driver_volume *volume,
                 enum fault_action *ret_action, struct error *err) {
    struct fault_decision decision;

    if (atomic_load(&fault->crashed))
        return error_set(err, ERROR_UNAVAILABLE, "The backend has crashed.");
    decision = fault->decide(fault->decide_arg, call, volume ? volume->id : NULL);
    if (decision.action == FAULT_LONG &&
        driver_fence_take_long(volume ? volume->fence : NULL, INT64_MAX, 0, err) < 0)
        return -1;
    if (decision.delay_ms > 0)
        wait_ms(decision.delay_ms);
    *ret_action = decision.action;
    if (decision.action == FAULT_BUSY)
        return driver_fence_busy(volume ? volume->fence : NULL, err, "volume files");
    if (decision.action == FAULT_CRASH_BEFORE)
        atomic_store(&fault->crashed, true);
    if (decision.action == FAULT_BEFORE || decision.action == FAULT_CRASH_BEFORE)
        return error_set(err, ERROR_BACKEND, "Injected fault before %s.", call);
    return 0;
}

int fault_after(struct fault *fault, const char *call, enum fault_action action, int result,
                struct error *err) {
    if (action == FAULT_CRASH_AFTER)
        atomic_store(&fault->crashed, true);
    if (result >= 0 && (action == FAULT_AFTER || action == FAULT_CRASH_AFTER))
        return error_set(err, ERROR_BACKEND, "Injected fault after %s.", call);
    return result;
}
