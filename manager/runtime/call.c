#include "manager/runtime/call.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log_limit.h"
#include "manager/runtime/host.h"
#include "model/volume/extend.h"
#include "json/json.h"

#include <string.h>

/* The newest supported version of the interface; a sender must not require more. */
enum { MAJOR = 3, MINOR_MOST = 20 };

struct call {
    struct manager *manager;
    struct arena *arena;
    const json_t *arguments;
    struct rpc_answer *answer; /* NULL: no response is expected */
};

static int bad_arguments(struct error *err, const char *what) {
    error_set(err, ERROR_BAD_REQUEST, "%s", what);
    return RPC_BAD_ARGUMENTS;
}

/* ---- extend_volume_completion ---- */

struct completion {
    const char *volume_id;
    int64_t new_gb;
    const json_t *reservations;
    bool failed;
};

static int read_completion(const struct call *call, struct completion *completion,
                           struct error *err) {
    /* a volume object of any version; only its id is used */
    const json_t *volume = json_object_get(call->arguments, "volume");
    const json_t *new_size = json_object_get(call->arguments, "new_size");
    const json_t *failed = json_object_get(call->arguments, "error");

    completion->volume_id = json_text_of(json_object_get(volume, "versioned_object.data"), "id");
    completion->reservations = json_object_get(call->arguments, "reservations");
    if (!json_text_is(volume, "versioned_object.name", "Volume") || !completion->volume_id ||
        !uuid_parse(completion->volume_id, NULL))
        return bad_arguments(err, "volume is no volume object with an id");
    if (!json_is_integer(new_size) || json_integer_value(new_size) < 1)
        return bad_arguments(err, "new_size is no size in GiB");
    if (!json_is_array(completion->reservations))
        return bad_arguments(err, "reservations is no list");
    if (!json_is_boolean(failed))
        return bad_arguments(err, "error is neither true nor false");
    completion->new_gb = json_integer_value(new_size);
    completion->failed = json_is_true(failed);
    return 0;
}

static int completion_body(struct work *work, void *arg, struct error *err) {
    const struct completion *completion = arg;
    const char *extend_id;
    struct volume volume;

    if (volume_details(work, completion->volume_id, &volume, err) < 0)
        return -1;
    if (!volume_extend_is(work, &volume, completion->new_gb, completion->reservations))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s does not wait for this extend to be completed.",
                         volume.id);
    if (volume_extend_awaited(work, &volume, &extend_id, err) < 0)
        return -1;
    return volume_extend_completion(work, &volume, extend_id, completion->failed, err);
}

/* A repeated or late completion, or one of another extend, changes nothing; its caller gets an
 * error. */
static int extend_volume_completion(struct call *call, struct error *err) {
    static struct log_limit dropped = LOG_LIMIT;
    const struct work base = work_own(call->manager->settings.settings, call->arena);
    struct completion completion;
    int refusal = read_completion(call, &completion, err);
    unsigned others;

    if (refusal)
        return refusal;
    if (work_transaction(call->manager->settings.db, &base, completion_body, &completion, err) == 0)
        return 0;
    if (err->kind != ERROR_BAD_REQUEST && err->kind != ERROR_NOT_FOUND)
        return -1;
    if (log_limit_allows(&dropped, completion.volume_id, clock_monotonic_us(), &others))
        log_warning(NULL, "completion of an extend dropped", "volume_id", completion.volume_id,
                    "reason", err->message, "others", LOG_INT(others), NULL);
    if (call->answer)
        call->answer->failure = *err;
    return 0;
}

/* ---- other methods ---- */

static int publish_service_capabilities(struct call *call, struct error *err) {
    return hosts_report(call->manager, err);
}

static int ping(struct call *call, struct error *err) {
    (void)err;
    if (call->answer)
        call->answer->result = "\"pong\"";
    return 0;
}

static const struct method {
    const char *name;
    unsigned major, minor; /* of the interface that introduced it */
    int (*handle)(struct call *call, struct error *err);
} methods[] = {
    { "extend_volume_completion", MAJOR, 19, extend_volume_completion },
    { "publish_service_capabilities", MAJOR, 0, publish_service_capabilities },
    { "oslo_rpc_server_ping", 1, 0, ping },
};

int call_handle(struct manager *manager, const struct rpc_message *message, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct call call = { .manager = manager, .arena = arena, .answer = message->answer };
    const struct method *method = NULL;
    unsigned major = 0, minor = 0;
    bool fits;

    for (unsigned i = 0; i < LENGTH(methods); i++)
        if (strcmp(methods[i].name, message->method) == 0)
            method = &methods[i];
    if (!method)
        return RPC_NO_METHOD;
    if (sscanf(message->version, "%u.%u", &major, &minor) != 2)
        return RPC_NO_VERSION;
    /* The sender names the version that introduced the method, or the one to which it is
     * limited. */
    fits = major == method->major ? minor <= (major == MAJOR ? MINOR_MOST : method->minor)
                                  : method->major == 1;
    if (!fits)
        return RPC_NO_VERSION;
    call.arguments = json_parse(arena, message->payload, strlen(message->payload), err);
    if (!json_is_object(call.arguments))
        return RPC_BAD_ARGUMENTS;
    return method->handle(&call, err);
}
