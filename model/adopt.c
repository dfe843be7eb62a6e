#include "model/adopt.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/attachment/attachment.h"
#include "model/scheduler/pool.h"
#include "model/type/default_type.h"
#include "model/volume/quota.h"

/* 1 a row, 0 none. */
static int adopt_find(struct work *work, const char *sql, const char *value, struct error *err) {
    return db_query_any(work->tx, err, sql, DB_TEXT(value));
}

/* ---- QoS specs ---- */

static int put_pairs(struct work *work, const char *sql, const char *owner_id,
                     const struct pairs *pairs, struct error *err) {
    for (unsigned i = 0; i < pairs->count; i++)
        if (db_run(work->tx, err, sql, DB_TEXT(owner_id), DB_TEXT(pairs->items[i].key),
                   DB_TEXT(pairs->items[i].value)) < 0)
            return -1;
    return 0;
}

int adopt_qos_specs(struct work *work, const struct qos_specs *qos, bool dry_run,
                    struct error *err) {
    int there = adopt_find(work, "SELECT 1 FROM qos_specs WHERE id = $1", qos->id, err);
    int named = there == 0
                    ? adopt_find(work, "SELECT 1 FROM qos_specs WHERE name = $1", qos->name, err)
                    : 0;

    if (there != 0 || named < 0)
        return there > 0 ? 0 : -1;
    if (named)
        return error_set(err, ERROR_CONFLICT, "other QoS specs have the name %s", qos->name);
    if (dry_run)
        return 1;
    if (db_run(work->tx, err,
               "INSERT INTO qos_specs (id, name, consumer, created_at) VALUES ($1, $2, $3, $4)",
               DB_TEXT(qos->id), DB_TEXT(qos->name), DB_TEXT(qos->consumer),
               DB_INT(qos->created_at)) < 0)
        return -1;
    return put_pairs(work,
                     "INSERT INTO qos_spec_pairs (qos_specs_id, key, value) VALUES ($1, $2, $3)",
                     qos->id, &qos->specs, err) < 0
               ? -1
               : 1;
}

/* ---- types ---- */

/* 1: the database's own __DEFAULT__, which nothing uses. */
static int is_unused_default(struct work *work, const char *name, struct error *err) {
    return adopt_find(
        work,
        "SELECT 1 FROM volume_types t WHERE t.name = $1 AND t.name = '__DEFAULT__' "
        "AND NOT EXISTS (SELECT 1 FROM volumes v WHERE v.volume_type_id = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM group_volume_types g WHERE g.volume_type_id = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM default_volume_types d WHERE d.volume_type_id = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM volume_type_extra_specs e WHERE e.volume_type_id = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM volume_type_encryption c WHERE c.volume_type_id = t.id) "
        "AND NOT EXISTS (SELECT 1 FROM volume_type_projects p WHERE p.volume_type_id = t.id)",
        name, err);
}

/* 1: nothing has its name by then. */
static int free_name(struct work *work, const struct volume_type *type, bool dry_run,
                     struct error *err) {
    int named = adopt_find(work, "SELECT 1 FROM volume_types WHERE name = $1", type->name, err);
    int unused = named > 0 ? is_unused_default(work, type->name, err) : 0;

    if (named <= 0 || unused < 0)
        return named < 0 || unused < 0 ? -1 : 1;
    if (!unused)
        return error_set(err, ERROR_CONFLICT, "another type has the name %s", type->name);
    if (dry_run)
        return 1;
    return db_run(work->tx, err, "DELETE FROM volume_types WHERE name = $1", DB_TEXT(type->name)) <
                   0
               ? -1
               : 1;
}

