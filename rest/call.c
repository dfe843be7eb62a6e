#include "rest/call.h"

#include "common/clock.h"
#include "operation/operation.h"
#include "rest/fault.h"
#include "rest/versions.h"

#include <string.h>

#define WAIT_MS 60000

void call_reach(struct call *call) {
    struct http_exchange *http = call->request.http;

    http_add_header(http, "x-compute-request-id", call->request.context.request_id);
    call->headers = http->reply_header_count;
}

int call_negotiate(struct call *call, struct error *err) {
    struct http_exchange *http = call->request.http;
    struct version version;
    int result = version_negotiate(http->arena, http_header(http, VERSION_HEADER), &version, err);

    if (version.echo) {
        http_add_header(http, VERSION_HEADER, version.echo);
        http_add_header(http, "Vary", VERSION_HEADER);
    }
    call->request.minor = version.minor;
    call->headers = http->reply_header_count;
    return result;
}

/* ---- response ---- */

static void release_slot(struct call *call) {
    if (call->slot)
        request_slots_leave(call->request.api->slots, call->slot, call->slot);
    call->slot = NULL;
}

#define REFUSALS_EACH_US SECOND_US

/* A client above its share may be refused repeatedly: one of these refusals a second is logged as
 * an error, with the number of those before it. */
static bool is_due(struct call *call, const struct error *err, unsigned *ret_others) {
    struct api *api = call->request.api;
    int64_t now_us = clock_monotonic_us(), due_us = atomic_load(&api->refusal_due_us);

    *ret_others = 0;
    if (!err || (err->kind != ERROR_TRY_LATER && err->kind != ERROR_GOES_ON))
        return true;
    if (now_us < due_us ||
        !atomic_compare_exchange_strong(&api->refusal_due_us, &due_us, now_us + REFUSALS_EACH_US)) {
        atomic_fetch_add(&api->refusals_unlogged, 1);
        return false;
    }
    *ret_others = atomic_exchange(&api->refusals_unlogged, 0);
    return true;
}

/* Details hidden from clients are logged; `err` is NULL on success.  A refusal may quote the body,
 * which is not logged: the client knows it. */
static void reply(struct call *call, const struct error *err) {
    struct http_exchange *http = call->request.http;
    const struct log_context *log = &call->request.context.log;
    bool failed =
        http->status >= error_http_status(ERROR_INTERNAL) || (err && error_is_hidden(err->kind));
    unsigned others;

    release_slot(call);
    if (failed && is_due(call, err, &others))
        log_error(log, "request failed", "method", http->method, "path", http->path, "status",
                  LOG_INT(http->status), "peer", http->peer, "reason", err ? err->message : NULL,
                  "others", LOG_INT(others), NULL);
    else
        log_debug(log, "request", "method", http->method, "path", http->path, "status",
                  LOG_INT(http->status), "peer", http->peer, "reason",
                  err && http->body_size == 0 ? err->message : NULL, NULL);
    http_reply(http);
}

void call_reply(struct call *call) {
    reply(call, NULL);
}

void call_fail(struct call *call, const struct error *err) {
    call->request.http->reply_header_count = call->headers;
    fault_render(call->request.http, err);
    reply(call, err);
}

/* The server has no memory for a waiting response: the client must repeat the request. */
void call_refuse(void *arg) {
    struct call *call = arg;
    struct http_exchange *http = call->request.http;
    struct error err;
    unsigned others;

    error_set(&err, ERROR_TRY_LATER,
              "Too many large answers wait for clients that do not read them. Try again later, or "
              "ask for less with limit.");
    http->reply_header_count = call->headers;
    fault_render(http, &err);
    if (is_due(call, &err, &others))
        log_error(&call->request.context.log, "response refused", "method", http->method, "path",
                  http->path, "peer", http->peer, "reason", err.message, "others", LOG_INT(others),
                  NULL);
}

/* Runs inside the body: the writer's thread only has to send afterwards. */
static void request_render(struct request *request) {
    struct http_exchange *http = request->http;

    http->status = request->status ? request->status : request->route->status;
    http->reply_body = "";
    http->reply_size = request->out.size;
    http->reply_heap = request->out.heap;
    if (request->out.size == 0 && request->route->flags & ROUTE_BARE) {
        http_add_header(http, "Content-Type", "text/html; charset=UTF-8");
        return;
    }
    if (request->out.size > 0)
        http->reply_body = json_out_text(&request->out);
    http_add_header(http, "Content-Type", fault_media_type(http));
}

