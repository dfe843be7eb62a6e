/*
 * One request on its way through the service: state of the router and the transaction that the
 * handler does not see.
 */
#pragma once

#include "rest/request.h"
#include "rest/request_slots.h"
#include "rest/route_table.h"
#include "rest/settings.h"
#include "rest/waiting.h"

#include <regex.h>
#include <stdatomic.h>

#define API_READS_KNOWN 1024

struct api {
    struct api_settings settings;
    struct route_table *routes;
    struct waiting *waiting;
    struct watchers *watchers;
    struct request_slots *slots; /* NULL: unlimited */
    const char *public_endpoint; /* without trailing slash; NULL: from the request */
    struct arena *arena;
    regex_t project_regex;
    bool own_project_regex;
    struct worker_pool *readers; /* of expensive reads and large bodies (read.c); NULL: each runs
                                  * at once */
    _Atomic bool reads_much[API_READS_KNOWN]; /* cost of a project's last read at a route */
    struct worker_pool *askers;               /* for confirmations; NULL: none, or immediate */
    atomic_uint in_flight; /* writes with `done` outstanding, and pending queries */
    atomic_bool stops;
    _Atomic int64_t
        refusal_due_us; /* monotonic: when the next temporary refusal is logged as an error */
    atomic_uint refusals_unlogged; /* since the last logged one */
};

struct call {
    struct request request;        /* first: a handler's request is its call */
    const char *whole_path;        /* as sent, except for repeated slashes */
    struct url_path path;          /* after /v3 and the project */
    bool split;                    /* the path is well-formed */
    const struct route_node *node; /* of the path */
    struct identity_later later;
    struct db_job job;
    struct waiter waiter;
    struct confirmation confirmation;
    void (*queued)(struct call *call); /* after its wait for a reader */
    int64_t queued_us;                 /* monotonic: start of that */
    const char
        *slot; /* project of its request slot, until the response (request_slots.h); NULL: none */
    unsigned headers; /* of the response before the handler's: reset to this for a repeated run */
};

/* A controller responds, with any result: the response has the header of the request id. */
void call_reach(struct call *call);
/* Negotiates the client's microversion, for the request and the headers of the response. */
int call_negotiate(struct call *call, struct error *err);

/* Replies with the fault of `err`; the call is gone then. */
void call_fail(struct call *call, const struct error *err);
/* Logs and sends the response in the exchange. */
void call_reply(struct call *call);
/* http_exchange.refuse of a large response: a fault instead.  `call` is a struct call. */
void call_refuse(void *call);

/* Takes a request slot of the project for the call, unless it has one; ERROR_TRY_LATER. */
int call_take_slot(struct call *call, const char *project, struct error *err);
/* Its slot is needed for another project: its wait ends now. */
bool call_must_go(const struct call *call);
/* Runs loading, policy and handler in one transaction and sends the response; the call is gone. */
void call_run(struct call *call);
/* The db_body of that transaction, and the step after it. */
db_body call_body;
void call_end(struct call *call, int result, const struct error *err);
/* call_run() of a read-only route. */
void call_read(struct call *call);
/* Runs `then` in a thread of the readers when it is the project's turn, and with a request slot;
 * otherwise the call fails.  The call is gone. */
void call_queue(struct call *call, void (*then)(struct call *call));
/* Checks a parked call: the waiting_check of the API. */
waiting_check call_check;

/* Was it refused with `refusal` only for lack of a confirmation?  Then the query is started,
 * without a transaction, and takes over the call (confirmation.c). */
bool confirmation_ask(struct call *call, const struct error *refusal);
/* Did it fail after an answer with an effect?  Then that is undone, and the response follows. */
bool confirmation_withdraw(struct call *call, const struct error *failure);

/* Is its parsing expensive, in time or memory?  Without an effect. */
bool body_is_large(const struct request *request);
/* Parses the route's body: unwraps it and decodes it into request->body.  For an action
 * request->route is initially NULL: the body's key selects it among the node's actions. */
int body_parse(struct request *request, struct error *err);
int body_find_action(struct request *request, const struct route_node *node, struct error *err);
int body_decode(struct request *request, struct error *err);
