/*
 * Reclaiming space of a volume in use by its guest: the agent on the guest's host makes it trim its
 * file systems, by model/assist.h, and reports (os-update_reclaim_space).
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

/* The result of reclaiming space, by storage or guest. */
struct reclaim_ending {
    const struct error *failure; /* NULL: done */
    int64_t pre_usage;           /* counted by the storage itself; 0: as at the start */
    int64_t post_usage;
};

/* May it begin, by the rows of this moment?  ERROR_BAD_REQUEST: never in this state;
 * ERROR_CONFLICT: not now. */
int reclaim_trim_check(struct work *work, const struct volume *volume, struct error *err);

/* For the worker that holds it (operation_body): phase sending, and the deadline, unless by the
 * rows of this moment the one guest is gone. */
struct reclaim_trim {
    struct volume volume; /* as it is now */
    bool begun;
};
operation_body reclaim_trim_begin;

/* Without a guest there will be no report. */
operation_function reclaim_trim_reevaluate;

struct reclaim_report {
    const char *id;      /* the operation in the host's request */
    const char *status;  /* running, done, error */
    const char *reason;  /* of an error: busy, unsupported; else it failed */
    const char *message; /* the same as text; may be NULL */
    int64_t progress;    /* percent, while it runs */
};
/* ERROR_BAD_REQUEST: the report is not awaited. */
int reclaim_trim_report(struct work *work, const struct volume *volume,
                        const struct reclaim_report *report, struct error *err);
