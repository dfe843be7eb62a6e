/*
 * A backend in the hands of a manager.  A thread of its own opens it, unless it is open, and
 * reports it; so one that does not answer holds up nobody but its own work.  What comes for it
 * before it is open waits.
 *
 * Without threads (tests) it is open from the beginning, and manager_tick() reports it.
 */
#pragma once

#include "manager/manager.h"

struct manager_host {
    struct manager *manager;
    struct manager_backend backend;
    char *host; /* node@backend */
    char *topic;
    struct ticker *ticker; /* NULL: no thread */
    bool opened_here;      /* by `ticker`; closed at the end */

    /* Guarded by the manager's lock: */
    bool open;
    struct error failure; /* of the last attempt to open it */
    bool late;            /* the start has gone on without it */
    unsigned busy;        /* workers that have a message for it in their hands */
    uint64_t left;        /* how often one was done with it, and */
    uint64_t left_before; /* at the last look of host_is_stuck() */
    int64_t heard_at;     /* the steady clock: when the last message came, or the start */
    int64_t looked_at;    /* and when host_misses_messages() was last true, or the start */
};

void host_init(struct manager_host *host, struct manager *manager,
               const struct manager_backend *backend);
void host_start(struct manager_host *host);
/* Waits for the first report, until then (monotonic).  -1: the backend cannot be opened.  One that
 * does not answer, or is not there, is no failure: it is opened when it does. */
int host_wait(struct manager_host *host, int64_t until_us, struct error *err);
/* Reports it soon, or at once when there is no thread for that. */
int host_report_soon(struct manager_host *host, struct error *err);
/* Waits for the thread; when nothing works with the backend any more. */
void host_free(struct manager_host *host);

/* A worker begins with a message, as soon as the backend is open. -1: the manager ends. */
int host_enter(struct manager_host *host, struct error *err);
void host_leave(struct manager_host *host);
/* May a message that should have come be lost?  Not while others come, which may be before it, nor
 * soon after the start; but now and then all the same.  For one thread. */
bool host_misses_messages(struct manager_host *host);
/* Is every worker taken, and none was done since the last call?  Then more messages would only
 * wait.  For one thread. */
bool host_is_stuck(struct manager_host *host);
