#include "declared/document_store.private.h"

#include "common/assert.h"
#include "declared/document_quota.h"
#include "declared/tree.h"
#include "json/json.h"

#include <string.h>

/* ---- versions ---- */

/* The row is locked until this transaction ends, so versions are committed in their order. */
int document_next_version(struct work *work, int64_t *ret, struct error *err) {
    int rows = db_run(work->tx, err, "UPDATE document_versions SET version = version + 1");

    if (error_if_none(rows, err, ERROR_INTERNAL, "The table document_versions has no row.") < 0)
        return -1;
    db_tx_notifies(work->tx, DB_DOCUMENTS);
    return document_last_version(work, ret, err);
}

/* ---- writing ---- */

const struct pair_rows document_label_rows = {
    .what = "Labels of document",
    PAIR_ROWS_SOUGHT("document_labels", "document_id"),
};

static int write_labels(struct work *work, const struct document *document, struct error *err) {
    struct pair *items =
        arena_alloc(work->arena, json_object_size(document->labels) * sizeof *items + 1);
    struct pairs pairs = { .items = items };
    const char *key;
    json_t *value;

    json_object_foreach(document->labels, key, value) items[pairs.count++] =
        (struct pair){ key, json_string_value(value) };
    return pair_rows_put(work, &document_label_rows, PAIR_OWNER(document), &pairs, false, err);
}

/* The row's columns with JSON. */
struct texts {
    const char *metadata, *body;
    size_t bytes;
};

static struct texts texts_of(struct work *work, const struct document *document) {
    const json_t *publish = json_object_get(document->body, "publish");
    json_t *metadata = json_keep(work->arena, json_object());
    struct texts texts = { .body = json_text(work->arena, document->body) };

    json_object_set(metadata, "labels", document->labels);
    json_object_set(metadata, "annotations", document->annotations);
    json_object_set(metadata, "finalizers", document->finalizers);
    texts.metadata = json_text(work->arena, metadata);
    texts.bytes = strlen(texts.metadata) + strlen(texts.body) -
                  (publish ? strlen(json_text(work->arena, publish)) : 0);
    return texts;
}

size_t document_bytes(struct work *work, const struct document *document) {
    return texts_of(work, document).bytes;
}

/* Keeps the number of documents of a kind and their bytes, so that limits need no counting. */
static int add_counts(struct work *work, const struct document *document, int documents,
                      int64_t bytes, struct error *err) {
    assert(document->project_id && documents >= -1 && documents <= 1);
    if (documents == 0 && bytes == 0)
        return 0;
    return db_change(work->tx, err,
                     "INSERT INTO document_counts (kind, project_id, documents, bytes) "
                     "VALUES ($1, $2, $3, $4) ON CONFLICT (kind, project_id) DO UPDATE SET "
                     "documents = document_counts.documents + excluded.documents, "
                     "bytes = document_counts.bytes + excluded.bytes",
                     DB_TEXT(document->kind->name), DB_TEXT(document->project_id),
                     DB_INT(documents), DB_INT(bytes));
}

int document_count(struct work *work, const struct document_kind *kind, int64_t *ret,
                   struct error *err) {
    *ret = 0;
    return db_query_int(work->tx, ret, err,
                        "SELECT documents FROM document_counts "
                        "WHERE kind = $1 AND project_id = $2",
                        DB_TEXT(kind->name), DB_TEXT(work->context->project_id)) < 0
               ? -1
               : 0;
}

