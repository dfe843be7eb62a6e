#include "compute/complete.h"

bool complete_is_refusal(enum error_kind kind) {
    return kind == ERROR_UNAUTHORIZED || kind == ERROR_FORBIDDEN || kind == ERROR_NOT_ACCEPTABLE;
}

enum complete_outcome complete_extend(const struct volume_api *api, struct arena *arena,
                                      const char *volume_id, const char *request_id,
                                      const char *extend, bool failed, struct error *err) {
    const char *path = arena_format(arena, "/volumes/%s/action", volume_id);
    const char *body = failed ? "{\"os-extend_volume_completion\": {\"error\": true}}"
                              : "{\"os-extend_volume_completion\": {\"error\": false}}";
    struct http_answer answer;
    struct error failure = { 0 };

    if (volume_api_call(api, arena, "POST", path, body, request_id, extend, &answer, &failure) == 0)
        return COMPLETE_TAKEN;
    if (err)
        *err = failure;
    if (failure.kind == ERROR_BAD_REQUEST || failure.kind == ERROR_NOT_FOUND)
        return COMPLETE_UNWANTED;
    return complete_is_refusal(failure.kind) ? COMPLETE_REFUSED : COMPLETE_FAILED;
}
