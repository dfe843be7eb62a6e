#include "manager/runtime/recount.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "model/scheduler/pool.h"

#define FIRST_US (5 * SECOND_US)
#define AGAIN_US (3600 * SECOND_US)

static int differ_body(struct work *work, void *arg, struct error *err) {
    return pool_promises_differ(work, ((const struct manager_host *)arg)->host, err);
}

static int count_body(struct work *work, void *arg, struct error *err) {
    return pool_count_promises(work, ((const struct manager_host *)arg)->host, err);
}

int recount_pools(struct manager *manager, struct error *err) {
    int64_t now = clock_steady_us(manager->settings.settings->clock);

    if (manager->recount_at == 0)
        manager->recount_at = now + FIRST_US;
    if (now < manager->recount_at)
        return 0;
    manager->recount_at = now + AGAIN_US;
    for (unsigned i = 0; i < manager->host_count; i++) {
        struct manager_host *host = &manager->hosts[i];
        autoarena struct arena *arena = arena_new();
        const struct work base = work_own(manager->settings.settings, arena);
        int differ = work_read(manager->settings.db, &base, differ_body, host, err);

        if (differ < 0)
            return -1;
        if (differ == 0)
            continue;
        log_warning(NULL, "space allocated to snapshots recounted", "host", host->host, NULL);
        if (work_transaction(manager->settings.db, &base, count_body, host, err) < 0)
            return -1;
    }
    return 0;
}