int document_check_bytes(struct work *work, const struct document *before,
                         const struct document *after, struct error *err) {
    size_t bytes = document_bytes(work, after);
    int64_t more = (int64_t)bytes - (before ? before->bytes : 0);
    int64_t most = work->settings->document_bytes, others = 0;

    if (more > 0 && bytes > DOCUMENT_BYTES_MOST)
        return error_set(err, ERROR_TOO_LARGE, "%s %s would be larger than %zu bytes.",
                         after->kind->label, after->name, DOCUMENT_BYTES_MOST);
    if (most == 0 || more <= 0)
        return 0;
    if (db_query_int(work->tx, &others, err,
                     "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM document_counts "
                     "WHERE project_id = $1",
                     DB_TEXT(after->project_id)) < 0)
        return -1;
    if (others + more <= most)
        return 0;
    return error_set(err, ERROR_OVER_QUOTA,
                     "With %s %s the documents of the project would have %jd bytes together, more "
                     "than %jd.",
                     after->kind->label, after->name, (intmax_t)(others + more), (intmax_t)most);
}

/* Documents of the service count no bytes: their number follows from that of clients' documents. */
static struct texts counted_texts(struct work *work, struct document *document) {
    struct texts texts = texts_of(work, document);

    document->bytes = document->kind->read_only ? 0 : (int64_t)texts.bytes;
    return texts;
}

/* Its size for quotas, as a column. */
static struct db_value counted(const struct document *document) {
    return document->size_gb == DOCUMENT_NOT_COUNTED ? DB_NULL : DB_INT(document->size_gb);
}

int document_insert(struct work *work, struct document *document, struct error *err) {
    struct texts texts = counted_texts(work, document);
    /* a replica stays in its pool */
    const char *pool = document->kind == &kind_volume_replica
                           ? json_text_at(document->body, "spec.poolName")
                           : NULL;

    assert(document->id && document->version > 0 && document->project_id && !document->deleted_at);
    assert(document->first_version == document->version && document->generation == 1);
    if (document_quota_move(work, NULL, document, err) < 0 ||
        db_change(
            work->tx, err,
            "INSERT INTO documents (id, kind, project_id, name, owner_id, version, "
            "first_version, generation, metadata, body, status, created_at, node, size_gb, bytes, "
            "pool) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            DB_TEXT(document->id), DB_TEXT(document->kind->name), DB_TEXT(document->project_id),
            DB_TEXT(document->name), DB_TEXT(document->owner_id), DB_INT(document->version),
            DB_INT(document->first_version), DB_INT(document->generation), DB_TEXT(texts.metadata),
            DB_TEXT(texts.body), DB_TEXT(json_text(work->arena, document->status)),
            DB_INT(document->created_at), DB_TEXT(document->node), counted(document),
            DB_INT(document->bytes), DB_TEXT(pool)) < 0 ||
        add_counts(work, document, 1, document->bytes, err) < 0)
        return -1;
    return write_labels(work, document, err);
}

/* Informs watches of its previous labels or node, which may not find it any more. */
static int note_move(struct work *work, const struct document *before, const struct document *after,
                     struct error *err) {
    assert(after->version > before->version);
    if (json_equal(before->labels, after->labels) && text_is(before->node, after->node))
        return 0;
    if (db_change(work->tx, err,
                  "INSERT INTO document_moves (version, kind, document_id) VALUES ($1, $2, $3)",
                  DB_INT(after->version), DB_TEXT(after->kind->name), DB_TEXT(after->id)) < 0)
        return -1;
    return db_change(work->tx, err, "DELETE FROM document_moves WHERE kind = $1 AND version <= $2",
                     DB_TEXT(after->kind->name), DB_INT(after->version - DOCUMENT_CHANGES_KEPT));
}

