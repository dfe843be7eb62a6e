#include "volume/summary.h"

#include "volume/query.h"

int summary_metadata(struct work *work, bool all_projects, struct pairs *ret, struct error *err) {
    autorows struct db_rows *rows = db_query(
        work->tx, err,
        "SELECT DISTINCT m.key, m.value FROM volume_metadata m JOIN volumes v ON v.id = m.volume_id "
        "WHERE $1 = 1 OR v.project_id = $2 ORDER BY m.key, m.value",
        DB_BOOL(all_projects && work->context->is_admin), DB_TEXT(work->context->project_id));
    struct pair *items = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        items = query_grow(work->arena, items, count, sizeof *items);
        items[count++] =
            (struct pair){ db_copy(rows, 0, work->arena), db_copy(rows, 1, work->arena) };
    }
    if (more < 0)
        return -1;
    *ret = (struct pairs){ items, count };
    return 0;
}
