#include "replication/node/agent.h"

#include "client/volumes.h"
#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "identity/own_user.h"
#include "replication/node/assignment_informer.h"
#include "replication/node/health_probes.h"
#include "replication/node/instance.h"
#include "replication/node/pool_lock.h"
#include "replication/node/pools.h"
#include "replication/node/rebuild_slots.h"
#include "replication/node/remote.h"
#include "replication/node/targets.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SECTION   "storage"
#define STOP_MS   15000 /* a daemon has a timeout of ten seconds */
#define PROBES_MS 1000
#define MIB       (INT64_C(1) << 20)
#define POOLS     64

struct storage_agent {
    struct arena *arena;
    int lock;
    int64_t until_us; /* end of all calls to the API; 0: not yet */
    struct client api;
    struct reports *reports;
    struct rebuild_slots *rebuilds, *scrubs;
    struct health_probes *health_probes;
    struct remote *remote;
    struct pools *pools;
    struct pool_lock locks[POOLS];
    unsigned lock_count;
    struct targets *targets;
    struct assignment_informer *informer;
};

/* ---- assignments ---- */

static void set_replicas(void *arg, struct assignment *const *assignments, unsigned count) {
    const struct storage_agent *agent = arg;

    remote_set(agent->remote, assignments, count);
    pools_set(agent->pools, assignments, count);
}

static void set_volumes(void *arg, struct assignment *const *assignments, unsigned count) {
    const struct storage_agent *agent = arg;

    targets_set(agent->targets, assignments, count);
}

static const char **local_volumes(void *arg, struct arena *arena) {
    const struct storage_agent *agent = arg;

    return targets_local_volumes(agent->targets, arena);
}

/* ---- configuration ---- */

/* And locks it: a missing pool when it appears. */
static int read_pool(struct storage_agent *agent, const struct config *config, const char *name,
                     struct pool_settings *ret, struct error *err) {
    json_t *labels = json_keep(agent->arena, json_object());
    const char *path = config_text(config, name, "path"), *item;
    size_t length = strlen(name);

    if (length == 0 || length > 63 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != length)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[storage] enabled_pools: %s cannot be a pool's name: letters of lower "
                         "case, digits, '-' and '.', at most 63",
                         name);
    if (!path || path[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "[%s] path: an absolute path is needed", name);
    for (size_t i = 0; (item = config_item(config, name, "labels", i)); i++) {
        const char *equals = strchr(item, '=');

        if (!equals || equals == item ||
            json_object_setn_new(labels, item, (size_t)(equals - item), json_string(equals + 1)) <
                0)
            return error_set(err, ERROR_BAD_REQUEST, "[%s] labels: %s is not key=value", name,
                             item);
    }
    assert(agent->lock_count < LENGTH(agent->locks));
    *ret = (struct pool_settings){
        .name = name, .path = path, .labels = labels, .lock = &agent->locks[agent->lock_count++]
    };
    *ret->lock = POOL_LOCK_NONE;
    if (pool_lock_begin(ret->lock, path, name, err) == 0)
        return 0;
    return error_context(err, "[%s] path", name);
}

static int start_pools(struct storage_agent *agent, const struct storage_agent_settings *settings,
                       struct error *err) {
    const struct config *config = settings->config;
    struct pool_settings *pools = arena_alloc(agent->arena, POOLS * sizeof(*pools));
    struct pools_settings of = {
        .pools = pools,
        .node = settings->node,
        .api = agent->api,
        .reports = agent->reports,
        .address = remote_address(agent->remote),
        .sessions = remote_sessions(agent->remote),
        .run_directory = settings->run_directory,
        .health_probes = agent->health_probes,
        .heartbeat_ms = config_int(config, SECTION, "heartbeat_interval") * 1000,
    };
    const char *name;

    for (; (name = config_item(config, SECTION, "enabled_pools", of.count)); of.count++) {
        if (of.count == POOLS)
            return error_set(err, ERROR_BAD_REQUEST, "[storage] enabled_pools: more than %d",
                             POOLS);
        if (read_pool(agent, config, name, &pools[of.count], err) < 0)
            return -1;
    }
    if (remote_serve(agent->remote, pools, of.count, err) < 0)
        return -1;
    return pools_start(&of, &agent->pools, err);
}

