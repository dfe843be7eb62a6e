/*
 * A request refused for lack of a fact from outside of the database (struct confirmation): the fact
 * is queried, and if it is confirmed the request runs once more, with that result, which may lead
 * to another question. It holds a request slot meanwhile, and a few threads query each service: for
 * a project one at a time, so that a project with an unresponsive service occupies one of them
 * only.  A service that does not respond delays no queries of the others.
 */
#include "rest/call.h"

#include "common/clock.h"
#include "common/worker.h"

#define PATIENCE_US 10000000 /* for a free thread */

struct asking {
    struct call *call;
    struct error refusal;
    int64_t until_us;
};

static void ask(void *arg) {
    struct asking *asking = arg;
    struct call *call = asking->call;
    struct api *api = call->request.api;
    const struct api_settings *settings = &api->settings;
    struct error err;

    if (atomic_load(&api->stops)) {
        error_set(&err, ERROR_TRY_LATER, "The service is stopping.");
        call_fail(call, &err);
    } else if (call_must_go(call)) {
        error_set(&err, ERROR_TRY_LATER,
                  "Too many requests of the project are waiting; try again.");
        call_fail(call, &err);
    } else if (settings->confirm(settings->confirm_arg, &call->request, &call->confirmation,
                                 clock_monotonic_us() >= asking->until_us, &asking->refusal)) {
        call->confirmation.granted = true;
        call_run(call);
    } else {
        call_fail(call, &asking->refusal);
    }
    atomic_fetch_sub(&api->in_flight, 1);
}

static const char *service_of(const struct confirmation *confirmation) {
    switch (confirmation->kind) {
    case CONFIRM_RELEASE:
        return "compute";
    case CONFIRM_IMAGE:
    case CONFIRM_IMAGE_ID:
    case CONFIRM_NEW_IMAGE:
        return "image";
    case CONFIRM_CERTIFICATE:
        break;
    }
    return "key-manager";
}

static void put(struct call *call, const struct error *refusal, void (*run)(void *arg)) {
    const struct confirmation *confirmation = &call->confirmation;
    struct api *api = call->request.api;
    struct arena *arena = call->request.http->arena;
    struct asking *asking = arena_alloc(arena, sizeof(*asking));
    const char *service = service_of(confirmation);

    *asking = (struct asking){ call, *refusal, clock_monotonic_us() + PATIENCE_US };
    atomic_fetch_add(&api->in_flight, 1);
    if (api->askers)
        worker_pool_put(api->askers,
                        &(struct work_item){
                            .key = arena_join(arena, service, " ", confirmation->project_id, NULL),
                            .group = service,
                            .run = run,
                            .arg = asking });
    else
        run(asking);
}

bool confirmation_ask(struct call *call, const struct error *refusal) {
    struct error err;

    if (!call->confirmation.wanted || call->confirmation.granted)
        return false;
    if (call_take_slot(call, call->confirmation.project_id, &err) < 0) {
        call_fail(call, &err);
        return true;
    }
    put(call, refusal, ask);
    return true;
}

static void withdraw(void *arg) {
    struct asking *asking = arg;
    struct call *call = asking->call;
    struct api *api = call->request.api;

    api->settings.withdraw(api->settings.confirm_arg, &call->request, &call->confirmation);
    call_fail(call, &asking->refusal);
    atomic_fetch_sub(&api->in_flight, 1);
}

bool confirmation_withdraw(struct call *call, const struct error *failure) {
    if (!call->confirmation.granted || !call->confirmation.has_effect)
        return false;
    put(call, failure, withdraw);
    return true;
}
