#include "model/type/qos.h"

#include "common/words.h"

#include <string.h>

#define SELECT "SELECT q.id, q.name, q.consumer, q.created_at, q.updated_at FROM qos_specs q"

const char *const qos_consumers[] = { QOS_FRONT_END, QOS_BACK_END, QOS_BOTH, NULL };

static const struct pair_rows spec_rows = {
    .what = "Specs of QoS specs",
    PAIR_ROWS("qos_spec_pairs", "qos_specs_id"),
};

/* ---- reading ---- */

static int read_specs(struct work *work, const struct db_rows *rows, void *item,
                      struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct qos_specs *)item = (struct qos_specs){
        .id = db_copy(rows, 0, arena),
        .name = db_copy(rows, 1, arena),
        .consumer = db_copy(rows, 2, arena),
        .created_at = db_int(rows, 3),
        .updated_at = db_int(rows, 4),
    };
    return 0;
}

static int load_pairs(struct work *work, struct qos_specs *qos, struct error *err) {
    return pair_rows_get(work, &spec_rows, qos->id, &qos->specs, err);
}

static int read_one(struct work *work, struct db_rows *rows, struct qos_specs *ret,
                    struct error *err) {
    struct qos_specs qos;
    int found = query_one(work, rows, read_specs, &qos, err);

    if (found <= 0 || load_pairs(work, &qos, err) < 0)
        return found == 0 ? 0 : -1;
    *ret = qos;
    return 1;
}

int qos_specs_get(struct work *work, const char *id, struct qos_specs *ret, struct error *err) {
    struct db_rows *rows = db_query(work->tx, err, SELECT " WHERE q.id = $1", DB_TEXT(id));

    return error_if_none(read_one(work, rows, ret, err), err, ERROR_NOT_FOUND,
                         "No such QoS spec %s.", id);
}

int qos_specs_of_type(struct work *work, const char *type_id, struct qos_specs *ret,
                      struct error *err) {
    return read_one(work,
                    db_query(work->tx, err,
                             SELECT " JOIN volume_types t ON t.qos_specs_id = q.id WHERE t.id = $1",
                             DB_TEXT(type_id)),
                    ret, err);
}

int qos_specs_list(struct work *work, const struct query *query, struct qos_specs **ret,
                   struct error *err) {
    int count = query_all(work, query_page(work, SELECT, query, err), read_specs, ret, err);

    for (int i = 0; i < count; i++)
        if (load_pairs(work, &(*ret)[i], err) < 0)
            return -1;
    return count;
}

static int read_type(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    (void)err;
    *(struct qos_type *)item =
        (struct qos_type){ db_copy(rows, 0, work->arena), db_copy(rows, 1, work->arena) };
    return 0;
}

int qos_specs_types(struct work *work, const struct qos_specs *qos, struct qos_type **ret,
                    struct error *err) {
    return query_all(
        work,
        db_query(work->tx, err,
                 "SELECT id, name FROM volume_types WHERE qos_specs_id = $1 ORDER BY name",
                 DB_TEXT(qos->id)),
        read_type, ret, err);
}

/* ---- changing ---- */

static int put_pairs(struct work *work, const struct qos_specs *qos, const struct pairs *specs,
                     struct error *err) {
    return pair_rows_put(work, &spec_rows, &(struct pair_owner){ .id = qos->id }, specs, true, err);
}

int qos_specs_create(struct work *work, const char *name, const char *consumer,
                     const struct pairs *specs, struct qos_specs *ret, struct error *err) {
    const struct qos_specs qos = {
        .id = work_uuid(work),
        .name = name,
        .consumer = consumer,
        .specs = *specs,
        .created_at = work->now_us,
    };

    if (error_if_any(
            db_query_any(work->tx, err, "SELECT 1 FROM qos_specs WHERE name = $1", DB_TEXT(name)),
            err, ERROR_CONFLICT, "QoS Specs %s already exists.", name) < 0 ||
        db_run(work->tx, err,
               "INSERT INTO qos_specs (id, name, consumer, created_at) VALUES ($1, $2, $3, $4)",
               DB_TEXT(qos.id), DB_TEXT(name), DB_TEXT(consumer), DB_INT(qos.created_at)) < 0 ||
        put_pairs(work, &qos, specs, err) < 0)
        return -1;
    *ret = qos;
    return 0;
}

static int write_row(struct work *work, const struct qos_specs *qos, const char *consumer,
                     struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE qos_specs SET consumer = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(consumer), DB_INT(work->now_us), DB_TEXT(qos->id));
}

int qos_specs_set(struct work *work, const struct qos_specs *qos, const struct pairs *specs,
                  struct error *err) {
    struct pair *kept = arena_alloc(work->arena, (specs->count + 1) * sizeof *kept);
    const char *consumer = qos->consumer;
    unsigned count = 0;

    for (unsigned i = 0; i < specs->count; i++) {
        if (strcmp(specs->items[i].key, QOS_CONSUMER) == 0)
            consumer = specs->items[i].value;
        else
            kept[count++] = specs->items[i];
    }
    if (!consumer || !words_have(qos_consumers, 3, consumer))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid qos specs: the consumer must be front-end, back-end or both.");
    return write_row(work, qos, consumer, err) < 0
               ? -1
               : put_pairs(work, qos, &(struct pairs){ kept, count }, err);
}

int qos_specs_unset(struct work *work, const struct qos_specs *qos, const char *const *keys,
                    unsigned count, struct error *err) {
    for (unsigned i = 0; i < count; i++)
        if (error_if_none(pair_rows_remove(work, &spec_rows, qos->id, keys[i], err), err,
                          ERROR_NOT_FOUND, "QoS spec %s has no spec with key %s.", qos->id,
                          keys[i]) < 0)
            return -1;
    return write_row(work, qos, qos->consumer, err);
}

/* ---- types ---- */

int qos_specs_associate(struct work *work, const struct qos_specs *qos,
                        const struct volume_type *type, struct error *err) {
    if (type->qos_specs_id && strcmp(type->qos_specs_id, qos->id) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume type: Type %s is already associated with another qos "
                         "specs: %s",
                         type->id, type->qos_specs_id);
    return db_change(work->tx, err,
                     "UPDATE volume_types SET qos_specs_id = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(qos->id), DB_INT(work->now_us), DB_TEXT(type->id));
}

/* $3: the type, or NULL. */
int qos_specs_disassociate(struct work *work, const struct qos_specs *qos,
                           const struct volume_type *type, struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE volume_types SET qos_specs_id = NULL, updated_at = $2 "
                     "WHERE qos_specs_id = $1 AND id = COALESCE(CAST($3 AS TEXT), id)",
                     DB_TEXT(qos->id), DB_INT(work->now_us), DB_TEXT(type ? type->id : NULL));
}

int qos_specs_delete(struct work *work, const struct qos_specs *qos, bool force,
                     struct error *err) {
    int freed =
        force ? qos_specs_disassociate(work, qos, NULL, err)
              : error_if_any(db_query_any(work->tx, err,
                                          "SELECT 1 FROM volume_types WHERE qos_specs_id = $1 "
                                          "LIMIT 1",
                                          DB_TEXT(qos->id)),
                             err, ERROR_BAD_REQUEST,
                             "QoS Specs %s is still associated with entities.", qos->id);

    if (freed < 0 || db_run(work->tx, err, spec_rows.clear, DB_TEXT(qos->id)) < 0)
        return -1;
    return db_change(work->tx, err, "DELETE FROM qos_specs WHERE id = $1", DB_TEXT(qos->id));
}
