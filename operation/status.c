#include "operation/status.h"

#include "common/assert.h"

#include <string.h>

int status_write(struct work *work, const struct object_kind *kind, const char *id,
                 const struct status_change *change, struct error *err) {
    const char *from = change->from == STATUS_ANY ? "" : kind->statuses[change->from].text;

    assert(change->to < kind->status_count && kind->statuses[change->to].text);
    assert(change->from == STATUS_ANY || (unsigned)change->from < kind->status_count);
    assert(!(change->by_reset && change->unless_reset));
    return db_run(work->tx, err,
                  arena_format(work->arena,
                               "UPDATE %s SET status = $1, status_by_reset = $2, updated_at = $3 "
                               "WHERE id = $4 AND ($5 = '' OR status = $5) AND "
                               "status_by_reset <= $6",
                               kind->table),
                  DB_TEXT(kind->statuses[change->to].text), DB_BOOL(change->by_reset),
                  DB_INT(work->now_us), DB_TEXT(id), DB_TEXT(from), DB_BOOL(!change->unless_reset));
}

int status_find(const struct object_kind *kind, const char *text, unsigned *ret) {
    for (unsigned i = 0; i < kind->status_count; i++)
        if (strcmp(kind->statuses[i].text, text) == 0) {
            *ret = i;
            return 0;
        }
    return -1;
}