/* ---- begin ---- */

static void make_targets(struct storage_agent *agent,
                         const struct storage_agent_settings *settings) {
    struct volume_controller_settings of = {
        .node = settings->node,
        .run_directory = settings->run_directory,
        .remote = remote_access(agent->remote),
        .sessions = remote_sessions(agent->remote),
        .exports = remote_client_exports(agent->remote),
        .health_probes = agent->health_probes,
        .tls_directory = remote_tls_directory(agent->remote),
        .reports = agent->reports,
        .rebuilds = agent->rebuilds,
        .scrubs = agent->scrubs,
    };

    config_fill(settings->config, NULL, storage_options, &of);
    agent->targets = targets_new(&of);
    targets_adopt(agent->targets);
}

static int start(struct storage_agent *agent, const struct storage_agent_settings *settings,
                 struct error *err) {
    struct reports_settings reports = { .node = settings->node };
    struct remote_settings remote = {
        .config = settings->config,
        .run_directory = settings->run_directory,
    };
    struct assignment_informer_settings informer = {
        .node = settings->node,
        .set_replicas = set_replicas,
        .set_volumes = set_volumes,
        .local_volumes = local_volumes,
        .arg = agent,
    };

    if (settings->run_directory[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "[storage] run_directory: %s is no absolute path",
                         settings->run_directory);
    /* A run directory has one agent. */
    agent->lock = open(arena_join(agent->arena, settings->run_directory, "/lock", NULL),
                       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (agent->lock < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "[storage] run_directory: %s",
                           settings->run_directory);
    if (flock(agent->lock, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[storage] run_directory: another agent works in %s",
                         settings->run_directory);
    agent->api.instance = instance_of(agent->arena, agent->lock);
    reports.api = remote.api = informer.api = agent->api;
    agent->reports = reports_new(&reports, err);
    agent->rebuilds =
        rebuild_slots_new((unsigned)config_int(settings->config, SECTION, "rebuilds"));
    agent->scrubs = rebuild_slots_new(1);
    agent->health_probes = remote.health_probes = health_probes_new();
    if (!agent->reports || remote_open(&remote, &agent->remote, err) < 0 ||
        start_pools(agent, settings, err) < 0)
        return -1;
    make_targets(agent, settings);
    return assignment_informer_start(&informer, &agent->informer, err);
}

int storage_agent_start(const struct storage_agent_settings *settings, struct storage_agent **ret,
                        struct error *err) {
    struct storage_agent *agent = heap_new(sizeof(*agent));

    agent->arena = arena_new();
    agent->lock = -1;
    agent->api =
        volumes_client(settings->volume_url, config_text(settings->config, SECTION, "volume_token"),
                       settings->user);
    agent->api.until_us = &agent->until_us;
    if (start(agent, settings, err) < 0) {
        storage_agent_stop(agent);
        return -1;
    }
    *ret = agent;
    return 0;
}

/* ---- end ---- */

bool storage_agent_stop(struct storage_agent *agent) {
    bool all;

    if (!agent)
        return true;
    __atomic_store_n(&agent->until_us, clock_monotonic_us(), __ATOMIC_RELEASE);
    remote_end_calls(agent->remote);
    all = assignment_informer_stop(agent->informer, STOP_MS);
    all = all && targets_stop(agent->targets, STOP_MS);
    all = pools_stop(agent->pools, STOP_MS) && all;
    all = all && remote_close(agent->remote, STOP_MS); /* used by both of them */
    all = all && health_probes_stop(agent->health_probes, PROBES_MS);
    if (!all) {
        log_warning(NULL, "shutdown incomplete: a pool or qemu-storage-daemon does not respond",
                    NULL);
        return false;
    }
    reports_free(agent->reports);
    rebuild_slots_free(agent->rebuilds);
    rebuild_slots_free(agent->scrubs);
    for (unsigned i = 0; i < agent->lock_count; i++)
        pool_lock_end(&agent->locks[i]);
    cleanup_close(&agent->lock);
    arena_free(agent->arena);
    free(agent);
    return true;
}