static int put_type(struct work *work, const struct adopted_type *adopted, struct error *err) {
    const struct volume_type *type = &adopted->type;
    const struct type_encryption *encryption = adopted->encryption;

    if (db_run(work->tx, err,
               "INSERT INTO volume_types (id, name, description, is_public, created_at, "
               "updated_at, qos_specs_id) VALUES ($1, $2, $3, $4, $5, $6, "
               "(SELECT id FROM qos_specs WHERE id = $7))",
               DB_TEXT(type->id), DB_TEXT(type->name), DB_TEXT(type->description),
               DB_BOOL(type->is_public), DB_INT(type->created_at), DB_TIME(type->updated_at),
               DB_TEXT(type->qos_specs_id)) < 0 ||
        put_pairs(work,
                  "INSERT INTO volume_type_extra_specs (volume_type_id, key, value) "
                  "VALUES ($1, $2, $3)",
                  type->id, &type->extra_specs, err) < 0)
        return -1;
    for (const char *const *project = adopted->projects; *project; project++)
        if (db_run(work->tx, err,
                   "INSERT INTO volume_type_projects (volume_type_id, project_id) VALUES ($1, $2) "
                   "ON CONFLICT (volume_type_id, project_id) DO NOTHING",
                   DB_TEXT(type->id), DB_TEXT(*project)) < 0)
            return -1;
    if (!encryption)
        return 0;
    return db_change(
        work->tx, err,
        "INSERT INTO volume_type_encryption (volume_type_id, encryption_id, provider, "
        "control_location, cipher, key_size, created_at) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7)",
        DB_TEXT(encryption->volume_type_id), DB_TEXT(encryption->id), DB_TEXT(encryption->provider),
        DB_TEXT(encryption->control_location), DB_TEXT(encryption->cipher),
        encryption->key_size == TYPE_ENCRYPTION_NO_SIZE ? DB_NULL : DB_INT(encryption->key_size),
        DB_INT(encryption->created_at));
}

/* An id that another object has. */
static int check_free(struct work *work, const char *sql, const char *what, const char *id,
                      struct error *err) {
    return error_if_any(adopt_find(work, sql, id, err), err, ERROR_CONFLICT,
                        "%s %s is there, of another object", what, id);
}

int adopt_type(struct work *work, const struct adopted_type *adopted, bool dry_run,
               struct error *err) {
    int there = adopt_find(work, "SELECT 1 FROM volume_types WHERE id = $1", adopted->type.id, err);

    if (there != 0)
        return there > 0 ? 0 : -1;
    if (adopted->without_qos)
        return error_set(err, ERROR_CONFLICT, "its QoS specs are not taken");
    if (adopted->encryption &&
        check_free(work, "SELECT 1 FROM volume_type_encryption WHERE encryption_id = $1",
                   "encryption", adopted->encryption->id, err) < 0)
        return -1;
    if (free_name(work, &adopted->type, dry_run, err) < 0)
        return -1;
    return dry_run || put_type(work, adopted, err) == 0 ? 1 : -1;
}

int adopt_default_type(struct work *work, const char *project_id, const char *type_id, bool dry_run,
                       struct error *err) {
    int there = adopt_find(work, "SELECT 1 FROM default_volume_types WHERE project_id = $1",
                           project_id, err);

    if (there != 0)
        return there > 0 ? 0 : -1;
    return dry_run || default_type_set(work, project_id, type_id, err) == 0 ? 1 : -1;
}

/* ---- limits of quotas ---- */

int adopt_limit(struct work *work, const struct adopted_limit *limit, bool dry_run,
                struct error *err) {
    const char *owner = limit->project_id ? limit->project_id : limit->class_name;
    int there = db_query_any(work->tx, err,
                             limit->project_id ? "SELECT 1 FROM quotas WHERE project_id = $1 AND "
                                                 "resource = $2"
                                               : "SELECT 1 FROM quota_classes WHERE "
                                                 "class_name = $1 AND resource = $2",
                             DB_TEXT(owner), DB_TEXT(limit->resource));

    if (there != 0)
        return there > 0 ? 0 : -1;
    if (dry_run)
        return 1;
    return (limit->project_id
                ? quota_limit_set(work, owner, limit->resource, limit->limit, err)
                : quota_limit_set_class(work, owner, limit->resource, limit->limit, err)) < 0
               ? -1
               : 1;
}

/* ---- volumes ---- */

