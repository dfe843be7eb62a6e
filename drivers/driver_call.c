#include "drivers/driver_call.h"

int driver_fence_check(const struct driver_fence *fence, struct error *err) {
    if (!fence || fence->holds(fence))
        return 0;
    return error_set(err, ERROR_CONFLICT, "This work may belong to another worker by now.");
}

int driver_fence_busy(const struct driver_fence *fence, struct error *err, const char *what) {
    if (fence && fence->busy)
        fence->busy(fence, what);
    return error_set(err, ERROR_BUSY, "The %s are in use by another worker.", what);
}

int driver_fence_take_long(const struct driver_fence *fence, int64_t bytes,
                           int64_t bytes_per_second, struct error *err) {
    bool is_short =
        bytes <= DRIVER_SHORT_BYTES && (bytes_per_second <= 0 || bytes <= bytes_per_second);

    if (is_short || !fence || !fence->may_take_long || fence->may_take_long(fence))
        return 0;
    return error_set(err, ERROR_BUSY, "The operation needs a worker that moves data.");
}

int driver_progress_report(const struct driver_progress *progress, int64_t done_bytes,
                           int64_t all_bytes, struct error *err) {
    if (!progress || progress->tell(progress, done_bytes, all_bytes))
        return 0;
    return error_set(err, ERROR_CONFLICT, "The operation was cancelled.");
}
