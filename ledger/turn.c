#include "ledger/turn.private.h"

#include "ledger/query.h"

#include <string.h>

static int notify_all(struct work *work, struct db_rows *query, struct error *err) {
    struct operation *left;
    int count = operation_all(work, query, &left, err);

    for (int i = 0; i < count; i++)
        if (operation_notify(work, &left[i], NULL, err) < 0)
            return -1;
    return count < 0 ? -1 : 0;
}

/* Whoever was told in vain to begin, and has nobody in front of it any more: the first in line, or
 * all that read in front of the first that changes something. */
/* clang-format off */
#define FIRST_IN_LINE(those) \
    "SELECT " OPERATION_COLUMNS " FROM operations WHERE id IN (" those ") AND " IS_IN_LINE \
    " AND " IS_NOT_CANCELLED " AND owner IS NULL AND " IS_ITS_TURN " ORDER BY created_at, id"
#define THERE     "SELECT next.id FROM operations next WHERE next.turn_of = $1"
#define THERE_TOO "SELECT next.operation_id FROM operation_turns next WHERE next.turn_of = $1"
#define WITH_MINE(next_table) \
    " FROM operation_turns mine JOIN " next_table " next ON next.turn_of = mine.turn_of " \
    "WHERE mine.operation_id = $1"
#define READS_IT  "SELECT next.id FROM operations next WHERE next.reads_of = $1"

static const char next_of_change[] = FIRST_IN_LINE(THERE " UNION ALL " THERE_TOO);
/* Those that read need not be told by one of their own: nothing that changed kept them waiting. */
static const char next_of_reader[] =
    FIRST_IN_LINE(THERE " AND " CHANGES("next") " UNION ALL " THERE_TOO " AND next.only_reads = 0");
/* Each once, however many turns it has with this one. */
static const char next_of_several[] = FIRST_IN_LINE(
    "SELECT next.id" WITH_MINE("operations") " AND " CHANGES("next") " UNION ALL "
    "SELECT next.id" WITH_MINE("operations") " AND mine.only_reads = 0 UNION ALL "
    "SELECT next.operation_id" WITH_MINE("operation_turns")
    " AND (mine.only_reads = 0 OR next.only_reads = 0) UNION ALL "
    "SELECT next.id FROM operation_turns mine JOIN operations next ON "
    "next.reads_of = mine.turn_of WHERE mine.operation_id = $1");
static const char next_of_part[] = FIRST_IN_LINE(READS_IT);
/* Those of the volume that only read wait for the host that a cancelled one of them was at. */
static const char next_of_closed[] =
    FIRST_IN_LINE("SELECT next.id FROM operations next WHERE next.turn_of = $1 UNION " READS_IT);
static const char next_of_host[] = FIRST_IN_LINE(
    "SELECT next.id FROM operations next WHERE next.volume_id = $1 AND next.turn_of IS NOT NULL "
    "UNION " READS_IT " UNION " THERE_TOO);
/* clang-format on */

static int tell_next(struct work *work, const char *which, const char *of, struct error *err) {
    return notify_all(work, db_query(work->tx, err, which, DB_TEXT(of)), err);
}

struct passed {
    const char *id, *turn_of, *object_id, *volume_id;
    bool with_host, waited; /* the latter: for files in use, and kept readers of them away */
};

static int passed_read(struct work *work, const struct db_rows *rows, void *item,
                       struct error *err) {
    (void)err;
    *(struct passed *)item = (struct passed){
        .id = db_copy(rows, 0, work->arena),
        .turn_of = db_copy(rows, 1, work->arena),
        .object_id = db_copy(rows, 2, work->arena),
        .volume_id = db_copy(rows, 3, work->arena),
        .with_host = db_bool(rows, 4),
        .waited = db_bool(rows, 5),
    };
    return 0;
}

/* Who waited at the volume's files, whatever his own turn. */
static int tell_at_files(struct work *work, const struct passed *passed, bool only_read,
                         struct error *err) {
    bool of_part = strcmp(passed->object_id, passed->volume_id) != 0;

    if (of_part && passed->with_host)
        return tell_next(work, next_of_host, passed->volume_id, err);
    return (of_part && !only_read) || passed->waited
               ? tell_next(work, next_of_part, passed->volume_id, err)
               : 0;
}

static int tell_after(struct work *work, const struct passed *passed, struct error *err) {
    bool only_read;

    if (!passed->turn_of)
        return tell_next(work, next_of_several, passed->id, err);
    only_read = strcmp(passed->turn_of, passed->object_id) != 0;
    if (tell_next(work, only_read ? next_of_reader : next_of_change, passed->turn_of, err) < 0)
        return -1;
    return tell_at_files(work, passed, only_read, err);
}

/* Returns as query_one() does. */
static int end_one(struct work *work, struct db_rows *query, struct passed *ret,
                   struct error *err) {
    int ended = query_one(work, query, passed_read, ret, err);

    return ended > 0 && tell_after(work, ret, err) < 0 ? -1 : ended;
}

int turn_pass_on(struct work *work, struct db_rows *query, struct error *err) {
    struct passed passed;

    return end_one(work, query, &passed, err);
}

int turn_pass_on_for_good(struct work *work, struct db_rows *query, struct error *err) {
    struct passed passed;
    int ended = end_one(work, query, &passed, err);

    if (ended > 0 && db_run(work->tx, err, "DELETE FROM operation_turns WHERE operation_id = $1",
                            DB_TEXT(passed.id)) < 0)
        return -1;
    return ended;
}

int turn_pass_on_of(struct work *work, const struct operation *operation, struct error *err) {
    const struct passed passed = {
        operation->id, operation->turn_of,          operation->object_id, operation->volume_id,
        false,         operation->waits_for != NULL
    };

    if (!operation->turn_of)
        return tell_after(work, &passed, err);
    return tell_next(work, next_of_change, operation->turn_of, err) < 0
               ? -1
               : tell_at_files(work, &passed, strcmp(passed.turn_of, passed.object_id) != 0, err);
}

int turn_tell_next(struct work *work, const char *turn_of, struct error *err) {
    return tell_next(work, next_of_closed, turn_of, err);
}

int turn_tell_volume(struct work *work, const char *volume_id, struct error *err) {
    return notify_all(work,
                      db_query(work->tx, err,
                               "SELECT " OPERATION_COLUMNS " FROM operations WHERE "
                               "((volume_id = $1 AND COALESCE(turn_of, '') <> volume_id) OR "
                               "id IN (SELECT operation_id FROM operation_turns WHERE "
                               "turn_of = $1)) AND owner IS NULL AND "
                               "phase IN ('queued', 'completing') ORDER BY created_at, id",
                               DB_TEXT(volume_id)),
                      err);
}
