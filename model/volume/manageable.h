/*
 * Manageable objects in a pool: a request to its backend, whose answer waits for the API request.
 */
#pragma once

#include "model/volume/manage.h"
#include "operation/operation.h"

struct manageable_page {
    bool snapshots;           /* as snapshots; else as volumes */
    bool by_size, descending; /* else by reference */
    int64_t limit, offset;
    const char *marker; /* the source name before the page; NULL: the first page */
};

/* The request then waits for *ret_operation_id (operation.h). */
int manageable_request(struct work *work, const char *host, const struct manageable_page *page,
                       const char **ret_operation_id, struct error *err);
/* Asks the backend whether it can manage the object; the request waits as above.  NULL: too many
 * such requests have no answer, and this one is skipped. */
int manageable_probe(struct work *work, const struct pool *pool, const struct manageable_one *one,
                     const char **ret_operation_id, struct error *err);
/* For the worker: is this the requested object? */
bool manageable_is_probed(struct arena *arena, const struct operation *operation,
                          struct manageable_one *ret);
/* -1 ERROR_BAD_REQUEST: the backend has refused it; 0: it has not, or has not answered, or the
 * request was skipped (NULL).  The request is over then. */
int manageable_check_answer(struct work *work, const char *operation_id, const char *source_name,
                            struct error *err);

/* The request, for the worker; *ret_pool is NULL when none was named. */
void manageable_requested(struct arena *arena, const struct operation *operation,
                          struct manageable_page *ret, const char **ret_pool);
/* {name id: {"volume_id", "size_gb"}} of the volumes on a backend, or the same by id of the
 * snapshots, their sizes and their volumes. */
int manageable_known(struct work *work, const char *host, bool snapshots, json_t *ret,
                     struct error *err);

/* Its result: {"manageable": […]} as JSON text, or the failure. */
struct manageable_ending {
    const char *answer;
    const struct error *failure;
};
