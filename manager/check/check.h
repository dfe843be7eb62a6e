/*
 * Checks the invariants (P1–P3, P5; P4 is what the tests count).
 *
 * P1 no transient status without a live operation P2 quota and pool figures equal a recount P3
 * backend objects equal rows, sizes agree P5 no operation without its target
 *
 * An object may be larger than its row, up to the size of a requested extend: a guest grew it after
 * that extend was cancelled (X24). That is a note, not a finding.
 *
 * Read-only; may run beside a working service: objects of open operations are skipped.
 */
#pragma once

#include "manager/runtime/settings.h"

struct check_pool {
    const char *name, *path;
};

struct check {
    struct db *db;
    const struct settings *settings;
    /* ended with a NULL name; NULL: objects are not checked.  One without a handle is opened for
     * the check; unavailable storage is one finding, regardless of its objects. */
    const struct manager_backend *backends;
    const char *node;
    const struct check_pool *pools; /* of replicas, on this node; ended with a NULL name, or NULL */
    void (*wrong)(void *arg, const char *promise, const char *text); /* called for each finding */
    void (*note)(void *arg, const char *text); /* not a finding, but unusual; NULL: ignored */
    void *arg;
};

/* Number of findings, or -1 when the check failed. */
int check_run(const struct check *check, struct error *err);
