/*
 * What Cinder has recorded, by the schema of its release 21 (2022.2, of Debian 12).
 */
#pragma once

#include "model/adopt.h"

struct cinder_volume {
    struct adopted_volume adopted; /* status: of the row below; its host: NULL */
    /* As Cinder has them. */
    const char *host, *status, *migration_status, *group_id;
    const char *format;      /* of its active image, or NULL */
    const char *base_format; /* of the file below its snapshots, or NULL: not recorded */
    /* A snapshot or an attachment that keeps the volume from being taken, as a reason. */
    const char *refusal;
};

struct cinder {
    struct qos_specs *qos;
    size_t qos_count;
    struct adopted_type *types;
    size_t type_count;
    struct adopted_limit *limits;
    size_t limit_count;
    struct default_type {
        const char *project_id, *type_id;
    } * defaults;
    size_t default_count;
    struct cinder_volume *volumes; /* oldest first */
    size_t volume_count;
    int64_t groups, backups, transfers; /* of which none is taken */
    const char *live;                   /* a service that reported a moment ago; NULL: none */
};

/* All of it in the arena; reads only.  ERROR_BAD_REQUEST for the schema of another release. */
int cinder_read(struct arena *arena, const char *url, bool no_snapshot_gb_quota, struct cinder *ret,
                struct error *err);
