#include "manager/import/cinder.h"

#include "common/clock.h"
#include "manager/import/cinder_tables.h"
#include "model/attachment/attachment.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

struct reader {
    struct arena *arena;
    struct source_table tables[CINDER_TABLES];
    bool no_snapshot_gb_quota;
};

/* Engines print a boolean as t, true or 1. */
static bool truth(const char *cell) {
    return cell && (*cell == 't' || *cell == 'T' || *cell == '1');
}

/* Without a value an object counts: rows of earlier releases have none. */
static bool counted(const char *use_quota, bool temporary) {
    return use_quota ? truth(use_quota) : !temporary;
}

static int64_t number(const char *cell, int64_t fallback) {
    return cell ? strtoll(cell, NULL, 10) : fallback;
}

/* UTC, "2023-05-01 12:30:00", perhaps with a fraction; 0: none. */
static int64_t instant(const char *cell) {
    int64_t us;

    return cell && clock_parse(cell, &us) == 0 && us > 0 ? us : 0;
}

static int64_t instant_or_first(const char *cell) {
    int64_t us = instant(cell);

    return us ? us : 1;
}

static struct pairs pairs_of(const struct reader *reader, int query, const char *id) {
    const struct source_table *table = &reader->tables[query];
    size_t first, count = source_rows_of(table, id, &first);
    struct pair *items = arena_alloc(reader->arena, (count + 1) * sizeof *items);
    struct pairs pairs = { .items = items };

    for (size_t i = first; i < first + count; i++) {
        const char *key = source_cell(table, i, 1), *value = source_cell(table, i, 2);
        bool again = pairs.count > 0 && strcmp(items[pairs.count - 1].key, key) == 0;

        items[pairs.count - again] = (struct pair){ key, value ? value : "" };
        pairs.count += !again;
    }
    return pairs;
}

/* Takes the key out of the set: its value; NULL: there is none. */
static const char *pairs_take(struct pairs *pairs, const char *key) {
    const char *value = pairs_get(pairs, key);
    struct pair *items = (struct pair *)(uintptr_t)pairs->items;
    unsigned kept = 0;

    for (unsigned i = 0; i < pairs->count; i++)
        if (strcmp(items[i].key, key) != 0)
            items[kept++] = items[i];
    pairs->count = kept;
    return value;
}

/* ---- QoS specs, types, limits ---- */

static void read_qos(const struct reader *reader, struct cinder *ret) {
    const struct source_table *table = &reader->tables[QOS];

    ret->qos = arena_alloc(reader->arena, (table->rows + 1) * sizeof *ret->qos);
    for (size_t i = 0; i < table->rows; i++) {
        const char *id = source_cell(table, i, 0);
        struct pairs specs = pairs_of(reader, QOS_PAIRS, id);
        const char *consumer = pairs_take(&specs, QOS_CONSUMER);

        ret->qos[ret->qos_count++] = (struct qos_specs){
            .id = id,
            .name = source_cell(table, i, 1),
            .consumer = consumer ? consumer : QOS_BACK_END,
            .specs = specs,
            .created_at = instant_or_first(source_cell(table, i, 2)),
        };
    }
}

static const char *const *projects_of(const struct reader *reader, const char *type_id) {
    const struct source_table *table = &reader->tables[PROJECTS];
    size_t first, count = source_rows_of(table, type_id, &first);
    const char **projects = arena_alloc(reader->arena, (count + 1) * sizeof *projects);

    for (size_t i = 0; i < count; i++)
        projects[i] = source_cell(table, first + i, 1);
    return projects;
}

static const struct type_encryption *encryption_of(const struct reader *reader,
                                                   const char *type_id) {
    const struct source_table *table = &reader->tables[ENCRYPTION];
    struct type_encryption *encryption;
    size_t i;

    if (source_rows_of(table, type_id, &i) == 0)
        return NULL;
    encryption = arena_alloc(reader->arena, sizeof *encryption);
    *encryption = (struct type_encryption){
        .volume_type_id = type_id,
        .id = source_cell(table, i, 1),
        .provider = source_cell(table, i, 2),
        .control_location = source_cell(table, i, 3),
        .cipher = source_cell(table, i, 4),
        .key_size = number(source_cell(table, i, 5), TYPE_ENCRYPTION_NO_SIZE),
        .created_at = instant_or_first(source_cell(table, i, 6)),
    };
    return encryption;
}

