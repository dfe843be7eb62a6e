#include "model/volume/volume.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/attachment/attachment.h"
#include "model/type/reserved_type.h"
#include "operation/query.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The group, if it is a consistency group. */
#define CONSISTENCYGROUP                                                         \
    "CASE WHEN v.group_id IS NOT NULL THEN (SELECT cg.id FROM volume_groups cg " \
    "JOIN group_types r ON r.id = cg.group_type_id WHERE cg.id = v.group_id "    \
    "AND r.name = '" GROUP_TYPE_RESERVED "') END"
#define VOLUME_COLUMNS                                                                        \
    "v.id, v.name_id, v.project_id, v.user_id, v.host, v.availability_zone, v.display_name, " \
    "v.display_description, v.size_gb, v.largest_gb, v.status, v.status_by_reset, "           \
    "v.attach_status, v.migration_status, v.replication_status, v.volume_type_id, t.name, "   \
    "v.snapshot_id, v.source_volid, v.group_id, v.bootable, v.multiattach, v.use_quota, "     \
    "v.shared_targets, v.encryption_key_id, v.format, v.provider_location, v.provider_id, "   \
    "v.service_uuid, v.cluster_name, v.created_at, v.updated_at, v.launched_at, " CONSISTENCYGROUP
#define VOLUME_TABLES " FROM volumes v LEFT JOIN volume_types t ON t.id = v.volume_type_id "

/* Most volumes have neither: columns are cheaper than statements without results.  Of a table that
 * is empty, as many are, a page finds that out once and not for each volume. */
#define ROW_OF(table, id) "EXISTS (SELECT 1 FROM " table " d WHERE d.volume_id = " id ")"
#define HAS_ROWS(table)   ", CASE WHEN " ROW_OF(table, "$1") " THEN 1 ELSE 0 END"
#define PAGE_HAS_ROWS(table) \
    ", CASE WHEN EXISTS (SELECT 1 FROM " table ") AND " ROW_OF(table, "v.id") " THEN 1 ELSE 0 END"
#define DETAILS(has)                                                                  \
    has("volume_metadata") has("volume_admin_metadata") has("volume_glance_metadata") \
        has("attachments")

#define SELECT_VOLUMES      "SELECT " VOLUME_COLUMNS VOLUME_TABLES
#define SELECT_WITH_DETAILS "SELECT " VOLUME_COLUMNS DETAILS(HAS_ROWS) VOLUME_TABLES
#define SELECT_PAGE         "SELECT " VOLUME_COLUMNS DETAILS(PAGE_HAS_ROWS) VOLUME_TABLES

/* A column and a bit for each kind of details. */
enum { COLUMN_HAS_DETAILS = 34, PAIR_KINDS = 3, DETAIL_KINDS = 4 };
enum { NO_DETAILS, HAS_ATTACHMENTS = 1 << PAIR_KINDS, ALL_DETAILS = (1 << DETAIL_KINDS) - 1 };

static int volume_read(const struct db_rows *rows, struct arena *arena, struct volume *ret,
                       struct error *err) {
    *ret = (struct volume){
        .id = db_copy(rows, 0, arena),
        .name_id = db_copy(rows, 1, arena),
        .project_id = db_copy(rows, 2, arena),
        .user_id = db_copy(rows, 3, arena),
        .host = db_copy(rows, 4, arena),
        .availability_zone = db_copy(rows, 5, arena),
        .name = db_copy(rows, 6, arena),
        .description = db_copy(rows, 7, arena),
        .size_gb = db_int(rows, 8),
        .largest_gb = db_int(rows, 9),
        .status_by_reset = db_bool(rows, 11),
        .attach_status = db_copy(rows, 12, arena),
        .migration_status = db_copy(rows, 13, arena),
        .replication_status = db_copy(rows, 14, arena),
        .type_id = db_copy(rows, 15, arena),
        .type_name = db_copy(rows, 16, arena),
        .snapshot_id = db_copy(rows, 17, arena),
        .source_volid = db_copy(rows, 18, arena),
        .group_id = db_copy(rows, 19, arena),
        .bootable = db_bool(rows, 20),
        .multiattach = db_bool(rows, 21),
        .use_quota = db_bool(rows, 22),
        .shared_targets = db_is_null(rows, 23) ? -1 : db_bool(rows, 23),
        .encryption_key_id = db_copy(rows, 24, arena),
        .format = db_copy(rows, 25, arena),
        .provider_location = db_copy(rows, 26, arena),
        .provider_id = db_copy(rows, 27, arena),
        .service_uuid = db_copy(rows, 28, arena),
        .cluster_name = db_copy(rows, 29, arena),
        .created_at = db_int(rows, 30),
        .updated_at = db_int(rows, 31),
        .launched_at = db_int(rows, 32),
        .consistencygroup_id = db_copy(rows, 33, arena),
    };
    if (status_parse(db_text(rows, 10), &ret->status) < 0)
        return error_set(err, ERROR_INTERNAL, "Volume %s has the unknown status \"%s\".", ret->id,
                         db_text(rows, 10));
    return 0;
}

