/*
 * Takes over the objects of a Cinder with their ids: QoS specs, types, limits of quotas, and the
 * volumes of backends whose storage is this service's, with snapshots and attachments.
 *
 * Files stay where they are and as they are: the driver checks them (inspect_volume()), and a row
 * says where they are.  So an import can be repeated, and interrupted at any moment; Cinder's
 * database and the files are only read.  Without `apply` nothing is written at all.
 */
#pragma once

#include "manager/runtime/settings.h"

struct import_item {
    const char *kind, *id, *name;
    enum import_result { IMPORT_TAKEN, IMPORT_PRESENT, IMPORT_LEFT } result;
    const char *reason; /* of IMPORT_LEFT; else NULL */
};

struct import {
    struct db *db;
    const struct settings *settings;
    const struct manager_backend *backends; /* ended with a NULL name; opened for the import */
    const char *node;
    const char *url; /* of Cinder's database */
    /* "their=ours" of backends with another name here: NAME or HOST@NAME; ended with NULL. */
    const char *const *renamed;
    bool apply;
    void (*report)(void *arg, const struct import_item *item); /* for each object */
    void *arg;
    int64_t groups, backups, transfers; /* set: how many there are, of which none is taken */
};

/* Objects that are left are no failure. */
int import_run(struct import *import, struct error *err);
