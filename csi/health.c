#include "csi/health.private.h"

#include <string.h>

#define PROBE_MS 3000 /* livenessprobe's own timeout is a few seconds at most */

/* {"versions": [{"id": "v3.0", "version": "3.71", …}]} */
static bool has_version_3(const json_t *document) {
    const json_t *versions = json_object_get(document, "versions");

    for (size_t i = 0; i < json_array_size(versions); i++) {
        const char *id = json_text_of(json_array_get(versions, i), "id");

        if (id && strncmp(id, "v3.", 3) == 0)
            return true;
    }
    return false;
}

static int query_api(const struct grpc_call *call, bool *ret_ready, struct error *err) {
    struct client api = csi_api(call);
    const struct client_call request = { .method = "GET", .path = "/" };
    struct error failure = { .kind = ERROR_NONE };
    struct http_answer answer;
    bool answered;

    api.timeout_ms = PROBE_MS;
    api.version = NULL; /* the request is older than any version */
    answered = client_send(&api, call->arena, &request, &answer, &failure) == 0;
    if (!answered || answer.status == 429 || answer.status >= 500) {
        log_info(&call->log, "the volume API does not respond", "reason",
                 answered ? "it is busy" : failure.message, NULL);
    } else if (answer.status >= 300 ||
               !has_version_3(json_parse(call->arena, answer.body, answer.body_size, NULL))) {
        return grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                           "the server at the volume API's endpoint has no version 3 (HTTP %d)",
                           answer.status);
    }
    *ret_ready = answered && answer.status < 300;
    return 0;
}

int csi_health(struct grpc_call *call, Csi__V1__BoolValue **ret, struct error *err) {
    bool ready = true;
    int result = csi_driver_of(call)->controller ? query_api(call, &ready, err) : 0;

    if (result != 0)
        return result;
    *ret = CSI_NEW(call->arena, Csi__V1__BoolValue, csi__v1__bool_value);
    (*ret)->value = ready;
    return 0;
}
