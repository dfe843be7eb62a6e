/*
 * The volume-extended event to the compute side, and the judgement of its answer.
 *
 * An interface, so that the simulation can put its own compute side behind it; nova.c is the real
 * one over HTTP (an agent of ours, or a compute service that promises the callback).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>

enum event_verdict {
    EVENT_REFUSED = -1, /* certainly nobody acts: err says why (R39, R40, X17) */
    EVENT_ACCEPTED = 0,
    EVENT_UNKNOWN = 1, /* it may have arrived (X18): the deadline decides; err says why */
};

struct compute_event {
    const char *volume_id;
    const char *instance_uuid;
    const char *host;       /* of the attachment */
    const char *endpoint;   /* of that host's agent; NULL: none is registered */
    const char *request_id; /* sent as the global request id */
    bool wants_completion;  /* needs the callback's microversion; else the plain event (R32) */
};

struct compute_sender {
    enum event_verdict (*send)(struct compute_sender *sender, struct arena *arena,
                               const struct compute_event *event, struct error *err);
};