static int put_row(struct work *work, const struct volume *volume, struct error *err) {
    assert(volume->id && volume->size_gb > 0 && volume->largest_gb >= volume->size_gb);
    assert(volume->provider_location && volume->format);
    return db_change(
        work->tx, err,
        "INSERT INTO volumes (id, name_id, project_id, user_id, host, availability_zone, "
        "display_name, display_description, size_gb, largest_gb, status, status_by_reset, "
        "attach_status, replication_status, volume_type_id, snapshot_id, source_volid, bootable, "
        "multiattach, use_quota, shared_targets, format, provider_location, provider_id, "
        "service_uuid, created_at, updated_at, launched_at) VALUES ($1, $2, $3, $4, $5, $6, $7, "
        "$8, $9, $10, $11, 0, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, " POOL_SERVICE_ID(
            "$5") ", $24, $25, $26)",
        DB_TEXT(volume->id), DB_TEXT(volume->name_id), DB_TEXT(volume->project_id),
        DB_TEXT(volume->user_id), DB_TEXT(volume->host), DB_TEXT(volume->availability_zone),
        DB_TEXT(volume->name), DB_TEXT(volume->description), DB_INT(volume->size_gb),
        DB_INT(volume->largest_gb), DB_TEXT(status_text(volume->status)),
        DB_TEXT(volume->attach_status), DB_TEXT(volume->replication_status),
        DB_TEXT(volume->type_id), DB_TEXT(volume->snapshot_id), DB_TEXT(volume->source_volid),
        DB_BOOL(volume->bootable), DB_BOOL(volume->multiattach), DB_BOOL(volume->use_quota),
        volume->shared_targets < 0 ? DB_NULL : DB_INT(volume->shared_targets),
        DB_TEXT(volume->format), DB_TEXT(volume->provider_location), DB_TEXT(volume->provider_id),
        DB_INT(volume->created_at), DB_TIME(volume->updated_at), DB_TIME(volume->launched_at));
}

static int put_attachment(struct work *work, const struct attachment *attachment,
                          struct error *err) {
    return db_change(
        work->tx, err,
        "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, attached_host, "
        "mountpoint, attach_status, attach_mode, connector, connection_info, attached_at, "
        "created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        DB_TEXT(attachment->id), DB_TEXT(attachment->volume_id), DB_TEXT(attachment->project_id),
        DB_TEXT(attachment->instance_uuid), DB_TEXT(attachment->attached_host),
        DB_TEXT(attachment->mountpoint), DB_TEXT(attachment->attach_status),
        DB_TEXT(attachment->attach_mode), DB_TEXT(attachment->connector),
        DB_TEXT(attachment->connection_info), DB_TIME(attachment->attached_at),
        DB_INT(attachment->created_at), DB_TIME(attachment->updated_at));
}

/* `asked_us` orders the snapshots of a volume, and is in their order. */
static int put_snapshot(struct work *work, const struct snapshot *snapshot, int64_t asked_us,
                        struct error *err) {
    assert(asked_us > 0 && snapshot->provider_location && snapshot->format);
    if (db_run(work->tx, err,
               "INSERT INTO snapshots (id, volume_id, project_id, user_id, display_name, "
               "display_description, size_gb, status, status_by_reset, progress, use_quota, "
               "counted_gb, delete_begun, format, provider_location, asked_us, created_at, "
               "updated_at, taken_over, availability_zone, promised_gb) VALUES ($1, $2, $3, $4, "
               "$5, $6, $7, $8, 0, '100%', $9, $10, 0, $11, $12, $13, $14, $15, 1, $16, 0)",
               DB_TEXT(snapshot->id), DB_TEXT(snapshot->volume_id), DB_TEXT(snapshot->project_id),
               DB_TEXT(snapshot->user_id), DB_TEXT(snapshot->name), DB_TEXT(snapshot->description),
               DB_INT(snapshot->size_gb), DB_TEXT(snapshot_status_text(snapshot->status)),
               DB_BOOL(snapshot->use_quota), DB_INT(snapshot->counted_gb),
               DB_TEXT(snapshot->format), DB_TEXT(snapshot->provider_location), DB_INT(asked_us),
               DB_INT(snapshot->created_at), DB_TIME(snapshot->updated_at),
               DB_TEXT(snapshot->availability_zone)) < 0)
        return -1;
    return pair_rows_put_accepted(work, &snapshot_metadata_rows, PAIR_OWNER(snapshot),
                                  &snapshot->metadata, err) < 0 ||
                   (snapshot->use_quota && snapshot_quota_count(work, snapshot, err) < 0)
               ? -1
               : 0;
}

