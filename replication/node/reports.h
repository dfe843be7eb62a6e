/*
 * What this node tells the API of its replicas and targets: statuses of documents, each sent when
 * it has changed, by one thread, so that nobody who works waits for the API.
 *
 * Only the last status of a document counts.  Figures, which change all the time, are sent now and
 * then; everything else at once, and again and again until it is taken or the API says for good
 * that it does not want it.  What was taken is sent again after a long while: one of before that
 * was on its way for longer, and so was given up, may have come behind it.
 */
#pragma once

#include "client/client.h"
#include "replication/node/assignment.h"

struct reports;

struct reports_settings {
    struct client api;
    const char *node;    /* outlives them */
    int64_t counters_ms; /* least pause between two that differ in figures alone; 0: 30 000 */
    int64_t running_ms;  /* the same while something runs; 0: 2 000 */
    int64_t retry_ms;    /* before the first repetition; 0: 1 000 */
    int64_t again_ms;    /* between two of what was taken; 0: 600 000 */
    int64_t differs_ms;  /* the same where the document says something else; 0: 5 000 */
};

struct reports *reports_new(const struct reports_settings *settings, struct error *err);
void reports_free(struct reports *reports); /* NULL is fine; what was not sent is lost */

const struct remote_documents *reports_kind(enum assignment_kind kind);

/* `gist`: the status without figures.  `runs`: these tell of the progress of something. */
void reports_put(struct reports *reports, enum assignment_kind kind, const char *uid,
                 const char *status, const char *summary, bool runs);
/* There will be no other: it is forgotten once it was taken. */
void reports_put_last(struct reports *reports, enum assignment_kind kind, const char *uid,
                      const char *status);
/* Nobody asks for one any more. */
void reports_forget(struct reports *reports, enum assignment_kind kind, const char *uid);
/* The document does not say what was taken of us: an agent of the same node name, or a late report,
 * has replaced it.  It is sent again, every few seconds at most; false: it says so (again). */
void reports_differs(struct reports *reports, enum assignment_kind kind, const char *uid,
                     bool differs);
unsigned reports_open(struct reports *reports); /* how many are not sent yet */
