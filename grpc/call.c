#include "grpc/call.h"

#include <string.h>

bool grpc_call_is_over(const struct grpc_call *call) {
    int64_t until_us = __atomic_load_n(&call->until_us, __ATOMIC_RELAXED);

    return until_us != 0 && clock_monotonic_us() >= until_us;
}

const char *grpc_call_metadata(const struct grpc_call *call, const char *name) {
    for (const struct grpc_metadata *item = call->metadata; item; item = item->next)
        if (strcmp(item->name, name) == 0)
            return item->value;
    return NULL;
}
