/*
 * Does what must always hold, hold?  (P1–P3, P5; P4 is what the tests count.)
 *
 * P1 no transient status without a live operation   P2 quota and pool figures equal a recount
 * P3 backend objects equal rows, sizes agree        P5 no operation without its target
 *
 * An object may be larger than its row, as far as some extend has asked for: a guest grew it after
 * that extend was given up (X24).  That is a note and no finding.
 *
 * Reads only; may run beside a working service: what an open operation is changing is not judged.
 */
#pragma once

#include "manager/settings.h"

struct check_pool {
    const char *name, *path;
};

struct check {
    struct db *db;
    const struct settings *settings;
    /* ended with a NULL name; NULL: objects are not looked at.  One without a handle is opened for
     * the look; one whose storage is not there is one finding, whatever it should hold. */
    const struct manager_backend *backends;
    const char *node;
    const struct check_pool *pools; /* of replicas, on this node; ended with a NULL name, or NULL */
    void (*wrong)(void *arg, const char *promise, const char *text); /* called for each finding */
    void (*note)(void *arg, const char *text); /* no finding, but odd; NULL: unheard */
    void *arg;
};

/* How many findings, or -1 when it could not look. */
int check_run(const struct check *check, struct error *err);
