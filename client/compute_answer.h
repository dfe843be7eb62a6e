/*
 * Classification of the compute side's responses, for all requests.
 */
#pragma once

#include "http/client.h"
#include "json/json.h"

#include <stdbool.h>

enum event_verdict {
    EVENT_REFUSED = -1, /* certainly without effect: see err (R39, R40, X17) */
    EVENT_ACCEPTED = 0,
    EVENT_UNKNOWN = 1, /* it may have arrived (X18): the deadline decides; see err */
};

/* Does it certainly exclude any effect? */
bool compute_answer_refuses(const struct http_answer *answer, const json_t *root);
