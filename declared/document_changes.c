#include "declared/document_changes.h"

#include "declared/document_store.private.h"
#include "json/json.h"

#include <inttypes.h>
#include <string.h>

/* Limits of one read: the documents are trees in memory before they are text. */
#define CHANGES_MOST 100
#define BYTES_MOST   ((size_t)4 * 1024 * 1024)

/* ---- reading ---- */

/* One table with changes. */
struct source {
    const char *select, *alias; /* of the table that has the changes */
    size_t (*bytes)(const struct db_rows *rows);
    query_read *read;
    struct document_change *changes;
    unsigned count, next;
    int64_t until; /* read up to this version */
};

static int read_present(struct work *work, const struct db_rows *rows, void *item,
                        struct error *err) {
    struct document_change *change = item;

    change->what = DOCUMENT_IS;
    if (document_row_read(work, rows, &change->document, err) < 0)
        return -1;
    change->version = change->document.version;
    return 0;
}

static int read_moved(struct work *work, const struct db_rows *rows, void *item,
                      struct error *err) {
    struct document_change *change = item;

    change->what = DOCUMENT_MOVED;
    change->version = db_int(rows, db_columns(rows) - 1);
    return document_row_read(work, rows, &change->document, err);
}

static int read_gone(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    struct document_change *change = item;

    (void)err;
    *change = (struct document_change){
        .version = db_int(rows, 4),
        .what = DOCUMENT_GONE,
        .document = { .id = db_copy(rows, 0, work->arena),
                      .kind = document_kind_named(db_text(rows, 1)),
                      .project_id = db_copy(rows, 2, work->arena),
                      .name = db_copy(rows, 3, work->arena) },
    };
    return 0;
}

static size_t no_bytes(const struct db_rows *rows) {
    (void)rows;
    return 0;
}

static struct db_rows *query_source(struct work *work, const struct document_scope *scope,
                                    int64_t after, const struct source *source, struct error *err) {
    struct db_value values[6] = { DB_TEXT(scope->kind->name), DB_INT(after), DB_INT(CHANGES_MOST) };
    const char *where = "";
    size_t count = 3;

    if (scope->project_id) {
        values[count++] = DB_TEXT(scope->project_id);
        where = arena_format(work->arena, " AND d.project_id = $%zu", count);
    }
    if (scope->name) {
        values[count++] = DB_TEXT(scope->name);
        where = arena_format(work->arena, "%s AND d.name = $%zu", where, count);
    }
    /* the other tables have documents that may have left the node */
    if (scope->node && source->read == read_present) {
        values[count++] = DB_TEXT(scope->node);
        where = arena_format(work->arena, "%s AND d.node = $%zu", where, count);
    }
    return db_query_values(work->tx, err,
                           arena_format(work->arena,
                                        "%s WHERE %s.kind = $1 AND %s.version > $2%s "
                                        "ORDER BY %s.version LIMIT $3",
                                        source->select, source->alias, source->alias, where,
                                        source->alias),
                           values, count);
}

/* The next changes, until they are many or large. */
static int read_source(struct work *work, const struct document_scope *scope, int64_t after,
                       struct source *source, struct error *err) {
    autorows struct db_rows *rows = query_source(work, scope, after, source, err);
    size_t bytes = 0;
    int more = -1;

    while (rows && bytes <= BYTES_MOST && (more = db_next(rows, err)) > 0) {
        source->changes =
            query_grow(work->arena, source->changes, source->count, sizeof(*source->changes));
        if (source->read(work, rows, &source->changes[source->count++], err) < 0)
            return -1;
        bytes += source->bytes(rows);
    }
    if (!rows || more < 0)
        return -1;
    source->until = more == 0 && source->count < CHANGES_MOST
                        ? INT64_MAX
                        : source->changes[source->count - 1].version;
    return 0;
}

#define SOURCES 3

/* The source with the oldest next change; NULL: none is left. */
static struct source *next_source(struct source *sources, int64_t until) {
    struct source *first = NULL;

    for (size_t i = 0; i < SOURCES; i++) {
        struct source *source = &sources[i];

        if (source->next < source->count && source->changes[source->next].version <= until &&
            (!first || source->changes[source->next].version < first->changes[first->next].version))
            first = source;
    }
    return first;
}

