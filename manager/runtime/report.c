#include "manager/runtime/report.h"

#include "model/scheduler/pool.h"
#include "operation/service_log.h"
#include "json/json.h"

#define DRIVER_VERSION "1.0.0"

/* The driver's and configuration's part; pool_capabilities() adds what the row has, and what every
 * pool has. */
static char *capabilities(struct arena *arena, const struct manager_host *host,
                          const struct driver_pool *pool, const struct settings *settings) {
    const struct driver *driver = host->backend.driver;
    json_t *tree = json_keep(arena, driver_capabilities(driver_supported(driver)));

    json_object_set_new(tree, "volume_backend_name", json_string(host->backend.backend_name));
    json_object_set_new(tree, "vendor_name", json_string(driver->vendor_name));
    json_object_set_new(tree, "driver_version", json_string(DRIVER_VERSION));
    json_object_set_new(tree, "storage_protocol", json_string(driver->storage_protocol));
    json_object_set_new(tree, "max_over_subscription_ratio",
                        json_real(settings->max_over_subscription_ratio));
    json_object_set_new(tree, "replication_enabled", json_false());
    if (pool->capabilities)
        json_object_update(tree, pool->capabilities);
    return json_text(arena, tree);
}

struct host_report {
    const struct manager *manager;
    const struct manager_host *host;
    const struct driver_pool *pools;
    int pool_count;               /* < 0: the backend is unresponsive: no heartbeat for it */
    struct service_levels levels; /* requested log levels */
};

static int report_body(struct work *work, void *arg, struct error *err) {
    struct host_report *report = arg;
    const struct manager_settings *settings = &report->manager->settings;
    const struct manager_host *host = report->host;

    if (service_report(work, SERVICE_VOLUME, host->host, settings->zone, NULL, err) < 0 ||
        service_levels_take(work, SERVICE_VOLUME, host->host, &report->levels, err) < 0)
        return -1;
    for (int i = 0; i < report->pool_count; i++) {
        const struct driver_pool *from = &report->pools[i];
        struct pool pool = {
            .name = arena_format(work->arena, "%s#%s", host->host, from->name),
            .host = host->host,
            .capabilities = capabilities(work->arena, host, from, work->settings),
            .total_gb = from->total_gb,
            .free_gb = from->free_gb,
            .infinite = from->infinite,
        };

        if (pool_report(work, &pool, err) < 0)
            return -1;
    }
    return 0;
}

int report_host(const struct manager_host *host, struct error *err) {
    const struct manager *manager = host->manager;
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(manager->settings.settings, arena);
    struct driver_pool *pools = NULL;
    struct host_report report = { .manager = manager, .host = host };
    int result;

    report.pool_count = host->backend.driver->get_pools(host->backend.handle, arena, &pools, err);
    if (report.pool_count < 0) {
        log_error(NULL, "backend unresponsive", "host", host->host, "reason", err->message, NULL);
        return 0;
    }
    report.pools = pools;
    result = work_transaction_unsynced(manager->settings.db, &base, report_body, &report, err);
    if (result == 0)
        service_levels_apply(&report.levels);
    for (int i = 0; i < report.pool_count; i++)
        json_decref(pools[i].capabilities);
    return result;
}

struct node_report {
    const struct manager_settings *settings;
    struct service_levels levels;
};

static int node_body(struct work *work, void *arg, struct error *err) {
    struct node_report *report = arg;
    const struct manager_settings *settings = report->settings;

    if (service_report(work, SERVICE_SCHEDULER, settings->node, settings->zone, NULL, err) < 0)
        return -1;
    return service_levels_take(work, SERVICE_SCHEDULER, settings->node, &report->levels, err);
}

int report_node(const struct manager *manager, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(manager->settings.settings, arena);
    struct node_report node = { .settings = &manager->settings };

    if (work_transaction_unsynced(manager->settings.db, &base, node_body, &node, err) < 0)
        return -1;
    service_levels_apply(&node.levels);
    return 0;
}
