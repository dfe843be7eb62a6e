#include "compute/agent/agent.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/worker.h"
#include "compute/agent/assist.h"
#include "compute/agent/event.h"
#include "compute/agent/event_authorization.h"
#include "compute/agent/reply.h"
#include "compute/agent/report.h"
#include "compute/agent/trim.h"
#include "compute/agent/versions.h"
#include "compute/jobs/domain_resumer.h"
#include "compute/jobs/guard_cleaner.h"
#include "compute/jobs/job.h"
#include "compute/jobs/limits.h"
#include "http/origin.h"
#include "identity/own_user.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* A request that blocks on the hypervisor, which may respond slowly: a worker processes it, so that
 * the server's thread is not blocked. */
struct task {
    void *(*read)(struct http_exchange *exchange, struct error *err); /* NULL: refused with err */
    void (*answer)(const struct agent *agent, void *request);
    bool queries; /* queries a guest, which may take long */
};

/* Lives in its exchange's arena until the reply. */
struct waiting {
    LIST_ENTRY(waiting) next;
    const struct task *task;
    struct agent *agent;
    struct http_exchange *exchange;
    void *request; /* result of task->read */
};

/*
 * Three pools: a resize and a query of a guest may each occupy their thread for long; neither
 * events nor heartbeats may be queued behind them.
 */
struct agent {
    struct hypervisor *hypervisor;
    const struct http_origin *origin;
    const struct authtoken *authtoken;
    const char *own_url;
    struct worker_pool *front;   /* events and heartbeats */
    struct worker_pool *queries; /* queries of disks for assisted snapshots and trims */
    struct jobs *jobs;
    struct assists *assists;
    struct trims *trims;
    struct reporter *reporter;
    struct cleaner *cleaner;
    struct limiter *limiter;
    struct resumer *resumer; /* NULL: stopped guests are not resumed */
    pthread_mutex_t lock;    /* guards `waiting` */
    LIST_HEAD(waiting_list, waiting)
    waiting; /* every exchange must be answered, also at shutdown */
};

#define FRONT_THREADS 2
#define QUERY_THREADS 2

static void show_list(struct agent *agent, struct http_exchange *exchange) {
    versions_reply_list(exchange, agent->own_url);
}

static void show_one(struct agent *agent, struct http_exchange *exchange) {
    versions_reply_one(exchange, agent->own_url);
}

/* From here on the worker that runs it replies. */
static void run(void *arg) {
    struct waiting *waiting = arg;
    struct agent *agent = waiting->agent;

    pthread_mutex_lock(&agent->lock);
    LIST_REMOVE(waiting, next);
    pthread_mutex_unlock(&agent->lock);
    waiting->task->answer(agent, waiting->request);
}

static void exchange_begin(void *arg, struct http_exchange *exchange) {
    struct waiting *waiting = arg;
    struct agent *agent = waiting->agent;
    struct work_item item = { .run = run, .arg = waiting };
    struct error err = { 0 };

    waiting->request = waiting->task->read(exchange, &err);
    if (!waiting->request) {
        reply_fault(exchange, &err);
        return;
    }
    pthread_mutex_lock(&agent->lock);
    LIST_INSERT_HEAD(&agent->waiting, waiting, next);
    pthread_mutex_unlock(&agent->lock);
    worker_pool_put(waiting->task->queries ? agent->queries : agent->front, &item);
}

static void *read_events(struct http_exchange *exchange, struct error *err) {
    return event_read(exchange, err);
}

static void *read_create(struct http_exchange *exchange, struct error *err) {
    return assist_read_create(exchange, err);
}

static void *read_delete(struct http_exchange *exchange, struct error *err) {
    return assist_read_delete(exchange, err);
}

static void *read_trim(struct http_exchange *exchange, struct error *err) {
    return trim_read(exchange, err);
}

static void answer_events(const struct agent *agent, void *request) {
    event_answer(request, agent->hypervisor, agent->jobs);
}

static void answer_assist(const struct agent *agent, void *request) {
    assist_answer(request, agent->hypervisor, agent->assists);
}

static void answer_trim(const struct agent *agent, void *request) {
    trim_answer(request, agent->hypervisor, agent->trims);
}

