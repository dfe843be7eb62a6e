/*
 * Reports to the API: statuses of this node's replicas and targets, each sent after a change, by
 * one thread, so that no other thread waits for the API.
 *
 * Only the last status of a document counts.  Counters, which change constantly, are sent at
 * intervals; other changes at once, with retries until the API accepts or finally refuses them.  An
 * accepted status is sent again after a long while, as an earlier one that timed out may have been
 * applied after it.
 */
#pragma once

#include "client/client.h"
#include "replication/node/assignment.h"

struct reports;

struct reports_settings {
    struct client api;
    const char *node;    /* outlives the reports */
    int64_t counters_ms; /* least pause between changes of counters only; 0: 30 000 */
    int64_t running_ms;  /* the same while work is in progress; 0: 2 000 */
    int64_t retry_ms;    /* before the first retry; 0: 1 000 */
    int64_t again_ms;    /* before an accepted status is sent again; 0: 600 000 */
    int64_t differs_ms;  /* the same while the document has another status; 0: 5 000 */
};

struct reports *reports_new(const struct reports_settings *settings, struct error *err);
void reports_free(struct reports *reports); /* unsent statuses are lost; NULL is fine */

const struct remote_documents *reports_kind(enum assignment_kind kind);

/* `summary`: the status without counters.  `runs`: the counters are of work in progress. */
void reports_put(struct reports *reports, enum assignment_kind kind, const char *uid,
                 const char *status, const char *summary, bool runs);
/* The last status of a document, forgotten once it is accepted. */
void reports_put_last(struct reports *reports, enum assignment_kind kind, const char *uid,
                      const char *status);
/* No status is required any more. */
void reports_forget(struct reports *reports, enum assignment_kind kind, const char *uid);
/* `differs`: the document does not have the accepted status of this node, as after a report of
 * another agent with the same node name or a late one.  It is sent again, every few seconds at
 * most, until the document has it. */
void reports_differs(struct reports *reports, enum assignment_kind kind, const char *uid,
                     bool differs);
unsigned reports_open(struct reports *reports); /* number of unsent statuses */
