#include "replication/node/replica_service.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/worker.h"
#include "replication/node/health_probes.h"
#include "replication/node/pool_status.h"
#include "replication/node/replica_calls.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX       "/v1/replicas/"
#define BODY_MOST    ((size_t)64 * 1024)
#define CONNECTIONS  256
#define THREADS      4  /* of a pool */
#define WAITING_MOST 64 /* pending requests of a pool */
#define DRAIN_MS     5000

/* In the arena of its exchange. */
struct waiting {
    struct replica_service *service;
    struct http_exchange *exchange;
    const struct replica_call *call;
    struct replica_call_request request;
};

struct replica_service {
    struct replica_service_settings settings;
    struct http_server *server;
    unsigned count;
    struct worker_pool *workers[]; /* of each pool */
};

/* ---- responses ---- */

static void answer(struct http_exchange *exchange, int status, struct json_out *out) {
    exchange->status = status;
    exchange->reply_body = json_out_text(out);
    exchange->reply_size = strlen(exchange->reply_body);
    http_add_header(exchange, "Content-Type", "application/json");
    http_reply(exchange);
}

/* Nodes get the whole message. */
static void replica_service_refuse(struct http_exchange *exchange, const struct error *err) {
    struct json_out out;

    json_out_init(&out, exchange->arena, 256);
    out_begin_object(&out);
    out_put_text(&out, "message", err->message);
    out_end_object(&out);
    answer(exchange, error_http_status(err->kind), &out);
}

/* ---- threads of a pool ---- */

static void run(void *arg) {
    const struct waiting *waiting = arg;
    struct health_probes *health_probes = waiting->service->settings.health_probes;
    struct replica_call_request request = waiting->request;
    const char *directory = request.replica.pool;
    struct pool_status status;
    struct error err = { 0 };
    struct json_out out;
    int outcome;

    json_out_init(&out, waiting->exchange->arena, 1024);
    request.out = &out;
    out_begin_object(&out);
    if (health_probes && health_probes_unresponsive_ms(health_probes, directory) > 0) {
        outcome = error_set(&err, ERROR_UNAVAILABLE, "The pool %s does not answer.", request.pool);
    } else {
        pool_status_read(directory, request.pool, &status);
        outcome = pool_is_marked(&status) ? waiting->call->run(&request, &err)
                                          : error_pass(&err, &status.why);
    }
    if (outcome < 0) {
        replica_service_refuse(waiting->exchange, &err);
        return;
    }
    out_end_object(&out);
    answer(waiting->exchange, 200, &out);
}

/* ---- requests ---- */

/* "/v1/replicas/UID/CALL" */
static int read_path(struct waiting *waiting, struct error *err) {
    const char *path = waiting->exchange->path, *slash;
    char uid[UUID_SIZE], canonical[UUID_SIZE];

    if (strncmp(path, PREFIX, strlen(PREFIX)) == 0) {
        path += strlen(PREFIX);
        slash = strchr(path, '/');
        if (slash && slash - path == UUID_SIZE - 1) {
            memcpy(uid, path, UUID_SIZE - 1);
            uid[UUID_SIZE - 1] = '\0';
            waiting->call = replica_call_find(slash + 1);
            if (waiting->call && uuid_parse(uid, canonical)) {
                waiting->request.replica.uid = arena_text(waiting->exchange->arena, canonical);
                return 0;
            }
        }
    }
    return error_set(err, ERROR_NOT_FOUND, "There is no call at this path.");
}

/* Before the first response of the API only the replicas with a session are known. */
static int find_served(struct waiting *waiting, struct error *err) {
    struct replica_call_request *request = &waiting->request;
    struct replica_session session;

    if (!sessions_find(waiting->service->settings.sessions, request->arena, request->replica.uid,
                       &session))
        return error_set(
            err, ERROR_UNAVAILABLE,
            "The replicas of this node have not been fetched from the volume API yet.");
    request->replica.pool = session.path;
    request->pool = session.pool;
    request->volume = arena_text(request->arena, session.volume);
    return 0;
}

/* Of the volume in the body, if that has one. */
static int find_replica(struct waiting *waiting, struct error *err) {
    struct replica_call_request *request = &waiting->request;
    struct assignment *assignment;
    int found = replica_index_find(waiting->service->settings.replica_index, request->replica.uid,
                                   &assignment);

    if (found < 0 && find_served(waiting, err) < 0)
        return -1;
    if (found == 0)
        return error_set(err, ERROR_NOT_FOUND, "There is no replica %s here.",
                         request->replica.uid);
    if (found > 0) {
        request->replica.pool = arena_text(request->arena, assignment->replica.path);
        request->pool = arena_text(request->arena, assignment->replica.pool);
        request->volume = arena_text(request->arena, assignment->replica.volume);
        request->deleting = assignment->deleting;
        assignment_release(assignment);
    }
    if (!request->body.volume || strcmp(request->body.volume, request->volume) == 0)
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "The replica %s does not belong to the volume %s.",
                     request->replica.uid, request->body.volume);
}

