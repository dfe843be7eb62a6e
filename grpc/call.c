#include "grpc/call.h"

#include "common/worker.h"

bool grpc_call_is_over(const struct grpc_call *call) {
    int64_t until_us = __atomic_load_n(&call->until_us, __ATOMIC_RELAXED);

    return until_us != 0 && clock_monotonic_us() >= until_us;
}

bool grpc_call_delays_others(const struct grpc_call *call) {
    return call->pool && worker_pool_pending(call->pool) > call->threads;
}
