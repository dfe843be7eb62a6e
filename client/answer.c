#include "client/answer.h"

#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* Too slow, too early, too often: the request was not processed. */
static bool is_passing(int status) {
    return status >= 500 || status == 408 || status == 425 || status == 429;
}

enum error_kind answer_kind_of(int status) {
    if (is_passing(status))
        return ERROR_UNAVAILABLE;
    for (enum error_kind kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
        if (error_http_status(kind) == status)
            return kind;
    return ERROR_BACKEND;
}

/* Keystone's middleware in front of the service uses its own key; a status unknown to error.def has
 * the key of failures. */
static const char *key_of(const json_t *root, enum error_kind kind) {
    return kind == ERROR_UNAUTHORIZED && json_object_get(root, "error") ? "error"
                                                                        : error_fault(kind);
}

static const char *read_fault(const json_t *root, int status, enum error_kind kind) {
    const json_t *fault = json_object_get(root, key_of(root, kind));

    return json_int_at(fault, "code") == status ? json_text_of(fault, "message") : NULL;
}

/* {"code": "404 Not Found", "title": …, "message": …}: the form of unrouted paths. */
static const char *read_path(const json_t *root, int status, enum error_kind kind) {
    const char *code = json_text_of(root, "code");
    bool is_known = kind == ERROR_NOT_FOUND || kind == ERROR_OVER_QUOTA;

    return is_known && code && strtol(code, NULL, 10) == status ? json_text_of(root, "message")
                                                                : NULL;
}

/* Of a failure, in any form. */
static const char *read_any(const json_t *root) {
    return json_text_of(json_object_iter_value(json_object_iter((json_t *)(uintptr_t)root)),
                        "message");
}

struct answer answer_read(struct arena *arena, const struct http_answer *answer) {
    const json_t *root = json_parse(arena, answer->body, answer->body_size, NULL);
    enum error_kind kind = answer_kind_of(answer->status);
    bool passing = kind == ERROR_UNAVAILABLE;
    const char *fault = passing ? read_any(root) : read_fault(root, answer->status, kind);
    const char *path = read_path(root, answer->status, kind);

    if (fault || passing)
        return (struct answer){ ANSWER_FAULT, kind, fault ? fault : answer->body };
    if (path)
        return (struct answer){ ANSWER_PATH,
                                kind == ERROR_NOT_FOUND ? ERROR_UNAVAILABLE : ERROR_TOO_LARGE,
                                path };
    return (struct answer){ ANSWER_STRANGE, ERROR_UNAVAILABLE, answer->body };
}