static void read_types(const struct reader *reader, struct cinder *ret) {
    const struct source_table *table = &reader->tables[TYPES];

    ret->types = arena_alloc(reader->arena, (table->rows + 1) * sizeof *ret->types);
    for (size_t i = 0; i < table->rows; i++) {
        const char *id = source_cell(table, i, 0);

        ret->types[ret->type_count++] = (struct adopted_type){
            .type = {
                .id = id,
                .name = source_cell(table, i, 1),
                .description = source_cell(table, i, 2),
                .is_public = truth(source_cell(table, i, 3)),
                .qos_specs_id = source_cell(table, i, 4),
                .extra_specs = pairs_of(reader, SPECS, id),
                .created_at = instant_or_first(source_cell(table, i, 5)),
                .updated_at = instant(source_cell(table, i, 6)),
            },
            .encryption = encryption_of(reader, id),
            .projects = projects_of(reader, id),
        };
    }
}

static void read_limits(const struct reader *reader, struct cinder *ret) {
    const struct source_table *quotas = &reader->tables[QUOTAS];
    const struct source_table *classes = &reader->tables[CLASSES];
    const struct source_table *defaults = &reader->tables[DEFAULTS];

    ret->limits =
        arena_alloc(reader->arena, (quotas->rows + classes->rows + 1) * sizeof *ret->limits);
    for (size_t i = 0; i < quotas->rows; i++)
        ret->limits[ret->limit_count++] =
            (struct adopted_limit){ .project_id = source_cell(quotas, i, 0),
                                    .resource = source_cell(quotas, i, 1),
                                    .limit = number(source_cell(quotas, i, 2), -1) };
    for (size_t i = 0; i < classes->rows; i++)
        ret->limits[ret->limit_count++] =
            (struct adopted_limit){ .class_name = source_cell(classes, i, 0),
                                    .resource = source_cell(classes, i, 1),
                                    .limit = number(source_cell(classes, i, 2), -1) };
    ret->defaults = arena_alloc(reader->arena, (defaults->rows + 1) * sizeof *ret->defaults);
    for (size_t i = 0; i < defaults->rows; i++)
        ret->defaults[ret->default_count++] =
            (struct default_type){ source_cell(defaults, i, 0), source_cell(defaults, i, 1) };
}

/* ---- parts of a volume ---- */

static const char *refused(const struct reader *reader, const char *what, const char *id,
                           const char *why) {
    return arena_format(reader->arena, "%s %s %s", what, id, why);
}

static bool is_json(const struct reader *reader, const char *text) {
    return !text || json_parse(reader->arena, text, strlen(text), NULL);
}

/* A project may be missing in rows of attachments: theirs is the volume's. */
static void read_attachments(const struct reader *reader, struct cinder_volume *volume) {
    const struct source_table *table = &reader->tables[ATTACHMENTS];
    struct volume *row = &volume->adopted.volume;
    size_t first, count = source_rows_of(table, row->id, &first);
    struct attachment *attachments = arena_alloc(reader->arena, (count + 1) * sizeof *attachments);

    for (size_t i = 0; i < count; i++) {
        const size_t at = first + i;
        const char *status = source_cell(table, at, 5);

        attachments[i] = (struct attachment){
            .id = source_cell(table, at, 1),
            .volume_id = row->id,
            .project_id = row->project_id,
            .instance_uuid = source_cell(table, at, 2),
            .attached_host = source_cell(table, at, 3),
            .mountpoint = source_cell(table, at, 4),
            .attach_status = status,
            .attach_mode = source_cell(table, at, 6),
            .connector = source_cell(table, at, 7),
            .connection_info = source_cell(table, at, 8),
            .attached_at = instant(source_cell(table, at, 9)),
            .created_at = instant_or_first(source_cell(table, at, 10)),
            .updated_at = instant(source_cell(table, at, 11)),
        };
        if (!status || (strcmp(status, "attached") != 0 && strcmp(status, "reserved") != 0))
            volume->refusal =
                refused(reader, "attachment", attachments[i].id,
                        arena_format(reader->arena, "is %s", status ? status : "in no state"));
        else if (!is_json(reader, attachments[i].connector) ||
                 !is_json(reader, attachments[i].connection_info))
            volume->refusal =
                refused(reader, "attachment", attachments[i].id, "has data that are no JSON");
    }
    row->attachments = attachments;
    row->attachment_count = (unsigned)count;
}

