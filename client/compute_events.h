/*
 * Requests to the compute side: the events volume-extended and volume-reimaged, its part of a
 * snapshot below a running guest (os-assisted-volume-snapshots), and trimming by the guest
 * (os-volume-trims); and the classification of their responses.
 *
 * An interface, so that the simulation can provide its own compute side; the real one uses HTTP:
 * POST <endpoint>/os-server-external-events, as the user of section nova (own_user.h) if there is
 * one.
 *
 * [compute] service = agent: the endpoint of the host's agent, whose contract includes the
 * callback.  service = nova: [compute] endpoint or the catalog's, and
 * extend_completion_microversion must be set and within the range of the service's version
 * document, otherwise nothing is sent and the verdict is EVENT_REFUSED.
 *
 * An event with a name goes to [compute] endpoint or the catalog's, whatever the service.
 *
 * Thread-safe; one call blocks for at most eight times [compute] event_timeout.
 */
#pragma once

#include "client/compute_snapshots.h"
#include "client/compute_trims.h"
#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"

#include <stdbool.h>

struct compute_event {
    const char *volume_id;
    const char *instance_uuid;
    const char *host;       /* of the attachment */
    const char *endpoint;   /* of that host's agent; NULL: none is registered */
    const char *request_id; /* sent as the global request id */
    bool wants_completion;  /* needs the callback's microversion; otherwise the plain event (R32) */
    const char *name;       /* NULL: volume-extended */
    bool failed;            /* its status; otherwise it has none, which is completed */
};

struct compute_sender {
    enum event_verdict (*send)(struct compute_sender *sender, struct arena *arena,
                               const struct compute_event *event, struct error *err);
    bool asks_again;   /* a repeated request joins the work in progress: agents of scoria */
    bool assists_once; /* requests for snapshots go to Nova, once and for one volume each */
    /* Every compute service has it; its response may be lost. */
    enum event_verdict (*assist)(struct compute_sender *sender, struct arena *arena,
                                 const struct compute_assist *assist, struct error *err);
    /* Agents of scoria only. */
    enum event_verdict (*trim)(struct compute_sender *sender, struct arena *arena,
                               const struct compute_trim *trim, struct error *err);
};

/* Does a repeated request for a snapshot join the work in progress? */
static inline bool compute_assists_again(const struct compute_sender *sender) {
    return sender->asks_again && !sender->assists_once;
}

extern const struct option compute_client_options[]; /* section compute */

/* Are snapshots below guests taken by Nova, one volume per call? */
bool compute_snapshots_are_novas(const struct config *config);

struct client;
/* The compute service of those options and section nova; its user is freed by the caller. */
int compute_client_open(const struct config *config, struct client *ret, struct error *err);

/* The config must live as long as the sender. */
int compute_sender_new(const struct config *config, struct compute_sender **ret, struct error *err);
void compute_sender_free(struct compute_sender *sender); /* NULL is fine */
