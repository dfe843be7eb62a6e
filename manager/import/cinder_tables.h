/*
 * The tables of Cinder's database, each with the columns that are taken over.
 */
#pragma once

#include "common/error.h"
#include "manager/import/source_table.h"

enum cinder_table {
    QOS,
    QOS_PAIRS,
    TYPES,
    SPECS,
    PROJECTS,
    ENCRYPTION,
    DEFAULTS,
    QUOTAS,
    CLASSES,
    VOLUMES,
    METADATA,
    ADMIN_METADATA,
    IMAGE_METADATA,
    ATTACHMENTS,
    SNAPSHOTS,
    SNAPSHOT_METADATA,
    GROUPS,
    BACKUPS,
    TRANSFERS,
    RELEASE,
    SERVICES,
    CINDER_TABLES
};

/* All tables, in one state of the database.  ERROR_BAD_REQUEST: the schema of another release. */
int cinder_tables_read(struct arena *arena, const char *url, struct source_table ret[CINDER_TABLES],
                       struct error *err);
