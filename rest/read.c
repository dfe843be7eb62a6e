/*
 * Requests that cost much: reads that cost more with more rows (lists and sums), and large bodies
 * (body.c).  One of a few threads runs each, shared fairly among projects.  So cheap requests never
 * wait for expensive ones, and those of one project only for another project's running one.
 *
 * A read is tried in the thread that received it, and aborted there when it exceeds a small budget.
 * An expensive read is predicted: the project's next request at the same route waits for a thread
 * at once, until one was cheap there.
 */
#include "rest/call.h"

#include "common/clock.h"
#include "common/words.h"
#include "common/worker.h"

/* A client that closes its side within this time has probably only nothing more to send. */
#define LEAVES_US 100000
/* A longer read is expensive, about as long as db_read_briefly() allows. */
#define LITTLE_US 300

static const char *project_of(const struct call *call) {
    const char *project = call->request.context.project_id;

    return project ? project : "";
}

/* Was the last one expensive?  Two projects with a common entry only mispredict each other. */
static _Atomic bool *prediction_of(const struct call *call) {
    uintptr_t route = (uintptr_t)call->request.route / sizeof(struct route);
    size_t place = (word_hash(project_of(call)) + route) % API_READS_KNOWN;

    return &call->request.api->reads_much[place];
}

/* ---- the queue ---- */

/* Why a call is not continued in its turn; false: it is. */
static bool is_pointless(const struct call *call, struct error *err) {
    bool waited = clock_monotonic_us() - call->queued_us > LEAVES_US;

    if (atomic_load(&call->request.api->stops))
        error_set(err, ERROR_TRY_LATER, "The service is stopping.");
    else if (call_must_go(call))
        error_set(err, ERROR_TRY_LATER, "Too many requests of the project are waiting; try again.");
    else if (waited && http_client_left(call->request.http))
        error_set(err, ERROR_TRY_LATER, "The client closed its side while the request waited.");
    else
        return false;
    return true;
}

static void run(void *arg) {
    struct call *call = arg;
    struct api *api = call->request.api;
    struct error err = { .kind = ERROR_NONE };

    if (is_pointless(call, &err))
        call_fail(call, &err);
    else
        call->queued(call);
    atomic_fetch_sub(&api->in_flight, 1);
}

void call_queue(struct call *call, void (*then)(struct call *call)) {
    struct api *api = call->request.api;
    const char *project = project_of(call);
    struct error err = { .kind = ERROR_NONE };

    if (call_take_slot(call, project, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    call->queued = then;
    call->queued_us = clock_monotonic_us();
    atomic_fetch_add(&api->in_flight, 1);
    worker_pool_put(api->readers, &(struct work_item){ .group = project, .run = run, .arg = call });
}

/* ---- reads ---- */

static void read_much(struct call *call) {
    struct error err = { .kind = ERROR_NONE };
    int64_t begun_us = clock_monotonic_us();
    int result = db_read(call->request.api->settings.db, call_body, call, &err);

    atomic_store(prediction_of(call), clock_monotonic_us() - begun_us > LITTLE_US);
    call_end(call, result, &err);
}

/* False: it is expensive. */
static bool read_briefly(struct call *call) {
    struct error err = { .kind = ERROR_NONE };
    _Atomic bool *much = prediction_of(call);
    bool over = atomic_load(much);
    int result = -1;

    if (!over)
        result = db_read_briefly(call->request.api->settings.db, call_body, call, &over, &err);
    if (over)
        atomic_store(much, true);
    else
        call_end(call, result, &err);
    return !over;
}

void call_read(struct call *call) {
    struct api *api = call->request.api;
    struct error err = { .kind = ERROR_NONE };

    if (!api->readers || !route_reads_many(call->request.route))
        call_end(call, db_read(api->settings.db, call_body, call, &err), &err);
    else if (!read_briefly(call))
        call_queue(call, read_much);
}
