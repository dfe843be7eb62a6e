#include "client/compute_answer.h"

#include "common/cleanup.h"

/*
 * Certain are only responses of the compute service itself that exclude any effect: its list of
 * events, or a status of a request refused before processing.  Any other response may be of an
 * intermediary that has forwarded the event, and the deadline decides.
 */
bool compute_answer_refuses(const struct http_answer *answer, const json_t *root) {
    static const int at_the_door[] = { 301, 302, 307, 308, 400, 401, 403, 404, 405, 406,
                                       409, 410, 411, 413, 414, 415, 422, 426, 429, 431 };

    for (unsigned i = 0; i < LENGTH(at_the_door); i++)
        if (answer->status == at_the_door[i])
            return true;
    /* the compute service's own 503, before any processing; a proxy's has another form */
    return answer->status == 503 && json_int_at(root, "serviceUnavailable.code") == 503;
}
