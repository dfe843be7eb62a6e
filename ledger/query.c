#include "ledger/query.h"

#include <string.h>

struct db_rows *query_page(struct work *work, const char *select, const struct query *query,
                           struct error *err) {
    unsigned count = query->value_count;
    struct db_value *values = arena_alloc(work->arena, (count + 2) * sizeof(*values));
    const char *sql;

    if (count > 0)
        memcpy(values, query->values, count * sizeof(*values));
    values[count] = DB_INT(query->limit < 0 ? INT64_MAX : query->limit);
    values[count + 1] = DB_INT(query->offset);
    sql = arena_format(work->arena, "%s WHERE %s%s%s LIMIT $%u OFFSET $%u", select, query->where,
                       query->order ? " ORDER BY " : "", query->order ? query->order : "",
                       count + 1, count + 2);
    return db_query_values(work->tx, err, sql, values, count + 2);
}

void *query_grow(struct arena *arena, void *items, unsigned count, size_t size) {
    void *larger;

    /* Filled exactly when the count is a power of two (or nothing is there yet). */
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
