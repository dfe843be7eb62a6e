/*
 * Hypervisor hosts: the agent's work is the program's own (job.c, resize.c, trim_job.c and
 * report.c of compute/jobs, client/volumes.c); its threads and its way to the API are here, its
 * image tool and its hypervisor in guests.c.  The linker takes these functions instead of those of
 * common/worker.c, identity/own_user.c and compute/hypervisor/image.c.
 */
#include "tests/sim/compute.h"

#include "common/scoria_headers.h"
#include "common/worker.h"
#include "compute/agent/report.h"
#include "compute/jobs/job.h"
#include "compute/jobs/trim_job.h"
#include "identity/own_user.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 64

struct item {
    struct worker_pool *pool;
    char key[64];
    void (*run)(void *arg);
    void *arg;
    int64_t due_us;
    bool there, in_work;
    uint64_t number;
};

struct worker_pool {
    struct host *host;
    struct worker_pool *next;
    struct item items[ITEMS];
    uint64_t number;
};

static const char *const host_names[SIM_HOSTS] = { "host0", "host1" };

/* ---- the agent's threads ---- */

static struct host *founder; /* the host whose pools are being made */

struct worker_pool *worker_pool_new(const char *name, unsigned threads) {
    struct worker_pool *pool = calloc(1, sizeof *pool);

    (void)name, (void)threads;
    assert(pool && founder);
    pool->host = founder;
    pool->next = founder->pools;
    return founder->pools = pool;
}

struct worker_pool *worker_pool_new_shared(const char *name, unsigned threads,
                                           unsigned group_most) {
    (void)group_most; /* nothing runs beside anything else here */
    return worker_pool_new(name, threads);
}

struct worker_pool *worker_pool_new_fair(const char *name, unsigned threads) {
    return worker_pool_new(name, threads);
}

unsigned worker_share(unsigned threads) {
    return threads;
}

void worker_pool_put_later(struct worker_pool *pool, const struct work_item *item,
                           int64_t delay_ms) {
    struct item *place = pool->items;

    while (place < pool->items + ITEMS && place->there)
        place++;
    assert(place < pool->items + ITEMS);
    *place = (struct item){ .pool = pool,
                            .run = item->run,
                            .arg = item->arg,
                            .due_us = clock_monotonic_us() + delay_ms * 1000,
                            .there = true,
                            .number = ++pool->number };
    snprintf(place->key, sizeof place->key, "%s", item->key ? item->key : "");
}

void worker_pool_put(struct worker_pool *pool, const struct work_item *item) {
    worker_pool_put_later(pool, item, 0);
}

unsigned worker_pool_pending(struct worker_pool *pool) {
    unsigned count = 0;

    for (unsigned i = 0; i < ITEMS; i++)
        count += pool->items[i].there;
    return count;
}

void worker_pool_close(struct worker_pool *pool) {
    (void)pool;
}

void worker_pool_stop(struct worker_pool *pool) {
    struct worker_pool **place = &pool->host->pools;

    while (*place != pool)
        place = &(*place)->next;
    *place = pool->next;
    free(pool);
}

static bool may_begin(const struct worker_pool *pool, const struct item *item, int64_t now_us) {
    if (!item->there || item->in_work || item->due_us > now_us)
        return false;
    for (unsigned i = 0; i < ITEMS && item->key[0]; i++) {
        const struct item *other = &pool->items[i];

        if (other->there && other != item && strcmp(other->key, item->key) == 0 &&
            (other->in_work || other->number < item->number))
            return false;
    }
    return true;
}

static void item_run(struct sim *sim, void *arg) {
    struct item *item = arg;
    struct item taken = *item;

    (void)sim;
    taken.run(taken.arg);
    item->there = false;
}

static bool pool_work(struct sim *sim, struct worker_pool *pool) {
    unsigned first = below(sim, ITEMS);
    int64_t now_us = clock_monotonic_us();

    for (unsigned i = 0; i < ITEMS; i++) {
        struct item *item = &pool->items[(first + i) % ITEMS];

        if (!may_begin(pool, item, now_us))
            continue;
        item->in_work = thread_begin(sim, &pool->host->process, item_run, item, "agent") != NULL;
        return item->in_work;
    }
    return false;
}

bool hosts_work(struct sim *sim) {
    unsigned first = below(sim, SIM_HOSTS);

    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        struct host *host = &sim->hosts[(first + i) % SIM_HOSTS];

        if (!host->process.alive || host->process.paused)
            continue;
        for (struct worker_pool *pool = host->pools; pool; pool = pool->next)
            if (pool_work(sim, pool))
                return true;
        if (assists_work(sim, host))
            return true;
    }
    return false;
}