static int update_row(struct work *work, const struct document *before, struct document *after,
                      struct error *err) {
    struct texts texts = counted_texts(work, after);
    int rows;

    if (after->version <= before->version) /* as in a database of which a part was restored */
        return error_set(err, ERROR_INTERNAL,
                         "The version of %s %s is higher than that of the table "
                         "document_versions.",
                         before->kind->label, before->name);
    rows = db_run(work->tx, err,
                  "UPDATE documents SET version = $3, generation = $4, metadata = $5, body = $6, "
                  "status = $7, updated_at = $8, deleted_at = $9, node = $10, size_gb = $11, "
                  "bytes = $12 WHERE id = $1 AND version = $2",
                  DB_TEXT(before->id), DB_INT(before->version), DB_INT(after->version),
                  DB_INT(after->generation), DB_TEXT(texts.metadata), DB_TEXT(texts.body),
                  DB_TEXT(json_text(work->arena, after->status)), DB_TIME(after->updated_at),
                  DB_TIME(after->deleted_at), DB_TEXT(after->node), counted(after),
                  DB_INT(after->bytes));

    assert(strcmp(before->id, after->id) == 0 && after->kind == before->kind);
    assert(after->generation >= before->generation);
    assert(!before->deleted_at || after->deleted_at); /* a deletion is never withdrawn */
    if (error_if_none(rows, err, ERROR_CONFLICT, "%s %s was changed meanwhile; read it again.",
                      before->kind->label, before->name) < 0 ||
        add_counts(work, after, 0, after->bytes - before->bytes, err) < 0 ||
        note_move(work, before, after, err) < 0)
        return -1;
    return json_equal(before->labels, after->labels) ? 0 : write_labels(work, after, err);
}

/* Keeps its last version for watches, for a limited number of changes. */
static int delete_row(struct work *work, const struct document *document, struct error *err) {
    assert(document->deleted_at && document->version > 0);
    if (db_change(work->tx, err,
                  "INSERT INTO documents_gone (id, kind, project_id, name, version, deleted_at, "
                  "node, owner_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                  DB_TEXT(document->id), DB_TEXT(document->kind->name),
                  DB_TEXT(document->project_id), DB_TEXT(document->name), DB_INT(document->version),
                  DB_INT(work->clock_us), DB_TEXT(document->node),
                  DB_TEXT(document->owner_id)) < 0 ||
        db_change(work->tx, err, "DELETE FROM documents_gone WHERE kind = $1 AND version <= $2",
                  DB_TEXT(document->kind->name),
                  DB_INT(document->version - DOCUMENT_CHANGES_KEPT)) < 0 ||
        add_counts(work, document, -1, -document->bytes, err) < 0 ||
        document_quota_end(work, document, err) < 0)
        return -1;
    return db_change(work->tx, err, "DELETE FROM documents WHERE id = $1", DB_TEXT(document->id));
}

/* ---- a change ---- */

/* Deleted, without finalizers and owned documents: 1; else 0, or -1. */
static int is_removable(struct work *work, const struct document *document, struct error *err) {
    int owns;

    assert(document->id);
    if (!document->deleted_at || json_array_size(document->finalizers) > 0)
        return 0;
    owns = db_query_any(work->tx, err, "SELECT 1 FROM documents WHERE owner_id = $1 LIMIT 1",
                        DB_TEXT(document->id));
    return owns < 0 ? -1 : !owns;
}

/* Deletes the document and its owner, if that waited for nothing else, and so on. */
static int delete_with_owners(struct work *work, const struct document *document,
                              struct error *err) {
    struct document owner = *document;
    int removable = 1;

    while (removable > 0) {
        if (delete_row(work, &owner, err) < 0)
            return -1;
        removable = 0;
        if (owner.owner_id)
            removable = query_one(work,
                                  db_query(work->tx, err, DOCUMENT_SELECT " WHERE d.id = $1",
                                           DB_TEXT(owner.owner_id)),
                                  document_row_read, &owner, err);
        if (removable > 0)
            removable = is_removable(work, &owner, err);
        if (removable > 0 && document_next_version(work, &owner.version, err) < 0)
            return -1;
    }
    return removable;
}

int document_store(struct work *work, const struct document *before, struct document *after,
                   struct error *err) {
    int removable = is_removable(work, after, err);

    assert(before->kind == after->kind && before->version > 0);
    if (removable < 0 || document_next_version(work, &after->version, err) < 0)
        return -1;
    after->updated_at = work->now_us;
    if (document_quota_move(work, before, after, err) < 0 ||
        update_row(work, before, after, err) < 0)
        return -1;
    return removable ? delete_with_owners(work, after, err) : 0;
}
