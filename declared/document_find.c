/*
 * Documents read from their rows, singly and in lists.
 */
#include "declared/document_store.private.h"

#include "common/cleanup.h"
#include "json/json.h"

#include <string.h>

#define ROWS_MOST 100 /* of a page: each may be large, and an engine may read all of them at once */

static int read_json(struct work *work, const struct db_rows *rows, unsigned column, json_t **ret,
                     struct error *err) {
    const char *text = db_text(rows, column);

    *ret = json_parse(work->arena, text, strlen(text), err);
    return *ret ? 0
                : error_set(err, ERROR_INTERNAL, "A document in the database is not valid JSON.");
}

int document_row_read(struct work *work, const struct db_rows *rows, void *item,
                      struct error *err) {
    struct document *document = item;
    struct arena *arena = work->arena;
    json_t *metadata;

    *document = (struct document){
        .id = db_copy(rows, 0, arena),
        .kind = document_kind_named(db_text(rows, 1)),
        .project_id = db_copy(rows, 2, arena),
        .name = db_copy(rows, 3, arena),
        .owner_id = db_copy(rows, 4, arena),
        .version = db_int(rows, 5),
        .first_version = db_int(rows, 6),
        .generation = db_int(rows, 7),
        .created_at = db_int(rows, 11),
        .updated_at = db_int(rows, 12),
        .deleted_at = db_int(rows, 13),
        .node = db_copy(rows, 14, arena),
        .size_gb = db_int(rows, 15),
        .bytes = db_int(rows, 16),
    };
    if (!document->kind)
        return error_set(err, ERROR_INTERNAL, "Unknown document kind %s in the database.",
                         db_text(rows, 1));
    if (read_json(work, rows, 8, &metadata, err) < 0 ||
        read_json(work, rows, 9, &document->body, err) < 0 ||
        read_json(work, rows, 10, &document->status, err) < 0)
        return -1;
    document->labels = json_object_get(metadata, "labels");
    document->annotations = json_object_get(metadata, "annotations");
    document->finalizers = json_object_get(metadata, "finalizers");
    return 0;
}

int document_find(struct work *work, const struct document_kind *kind, const char *id_or_name,
                  struct document *ret, struct error *err) {
    const struct context *context = work->context;
    bool by_name = context->is_admin || !kind->is_name_admin_only;
    struct db_rows *rows =
        db_query(work->tx, err,
                 DOCUMENT_SELECT " WHERE d.kind = $1 AND (d.id = $2 OR (d.name = $5 AND "
                                 "d.project_id = $3)) AND (d.project_id = $3 OR $4 = 1) "
                                 "ORDER BY CASE WHEN d.name = $5 THEN 1 ELSE 0 END",
                 DB_TEXT(kind->name), DB_TEXT(id_or_name), DB_TEXT(context->project_id),
                 DB_BOOL(context->is_admin), DB_TEXT(by_name ? id_or_name : ""));

    return error_if_none(query_one(work, rows, document_row_read, ret, err), err, ERROR_NOT_FOUND,
                         "%s %s could not be found.", kind->label, id_or_name);
}

int document_named(struct work *work, const struct document_kind *kind, const char *project_id,
                   const char *name, struct document *ret, struct error *err) {
    struct db_rows *rows = db_query(
        work->tx, err, DOCUMENT_SELECT " WHERE d.kind = $1 AND d.project_id = $2 AND d.name = $3",
        DB_TEXT(kind->name), DB_TEXT(project_id), DB_TEXT(name));

    return query_one(work, rows, document_row_read, ret, err);
}

int document_owned(struct work *work, const char *owner_id, const struct document_kind *kind,
                   struct document **ret, struct error *err) {
    struct db_rows *rows = db_query(
        work->tx, err,
        DOCUMENT_SELECT " WHERE d.owner_id = $1 AND d.kind = $2 ORDER BY d.first_version, d.id",
        DB_TEXT(owner_id), DB_TEXT(kind->name));

    return query_all(work, rows, document_row_read, ret, err);
}

/* A tree in memory is larger than its text. */
size_t document_row_bytes(const struct db_rows *rows) {
    return 16 * (strlen(db_text(rows, 8)) + strlen(db_text(rows, 9)) + strlen(db_text(rows, 10)));
}

int document_list(struct work *work, const struct query *given, struct document **ret,
                  struct error *err) {
    struct query query = *given;
    autorows struct db_rows *rows = NULL;
    struct document *documents = NULL;
    unsigned count = 0;
    size_t bytes = 0;
    int more = -1;

    if (query.cut && query.limit > ROWS_MOST)
        query.limit = ROWS_MOST;
    rows = query_page(work, DOCUMENT_SELECT, &query, err);
    while (rows && (more = db_next(rows, err)) > 0) {
        if (count > 0 && query.bytes_most > 0 && bytes > query.bytes_most) {
            *query.cut = true;
            break;
        }
        documents = query_grow(work->arena, documents, count, sizeof *documents);
        if (document_row_read(work, rows, &documents[count++], err) < 0)
            return -1;
        bytes += document_row_bytes(rows);
    }
    if (more < 0)
        return -1;
    if (count == ROWS_MOST && given->limit > ROWS_MOST && query.cut)
        *query.cut = true;
    *ret = documents;
    return (int)count;
}

int document_count_labelled(struct work *work, const struct document *but, const char *key,
                            const char *value, int64_t *ret, struct error *err) {
    return db_query_int(work->tx, ret, err,
                        "SELECT COUNT(*) FROM document_labels l JOIN documents d "
                        "ON d.id = l.document_id WHERE l.project_id = $1 AND l.key = $2 AND "
                        "l.value = $3 AND d.kind = $4 AND d.id <> $5",
                        DB_TEXT(but->project_id), DB_TEXT(key), DB_TEXT(value),
                        DB_TEXT(but->kind->name), DB_TEXT(but->id)) < 0
               ? -1
               : 0;
}

int document_last_version(struct work *work, int64_t *ret, struct error *err) {
    return db_query_int(work->tx, ret, err, "SELECT version FROM document_versions") < 0 ? -1 : 0;
}
