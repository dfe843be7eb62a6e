#include "compute/jobs/guard_cleaner.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/worker.h"

#include <stdlib.h>

struct cleaner {
    struct hypervisor *hypervisor;
    int64_t retry_ms;
    struct worker_pool *pool; /* of one thread */
    struct work_item item;
};

static void clean_guest(struct hypervisor *hypervisor, const char *instance_uuid) {
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };

    if (hypervisor->remove_guards(hypervisor, arena, instance_uuid, &err) < 0)
        log_warning(NULL, "resize guards of an instance cannot be removed", "instance_uuid",
                    instance_uuid, "reason", err.message, NULL);
}

static void run_cleaner(void *arg) {
    struct cleaner *cleaner = arg;
    struct hypervisor *hypervisor = cleaner->hypervisor;
    autoarena struct arena *arena = arena_new();
    const char *const *uuids;
    struct error err = { 0 };

    if (hypervisor->list_guarded(hypervisor, arena, &uuids, &err) < 0) {
        worker_pool_put_later(cleaner->pool, &cleaner->item, cleaner->retry_ms);
        return;
    }
    for (; *uuids; uuids++)
        clean_guest(hypervisor, *uuids);
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