static const struct task task_events = { read_events, answer_events, false };
static const struct task task_create = { read_create, answer_assist, true };
static const struct task task_delete = { read_delete, answer_assist, true };
static const struct task task_trim = { read_trim, answer_trim, true };

static const struct agent_route {
    const char *method;
    const char *path; /* "{…}" matches any one segment */
    void (*show)(struct agent *agent, struct http_exchange *exchange);
    const struct task *task; /* or this */
} routes[] = {
    { "GET", "/", show_list, NULL },
    { "GET", "/v2.1", show_one, NULL },
    { "GET", "/v2.1/", show_one, NULL },
    { "POST", "/v2.1/os-server-external-events", NULL, &task_events },
    { "POST", "/v2.1/{project}/os-server-external-events", NULL, &task_events },
    { "POST", "/v2.1/os-assisted-volume-snapshots", NULL, &task_create },
    { "POST", "/v2.1/{project}/os-assisted-volume-snapshots", NULL, &task_create },
    { "DELETE", "/v2.1/os-assisted-volume-snapshots/{id}", NULL, &task_delete },
    { "DELETE", "/v2.1/{project}/os-assisted-volume-snapshots/{id}", NULL, &task_delete },
    { "POST", "/v2.1/os-volume-trims", NULL, &task_trim },
};

static void answer(struct agent *agent, struct http_exchange *exchange,
                   const struct agent_route *route) {
    struct waiting *waiting;

    if (route->show) {
        route->show(agent, exchange);
        return;
    }
    waiting = arena_alloc(exchange->arena, sizeof(*waiting));
    *waiting = (struct waiting){ .task = route->task, .agent = agent, .exchange = exchange };
    event_authorize(agent->authtoken, exchange, exchange_begin, waiting);
}

static bool path_matches(const char *pattern, const char *path) {
    const char *any;

    while ((any = strchr(pattern, '{'))) {
        size_t before = (size_t)(any - pattern), length;

        if (strncmp(pattern, path, before) != 0)
            return false;
        length = strcspn(path + before, "/");
        if (length == 0)
            return false;
        pattern = strchr(any, '}') + 1;
        path += before + length;
    }
    return strcmp(pattern, path) == 0;
}

void agent_handle(void *arg, struct http_exchange *exchange) {
    const struct agent *agent = arg;
    const char *fault = agent->origin ? http_origin_fault(exchange, agent->origin) : NULL;
    const char *path = exchange->path[0] ? exchange->path : "/";
    char uuid[UUID_SIZE];
    const char *id = arena_format(exchange->arena, "req-%s", clock_uuid(&clock_system, uuid));
    struct error err = { 0 };
    bool known = false;

    http_add_header(exchange, "X-OpenStack-Request-ID", id);
    http_add_header(exchange, "X-Compute-Request-Id", id);
    if (exchange->malformed)
        error_set(&err, ERROR_BAD_REQUEST, "%s", exchange->malformed);
    else if (exchange->over_limit)
        error_set(&err, ERROR_UNAVAILABLE, "There are too many clients; try again.");
    else if (fault)
        error_set(&err, ERROR_FORBIDDEN, "%s", fault);
    if (err.kind != ERROR_NONE) {
        reply_fault(exchange, &err);
        return;
    }
    for (size_t i = 0; i < LENGTH(routes); i++) {
        if (!path_matches(routes[i].path, path))
            continue;
        known = true;
        if (strcmp(routes[i].method, exchange->method) == 0) {
            answer(arg, exchange, &routes[i]);
            return;
        }
    }
    if (known)
        error_set(&err, ERROR_BAD_METHOD, "The method is not allowed for this resource.");
    else
        error_set(&err, ERROR_NOT_FOUND, "The resource could not be found.");
    reply_fault(exchange, &err);
}

static int64_t or_default(int64_t value, int64_t fallback) {
    return value > 0 ? value : fallback;
}

static int64_t retry_ms(const struct agent_settings *settings) {
    return or_default(settings->retry_ms, 1000);
}

static int64_t heartbeat_ms(const struct agent_settings *settings) {
    return or_default(settings->heartbeat_s, 10) * 1000;
}

