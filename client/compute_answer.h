/*
 * What an answer of the compute side means, whatever it was asked for.
 */
#pragma once

#include "http/client.h"
#include "json/json.h"

#include <stdbool.h>

enum event_verdict {
    EVENT_REFUSED = -1, /* certainly nobody acts: err says why (R39, R40, X17) */
    EVENT_ACCEPTED = 0,
    EVENT_UNKNOWN = 1, /* it may have arrived (X18): the deadline decides; err says why */
};

/* Does it say for certain that nobody acts? */
bool compute_answer_refuses(const struct http_answer *answer, const json_t *root);