/* ---- details of a page of volumes: one query for each kind that any of them has ---- */

struct page_index {
    struct volume **by_id;
    unsigned count;
    struct volume *last;
};

static int compare_volumes(const void *left, const void *right) {
    return strcmp((*(struct volume *const *)left)->id, (*(struct volume *const *)right)->id);
}

static struct volume *page_find(struct page_index *index, const char *id) {
    struct volume key = { .id = id }, *sought = &key, **found;

    if (strcmp(index->last->id, id) == 0)
        return index->last;
    found = bsearch(&sought, index->by_id, index->count, sizeof(void *), compare_volumes);
    assert(found);
    index->last = *found;
    return *found;
}

/* The ids as values, the last one repeated up to a power of two, so that few statements differ. */
static const struct db_value *page_ids(struct work *work, const struct page_index *index,
                                       unsigned *ret_count) {
    struct db_value *values;
    unsigned count = query_in_count(index->count);

    assert(index->count > 0);
    values = arena_alloc(work->arena, count * sizeof *values);
    for (unsigned i = 0; i < count; i++)
        values[i] = DB_TEXT(index->by_id[i < index->count ? i : index->count - 1]->id);
    *ret_count = count;
    return values;
}

/* ---- keys and values: in the order of the index, nothing is sorted, a page can end early ---- */

static const char *const pair_tables[PAIR_KINDS] = { "volume_metadata", "volume_admin_metadata",
                                                     "volume_glance_metadata" };

enum { TOO_MUCH = 1 };

static int load_pairs(struct work *work, struct page_index *index, unsigned kind, size_t bytes_most,
                      struct error *err) {
    unsigned id_count;
    const struct db_value *ids = page_ids(work, index, &id_count);
    const char *sql = arena_format(
        work->arena,
        "SELECT volume_id, key, value FROM %s WHERE volume_id IN (%s) ORDER BY volume_id, key",
        pair_tables[kind], db_places(work->arena, 1, id_count));
    autorows struct db_rows *rows = db_query_values(work->tx, err, sql, ids, id_count);
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        struct volume *volume = page_find(index, db_text(rows, 0));
        struct pairs *pairs = kind == 0   ? &volume->metadata
                              : kind == 1 ? &volume->admin_metadata
                                          : &volume->image_metadata;
        struct pair *items =
            query_grow(work->arena, (void *)(uintptr_t)pairs->items, pairs->count, sizeof(*items));

        assert(pairs->items || pairs->count == 0);
        items[pairs->count] =
            (struct pair){ db_copy(rows, 1, work->arena), db_copy(rows, 2, work->arena) };
        *pairs = (struct pairs){ items, pairs->count + 1 };
        if (arena_bytes(work->arena) > bytes_most)
            return TOO_MUCH;
    }
    return more;
}

static int load_attachments(struct work *work, struct page_index *index, size_t bytes_most,
                            struct error *err) {
    unsigned id_count;
    const struct db_value *ids = page_ids(work, index, &id_count);
    struct query query = {
        .where =
            arena_format(work->arena, "a.volume_id IN (%s)", db_places(work->arena, 1, id_count)),
        .values = ids,
        .value_count = id_count,
        .order = "a.volume_id, a.created_at, a.id",
        .limit = -1,
        .bytes_most = bytes_most,
    };
    struct attachment *attachments;
    int count = attachment_list(work, &query, &attachments, err);

    for (int i = 0; i < count; i++) {
        struct volume *volume = page_find(index, attachments[i].volume_id);

        if (volume->attachment_count++ == 0)
            volume->attachments = &attachments[i];
    }
    if (count < 0)
        return -1;
    return arena_bytes(work->arena) > bytes_most ? TOO_MUCH : 0;
}