/* ---- transaction ---- */

static int request_load(struct request *request, struct error *err) {
    const struct resource *resource = request->route->resource;

    request->object = NULL;
    request->owner = NULL;
    if (!resource || !request->id)
        return 0;
    request->object = resource_load(request, resource, request->id, &request->target, err);
    if (!request->object)
        return -1;
    request->owner = resource->unowned ? NULL : &request->target;
    return 0;
}

static int request_police(struct request *request, struct error *err) {
    const struct resource *resource = request->route->resource;
    const char *rule = request->route->rule;

    if (!rule)
        return 0;
    /* the rule for seeing the object was checked when it was loaded, for the same owner */
    if (request->owner && resource->sees && strcmp(resource->sees, rule) == 0)
        return 0;
    return request_authorize(request, rule, request->owner, err);
}

/* For an unowned object the rule comes first: a refusal does not depend on its existence. */
static int request_find(struct request *request, struct error *err) {
    const struct resource *resource = request->route->resource;
    bool rule_first = resource && resource->unowned && request->id;

    request->owner = NULL;
    if (rule_first)
        return request_police(request, err) < 0 ? -1 : request_load(request, err);
    return request_load(request, err) < 0 ? -1 : request_police(request, err);
}

/* A query to a backend is recorded as an operation. */
static bool route_reads(const struct route *route) {
    return strcmp(route->method, "GET") == 0 && !route->after && !(route->flags & ROUTE_WRITES);
}

static void request_begin(struct call *call, struct db_tx *tx) {
    struct request *request = &call->request;
    const struct settings *settings = request->api->settings.settings;

    request->work = (struct work){ .tx = tx,
                                   .arena = request->http->arena,
                                   .context = &request->context,
                                   .settings = settings,
                                   .now_us = clock_now_us(settings->clock),
                                   .clock_us = clock_shared_us(settings->clock) };
    request->http->reply_header_count = call->headers;
    request->status = 0;
    request->view = NULL;
    request->watch = NULL;
    json_out_init(&request->out, request->http->arena, 2048);
}

/* Callers without a project have one share together, beside the service's own. */
static const char *share_of(const char *project) {
    return project ? project : "";
}

int call_take_slot(struct call *call, const char *project, struct error *err) {
    struct request_slots *slots = call->request.api->slots;
    const char *holder = share_of(project);

    if (!slots || call->slot)
        return 0;
    if (request_slots_take(slots, holder, holder))
        call->slot = holder;
    return call->slot ? 0
                      : error_set(err, ERROR_TRY_LATER,
                                  "Too many requests of this project wait for their answers; "
                                  "try again.");
}

bool call_must_go(const struct call *call) {
    return call->slot && request_slots_too_many(call->request.api->slots, call->slot, call->slot);
}

/* May run again, so all results of the previous run are reset. */
int call_body(struct db_tx *tx, void *arg, struct error *err) {
    struct call *call = arg;
    struct request *request = &call->request;

    request_begin(call, tx);
    request->wait_operation = NULL;
    request->wait_ms = 0;
    call->confirmation.wanted = false;
    request->work.confirmation = request->api->settings.confirm ? &call->confirmation : NULL;
    if (route_reads(request->route)) { /* the response of a committed change */
        request->http->refuse = call_refuse;
        request->http->refuse_arg = call;
    }
    if (request_find(request, err) < 0 || request->route->handler(request, err) < 0)
        return -1;
    /* without a query to the backend the object is created at once */
    if (request->route->flags & ROUTE_ASKS && !request->wait_operation &&
        request->route->after(request, err) < 0)
        return -1;
    if (request->wait_operation && call_take_slot(call, request->wait_project, err) < 0)
        return -1;
    request_render(request);
    return 0;
}

void call_end(struct call *call, int result, const struct error *err) {
    struct request *request = &call->request;
    struct error failure;

    if (result < 0 && (confirmation_ask(call, err) || confirmation_withdraw(call, err)))
        return;
    if (result < 0)
        call_fail(call, err);
    else if (request->watch) {
        log_debug(&request->context.log, "watch", "path", request->http->path, "peer",
                  request->http->peer, NULL);
        release_slot(call);
        if (request->api->settings.watches->put(request->api->watchers, request, &failure) < 0)
            call_fail(call, &failure);
    } else if (request->wait_operation)
        waiting_put(request->api->waiting, &call->waiter,
                    request->wait_ms ? request->wait_ms : WAIT_MS);
    else
        call_reply(call);
}

