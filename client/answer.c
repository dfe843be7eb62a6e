#include "client/answer.h"

#include "json/json.h"

#include <stdlib.h>

enum error_kind answer_kind_of(int status) {
    /* too slow, too early, too often: the request was not processed */
    if (status >= 500 || status == 408 || status == 425 || status == 429)
        return ERROR_UNAVAILABLE;
    for (enum error_kind kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
        if (error_http_status(kind) == status)
            return kind;
    return ERROR_BACKEND;
}

/* A temporary failure is reported in any form.  Keystone's middleware in front of the service uses
 * its own key; a status unknown to error.def has the key of failures. */
static const char *read_fault(const json_t *root, int status, enum error_kind kind) {
    const char *key =
        kind == ERROR_UNAUTHORIZED && json_object_get(root, "error") ? "error" : error_fault(kind);
    const json_t *fault = json_object_get(root, key);

    if (kind == ERROR_UNAVAILABLE)
        return json_text_of(json_object_iter_value(json_object_iter((json_t *)(uintptr_t)root)),
                            "message");
    return json_int_at(fault, "code") == status ? json_text_of(fault, "message") : NULL;
}

struct answer answer_read(struct arena *arena, const struct http_answer *answer) {
    const json_t *root = json_parse(arena, answer->body, answer->body_size, NULL);
    enum error_kind kind = answer_kind_of(answer->status);
    const char *fault = read_fault(root, answer->status, kind);
    const char *code = json_text_of(root, "code"), *message = json_text_of(root, "message");

    if (fault || kind == ERROR_UNAVAILABLE)
        return (struct answer){ ANSWER_FAULT, kind, fault ? fault : answer->body };
    /* {"code": "404 Not Found", "title": …, "message": …}: the form of unrouted paths */
    if ((kind == ERROR_NOT_FOUND || kind == ERROR_OVER_QUOTA) && code && message &&
        strtol(code, NULL, 10) == answer->status)
        return (struct answer){ ANSWER_PATH,
                                kind == ERROR_NOT_FOUND ? ERROR_UNAVAILABLE : ERROR_TOO_LARGE,
                                message };
    return (struct answer){ ANSWER_STRANGE, ERROR_UNAVAILABLE, answer->body };
}
