#include "declared/document_own.h"

#include "common/assert.h"
#include "declared/document_store.private.h"
#include "declared/tree.h"
#include "operation/query.h"
#include "json/json.h"

#include <string.h>

/* ---- creation ---- */

/* Documents of the service have the limits and required fields of clients' documents. */
static int check_complete(struct work *work, const struct document *document, struct error *err) {
    const struct document_kind *kind = document->kind;
    size_t most = DOCUMENT_BYTES_MOST + (kind->read_only ? 0 : DOCUMENT_OWN_BYTES_MOST);

    if (kind->read_only && schema_accept(work->arena, kind->fields, "", document->body, err) < 0)
        return error_context(err, "%s %s", kind->label, document->name);
    if (document_bytes(work, document) > most)
        return error_set(err, ERROR_TOO_LARGE, "%s %s would be larger than %zu bytes.", kind->label,
                         document->name, most);
    return 0;
}

int document_own_create_as(struct work *work, const char *id, const struct document_kind *kind,
                           const struct document *owner, const char *name, json_t *labels,
                           json_t *body, json_t *status, const char *node, struct document *ret,
                           struct error *err) {
    struct arena *arena = work->arena;
    struct document document = {
        .kind = kind,
        .id = id,
        .project_id = owner->project_id,
        .owner_id = owner->id,
        .node = node,
        .generation = 1,
        .labels = labels ? labels : json_keep(arena, json_object()),
        .annotations = json_keep(arena, json_object()),
        .finalizers = json_keep(arena, json_array()),
        .body = body,
        .status = status ? status : json_keep(arena, json_loads(kind->initial_status, 0, NULL)),
        .created_at = work->now_us,
    };
    int taken;

    assert(id && owner->id && owner->project_id);
    if (kind->finalizer)
        json_array_append_new(document.finalizers, json_string(kind->finalizer));
    if (owner->deleted_at)
        return error_set(err, ERROR_CONFLICT, "%s %s is being deleted.", owner->kind->label,
                         owner->name);
    taken = db_query_any(work->tx, err,
                         "SELECT 1 FROM documents "
                         "WHERE kind = $1 AND project_id = $2 AND name = $3",
                         DB_TEXT(kind->name), DB_TEXT(document.project_id), DB_TEXT(name));
    if (taken < 0)
        return -1;
    document.name = taken > 0 ? arena_format(arena, "%s-%.8s", name, id) : name;
    if (check_complete(work, &document, err) < 0 ||
        document_next_version(work, &document.version, err) < 0)
        return -1;
    document.first_version = document.version;
    if (document_insert(work, &document, err) < 0)
        return -1;
    *ret = document;
    return 0;
}

int document_own_create(struct work *work, const struct document_kind *kind,
                        const struct document *owner, const char *name, json_t *labels,
                        json_t *body, json_t *status, const char *node, struct document *ret,
                        struct error *err) {
    return document_own_create_as(work, work_uuid(work), kind, owner, name, labels, body, status,
                                  node, ret, err);
}

/* ---- writing ---- */

int document_own_write(struct work *work, const struct document *before, struct document *after,
                       struct error *err) {
    bool is_same_body;

    assert(before->kind == after->kind && strcmp(before->id, after->id) == 0);
    if (check_complete(work, after, err) < 0)
        return -1;
    is_same_body = json_equal(before->body, after->body);
    after->generation = before->generation + (is_same_body ? 0 : 1);
    if (is_same_body && before->deleted_at == after->deleted_at &&
        text_is(before->node, after->node) && json_equal(before->labels, after->labels) &&
        json_equal(before->annotations, after->annotations) &&
        json_equal(before->finalizers, after->finalizers) &&
        json_equal(before->status, after->status))
        return 0;
    return document_store(work, before, after, err);
}

/* ---- reports of nodes ---- */

