/*
 * Objects that another service of this API has recorded, written with their ids and instants.
 *
 * Each function runs in its own transaction and writes an object with all that belongs to it, so an
 * interrupted import is continued by another one.  Limits of quotas do not apply, usage is counted.
 * 1: written; 0: it is there already, and nothing changed; -1 with ERROR_CONFLICT: another object
 * is in its place.  With `dry_run` nothing is written, and the result is the same.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/type/encryption.h"
#include "model/type/qos.h"

struct adopted_type {
    struct volume_type type;
    const struct type_encryption *encryption; /* NULL: none */
    const char *const *projects;              /* ended with NULL */
    bool without_qos;                         /* its QoS specs are not taken: a new type neither */
};

struct adopted_volume {
    struct volume volume;             /* with metadata and attachments */
    const struct snapshot *snapshots; /* oldest first */
    unsigned snapshot_count;
};

struct adopted_limit {
    const char *project_id; /* or class_name */
    const char *class_name;
    const char *resource;
    int64_t limit;
};

int adopt_qos_specs(struct work *work, const struct qos_specs *qos, bool dry_run,
                    struct error *err);
/* An unused __DEFAULT__ of a fresh database gives way to the other service's. */
int adopt_type(struct work *work, const struct adopted_type *adopted, bool dry_run,
               struct error *err);
int adopt_default_type(struct work *work, const char *project_id, const char *type_id, bool dry_run,
                       struct error *err);
int adopt_limit(struct work *work, const struct adopted_limit *limit, bool dry_run,
                struct error *err);
/* Its type is there. */
int adopt_volume(struct work *work, const struct adopted_volume *adopted, bool dry_run,
                 struct error *err);
