/*
 * Statuses: one table for each kind of object, and one function that writes them.
 *
 * A status is stable and can last for ever, or transient: then an operation has the object and will
 * end it, or an operator has set it by a reset.  A row is inserted with its status; every later one
 * comes from status_write().
 */
#pragma once

#include "operation/work.h"

struct status {
    const char *text, *shown; /* as stored, as clients see it */
    bool transient;
    bool by_reset; /* may an operator set it? */
};

struct object_kind {
    const char *table; /* has id, status, status_by_reset and updated_at */
    const struct status *statuses;
    unsigned status_count;
};

#define STATUS_ANY (-1)

struct status_change {
    int from; /* STATUS_ANY: any status */
    unsigned to;
    bool unless_reset; /* a status set by an operator stays */
    bool by_reset;     /* set by an operator: no operation owns it */
};

/* 1 done; 0 the status, or the object, was not as expected: nothing changed. */
int status_write(struct work *work, const struct object_kind *kind, const char *id,
                 const struct status_change *change, struct error *err);
/* 0 or -1; exact. */
int status_find(const struct object_kind *kind, const char *text, unsigned *ret);
