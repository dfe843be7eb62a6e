/*
 * One request on its way through the service: what the router and the transaction know about it and
 * its handler does not.
 */
#pragma once

#include "api/request.h"
#include "api/route_table.h"
#include "api/seats.h"
#include "api/settings.h"
#include "api/waiting.h"
#include "api/watchers.h"
#include "volume/attachment.h"

#include <regex.h>
#include <stdatomic.h>

#define API_READS_KNOWN 1024

struct api {
    struct api_settings settings;
    struct route_table *routes;
    struct waiting *waiting;
    struct watchers *watchers;
    struct seats *seats;         /* NULL: nobody counts */
    const char *public_endpoint; /* without slash at the end; NULL: from the request */
    struct arena *arena;
    regex_t project_regex;
    bool own_project_regex;
    struct worker_pool *readers; /* of reads that take much (read.c); NULL: each runs at once */
    _Atomic bool reads_much[API_READS_KNOWN]; /* of a project at a route, as read last */
    struct worker_pool *askers; /* of the compute service; NULL: nobody is asked, or at once */
    atomic_uint in_flight;      /* writes whose `done` has not returned, and what is asked */
    atomic_bool stops;
    _Atomic int64_t
        refusal_due_us; /* monotonic: when a refusal for now is an error of the log again */
    atomic_uint refusals_unlogged; /* since the last one that was */
};

struct call {
    struct request request; /* first: a handler's request is its call */
    const char *whole_path; /* as sent, but for slashes in a row */
    struct url_path path;   /* behind /v3 and the project */
    bool split;             /* there is such a path */
    struct identity_later later;
    struct db_job job;
    struct waiter waiter;
    struct release release;
    int64_t queued_us; /* monotonic: since when it waits for one of the readers */
    const char *seat;  /* of this project, until the answer (seats.h); NULL: none */
    unsigned headers;  /* of the answer before the handler's: a body that runs again starts there */
};

/* A controller answers, whatever it says: the answer has its header of the request id. */
void call_reach(struct call *call);
/* The microversion that the client asks for, into the request and the headers of the answer. */
int call_negotiate(struct call *call, struct error *err);

/* Answers with the fault of `err`; the call is gone then. */
void call_fail(struct call *call, const struct error *err);
/* Logs and sends what stands in the exchange. */
void call_reply(struct call *call);
/* http_exchange.refuse of a large answer: a fault instead.  `call` is a struct call. */
void call_refuse(void *call);

/* Takes a seat of the project for the call, unless it has one; refused with ERROR_TRY_LATER. */
int call_sit(struct call *call, const char *project, struct error *err);
/* Its seat is wanted for another project: whatever it waits for, it has waited long enough. */
bool call_must_go(const struct call *call);
/* Runs loading, policy and handler in one transaction and sees to the answer; the call is gone. */
void call_run(struct call *call);
/* The db_body of that transaction, and what follows it. */
db_body call_body;
void call_end(struct call *call, int result, const struct error *err);
/* call_run() of a route that only reads. */
void call_read(struct call *call);
/* Looks at a parked call: the waiting_check of the API. */
waiting_check call_check;

/* Was it refused for want of the compute service's word, `refusal`?  Then that is asked for,
 * without a transaction, and the call is on its way (release.c). */
bool release_ask(struct call *call, const struct error *refusal);

/* Read the body that the route wants: parse, unwrap, decode into request->body.  For an action
 * request->route is NULL at first: the body's key finds it among the node's actions. */
int body_parse(struct request *request, struct error *err);
int body_find_action(struct request *request, const struct route_node *node, struct error *err);
int body_decode(struct request *request, struct error *err);