static const char *snapshot_refusal(const struct reader *reader, const struct source_table *table,
                                    size_t at) {
    const char *id = source_cell(table, at, 1), *status = source_cell(table, at, 7);

    if (!status || strcmp(status, "available") != 0)
        return refused(reader, "snapshot", id,
                       arena_format(reader->arena, "is %s", status ? status : "in no state"));
    if (source_cell(table, at, 9))
        return refused(reader, "snapshot", id, "is encrypted");
    if (source_cell(table, at, 10))
        return refused(reader, "snapshot", id, "is part of a group snapshot");
    return source_cell(table, at, 2) ? NULL : refused(reader, "snapshot", id, "has no project");
}

static void read_snapshots(const struct reader *reader, struct cinder_volume *volume) {
    const struct source_table *table = &reader->tables[SNAPSHOTS];
    const struct volume *row = &volume->adopted.volume;
    size_t first, count = source_rows_of(table, row->id, &first);
    struct snapshot *snapshots = arena_alloc(reader->arena, (count + 1) * sizeof *snapshots);

    for (size_t i = 0; i < count; i++) {
        const size_t at = first + i;
        const char *id = source_cell(table, at, 1), *user = source_cell(table, at, 3);
        const char *why = snapshot_refusal(reader, table, at);
        int64_t size_gb = number(source_cell(table, at, 6), row->size_gb);

        snapshots[i] = (struct snapshot){
            .id = id,
            .volume_id = row->id,
            .project_id = source_cell(table, at, 2),
            .user_id = user ? user : "",
            .name = source_cell(table, at, 4),
            .description = source_cell(table, at, 5),
            .size_gb = size_gb,
            .status = SNAPSHOT_AVAILABLE,
            .use_quota = counted(source_cell(table, at, 8), false),
            .counted_gb = reader->no_snapshot_gb_quota ? 0 : size_gb,
            .created_at = instant_or_first(source_cell(table, at, 11)),
            .updated_at = instant(source_cell(table, at, 12)),
            .availability_zone = row->availability_zone,
            .metadata = pairs_of(reader, SNAPSHOT_METADATA, id),
        };
        volume->refusal = why ? why : volume->refusal;
    }
    volume->adopted.snapshots = snapshots;
    volume->adopted.snapshot_count = (unsigned)count;
}

/* ---- volumes ---- */

/* In the order of the query. */
enum {
    ID,
    NAME_ID,
    PROJECT,
    USER,
    HOST,
    ZONE,
    NAME,
    DESCRIPTION,
    SIZE,
    STATUS_TEXT,
    ATTACH_STATUS,
    MIGRATION,
    REPLICATION,
    TYPE,
    SNAPSHOT,
    SOURCE,
    GROUP,
    BOOTABLE,
    MULTIATTACH,
    USE_QUOTA,
    SHARED,
    KEY,
    LOCATION,
    PROVIDER,
    CREATED,
    UPDATED,
    LAUNCHED
};

/* Of a volume with another's name, as one after a migration that did not end well. */
static const char *name_refusal(const struct reader *reader, const struct volume *volume) {
    const struct source_table *table = &reader->tables[VOLUMES];
    const char *theirs;
    size_t at;

    if (!volume->name_id || strcmp(volume->name_id, volume->id) == 0 ||
        source_rows_of(table, volume->name_id, &at) == 0)
        return NULL;
    theirs = source_cell(table, at, NAME_ID);
    return theirs && strcmp(theirs, volume->name_id) != 0
               ? NULL
               : arena_format(reader->arena, "its file is that of volume %s", volume->name_id);
}

