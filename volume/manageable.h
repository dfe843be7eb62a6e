/*
 * What lies in a pool that could be taken over: a question to its backend, whose answer waits for
 * the request that asked.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/manage.h"

struct manageable_page {
    bool snapshots;           /* that could become these; else volumes */
    bool by_size, descending; /* else by reference */
    int64_t limit, offset;
    const char *marker; /* a source name that the page begins behind; NULL: at the first */
};

/* The request then waits for *ret_operation_id (operation.h). */
int manageable_ask(struct work *work, const char *host, const struct manageable_page *page,
                   const char **ret_operation_id, struct error *err);
/* Asks whether the backend would take it over; the request waits as above.  NULL: too many such
 * questions have no answer, and it is not asked. */
int manageable_look(struct work *work, const struct pool *pool, const struct manageable_one *one,
                    const char **ret_operation_id, struct error *err);
/* The worker's side: is this what was asked? */
bool manageable_looked_for(struct arena *arena, const struct operation *operation,
                           struct manageable_one *ret);
/* -1 ERROR_BAD_REQUEST: the backend has refused it; 0: it has not, or has not answered, or was not
 * asked (NULL).  The question is over then. */
int manageable_judge(struct work *work, const char *operation_id, const char *source_name,
                     struct error *err);

/* What was asked, of the worker that answers; *ret_pool is NULL when none was named. */
void manageable_asked(struct arena *arena, const struct operation *operation,
                      struct manageable_page *ret, const char **ret_pool);
/* {name id: {"volume_id", "size_gb"}} of the volumes on a backend, or the same by id of the
 * snapshots, their sizes and their volumes. */
int manageable_known(struct work *work, const char *host, bool snapshots, json_t *ret,
                     struct error *err);

/* What finishes it: {"manageable": […]} as JSON text, or why there is none. */
struct manageable_ending {
    const char *answer;
    const struct error *failure;
};