static int check_names(struct work *work, const struct adopted_volume *adopted, struct error *err) {
    const struct volume *volume = &adopted->volume;
    const char *name = volume->name_id ? volume->name_id : volume->id;

    /* A delete of one of two volumes with one name would remove the file of both. */
    if (error_if_any(
            adopt_find(work, "SELECT 1 FROM volumes WHERE COALESCE(name_id, id) = $1", name, err),
            err, ERROR_CONFLICT, "another volume has the name %s", name) < 0)
        return -1;
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (check_free(work, "SELECT 1 FROM attachments WHERE id = $1", "attachment",
                       volume->attachments[i].id, err) < 0)
            return -1;
    for (unsigned i = 0; i < adopted->snapshot_count; i++)
        if (check_free(work, "SELECT 1 FROM snapshots WHERE id = $1", "snapshot",
                       adopted->snapshots[i].id, err) < 0)
            return -1;
    return 0;
}

/* Usage is counted by the names that types have here: a type may have been renamed since. */
static int name_type(struct work *work, struct adopted_volume *ret, struct error *err) {
    struct db_rows *rows = db_query(work->tx, err, "SELECT name FROM volume_types WHERE id = $1",
                                    DB_TEXT(ret->volume.type_id));
    struct snapshot *snapshots;

    if (error_if_none(query_one(work, rows, query_text, &ret->volume.type_name, err), err,
                      ERROR_CONFLICT, "its type is not there") < 0)
        return -1;
    snapshots = arena_copy(work->arena, ret->snapshots, ret->snapshot_count * sizeof *snapshots);
    for (unsigned i = 0; i < ret->snapshot_count; i++)
        snapshots[i].type_name = ret->volume.type_name;
    ret->snapshots = snapshots;
    return 0;
}

static int put_volume(struct work *work, const struct adopted_volume *adopted, struct error *err) {
    const struct volume *volume = &adopted->volume;
    int64_t latest_us = work->clock_us - adopted->snapshot_count, asked_us = 0;

    if (db_check_space(work->tx, err) < 0 || put_row(work, volume, err) < 0 ||
        pair_rows_put_accepted(work, &metadata_rows, PAIR_OWNER(volume), &volume->metadata, err) <
            0 ||
        pair_rows_put_accepted(work, &image_metadata_rows, PAIR_OWNER(volume),
                               &volume->image_metadata, err) < 0)
        return -1;
    for (unsigned i = 0; i < volume->admin_metadata.count; i++)
        if (volume_admin_metadata_set(work, volume->id, volume->admin_metadata.items[i].key,
                                      volume->admin_metadata.items[i].value, err) < 0)
            return -1;
    if ((volume->use_quota && volume_quota_count(work, volume, err) < 0) ||
        pool_allocate(work, volume->host, volume->size_gb, err) < 0)
        return -1;
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (put_attachment(work, &volume->attachments[i], err) < 0)
            return -1;
    /* The instants of the other service's clock are in whole seconds, and may be ahead of this
     * one. */
    for (unsigned i = 0; i < adopted->snapshot_count; i++) {
        int64_t made_us = adopted->snapshots[i].created_at;

        made_us = made_us < latest_us ? made_us : latest_us;
        asked_us = made_us > asked_us ? made_us : asked_us + 1;
        if (put_snapshot(work, &adopted->snapshots[i], asked_us, err) < 0)
            return -1;
    }
    return 1;
}

int adopt_volume(struct work *work, const struct adopted_volume *adopted, bool dry_run,
                 struct error *err) {
    const struct volume *volume = &adopted->volume;
    struct adopted_volume named = *adopted;
    int there = adopt_find(work, "SELECT 1 FROM volumes WHERE id = $1", volume->id, err);

    if (there != 0)
        return there > 0 ? 0 : -1;
    if (check_names(work, adopted, err) < 0)
        return -1;
    if (dry_run)
        return 1;
    return name_type(work, &named, err) < 0 ? -1 : put_volume(work, &named, err);
}
