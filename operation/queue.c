#include "operation/queue.private.h"

#include "common/assert.h"
#include "operation/query.h"

#include <string.h>

static int notify_all(struct work *work, struct db_rows *query, struct error *err) {
    struct operation *left;
    int count = operation_all(work, query, &left, err);

    for (int i = 0; i < count; i++) {
        assert(!left[i].owner && left[i].phase != PHASE_CANCELLED);
        if (operation_notify(work, &left[i], NULL, err) < 0)
            return -1;
    }
    return count < 0 ? -1 : 0;
}

/* Waiting operations that were notified in vain and have none before them now: the first of the
 * queue, or all readers before the first that changes the object. */
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
/* Readers need no notification after a reader: none that changed the object blocked them. */
static const char next_of_reader[] =
    FIRST_IN_LINE(THERE " AND " CHANGES("next") " UNION ALL " THERE_TOO " AND next.only_reads = 0");
/* Each once, however many queues it shares with this one. */
static const char next_of_several[] = FIRST_IN_LINE(
    "SELECT next.id" WITH_MINE("operations") " AND " CHANGES("next") " UNION ALL "
    "SELECT next.id" WITH_MINE("operations") " AND mine.only_reads = 0 UNION ALL "
    "SELECT next.operation_id" WITH_MINE("operation_turns")
    " AND (mine.only_reads = 0 OR next.only_reads = 0) UNION ALL "
    "SELECT next.id FROM operation_turns mine JOIN operations next ON "
    "next.reads_of = mine.turn_of WHERE mine.operation_id = $1");
static const char next_of_part[] = FIRST_IN_LINE(READS_IT);
/* Readers of the volume wait for the host that worked on a cancelled one of them. */
static const char next_of_closed[] =
    FIRST_IN_LINE("SELECT next.id FROM operations next WHERE next.turn_of = $1 UNION " READS_IT);
static const char next_of_host[] = FIRST_IN_LINE(
    "SELECT next.id FROM operations next WHERE next.volume_id = $1 AND next.turn_of IS NOT NULL "
    "UNION " READS_IT " UNION " THERE_TOO);
/* clang-format on */

static int notify_next(struct work *work, const char *which, const char *of, struct error *err) {
    return notify_all(work, db_query(work->tx, err, which, DB_TEXT(of)), err);
}

struct passed {
    const char *id, *turn_of, *object_id, *volume_id;
    bool with_host, waited; /* waited: for files in use, blocking their readers */
    bool in_several;        /* queues; else in turn_of, or in none */
    bool single;            /* by its kind: never in several */
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

/* Operations that waited for the volume's files, in whatever queue. */
static int notify_at_files(struct work *work, const struct passed *passed, bool only_read,
                           struct error *err) {
    bool of_part = strcmp(passed->object_id, passed->volume_id) != 0;

    if (of_part && passed->with_host)
        return notify_next(work, next_of_host, passed->volume_id, err);
    return (of_part && !only_read) || passed->waited
               ? notify_next(work, next_of_part, passed->volume_id, err)
               : 0;
}

static int notify_after(struct work *work, const struct passed *passed, struct error *err) {
    bool only_read;
    int used;

    if (passed->in_several)
        return notify_next(work, next_of_several, passed->id, err);
    if (!passed->turn_of)
        return 0;
    only_read = strcmp(passed->turn_of, passed->object_id) != 0;
    used = db_query_any(work->tx, err, ANY_OF_QUEUE, DB_TEXT(passed->turn_of));
    if (used < 0 || (used > 0 && notify_next(work, only_read ? next_of_reader : next_of_change,
                                             passed->turn_of, err) < 0))
        return -1;
    return notify_at_files(work, passed, only_read, err);
}

static int notify_passed(struct work *work, struct passed *passed, struct error *err) {
    int found = passed->turn_of || passed->single
                    ? 0
                    : db_query_any(work->tx, err,
                                   "SELECT 1 FROM operation_turns WHERE operation_id = $1 LIMIT 1",
                                   DB_TEXT(passed->id));

    passed->in_several = found > 0;
    return found < 0 ? -1 : notify_after(work, passed, err);
}

/* Returns as query_one() does. */
static int end_one(struct work *work, struct db_rows *query, struct passed *ret,
                   struct error *err) {
    int ended = query_one(work, query, passed_read, ret, err);

    return ended > 0 && notify_passed(work, ret, err) < 0 ? -1 : ended;
}

int queue_advance(struct work *work, struct db_rows *query, struct error *err) {
    struct passed passed;

    return end_one(work, query, &passed, err);
}

static int forget_turns(struct work *work, const struct passed *passed, struct error *err) {
    return passed->in_several
               ? db_run(work->tx, err, "DELETE FROM operation_turns WHERE operation_id = $1",
                        DB_TEXT(passed->id))
               : 0;
}

int queue_advance_removed(struct work *work, struct db_rows *query, struct error *err) {
    struct passed passed;
    int ended = end_one(work, query, &passed, err);

    return ended > 0 && forget_turns(work, &passed, err) < 0 ? -1 : ended;
}

static struct passed passed_of(const struct operation *operation) {
    return (struct passed){ .id = operation->id,
                            .turn_of = operation->turn_of,
                            .object_id = operation->object_id,
                            .volume_id = operation->volume_id,
                            .with_host = operation->has_deadline,
                            .waited = operation->waits_for != NULL,
                            .single = operation->kind->single_queue };
}

int queue_advance_ended(struct work *work, const struct operation *ended, struct error *err) {
    struct passed passed = passed_of(ended);

    assert(ended->id && ended->object_id && ended->volume_id);
    return notify_passed(work, &passed, err) < 0 || forget_turns(work, &passed, err) < 0 ? -1 : 0;
}

int queue_advance_past(struct work *work, const struct operation *operation, struct error *err) {
    struct passed passed = passed_of(operation);

    passed.with_host = false;
    passed.in_several = !operation->turn_of;
    if (passed.in_several)
        return notify_after(work, &passed, err);
    return notify_next(work, next_of_change, operation->turn_of, err) < 0
               ? -1
               : notify_at_files(work, &passed, strcmp(passed.turn_of, passed.object_id) != 0, err);
}

int queue_notify_next(struct work *work, const char *turn_of, struct error *err) {
    return notify_next(work, next_of_closed, turn_of, err);
}

int queue_notify_volume(struct work *work, const char *volume_id, struct error *err) {
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
