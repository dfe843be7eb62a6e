#include "manager/runtime/host.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/ticker.h"
#include "common/worker.h"
#include "manager/runtime/report.h"
#include "operation/operation.h"

#include <string.h>

#define REPORT_MS 10000
#define AGAIN_MS  1000 /* without reports no volume is placed here */
#define QUIET_US  ((int64_t)5000000)
#define LOOK_US   ((int64_t)60000000)

void host_init(struct manager_host *host, struct manager *manager,
               const struct manager_backend *backend) {
    autoarena struct arena *arena = arena_new();

    host->manager = manager;
    host->backend = *backend;
    host->host = strdup(manager_backend_host(arena, backend, manager->settings.node));
    host->known = (struct known){ manager->settings.db, manager->settings.settings, host->host };
    known_set(&host->backend.settings, &host->known);
    host->open = backend->handle != NULL;
    for (unsigned i = 0; i < LANES; i++) {
        struct manager_lane *lane = &host->lanes[i];

        lane->host = host;
        lane->is_long = i == LANE_LONG;
        lane->topic = strdup(operation_topic(arena, host->host, lane->is_long));
        lane->heard_at = clock_steady_us(manager->settings.settings->clock);
        lane->looked_at = lane->overtook_at = lane->heard_at;
    }
}

/* ---- the thread ---- */

/* A failure ends the start while it is awaited; later it is retried. */
static int host_open(struct manager_host *host) {
    struct manager_backend *backend = &host->backend;
    struct error failure = { .kind = ERROR_NONE };
    bool late;

    host->opened_here = backend->driver->open(&backend->settings, &backend->handle, &failure) == 0;
    if (!host->opened_here)
        error_context(&failure, "backend %s", backend->name);
    pthread_mutex_lock(&host->manager->lock);
    host->open = host->opened_here;
    host->failure = failure;
    late = host->late;
    pthread_cond_broadcast(&host->manager->changed);
    pthread_mutex_unlock(&host->manager->lock);
    if (host->opened_here && late)
        log_info(NULL, "backend opened after the start", "host", host->host, NULL);
    else if (late)
        log_error(NULL, "backend cannot be opened", "host", host->host, "reason", failure.message,
                  NULL);
    return host->opened_here ? 0 : -1;
}

static int64_t host_tick(void *arg) {
    struct manager_host *host = arg;
    struct error err;

    if ((!host->backend.handle && host_open(host) < 0) || report_host(host, &err) == 0)
        return REPORT_MS;
    log_error(NULL, "backend cannot be reported", "host", host->host, "reason", err.message, NULL);
    return AGAIN_MS;
}

void host_start(struct manager_host *host) {
    char name[16]; /* the kernel's limit */

    snprintf(name, sizeof name, "report-%.8s", host->backend.name);
    host->ticker = ticker_start(name, host_tick, host);
}

int host_wait(struct manager_host *host, int64_t until_us, struct error *err) {
    bool late = !ticker_wait_first(host->ticker, until_us);
    struct error failure;

    pthread_mutex_lock(&host->manager->lock);
    host->late = late;
    failure = host->failure;
    if (failure.kind == ERROR_UNAVAILABLE) /* temporary, such as a missing mount */
        host->late = true;
    pthread_mutex_unlock(&host->manager->lock);
    if (late)
        log_error(NULL, "backend unresponsive, the start continues without it", "host", host->host,
                  NULL);
    if (failure.kind == ERROR_UNAVAILABLE) {
        log_error(NULL, "backend unavailable, the start continues without it", "host", host->host,
                  "reason", failure.message, NULL);
        return 0;
    }
    return failure.kind == ERROR_NONE ? 0 : error_pass(err, &failure);
}

int hosts_report(struct manager *manager, struct error *err) {
    for (unsigned i = 0; i < manager->host_count; i++) {
        struct manager_host *host = &manager->hosts[i];

        if (host->ticker)
            ticker_wake(host->ticker);
        else if (report_host(host, err) < 0)
            return -1;
    }
    return report_node(manager, err);
}

void host_free(struct manager_host *host) {
    if (host->ticker)
        ticker_stop(host->ticker);
    if (host->opened_here)
        host->backend.driver->close(host->backend.handle);
    for (unsigned i = 0; i < LANES; i++)
        free(host->lanes[i].topic);
    free(host->host);
}

/* ---- messages ---- */

int lane_enter(struct manager_lane *lane, struct error *err) {
    struct manager *manager = lane->host->manager;
    int64_t now_us = clock_steady_us(manager->settings.settings->clock);
    bool open;

    pthread_mutex_lock(&manager->lock);
    lane->heard_at = now_us;
    lane->busy++;
    while (!lane->host->open && !manager->draining)
        pthread_cond_wait(&manager->changed, &manager->lock);
    open = lane->host->open;
    if (!open)
        lane->busy--;
    pthread_mutex_unlock(&manager->lock);
    return open ? 0 : error_set(err, ERROR_UNAVAILABLE, "the backend is not open yet");
}

void lane_leave(struct manager_lane *lane) {
    struct manager *manager = lane->host->manager;
    int64_t now_us = clock_steady_us(manager->settings.settings->clock);

    scoped_lock(&manager->lock);
    assert(lane->busy > 0 && lane->host->open);
    lane->busy--;
    lane->left++;
    lane->heard_at = now_us;
}

bool host_begin_reclaim(struct manager_host *host) {
    bool begins;

    scoped_lock(&host->manager->lock);
    begins = !host->reclaims;
    host->reclaims = true;
    return begins;
}

void host_end_reclaim(struct manager_host *host) {
    scoped_lock(&host->manager->lock);
    assert(host->reclaims);
    host->reclaims = false;
}

bool lane_misses_messages(struct manager_lane *lane, bool *ret_surely) {
    struct manager *manager = lane->host->manager;
    int64_t now_us = clock_steady_us(manager->settings.settings->clock);
    bool looks;

    scoped_lock(&manager->lock);
    *ret_surely = lane->busy == 0 && now_us - lane->heard_at >= QUIET_US;
    looks = *ret_surely || now_us - lane->looked_at >= LOOK_US;
    if (looks)
        lane->looked_at = now_us;
    return looks;
}

enum lane_load lane_load(struct manager_lane *lane) {
    struct manager *manager = lane->host->manager;
    unsigned workers = manager->settings.workers;
    enum lane_load load = LANE_MOVES;

    scoped_lock(&manager->lock);
    if (workers > 0 && lane->left == lane->left_before)
        load = lane->busy >= workers                 ? LANE_STUCK
               : lane->busy >= worker_share(workers) ? LANE_SHARE_TAKEN
                                                     : LANE_MOVES;
    lane->left_before = lane->left;
    return load;
}