/* ---- the agent's way to the API ---- */

int own_user_new(const struct config *config, const char *section, struct own_user **ret,
                 struct error *err) {
    (void)config, (void)section, (void)err;
    *ret = NULL;
    return 0;
}

void own_user_free(struct own_user *user) {
    (void)user;
}

bool own_user_is_known(const struct own_user *user) {
    (void)user;
    return false;
}

int own_user_endpoint(struct own_user *user, struct arena *arena, const char *const *types,
                      int64_t timeout_ms, const char **ret, struct error *err) {
    (void)user, (void)arena, (void)types, (void)timeout_ms, (void)ret;
    return error_set(err, ERROR_UNAVAILABLE, "there is no catalog");
}

static const char *header_of(const struct http_call *call, const char *name) {
    for (const struct http_header *header = call->headers; header && header->name; header++)
        if (strcmp(header->name, name) == 0)
            return header->value;
    return NULL;
}

/* Whose read or report of an extend the thread sends: volumes/ID or volumes/ID/action. */
static void watch(struct thread *thread, const struct http_call *call, const char *path) {
    bool reports = strcmp(call->method, "POST") == 0;

    thread->watches[0] = '\0';
    if (strncmp(path, "/volumes/", 9) != 0 || strlen(path) < 45 ||
        (reports && !strstr(call->body, "os-extend_volume_completion")))
        return;
    snprintf(thread->watches, sizeof thread->watches, "%.36s", path + 9);
    thread->reports = reports;
}

int own_user_call(struct own_user *user, struct arena *arena, const struct http_call *call,
                  struct http_answer *ret, struct error *err) {
    const char *path = strstr(call->url, "sim") + 3;
    autoanswer struct answer answer;
    autofree char *text = NULL;

    (void)user;
    watch(present->current, call, path);
    present->current->extend = header_of(call, EXTEND_HEADER);
    call_api(present, SIM_ADMIN, call->method, path, call->body, &answer);
    present->current->watches[0] = '\0';
    present->current->extend = NULL;
    if (answer.status == 0) {
        error_set(err, ERROR_UNAVAILABLE, "no answer");
        return HTTP_NO_ANSWER;
    }
    present->counts[COUNT_REPORTS] += strcmp(call->method, "POST") == 0;
    text = answer.body ? json_dumps(answer.body, 0) : NULL;
    *ret = (struct http_answer){ .status = answer.status };
    ret->body = arena_text(arena, text ? text : "");
    ret->body_size = strlen(ret->body);
    ret->header = answer.extend[0] ? arena_text(arena, answer.extend) : NULL;
    return 0;
}

/* No image service is configured. */
int own_user_call_as(struct own_user *user, struct arena *arena, const char *token,
                     const struct http_call *call, struct http_answer *ret, struct error *err) {
    (void)user, (void)arena, (void)token, (void)call, (void)ret;
    error_set(err, ERROR_UNAVAILABLE, "there is no catalog");
    return HTTP_NOT_SENT;
}

void own_user_refused(struct own_user *user, const struct http_header *headers) {
    (void)user, (void)headers;
}

int own_user_prepare(struct own_user *user, struct arena *arena, const char *token,
                     struct http_transfer_call *call, struct error *err) {
    (void)user, (void)arena, (void)token, (void)call;
    return error_set(err, ERROR_UNAVAILABLE, "there is no catalog");
}

/* ---- birth, death, events ---- */

static void host_start(struct host *host) {
    const struct client api = volumes_client("http://sim", NULL, NULL);
    struct job_settings jobs = {
        .hypervisor = &host->hypervisor,
        .api = api,
        .host = host->process.name,
        .workers = 4,
        .retry_ms = 1000,
        .busy_ms = 30000,
        .unreachable_ms = 120000,
    };
    struct reporter_settings reporter = {
        .api = api,
        .host = host->process.name,
        .endpoint = "http://agent",
        .heartbeat_ms = 30000,
        .retry_ms = 1000,
    };

    struct trim_settings trims = {
        .hypervisor = &host->hypervisor,
        .api = api,
        .host = host->process.name,
        .retry_ms = 1000,
        .busy_ms = 30000,
        .unreachable_ms = 120000,
    };

    founder = host;
    host->process.alive = true;
    host->process.dying = host->process.paused = false;
    host->jobs = reporter.jobs = jobs_new(&jobs);
    trims.pool = jobs_pool(host->jobs);
    host->trims = trims_new(&trims);
    host->reports = reporter.pool = worker_pool_new("reports", 1);
    host->reporter = reporter_new(&reporter);
}