/* 0, or TOO_MUCH when that exceeds the limit of memory. */
static int load_kinds(struct work *work, struct volume *volumes, const unsigned char *details,
                      unsigned count, size_t bytes_most, struct error *err) {
    int result = 0;

    for (unsigned kind = 0; kind < DETAIL_KINDS && result == 0; kind++) {
        struct page_index index = { .by_id = arena_alloc(work->arena, count * sizeof(void *)) };

        for (unsigned i = 0; i < count; i++)
            if (details[i] & 1u << kind)
                index.by_id[index.count++] = &volumes[i];
        if (index.count == 0)
            continue;
        if (index.count > 1)
            qsort(index.by_id, index.count, sizeof(void *), compare_volumes);
        index.last = index.by_id[0];
        result = kind < PAIR_KINDS ? load_pairs(work, &index, kind, bytes_most, err)
                                   : load_attachments(work, &index, bytes_most, err);
    }
    return result;
}

static void release_arena(void *arena) {
    arena_free(arena);
}

/*
 * The details of as many volumes of the page as fit into `bytes_most`, one at least; returns how
 * many.  An attempt that exceeds it leaves nothing behind: it has an arena of its own.
 */
static int load_some_details(struct work *work, struct volume *volumes,
                             const unsigned char *details, unsigned count, size_t bytes_most,
                             struct error *err) {
    for (;;) {
        struct work own = *work;
        int result;

        own.arena = arena_new();
        result = load_kinds(&own, volumes, details, count, count > 1 ? bytes_most : SIZE_MAX, err);
        if (result != TOO_MUCH) {
            arena_defer(work->arena, release_arena, own.arena);
            return result < 0 ? -1 : (int)count;
        }
        for (unsigned i = 0; i < count; i++) {
            volumes[i].metadata = volumes[i].admin_metadata = volumes[i].image_metadata =
                (struct pairs){ 0 };
            volumes[i].attachments = NULL;
            volumes[i].attachment_count = 0;
        }
        arena_free(own.arena);
        count = (count + 3) / 4;
    }
}

/* The kinds of details in a row with DETAILS, of those that are wanted. */
static unsigned char details_of(const struct db_rows *rows, unsigned wanted) {
    unsigned char details = 0;

    for (unsigned kind = 0; kind < DETAIL_KINDS; kind++)
        if ((wanted & 1u << kind) && db_bool(rows, COLUMN_HAS_DETAILS + kind))
            details |= (unsigned char)(1u << kind);
    return details;
}

/* ---- reading ---- */

/* The next `most` of the rows, or all that are left. */
static int read_part(struct work *work, struct db_rows *rows, const struct query *query,
                     unsigned wanted, unsigned most, struct volume **ret, struct error *err) {
    struct volume *volumes = NULL;
    unsigned char *details = NULL;
    unsigned count = 0;
    bool any = false;
    int more = 1, kept;

    while (count < most && (more = db_next(rows, err)) > 0) {
        volumes = query_grow(work->arena, volumes, count, sizeof *volumes);
        details = query_grow(work->arena, details, count, 1);
        details[count] = details_of(rows, wanted);
        any |= details[count] != 0;
        if (volume_read(rows, work->arena, &volumes[count++], err) < 0)
            return -1;
    }
    if (more < 0)
        return -1;
    *ret = volumes;
    if (!any)
        return (int)count;
    if (query->bytes_most == 0) {
        /* as many at a time as any engine has parameters for in a statement */
        enum { AT_A_TIME = 1024 };

        for (unsigned first = 0, part; first < count; first += part) {
            part = count - first < AT_A_TIME ? count - first : AT_A_TIME;
            if (load_kinds(work, volumes + first, details + first, part, SIZE_MAX, err) < 0)
                return -1;
        }
        return (int)count;
    }
    assert(query->cut);
    kept = load_some_details(work, volumes, details, count, query->bytes_most, err);
    *query->cut = kept >= 0 && (unsigned)kept < count;
    return kept;
}

static int list_rows(struct work *work, const struct query *query, unsigned wanted,
                     struct volume **ret, struct error *err) {
    autorows struct db_rows *rows =
        query_page(work, wanted ? SELECT_PAGE : SELECT_VOLUMES, query, err);
    struct volume *volumes;
    int count, total = 0;

    if (!rows)
        return -1;
    if (!query->put)
        return read_part(work, rows, query, wanted, UINT_MAX, ret, err);
    /* Each part is in the same memory, which stays in the processor's cache. */
    autoarena struct arena *arena = arena_new();
    struct work own = *work;

    own.arena = arena;
    do {
        arena_reset(arena);
        count = read_part(&own, rows, query, wanted, query->part, &volumes, err);
        if (count < 0)
            return -1;
        total += count;
    } while (query->put(query->put_arg, volumes, (unsigned)count) &&
             (unsigned)count == query->part);
    return total;
}

