/*
 * The volume-extended event to the compute side, and the judgement of its answer.
 *
 * An interface, so that the simulation can put its own compute side behind it; the real one is over
 * HTTP: POST <endpoint>/os-server-external-events, as the user of section nova (own_user.h) when it
 * has one.
 *
 * [compute] service = agent: the endpoint of the host's agent, whose contract includes the
 * callback. service = nova: [compute] endpoint or the catalog's, and
 * extend_completion_microversion must be set and lie inside the range of the service's version
 * document, else nothing is sent and the verdict is EVENT_REFUSED.
 *
 * Thread-safe; one call blocks for at most eight times [compute] event_timeout.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"

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

extern const struct option compute_client_options[]; /* section compute */

struct client;
/* The compute service as those options and section nova have it; its user is the caller's to
 * free. */
int compute_client_open(const struct config *config, struct client *ret, struct error *err);

/* The config must live as long as the sender. */
int compute_sender_new(const struct config *config, struct compute_sender **ret, struct error *err);
void compute_sender_free(struct compute_sender *sender); /* NULL is fine */