static void call_done(struct db_job *job, int result, struct error *err) {
    struct call *call = job->arg;
    struct api *api = call->request.api;

    call_end(call, result, err);
    atomic_fetch_sub(&api->in_flight, 1);
}

void call_run(struct call *call) {
    struct api *api = call->request.api;
    struct error err = { .kind = ERROR_NONE };

    if (route_reads(call->request.route)) {
        call_read(call);
    } else if (api->settings.inline_transactions) {
        call_end(call, db_transaction(api->settings.db, call_body, call, &err), &err);
    } else {
        call->job = (struct db_job){ .body = call_body,
                                     .done = call_done,
                                     .arg = call,
                                     .group = share_of(call->request.context.project_id) };
        atomic_fetch_add(&api->in_flight, 1);
        db_submit(api->settings.db, &call->job);
    }
}

/* ---- waiting for an operation ---- */

enum { OPERATION_OPEN = 1 };

/* Called repeatedly: its memory is not the request's. */
static int operation_is_open(struct request *request, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct work work = request->work;
    struct operation operation;
    int found;

    work.arena = arena;
    found = operation_get(&work, request->wait_operation, &operation, err);
    return found > 0 ? operation.phase != PHASE_ANSWERED : found;
}

static int after(struct call *call, struct db_tx *tx, struct error *err) {
    struct request *request = &call->request;

    request_begin(call, tx);
    if (request->route->after(request, err) < 0)
        return -1;
    request_render(request);
    return 0;
}

/* OPERATION_OPEN, or the response of route->after on the snapshot that showed the end. */
static int call_after_body(struct db_tx *tx, void *arg, struct error *err) {
    struct call *call = arg;
    struct request *request = &call->request;
    int open;

    request->work.tx = tx;
    open = operation_is_open(request, err);
    if (open != 0 || request->route->flags & ROUTE_ASKS)
        return open;
    return after(call, tx, err);
}

static int call_make_body(struct db_tx *tx, void *arg, struct error *err) {
    return after(arg, tx, err);
}

static void call_made(struct db_job *job, int result, struct error *err) {
    struct call *call = job->arg;
    struct api *api = call->request.api;

    if (result < 0)
        call_fail(call, err);
    else
        call_reply(call);
    atomic_fetch_sub(&api->in_flight, 1);
}

/* The backend was queried, and nothing is created yet. */
static void call_make(struct call *call) {
    struct api *api = call->request.api;
    struct error err = { .kind = ERROR_NONE };

    call->job = (struct db_job){ .body = call_make_body,
                                 .done = call_made,
                                 .arg = call,
                                 .group = share_of(call->request.context.project_id) };
    atomic_fetch_add(&api->in_flight, 1);
    if (api->settings.inline_transactions)
        call_made(&call->job, db_transaction(api->settings.db, call_make_body, call, &err), &err);
    else
        db_submit(api->settings.db, &call->job);
}

bool call_check(struct waiter *waiter, enum waiting_reason reason) {
    struct call *call = (struct call *)((char *)waiter - offsetof(struct call, waiter));
    struct error err = { .kind = ERROR_NONE };
    int result = db_read(call->request.api->settings.db, call_after_body, call, &err);

    if (result == OPERATION_OPEN && reason == WAITING_LOOK && !call_must_go(call))
        return false;
    if (call->request.route->flags & ROUTE_ASKS && reason != WAITING_STOP && result >= 0 &&
        (result == 0 || reason == WAITING_TIMEOUT)) {
        call_make(call);
        return true;
    }
    if (result == OPERATION_OPEN && reason == WAITING_STOP)
        error_set(&err, ERROR_TRY_LATER, "The service is stopping.");
    else if (result == OPERATION_OPEN)
        error_set(&err, ERROR_TRY_LATER, "The backend has not answered in time; its work goes on.");
    if (result == 0 && call->request.route->flags & ROUTE_ASKS)
        result = error_set(&err, ERROR_TRY_LATER, "The service is stopping.");
    if (result != 0) {
        /* The object of a POST exists: a client told to retry would create another one. */
        const struct route *route = call->request.route;

        if (error_http_status(err.kind) == error_http_status(ERROR_GOES_ON) && !route->action &&
            strcmp(route->method, "POST") == 0 && !(route->flags & ROUTE_ASKS))
            error_set(&err, ERROR_GOES_ON, "%s The object exists; its status shows the result.",
                      arena_text(call->request.http->arena, error_client_text(&err)));
    }
    if (result == 0)
        call_reply(call);
    else
        call_fail(call, &err);
    return true;
}