int volume_list(struct work *work, const struct query *query, struct volume **ret,
                struct error *err) {
    return list_rows(work, query, query->with_details ? ALL_DETAILS : NO_DETAILS, ret, err);
}

int volume_list_attached(struct work *work, const struct query *query, struct volume **ret,
                         struct error *err) {
    return list_rows(work, query, HAS_ATTACHMENTS, ret, err);
}

/* $2 is 1 if all are visible, else $3 is the caller's project: another project's volume is not
 * found, in the same statement and without reading its details. */
#define VOLUME_VISIBLE "WHERE v.id = $1 AND ($2 = 1 OR v.project_id = $3)"

static int volume_one(struct work *work, const char *id, bool all, unsigned wanted,
                      struct volume *ret, struct error *err) {
    autorows struct db_rows *rows = db_query(
        work->tx, err, wanted ? SELECT_WITH_DETAILS VOLUME_VISIBLE : SELECT_VOLUMES VOLUME_VISIBLE,
        DB_TEXT(id), DB_BOOL(all), DB_TEXT(all ? NULL : work->context->project_id));
    unsigned char details;

    if (error_if_none(rows ? db_next(rows, err) : -1, err, ERROR_NOT_FOUND,
                      "Volume %s could not be found.", id) < 0 ||
        volume_read(rows, work->arena, ret, err) < 0)
        return -1;
    details = details_of(rows, wanted);
    return load_kinds(work, ret, &details, 1, SIZE_MAX, err);
}

int volume_row(struct work *work, const char *id, struct volume *ret, struct error *err) {
    return volume_one(work, id, true, NO_DETAILS, ret, err);
}

int volume_recorded(struct work *work, const char *host, const char *location, const char *name_id,
                    struct error *err) {
    const char *first = arena_format(work->arena, "%s#", host);

    assert(host && *host);
    return db_query_any(work->tx, err,
                        "SELECT 1 FROM volumes WHERE substr(host, 1, LENGTH($1)) = $1 "
                        "AND provider_location IS NOT NULL "
                        "AND ($2 = '' OR provider_location = $2) "
                        "AND ($3 = '' OR COALESCE(name_id, id) = $3) LIMIT 1",
                        DB_TEXT(first), DB_TEXT(location ? location : ""),
                        DB_TEXT(name_id ? name_id : ""));
}

int volume_details(struct work *work, const char *id, struct volume *ret, struct error *err) {
    return volume_one(work, id, true, ALL_DETAILS, ret, err);
}

int volume_attached(struct work *work, const char *id, struct volume *ret, struct error *err) {
    return volume_one(work, id, true, HAS_ATTACHMENTS, ret, err);
}

bool volume_lacks_storage(const struct volume *volume, enum volume_status status) {
    const uint64_t usable = ST(AVAILABLE) | ST(RESERVED) | ST(ATTACHING) | ST(DETACHING) |
                            ST(IN_USE) | ST(MAINTENANCE) | ST(AWAITING_TRANSFER);

    return !volume->provider_location && ((uint64_t)1 << status & usable);
}

bool volume_is_free(const struct volume *volume, enum volume_status status) {
    return volume->status == status && volume->attachment_count == 0 &&
           strcmp(volume->attach_status, "attached") != 0;
}

int volume_row_is_free(struct work *work, const char *id, enum volume_status status,
                       struct error *err) {
    return db_query_any(work->tx, err,
                        "SELECT 1 FROM volumes v WHERE v.id = $1 AND v.status = $2 AND "
                        "v.attach_status <> 'attached' AND NOT EXISTS "
                        "(SELECT 1 FROM attachments a WHERE a.volume_id = v.id)",
                        DB_TEXT(id), DB_TEXT(status_text(status)));
}

int volume_get(struct work *work, const char *id, struct volume *ret, struct error *err) {
    return volume_one(work, id, work->context->is_admin, ALL_DETAILS, ret, err);
}

int volume_get_row(struct work *work, const char *id, struct volume *ret, struct error *err) {
    return volume_one(work, id, work->context->is_admin, NO_DETAILS, ret, err);
}

bool volume_in_use(const struct volume *volume) {
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (attachment_in_use(&volume->attachments[i]))
            return true;
    return false;
}
