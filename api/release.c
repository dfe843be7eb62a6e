/*
 * A request refused because a server may use the disk: the compute service is queried, and if the
 * server does not use it the request runs once more, with that result (model/attachment/attachment.h). It
 * holds a request slot meanwhile, and a few threads make all queries: one of a project at a time,
 * so that a project with an unresponsive compute service occupies one of them only.
 */
#include "api/call.h"

#include "common/clock.h"
#include "common/log_limit.h"
#include "common/worker.h"

#define PATIENCE_US 10000000 /* for a free thread */

struct asking {
    struct call *call;
    struct error refusal;
    int64_t until_us;
};

static bool is_free(struct asking *asking) {
    struct call *call = asking->call;
    const struct api_settings *settings = &call->request.api->settings;
    const struct attachment *attachment = call->confirmation.subject;
    static struct log_limit unknown = LOG_LIMIT;
    struct error why = { .kind = ERROR_NONE };
    unsigned others;
    int uses = -1;

    if (clock_monotonic_us() < asking->until_us)
        uses = settings->server_uses(settings->server_uses_arg, call->request.http->arena,
                                     attachment, call->request.context.request_id, &why);
    else
        error_set(&why, ERROR_UNAVAILABLE, "too many pending queries to the compute service");
    if (uses == 0)
        log_warning(&call->request.context.log,
                    "stale attachment deleted: the server does not use the volume", "volume_id",
                    attachment->volume_id, "attachment_id", attachment->id, "instance_uuid",
                    attachment->instance_uuid, NULL);
    if (uses < 0 &&
        log_limit_allows(&unknown, attachment->volume_id, clock_monotonic_us(), &others))
        log_warning(&call->request.context.log, "use of a volume by its server is unknown",
                    "volume_id", attachment->volume_id, "instance_uuid", attachment->instance_uuid,
                    "reason", why.message, "others", LOG_INT(others), NULL);
    return uses == 0;
}

static void ask(void *arg) {
    struct asking *asking = arg;
    struct call *call = asking->call;
    struct api *api = call->request.api;
    struct error err;

    if (atomic_load(&api->stops)) {
        error_set(&err, ERROR_TRY_LATER, "The service is stopping.");
        call_fail(call, &err);
    } else if (call_must_go(call)) {
        error_set(&err, ERROR_TRY_LATER,
                  "Too many requests of the project are waiting; try again.");
        call_fail(call, &err);
    } else if (is_free(asking)) {
        call->confirmation.granted = true;
        call_run(call);
    } else {
        call_fail(call, &asking->refusal);
    }
    atomic_fetch_sub(&api->in_flight, 1);
}

bool release_ask(struct call *call, const struct error *refusal) {
    struct api *api = call->request.api;
    struct asking *asking;
    struct error err;

    if (!call->confirmation.wanted || call->confirmation.granted)
        return false;
    if (call_take_slot(call, call->confirmation.project_id, &err) < 0) {
        call_fail(call, &err);
        return true;
    }
    asking = arena_alloc(call->request.http->arena, sizeof(*asking));
    *asking = (struct asking){ call, *refusal, clock_monotonic_us() + PATIENCE_US };
    atomic_fetch_add(&api->in_flight, 1);
    if (api->askers)
        worker_pool_put(
            api->askers,
            &(struct work_item){ .key = call->confirmation.project_id, .run = ask, .arg = asking });
    else
        ask(asking);
    return true;
}
