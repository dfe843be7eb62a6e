#include "operation/query.h"

#include "common/assert.h"

#include <string.h>

struct db_rows *query_page(struct work *work, const char *select, const struct query *query,
                           struct error *err) {
    unsigned count = query->value_count;
    struct db_value *values = arena_alloc(work->arena, (count + 2) * sizeof(*values));
    const char *sql;

    assert(query->offset >= 0 && (query->value_count == 0 || query->values));
    if (count > 0)
        memcpy(values, query->values, count * sizeof(*values));
    values[count] = DB_INT(query->limit < 0 ? INT64_MAX : query->limit);
    values[count + 1] = DB_INT(query->offset);
    sql =
        arena_format(work->arena, "%s%s WHERE %s%s%s LIMIT $%u OFFSET $%u", select,
                     query->join ? query->join : "", query->where, query->order ? " ORDER BY " : "",
                     query->order ? query->order : "", count + 1, count + 2);
    return db_query_values(work->tx, err, sql, values, count + 2);
}

int query_all_sized(struct work *work, struct db_rows *found, query_read *read, void *ret,
                    size_t size, struct error *err) {
    autorows struct db_rows *rows = found;
    char *items = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        items = query_grow(work->arena, items, count, size);
        if (read(work, rows, items + count++ * size, err) < 0)
            return -1;
    }
    if (more < 0)
        return -1;
    memcpy(ret, &items, sizeof items);
    return (int)count;
}

int query_one(struct work *work, struct db_rows *found, query_read *read, void *ret,
              struct error *err) {
    autorows struct db_rows *rows = found;
    int more = rows ? db_next(rows, err) : -1;

    return more > 0 && read(work, rows, ret, err) < 0 ? -1 : more;
}

int query_text(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    (void)err;
    *(const char **)item = db_copy(rows, 0, work->arena);
    return 0;
}

void *query_grow(struct arena *arena, void *items, unsigned count, size_t size) {
    assert(items || count == 0);
    void *larger;

    /* Full exactly when the count is a power of two (or 0). */
    if ((count & (count - 1)) != 0)
        return items;
    larger = arena_alloc(arena, (count > 0 ? 2 * (size_t)count : 1) * size);
    if (count > 0)
        memcpy(larger, items, count * size);
    return larger;
}

unsigned query_in_count(unsigned count) {
    unsigned places = 1;

    while (places < count)
        places *= 2;
    return places;
}