static void host_stop(struct host *host) {
    host->process.dying = true;
    threads_end(host->sim, &host->process);
    worker_pool_stop(host->reports);
    reporter_free(host->reporter);
    jobs_stop(host->jobs);
    trims_free(host->trims);
    assists_forget(host);
    host->process.alive = false;
}

void hosts_start(struct sim *sim) {
    sim->hosts = calloc(SIM_HOSTS, sizeof *sim->hosts);
    assert(sim->hosts);
    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        struct host *host = &sim->hosts[i];

        host->sim = sim;
        host->process.name = host_names[i];
        guests_start(host);
        host_start(host);
    }
}

void hosts_free(struct sim *sim) {
    for (unsigned i = 0; i < SIM_HOSTS; i++)
        if (sim->hosts[i].process.alive)
            host_stop(&sim->hosts[i]);
    free(sim->hosts);
    sim->hosts = NULL;
}

/* Guests that hang go on; those that are off stay so. */
void hosts_revive(struct sim *sim) {
    for (unsigned i = 0; i < SIM_HOSTS; i++) {
        struct host *host = &sim->hosts[i];

        if (!host->process.alive)
            host_start(host);
        host->process.paused = host->silent = false;
        guests_go_on(host);
    }
}

void host_act(struct sim *sim) {
    struct host *host = &sim->hosts[below(sim, SIM_HOSTS)];
    const char *name = host->process.name;
    unsigned drawn = below(sim, 100);

    if (!host->process.alive) {
        note(sim, "the agent of %s starts again", name);
        host_start(host);
    } else if (drawn < 25 && sim->temper.deaths) {
        note(sim, "the agent of %s dies", name);
        sim->counts[COUNT_DEATHS]++;
        host_stop(host);
    } else if (drawn < 60 && sim->temper.node_pauses) {
        host->process.paused = !host->process.paused;
        sim->counts[COUNT_PAUSES] += host->process.paused;
        note(sim, "the agent of %s %s", name, host->process.paused ? "is paused" : "wakes up");
    } else if (host->process.paused) {
        note(sim, "the agent of %s wakes up", name);
        host->process.paused = false;
    } else if (sim->temper.late_guests) {
        host->silent = !host->silent;
        note(sim, "libvirt of %s %s", name, host->silent ? "hangs" : "answers again");
    }
}

struct host *host_named(struct sim *sim, const char *name) {
    for (unsigned i = 0; name && i < SIM_HOSTS; i++)
        if (strcmp(sim->hosts[i].process.name, name) == 0)
            return &sim->hosts[i];
    return NULL;
}

enum event_verdict host_event(struct sim *sim, const struct compute_event *event,
                              struct error *err) {
    struct host *host = host_named(sim, event->host);

    if (!host || !host->process.alive || (sim->temper.losses && chance(sim, 5)))
        return EVENT_REFUSED;
    if (host->process.paused || (sim->temper.losses && chance(sim, 5)))
        return EVENT_UNKNOWN;
    if (jobs_put(host->jobs, event->volume_id, event->instance_uuid, event->request_id, err) < 0)
        return EVENT_REFUSED;
    note(sim, "%s hears of %.8s", host->process.name, event->volume_id);
    return sim->temper.losses && chance(sim, 10) ? EVENT_UNKNOWN : EVENT_ACCEPTED;
}

enum event_verdict host_trim(struct sim *sim, const struct compute_trim *trim, struct error *err) {
    const struct trim wanted = { trim->id, trim->volume_id, trim->instance_uuid, trim->request_id };
    struct host *host = host_named(sim, trim->host);

    if (!host || !host->process.alive || (sim->temper.losses && chance(sim, 5)))
        return EVENT_REFUSED;
    if (host->process.paused || (sim->temper.losses && chance(sim, 5)))
        return EVENT_UNKNOWN;
    if (trims_put(host->trims, &wanted, err) < 0)
        return EVENT_REFUSED;
    note(sim, "%s is asked to trim %.8s", host->process.name, trim->volume_id);
    return sim->temper.losses && chance(sim, 10) ? EVENT_UNKNOWN : EVENT_ACCEPTED;
}