static int read_body(struct waiting *waiting, struct error *err) {
    const struct http_exchange *exchange = waiting->exchange;
    struct replica_call_request *request = &waiting->request;
    const json_t *body;

    if (exchange->malformed)
        return error_set(err, ERROR_BAD_REQUEST, "%s", exchange->malformed);
    if (exchange->too_large)
        return error_set(err, ERROR_TOO_LARGE, "The body is larger than %zu bytes.", BODY_MOST);
    if (exchange->over_limit)
        return error_set(err, ERROR_UNAVAILABLE, "There are too many clients.");
    if (strcmp(exchange->method, "POST") != 0)
        return error_set(err, ERROR_BAD_METHOD, "Only POST is accepted.");
    body = json_parse_within(request->arena, exchange->body, exchange->body_size,
                             JSON_BODY_VALUES_MOST, err);
    return body ? json_decode(request->arena, body, "body", waiting->call->fields, 0, true,
                              &request->body, err)
                : -1;
}

/* ---- threads of the server ---- */

static int put(struct waiting *waiting, struct error *err) {
    const struct replica_service *service = waiting->service;
    const struct replica_call_request *request = &waiting->request;
    struct work_item item = { .key = request->replica.uid, .run = run, .arg = waiting };
    struct worker_pool *workers = NULL; /* the document may have another path */

    for (unsigned i = 0; i < service->count && !workers; i++) {
        const struct pool_settings *pool = &service->settings.pools[i];

        if (strcmp(pool->name, request->pool) == 0 &&
            strcmp(pool->path, request->replica.pool) == 0)
            workers = service->workers[i];
    }
    if (!workers)
        return error_set(err, ERROR_NOT_FOUND, "There is no pool %s on this node.", request->pool);
    if (worker_pool_pending(workers) >= WAITING_MOST)
        return error_set(err, ERROR_UNAVAILABLE, "The pool %s has too many pending requests.",
                         request->pool);
    worker_pool_put(workers, &item);
    return 0;
}

static void handle(void *arg, struct http_exchange *exchange) {
    struct waiting *waiting = arena_alloc(exchange->arena, sizeof(*waiting));
    struct error err = { 0 };

    *waiting = (struct waiting){ .service = arg, .exchange = exchange };
    waiting->request.arena = exchange->arena;
    waiting->request.sessions = waiting->service->settings.sessions;
    waiting->request.client = exchange->client;
    if (read_path(waiting, &err) < 0 || read_body(waiting, &err) < 0 ||
        find_replica(waiting, &err) < 0 || put(waiting, &err) < 0)
        replica_service_refuse(exchange, &err);
}

/* ---- begin and end ---- */

int replica_service_start(const struct replica_service_settings *settings,
                          struct replica_service **ret, struct error *err) {
    struct replica_service *service =
        heap_new(sizeof(*service) + settings->pool_count * sizeof(service->workers[0]));
    const struct http_mount mounts[] = { { "", handle, service }, { 0 } };
    const struct http_server_settings server = {
        .address = settings->address,
        .port = settings->port,
        .threads = 2,
        .body_limit = BODY_MOST,
        .connections = CONNECTIONS,
        .cert_file = settings->cert_file,
        .key_file = settings->key_file,
        .ca_file = settings->ca_file,
        .crl_file = settings->crl_file,
        .mounts = mounts,
    };

    service->settings = *settings;
    for (; service->count < settings->pool_count; service->count++)
        service->workers[service->count] =
            worker_pool_new(settings->pools[service->count].name, THREADS);
    if (http_server_start(&server, &service->server, err) < 0) {
        replica_service_stop(service, 0);
        return error_context(err, "[storage] listen");
    }
    *ret = service;
    return 0;
}

unsigned replica_service_port(const struct replica_service *service) {
    return http_server_port(service->server);
}

/* Pending requests finish before the server ends, which answers the rest. */
bool replica_service_stop(struct replica_service *service, int64_t ms) {
    int64_t until_us;

    if (!service)
        return true;
    http_server_stop(service->server, ms < DRAIN_MS ? (unsigned)ms : DRAIN_MS);
    until_us = clock_monotonic_us() + ms * 1000;
    for (unsigned i = 0; i < service->count; i++) {
        while (worker_pool_pending(service->workers[i]) > 0) {
            if (clock_monotonic_us() >= until_us)
                return false;
            poll(NULL, 0, 5);
        }
    }
    for (unsigned i = 0; i < service->count; i++)
        worker_pool_stop(service->workers[i]);
    free(service);
    return true;
}