/* Work that requests start: extends, snapshots, trims; one at a time for each volume. */
static void start_work(struct agent *agent, const struct agent_settings *settings,
                       struct client api) {
    const struct job_settings jobs = {
        .hypervisor = settings->hypervisor,
        .api = api,
        .host = settings->host,
        .workers = (unsigned)or_default(settings->workers, 4),
        .retry_ms = retry_ms(settings),
        .busy_ms = or_default(settings->busy_ms, 30000),
        .unreachable_ms = or_default(settings->unreachable_ms, 120000),
    };
    struct assist_settings assists = {
        .hypervisor = jobs.hypervisor,
        .api = api,
        .host = jobs.host,
        .retry_ms = jobs.retry_ms,
        .busy_ms = jobs.busy_ms,
        .unreachable_ms = jobs.unreachable_ms,
        .set_timeout_ms = 300000,
    };
    struct trim_settings trims = {
        .hypervisor = jobs.hypervisor,
        .api = api,
        .host = jobs.host,
        .retry_ms = jobs.retry_ms,
        .busy_ms = jobs.busy_ms,
        .unreachable_ms = jobs.unreachable_ms,
    };

    agent->jobs = jobs_new(&jobs);
    trims.pool = assists.pool = jobs_pool(agent->jobs);
    agent->assists = assists_new(&assists);
    agent->trims = trims_new(&trims);
}

/* Periodic work. */
static void start_rounds(struct agent *agent, const struct agent_settings *settings,
                         struct client api) {
    const struct reporter_settings reporter = {
        .pool = agent->front,
        .jobs = agent->jobs,
        .api = api,
        .host = settings->host,
        .endpoint = settings->own_url,
        .heartbeat_ms = heartbeat_ms(settings),
        .retry_ms = retry_ms(settings),
    };
    const struct limiter_settings limiter = {
        .hypervisor = settings->hypervisor,
        .api = api,
        .host = settings->host,
        .pause_ms = heartbeat_ms(settings),
    };
    const struct resumer_settings resumer = {
        .hypervisor = settings->hypervisor,
        .api = api,
        .pause_ms = heartbeat_ms(settings),
    };

    agent->reporter = reporter_new(&reporter);
    agent->cleaner = guard_cleaner_new(settings->hypervisor, retry_ms(settings));
    agent->limiter = limiter_new(&limiter);
    if (settings->resumes)
        agent->resumer = resumer_new(&resumer);
}

int agent_start(const struct agent_settings *settings, struct agent **ret, struct error *err) {
    struct client api = volumes_client(settings->volume_url, settings->token, settings->user);
    struct agent *agent;

    if (!settings->host || (!settings->volume_url && !own_user_is_known(settings->user)) ||
        !settings->own_url || !settings->hypervisor)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The agent needs a host name, the volume API, its own URL and a "
                         "hypervisor.");
    agent = heap_new(sizeof(*agent));
    agent->hypervisor = settings->hypervisor;
    agent->own_url = settings->own_url;
    agent->authtoken = settings->authtoken;
    agent->origin = settings->origin;
    pthread_mutex_init(&agent->lock, NULL);
    LIST_INIT(&agent->waiting);
    agent->front = worker_pool_new("compute", FRONT_THREADS);
    agent->queries = worker_pool_new("query", QUERY_THREADS);
    start_work(agent, settings, api);
    start_rounds(agent, settings, api);
    *ret = agent;
    return 0;
}

unsigned agent_open_jobs(struct agent *agent) {
    return jobs_open(agent->jobs) + assists_open(agent->assists) + trims_open(agent->trims);
}

void agent_stop(struct agent *agent) {
    struct waiting *waiting;
    struct error err;

    worker_pool_stop(agent->front);
    worker_pool_stop(agent->queries);
    error_set(&err, ERROR_UNAVAILABLE, "The agent is stopping.");
    while ((waiting = LIST_FIRST(&agent->waiting))) {
        LIST_REMOVE(waiting, next);
        reply_fault(waiting->exchange, &err);
    }
    reporter_free(agent->reporter);
    guard_cleaner_free(agent->cleaner);
    limiter_free(agent->limiter);
    if (agent->resumer)
        resumer_free(agent->resumer);
    jobs_stop(agent->jobs);
    assists_free(agent->assists);
    trims_free(agent->trims);
    pthread_mutex_destroy(&agent->lock);
    free(agent);
}