static void read_volume(const struct reader *reader, size_t i, struct cinder_volume *ret) {
    const struct source_table *table = &reader->tables[VOLUMES];
#define CELL(column) source_cell(table, i, column)
    struct pairs admin = pairs_of(reader, ADMIN_METADATA, CELL(ID));
    const char *temporary = pairs_get(&admin, "temporary");
    const char *format = pairs_take(&admin, "format");
    const char *base_format = pairs_take(&admin, "base_format");

    *ret = (struct cinder_volume){
        .adopted.volume = {
            .id = CELL(ID),
            .name_id = CELL(NAME_ID),
            .project_id = CELL(PROJECT),
            .user_id = CELL(USER) ? CELL(USER) : "",
            .availability_zone = CELL(ZONE) ? CELL(ZONE) : "nova",
            .name = CELL(NAME),
            .description = CELL(DESCRIPTION),
            .size_gb = number(CELL(SIZE), 0),
            .attach_status = CELL(ATTACH_STATUS) ? CELL(ATTACH_STATUS) : "detached",
            .replication_status = CELL(REPLICATION),
            .type_id = CELL(TYPE),
            .snapshot_id = CELL(SNAPSHOT),
            .source_volid = CELL(SOURCE),
            .bootable = truth(CELL(BOOTABLE)),
            .multiattach = truth(CELL(MULTIATTACH)),
            .use_quota = counted(CELL(USE_QUOTA), temporary && strcmp(temporary, "True") == 0),
            .shared_targets = CELL(SHARED) ? truth(CELL(SHARED)) : -1,
            .encryption_key_id = CELL(KEY),
            .provider_location = CELL(LOCATION),
            .provider_id = CELL(PROVIDER),
            .created_at = instant_or_first(CELL(CREATED)),
            .updated_at = instant(CELL(UPDATED)),
            .launched_at = instant(CELL(LAUNCHED)),
            .metadata = pairs_of(reader, METADATA, CELL(ID)),
            .admin_metadata = admin,
            .image_metadata = pairs_of(reader, IMAGE_METADATA, CELL(ID)),
        },
        .host = CELL(HOST),
        .status = CELL(STATUS_TEXT),
        .migration_status = CELL(MIGRATION),
        .group_id = CELL(GROUP),
        .format = format,
        .base_format = base_format,
    };
#undef CELL
    ret->refusal = name_refusal(reader, &ret->adopted.volume);
    read_attachments(reader, ret);
    read_snapshots(reader, ret);
}

/* ---- the whole ---- */

/* Services report every ten seconds; the API does not. */
static const char *live_service(const struct reader *reader) {
    enum { SILENT_S = 60 };
    const struct source_table *table = &reader->tables[SERVICES];

    for (size_t i = 0; i < table->rows; i++) {
        const char *clock = source_cell(table, i, 0);
        const char *host = source_cell(table, i, 2), *binary = source_cell(table, i, 3);
        const size_t length = clock ? strlen(clock) : 0;

        /* PostgreSQL prints the hours of a zone alone. */
        if (length > 3 && strchr("+-", clock[length - 3]) && strchr(clock, ':'))
            clock = arena_format(reader->arena, "%s:00", clock);
        if (llabs(instant(clock) - instant(source_cell(table, i, 1))) < SILENT_S * INT64_C(1000000))
            return arena_format(reader->arena, "%s on %s", binary ? binary : "a service",
                                host ? host : "a host");
    }
    return NULL;
}

int cinder_read(struct arena *arena, const char *url, bool no_snapshot_gb_quota, struct cinder *ret,
                struct error *err) {
    struct reader reader = { .arena = arena, .no_snapshot_gb_quota = no_snapshot_gb_quota };
    size_t count;

    if (cinder_tables_read(arena, url, reader.tables, err) < 0)
        return -1;
    *ret = (struct cinder){
        .groups = number(source_cell(&reader.tables[GROUPS], 0, 0), 0),
        .backups = number(source_cell(&reader.tables[BACKUPS], 0, 0), 0),
        .transfers = number(source_cell(&reader.tables[TRANSFERS], 0, 0), 0),
        .live = live_service(&reader),
    };
    read_qos(&reader, ret);
    read_types(&reader, ret);
    read_limits(&reader, ret);
    count = reader.tables[VOLUMES].rows;
    ret->volumes = arena_alloc(arena, (count + 1) * sizeof *ret->volumes);
    for (; ret->volume_count < count; ret->volume_count++)
        read_volume(&reader, ret->volume_count, &ret->volumes[ret->volume_count]);
    return 0;
}