int document_changes(struct work *work, const struct document_scope *scope, int64_t after,
                     struct document_change **ret, int64_t *ret_version, struct error *err) {
    struct source sources[SOURCES] = {
        { .select = "SELECT " DOCUMENT_COLUMNS ", m.version FROM document_moves m "
                    "JOIN documents d ON d.id = m.document_id",
          .alias = "m",
          .bytes = document_row_bytes,
          .read = read_moved },
        { .select = DOCUMENT_SELECT,
          .alias = "d",
          .bytes = document_row_bytes,
          .read = read_present },
        { .select = "SELECT d.id, d.kind, d.project_id, d.name, d.version FROM documents_gone d",
          .alias = "d",
          .bytes = no_bytes,
          .read = read_gone },
    };
    struct document_change *changes;
    struct source *source;
    unsigned total = 0, count = 0;
    int64_t until = INT64_MAX, last = 0;

    for (size_t i = 0; i < SOURCES; i++) {
        if (read_source(work, scope, after, &sources[i], err) < 0)
            return -1;
        total += sources[i].count;
        if (sources[i].until < until)
            until = sources[i].until;
    }
    if (document_last_version(work, &last, err) < 0)
        return -1;
    changes = arena_alloc(work->arena, (total + 1) * sizeof(*changes));
    while ((source = next_source(sources, until)))
        changes[count++] = source->changes[source->next++];
    *ret = changes;
    *ret_version = until < last ? until : last;
    return (int)count;
}

/* ---- evaluation ---- */

int document_position_check(const struct document_position *position, int64_t last,
                            struct error *err) {
    int64_t known = position->version > position->floor ? position->version : position->floor;

    if (known >= last - DOCUMENT_CHANGES_KEPT && known <= last)
        return 0;
    return error_set(err, ERROR_GONE,
                     known > last
                         ? "resourceVersion: no such change; list again."
                         : "resourceVersion: later changes are no longer stored; list again.");
}

static bool is_in(const struct document_scope *scope, const struct document *document) {
    if (scope->node && (!document->node || strcmp(scope->node, document->node) != 0))
        return false;
    for (unsigned i = 0; i < scope->labels.count; i++) {
        const struct pair *pair = &scope->labels.items[i];
        const char *value = json_string_value(json_object_get(document->labels, pair->key));

        if (!value || strcmp(value, pair->value) != 0)
            return false;
    }
    return true;
}

enum document_watch_event document_watch_event_of(const struct document_scope *scope,
                                                  const struct document_position *position,
                                                  const struct document_change *change) {
    const struct document *document = &change->document;
    int64_t after = position->version;
    bool leaves = change->what == DOCUMENT_GONE ||
                  (change->what == DOCUMENT_MOVED && !is_in(scope, document));

    if (change->version <= after ||
        (scope->project_id && strcmp(scope->project_id, document->project_id) != 0) ||
        (scope->name && strcmp(scope->name, document->name) != 0))
        return DOCUMENT_NO_EVENT;
    if (leaves)
        return change->version > position->floor ? DOCUMENT_DELETED : DOCUMENT_NO_EVENT;
    if (change->what == DOCUMENT_MOVED || !is_in(scope, document))
        return DOCUMENT_NO_EVENT; /* its present state is a change of its own */
    return after < position->floor || document->first_version > after ? DOCUMENT_ADDED
                                                                      : DOCUMENT_MODIFIED;
}

/* ---- output ---- */

/* Its version is that of the change: a watch continues from there. */
static json_t *object_of(struct arena *arena, enum document_watch_event event,
                         const struct document_change *change) {
    const struct document *document = &change->document;
    json_t *version = json_sprintf("%" PRId64, change->version);
    json_t *object, *metadata;

    if (event != DOCUMENT_BOOKMARK && change->what != DOCUMENT_GONE) {
        object = document_json(arena, document);
        json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", version);
        return object;
    }
    metadata = json_pack("{s:o}", "resourceVersion", version);
    if (event != DOCUMENT_BOOKMARK) {
        json_object_set_new(metadata, "name", json_string(document->name));
        json_object_set_new(metadata, "namespace", json_string(document->project_id));
        json_object_set_new(metadata, "uid", json_string(document->id));
    }
    object = json_pack("{s:s, s:s, s:o}", "apiVersion", DOCUMENT_API_VERSION, "kind",
                       document->kind->name, "metadata", metadata);
    return json_keep(arena, object);
}

const char *document_watch_event_text(struct arena *arena, enum document_watch_event event,
                                      const struct document_change *change) {
    static const char *const names[DOCUMENT_WATCH_EVENTS] = { [DOCUMENT_ADDED] = "ADDED",
                                                              [DOCUMENT_MODIFIED] = "MODIFIED",
                                                              [DOCUMENT_DELETED] = "DELETED",
                                                              [DOCUMENT_BOOKMARK] = "BOOKMARK" };

    return arena_join(arena, "{\"type\":\"", names[event],
                      "\",\"object\":", json_text(arena, object_of(arena, event, change)), "}\n",
                      NULL);
}
