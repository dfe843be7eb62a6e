#include "api/openapi.private.h"

#include <string.h>

void openapi_answer(json_t *responses, const struct route *route) {
    char status[8];

    snprintf(status, sizeof(status), "%d", route->status);
    if (!json_object_get(responses, status))
        json_object_set_new(responses, status, json_pack("{s:s}", "description", "Done."));
}

/* ---- faults ---- */

/* {"code": …, "message": …}, and what a few have beside. */
static json_t *fault_schema(void) {
    return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}, s:[ss], s:b}", "type", "object",
                     "properties", "code", "type", "integer", "message", "type", "string", "title",
                     "type", "string", "retryAfter", "type", "string", "required", "code",
                     "message", "additionalProperties", 0);
}

/* One of them, by its name. */
json_t *openapi_faults(void) {
    json_t *names = json_pack("{s:o}", "error", fault_schema());

    for (enum error_kind kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
        if (kind != ERROR_UNAUTHORIZED)
            json_object_set_new(names, error_fault(kind), fault_schema());
    return json_pack("{s:{s:s, s:{s:{s:{s:s, s:o, s:i, s:i, s:b}}}}}", "fault", "description",
                     "It was refused or has failed; nothing has changed.", "content",
                     "application/json", "schema", "type", "object", "properties", names,
                     "minProperties", 1, "maxProperties", 1, "additionalProperties", 0);
}
