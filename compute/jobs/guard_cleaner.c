#include "compute/jobs/guard_cleaner.h"

#include "common/backoff.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/worker.h"

#include <stdlib.h>

#define PAUSE_MOST 60 /* in retry_ms */

struct cleaner {
    struct hypervisor *hypervisor;
    int64_t retry_ms;
    unsigned failures;        /* of the hypervisor, consecutive */
    struct worker_pool *pool; /* of one thread */
    struct work_item item;
};

static void run_cleaner(void *arg) {
    struct cleaner *cleaner = arg;
    struct hypervisor *hypervisor = cleaner->hypervisor;
    const struct backoff_limits pauses = { .first_us = cleaner->retry_ms * 1000,
                                           .most_us = cleaner->retry_ms * PAUSE_MOST * 1000 };
    autoarena struct arena *arena = arena_new();
    const char *const *uuids;
    struct error err = { 0 };

    /* a host without a hypervisor is not queried all the time */
    if (hypervisor->list_guarded(hypervisor, arena, &uuids, &err) < 0) {
        worker_pool_put_later(cleaner->pool, &cleaner->item,
                              backoff_pause_us(&pauses, ++cleaner->failures) / 1000);
        return;
    }
    for (; *uuids; uuids++) {
        autoarena struct arena *own = arena_new();

        if (hypervisor->remove_guards(hypervisor, own, *uuids, &err) < 0)
            log_warning(NULL, "resize guards of an instance cannot be removed", "instance_uuid",
                        *uuids, "reason", err.message, NULL);
    }
}

struct cleaner *guard_cleaner_new(struct hypervisor *hypervisor, int64_t retry_ms) {
    struct cleaner *cleaner = heap_new(sizeof(*cleaner));

    cleaner->hypervisor = hypervisor;
    cleaner->retry_ms = retry_ms;
    cleaner->item = (struct work_item){ .run = run_cleaner, .arg = cleaner };
    cleaner->pool = worker_pool_new("guards", 1);
    worker_pool_put(cleaner->pool, &cleaner->item);
    return cleaner;
}

void guard_cleaner_free(struct cleaner *cleaner) {
    worker_pool_stop(cleaner->pool);
    free(cleaner);
}
