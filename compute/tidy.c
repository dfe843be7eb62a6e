#include "compute/tidy.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/worker.h"

#include <stdlib.h>

struct tidier {
    struct hypervisor *hypervisor;
    int64_t retry_ms;
    struct worker_pool *pool; /* of one thread */
    struct work_item item;
};

static void tidy_guest(struct hypervisor *hypervisor, const char *instance_uuid) {
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };

    if (hypervisor->tidy(hypervisor, arena, instance_uuid, &err) < 0)
        log_warning(NULL, "an instance was not looked at for what a dead agent left",
                    "instance_uuid", instance_uuid, "reason", err.message, NULL);
}

static void run_tidier(void *arg) {
    struct tidier *tidier = arg;
    struct hypervisor *hypervisor = tidier->hypervisor;
    autoarena struct arena *arena = arena_new();
    const char *const *uuids;
    struct error err = { 0 };

    if (hypervisor->list_used(hypervisor, arena, &uuids, &err) < 0) {
        worker_pool_put_later(tidier->pool, &tidier->item, tidier->retry_ms);
        return;
    }
    for (; *uuids; uuids++)
        tidy_guest(hypervisor, *uuids);
}

struct tidier *tidier_new(struct hypervisor *hypervisor, int64_t retry_ms) {
    struct tidier *tidier = heap_new(sizeof(*tidier));

    tidier->hypervisor = hypervisor;
    tidier->retry_ms = retry_ms;
    tidier->item = (struct work_item){ .run = run_tidier, .arg = tidier };
    tidier->pool = worker_pool_new("tidy", 1);
    worker_pool_put(tidier->pool, &tidier->item);
    return tidier;
}

void tidier_free(struct tidier *tidier) {
    worker_pool_stop(tidier->pool);
    free(tidier);
}
