#include "client/compute_answer.h"

#include "common/cleanup.h"

/* The compute service's own "not now", before it has begun with anything; a proxy's 503 has no such
 * form. */
static bool is_own_unavailable(const struct http_answer *answer, const json_t *root) {
    return answer->status == 503 && json_int_at(root, "serviceUnavailable.code") == 503;
}

/*
 * Certain is only what says that the compute service itself has not acted and will not: its list of
 * events, or a status that means that the request was turned away at the door.  Anything else may
 * come from somebody on the way who has passed the event on, and is a matter for the deadline.
 */
bool compute_answer_refuses(const struct http_answer *answer, const json_t *root) {
    static const int at_the_door[] = { 301, 302, 307, 308, 400, 401, 403, 404, 405, 406,
                                       409, 410, 411, 413, 414, 415, 422, 426, 429, 431 };

    for (unsigned i = 0; i < LENGTH(at_the_door); i++)
        if (answer->status == at_the_door[i])
            return true;
    return is_own_unavailable(answer, root);
}