/* In normal form, within the limit of its size. */
static int read_status(struct work *work, const struct document *before, const json_t *given,
                       json_t **ret, struct error *err) {
    json_t *status = json_keep(work->arena, json_deep_copy(given));
    json_int_t seen;

    if (!json_is_object(status))
        return error_set(err, ERROR_BAD_REQUEST, "status must be an object.");
    if (schema_accept(work->arena, before->kind->status_fields, "status", status, err) < 0)
        return -1;
    seen = json_int_at(status, "observedGeneration");
    if (seen > before->generation)
        return error_set(err, ERROR_BAD_REQUEST,
                         "status.observedGeneration: %" JSON_INTEGER_FORMAT
                         " is greater than the document's generation %" JSON_INTEGER_FORMAT ".",
                         seen, (json_int_t)before->generation);
    if (strlen(json_text(work->arena, status)) > DOCUMENT_STATUS_BYTES_MOST)
        return error_set(err, ERROR_TOO_LARGE, "status would be larger than %zu bytes.",
                         DOCUMENT_STATUS_BYTES_MOST);
    *ret = status;
    return 0;
}

int document_status_put(struct work *work, const struct document *before, const char *node,
                        const json_t *status, struct document *ret, struct error *err) {
    const struct document_kind *kind = before->kind;
    struct document after = *before;

    if (!kind->status_fields)
        return error_set(err, ERROR_BAD_REQUEST, "%s %s: the service writes its status.",
                         kind->label, before->name);
    if (!before->node)
        return error_set(err, ERROR_CONFLICT, "%s %s is assigned to no node.", before->kind->label,
                         before->name);
    if (strcmp(before->node, node) != 0)
        return error_set(err, ERROR_CONFLICT, "%s %s is assigned to node %s.", before->kind->label,
                         before->name, before->node);
    if (read_status(work, before, status, &after.status, err) < 0 ||
        (kind->check_status && kind->check_status(work, before, &after, err) < 0) ||
        document_own_write(work, before, &after, err) < 0)
        return -1;
    *ret = after;
    return 0;
}

/* ---- events ---- */

#define REASON_MOST  64
#define MESSAGE_MOST 1024 /* bytes: a row of an index is limited */

/* At most so many bytes, cut between characters. */
static const char *cut(struct work *work, const char *text, size_t most) {
    size_t length = strlen(text);

    if (length <= most)
        return text;
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return arena_text_n(work->arena, text, most);
}

int document_event(struct work *work, const struct document *document, const char *type,
                   const char *reason, const char *message, struct error *err) {
    int64_t number = 0;

    assert(document->id && (strcmp(type, "Normal") == 0 || strcmp(type, "Warning") == 0));
    if (db_query_int(work->tx, &number, err,
                     "SELECT COALESCE(MAX(number), 0) + 1 FROM document_events "
                     "WHERE document_id = $1",
                     DB_TEXT(document->id)) < 0 ||
        db_change(work->tx, err,
                  "INSERT INTO document_events (document_id, type, reason, message, number, times, "
                  "first_at, last_at) VALUES ($1, $2, $3, $4, $5, 1, $6, $6) "
                  "ON CONFLICT (document_id, type, reason, message) DO UPDATE SET "
                  "number = excluded.number, times = document_events.times + 1, "
                  "last_at = excluded.last_at",
                  DB_TEXT(document->id), DB_TEXT(type), DB_TEXT(cut(work, reason, REASON_MOST)),
                  DB_TEXT(cut(work, message, MESSAGE_MOST)), DB_INT(number),
                  DB_INT(work->now_us)) < 0)
        return -1;
    return db_change(work->tx, err,
                     "DELETE FROM document_events WHERE document_id = $1 AND number <= "
                     "(SELECT number FROM document_events WHERE document_id = $1 "
                     "ORDER BY number DESC LIMIT 1 OFFSET $2)",
                     DB_TEXT(document->id), DB_INT(DOCUMENT_EVENTS_MOST));
}

static int read_event(struct work *work, const struct db_rows *rows, void *item,
                      struct error *err) {
    (void)err;
    *(struct document_event *)item = (struct document_event){
        .type = db_copy(rows, 0, work->arena),
        .reason = db_copy(rows, 1, work->arena),
        .message = db_copy(rows, 2, work->arena),
        .times = db_int(rows, 3),
        .first_at = db_int(rows, 4),
        .last_at = db_int(rows, 5),
    };
    return 0;
}

int document_events(struct work *work, const char *document_id, struct document_event **ret,
                    struct error *err) {
    struct db_rows *rows = db_query(work->tx, err,
                                    "SELECT type, reason, message, times, first_at, last_at "
                                    "FROM document_events WHERE document_id = $1 ORDER BY number",
                                    DB_TEXT(document_id));

    return query_all(work, rows, read_event, ret, err);
}
