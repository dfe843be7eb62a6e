/*
 * What the parts of a check share: its findings and its operations.
 */
#include "manager/check/check.private.h"

#include "operation/query.h"

#include <stdlib.h>
#include <string.h>

/* ---- findings ---- */

void round_found(struct round *round, const char *promise, const char *format, ...) {
    va_list values;

    va_start(values, format);
    round->check->wrong(round->check->arg, promise, arena_vformat(round->arena, format, values));
    va_end(values);
    round->findings++;
}

void round_note(struct round *round, const char *format, ...) {
    va_list values;

    if (!round->check->note)
        return;
    va_start(values, format);
    round->check->note(round->check->arg, arena_vformat(round->arena, format, values));
    va_end(values);
}

void round_status_stays(struct round *round, const char *label, const char *id, const char *status,
                        bool by_reset) {
    if (by_reset)
        round_note(round,
                   "%s %s was set to %s by os-reset_status: no operation ends that, but "
                   "os-reset_status or os-force_delete does",
                   label, id, status);
    else
        round_found(round, "P1", "%s %s is %s, but no operation will end that", label, id, status);
}

int round_check_agree(struct round *round, struct work *work, const struct disagreement *rows,
                      size_t count, struct error *err) {
    for (size_t i = 0; i < count; i++) {
        const char **ids;
        int found = query_all(work, db_query(work->tx, err, rows[i].ids), query_text, &ids, err);

        if (found < 0)
            return -1;
        for (int j = 0; j < found; j++)
            round_found(round, rows[i].promise, "%s %s %s", rows[i].what, ids[j], rows[i].why);
    }
    return 0;
}

/* ---- operations ---- */

static int compare_targets(const void *left, const void *right) {
    return strcmp(((const struct operation *)left)->target_id,
                  ((const struct operation *)right)->target_id);
}

const struct operation *round_operation_at(const struct round *round, const char *target_id) {
    struct operation key = { .target_id = target_id };

    if (round->operation_count == 0)
        return NULL;
    return bsearch(&key, round->operations, (size_t)round->operation_count, sizeof key,
                   compare_targets);
}

int round_read_operations(struct round *round, struct work *work, struct error *err) {
    round->operation_count = operation_list(work, &round->operations, err);
    if (round->operation_count > 0)
        qsort(round->operations, (size_t)round->operation_count, sizeof *round->operations,
              compare_targets);
    return round->operation_count < 0 ? -1 : 0;
}

int round_is_being_removed(struct work *work, const char *name_id, struct error *err) {
    return db_query_any(work->tx, err,
                        "SELECT 1 FROM operations WHERE object_id = $1 AND kind = $2",
                        DB_TEXT(name_id), DB_TEXT(kind_remove_unwanted.name));
}
