/*
 * A volume in use gives back room by the guest that has it: our own agent on the guest's host has
 * it trim its file systems, as volume/assist.h says, and reports (os-update_reclaim_space).
 */
#pragma once

#include "ledger/operation.h"
#include "volume/volume.h"

/* How giving back room has ended, whoever did it: what finishes it. */
struct reclaim_ending {
    const struct error *failure; /* NULL: done */
    int64_t pre_usage;           /* counted by the storage itself; 0: as when it began */
    int64_t post_usage;
};

/* May it begin, by the rows of this moment?  ERROR_BAD_REQUEST: never like this; ERROR_CONFLICT:
 * not now. */
int reclaim_trim_check(struct work *work, const struct volume *volume, struct error *err);

/* For the worker that holds it (operation_body): phase sending, and the deadline, unless by the
 * rows of this moment the one guest is gone. */
struct reclaim_trim {
    struct volume volume; /* as it is now */
    bool begun;
};
operation_body reclaim_trim_begin;

/* Without a guest nobody is left who could report. */
operation_function reclaim_trim_reevaluate;

struct reclaim_report {
    const char *id;      /* what the host was asked for: the operation */
    const char *status;  /* running, done, error */
    const char *reason;  /* of an error: busy, unsupported; else it failed */
    const char *message; /* the same in words; may be NULL */
    int64_t progress;    /* percent, of what is running */
};
/* ERROR_BAD_REQUEST: nobody waits for it. */
int reclaim_trim_report(struct work *work, const struct volume *volume,
                        const struct reclaim_report *report, struct error *err);
