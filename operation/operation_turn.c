/*
 * Owners and queues of operations: claims and leases, retries and deadlines, ends and cancels, and
 * the operations of dead workers.
 */
#include "operation/queue.private.h"

#include "common/assert.h"
#include "db/clock.h"
#include "json/json.h"

#include <string.h>

#define PAUSE_LEAST_US    SECOND_US
#define PASSED_ON_MOST_US (10 * SECOND_US)
#define FAILURE           "failure" /* among the arguments */

int64_t operation_pause_us(const struct operation *operation, int64_t clock_us, int64_t most_us) {
    int64_t pause_us = (clock_us - operation->created_at) / 8;

    assert(most_us >= PAUSE_LEAST_US);
    return pause_us < PAUSE_LEAST_US ? PAUSE_LEAST_US : pause_us > most_us ? most_us : pause_us;
}

/* clang-format off */
#define IS_LEFT TARGETS_ITSELF("other") " AND other." IS_CANCELLED
#define NOTHING_CANCELLED_IS_LEFT \
    "(" IS_CANCELLED " OR (NOT EXISTS (SELECT 1 FROM operations other WHERE " \
    "other.volume_id = operations.volume_id AND " IS_LEFT ") AND " \
    "(turn_of IS NOT NULL OR NOT EXISTS (SELECT 1 FROM operation_turns mine JOIN operations other ON " \
    "other.volume_id = mine.turn_of WHERE mine.operation_id = operations.id AND " IS_LEFT "))))"
/* clang-format on */

/* It waits for a manager of the version that has written it. */
static int pass_on(struct work *work, const struct operation *operation, struct error *err) {
    int64_t pause_us = operation_pause_us(operation, work->clock_us, PASSED_ON_MOST_US);

    return queue_advance(work,
                         db_query(work->tx, err,
                                  "UPDATE operations SET owner = '', lease_until = $1, "
                                  "updated_at = $2 WHERE id = $3" RETURNING_PASSED,
                                  DB_INT(work->clock_us + pause_us), DB_INT(work->clock_us),
                                  DB_TEXT(operation->id)),
                         err) < 0
               ? -1
               : 2;
}

/* The query is one of its own: SQLite would copy the row of an UPDATE with its conditions to a
 * table, and once more for RETURNING. */
int operation_claim(struct work *work, const char *id, const char *owner, struct operation *ret,
                    struct error *err) {
    int64_t lease = work->clock_us + work->settings->operation_lease_s * SECOND_US;
    int found =
        operation_one(work,
                      db_query(work->tx, err,
                               "SELECT " OPERATION_COLUMNS " FROM operations WHERE id = $1 AND "
                               "(owner IS NULL OR lease_until < $2) AND " IS_DUE(
                                   "$2") " AND " NOTHING_CANCELLED_IS_LEFT " AND " IS_ITS_TURN,
                               DB_TEXT(id), DB_INT(work->over_us)),
                      ret, err);

    assert(owner && *owner);
    if (found <= 0)
        return found;
    assert(!ret->owner || ret->lease_until < work->over_us);
    if (ret->phase == PHASES || !operation_kind_find(ret->kind->name))
        return pass_on(work, ret, err);
    ret->owner = arena_text(work->arena, owner);
    ret->lease_until = lease;
    ret->attempts++;
    ret->phase = ret->phase == PHASE_QUEUED ? PHASE_RUNNING : ret->phase;
    ret->progress = -1;
    ret->updated_at = work->clock_us;
    return db_run(work->tx, err,
                  "UPDATE operations SET owner = $1, lease_until = $2, attempts = $3, "
                  "phase = CASE WHEN phase = 'queued' THEN 'running' ELSE phase END, "
                  "progress = NULL, updated_at = $4 WHERE id = $5",
                  DB_TEXT(owner), DB_INT(lease), DB_INT(ret->attempts), DB_INT(work->clock_us),
                  DB_TEXT(id));
}

int operation_begin(struct work *work, struct operation *claimed, struct error *err) {
    assert(claimed->owner && *claimed->owner);
    claimed->attempts++;
    return db_change(work->tx, err,
                     "UPDATE operations SET attempts = $1, updated_at = $2 WHERE id = $3",
                     DB_INT(claimed->attempts), DB_INT(work->clock_us), DB_TEXT(claimed->id));
}

int operation_begin_first(struct work *work, const char *id, const char *owner, struct error *err) {
    assert(owner && *owner);
    return db_run(work->tx, err,
                  "UPDATE operations SET attempts = 1, updated_at = $1 "
                  "WHERE id = $2 AND owner = $3 AND attempts = 0",
                  DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner));
}

int operation_reads(struct work *work, const char *id, const char *volume_id, struct error *err) {
    assert(id && volume_id);
    return db_change(work->tx, err, "UPDATE operations SET reads_of = $1 WHERE id = $2",
                     DB_TEXT(volume_id), DB_TEXT(id));
}

int operation_follow(struct work *work, const struct operation *held, const char *volume_id,
                     bool waits, struct error *err) {
    assert(held->owner && *held->owner && held->turn_count == 0);
    assert(!held->turn_of || strcmp(held->turn_of, volume_id) == 0);
    if (!waits)
        return db_change(work->tx, err,
                         "UPDATE operations SET turn_of = $1, reads_of = $1 "
                         "WHERE id = $2 AND owner = $3",
                         DB_TEXT(volume_id), DB_TEXT(held->id), DB_TEXT(held->owner));
    return db_change(work->tx, err,
                     "UPDATE operations SET turn_of = $1, reads_of = $1, owner = NULL, "
                     "lease_until = NULL, attempts = attempts - 1, updated_at = $2 "
                     "WHERE id = $3 AND owner = $4",
                     DB_TEXT(volume_id), DB_INT(work->clock_us), DB_TEXT(held->id),
                     DB_TEXT(held->owner));
}

/* It may have waited for files in use, and those that are to pass read them. */
int operation_let_pass(struct work *work, const struct operation *held, struct error *err) {
    assert(held->owner && *held->owner && held->turn_of);
    if (db_change(work->tx, err,
                  "UPDATE operations SET owner = NULL, lease_until = NULL, waits_for = NULL, "
                  "updated_at = $1 WHERE id = $2 AND owner = $3",
                  DB_INT(work->clock_us), DB_TEXT(held->id), DB_TEXT(held->owner)) < 0)
        return -1;
    return held->waits_for ? queue_advance_past(work, held, err) : 0;
}

int operation_unfollow(struct work *work, const struct operation *held, struct error *err) {
    assert(held->owner && *held->owner && held->turn_of);
    assert(strcmp(held->turn_of, held->object_id) != 0);
    return db_change(work->tx, err,
                     "UPDATE operations SET turn_of = NULL, reads_of = NULL "
                     "WHERE id = $1 AND owner = $2",
                     DB_TEXT(held->id), DB_TEXT(held->owner)) < 0
               ? -1
               : queue_advance_past(work, held, err);
}

int operation_move(struct work *work, const char *id, const char *owner, enum operation_phase from,
                   enum operation_phase to, bool keep_owner, struct error *err) {
    assert(owner && *owner);
    assert(from < PHASES && to < PHASES);
    assert(to != PHASE_QUEUED && to != PHASE_CANCELLED && to != PHASE_ANSWERED);
    if (keep_owner)
        return db_run(work->tx, err,
                      "UPDATE operations SET phase = $1, updated_at = $2 "
                      "WHERE id = $3 AND phase = $4 AND owner = $5",
                      DB_TEXT(operation_phase_text(to)), DB_INT(work->clock_us), DB_TEXT(id),
                      DB_TEXT(operation_phase_text(from)), DB_TEXT(owner));
    return queue_advance(
        work,
        db_query(work->tx, err,
                 "UPDATE operations SET phase = $1, owner = NULL, lease_until = NULL, "
                 "updated_at = $2 WHERE id = $3 AND phase = $4 AND "
                 "owner = $5" RETURNING_PASSED,
                 DB_TEXT(operation_phase_text(to)), DB_INT(work->clock_us), DB_TEXT(id),
                 DB_TEXT(operation_phase_text(from)), DB_TEXT(owner)),
        err);
}

int operation_set_deadline(struct work *work, const char *id, int64_t deadline, struct error *err) {
    return db_change(work->tx, err, "UPDATE operations SET deadline = $1 WHERE id = $2",
                     DB_INT(deadline), DB_TEXT(id));
}

int operation_await(struct work *work, const struct operation *seen, int64_t deadline,
                    const char *arguments, struct error *err) {
    return db_run(work->tx, err,
                  "UPDATE operations SET deadline = $1, arguments = $2 "
                  "WHERE id = $3 AND deadline = $4 AND " AWAITS_REPORT,
                  DB_INT(deadline), DB_TEXT(arguments), DB_TEXT(seen->id),
                  DB_INT(seen->deadline)) < 0
               ? -1
               : 0;
}

int operation_report(struct work *work, const struct operation *operation, bool failed,
                     struct error *err) {
    assert(operation->id);
    return db_run(work->tx, err,
                  "UPDATE operations SET phase = $1, failed = $2, owner = NULL, "
                  "lease_until = NULL, updated_at = $3 "
                  "WHERE id = $4 AND " AWAITS_REPORT,
                  DB_TEXT(operation_phase_text(PHASE_COMPLETING)), DB_BOOL(failed),
                  DB_INT(work->clock_us), DB_TEXT(operation->id));
}

int operation_end_deadline(struct work *work, const struct operation *operation,
                           struct error *err) {
    if (db_run(work->tx, err,
               "UPDATE operations SET deadline = $1 WHERE id = $2 AND " AWAITS_REPORT,
               DB_INT(DEADLINE_OVER_US), DB_TEXT(operation->id)) < 0)
        return -1;
    return operation_notify(work, operation, NULL, err);
}

int operation_reevaluate(struct work *work, const char *target_id, struct error *err) {
    struct operation operation;
    int found = operation_of(work, target_id, &operation, err);

    if (found <= 0 || !operation.kind->reevaluate)
        return found < 0 ? -1 : 0;
    return operation.kind->reevaluate(work, &operation, err);
}

int operation_note_failure(struct work *work, const struct operation *operation,
                           const struct error *failure, struct error *err) {
    json_t *arguments = json_copy((json_t *)(uintptr_t)operation_arguments(work->arena, operation));

    arguments = json_keep(work->arena, arguments ? arguments : json_object());
    if (*failure->message && !json_object_get(arguments, FAILURE))
        json_object_set_new(arguments, FAILURE, json_string(failure->message));
    return db_change(work->tx, err, "UPDATE operations SET arguments = $1 WHERE id = $2",
                     DB_TEXT(json_text(work->arena, arguments)), DB_TEXT(operation->id));
}

void operation_read_failure(struct arena *arena, const struct operation *operation,
                            struct error *ret) {
    const json_t *text = json_object_get(operation_arguments(arena, operation), FAILURE);

    if (text)
        error_set(ret, ERROR_BACKEND, "%s", json_string_value(text));
}

int operation_part_ended(struct work *work, const char *target_id, const struct error *failure,
                         struct error *err) {
    struct operation whole;
    int found = failure ? operation_of(work, target_id, &whole, err) : 0;

    if (found < 0 ||
        (found > 0 && (db_change(work->tx, err, "UPDATE operations SET failed = $1 WHERE id = $2",
                                 DB_BOOL(true), DB_TEXT(whole.id)) < 0 ||
                       operation_note_failure(work, &whole, failure, err) < 0)))
        return -1;
    return operation_reevaluate(work, target_id, err);
}

int operation_postpone(struct work *work, const char *id, const char *owner, int64_t deadline,
                       struct error *err) {
    assert(owner && *owner);
    return queue_advance(work,
                         db_query(work->tx, err,
                                  "UPDATE operations SET deadline = $1, owner = NULL, "
                                  "lease_until = NULL, updated_at = $2 "
                                  "WHERE id = $3 AND owner = $4" RETURNING_PASSED,
                                  DB_INT(deadline), DB_INT(work->clock_us), DB_TEXT(id),
                                  DB_TEXT(owner)),
                         err);
}

static int let_go(struct work *work, const char *id, const char *owner, int64_t retry_at,
                  int64_t uncounted, const char *waits_for, struct error *err) {
    assert(owner && *owner);
    assert(uncounted == 0 || uncounted == 1);
    assert(retry_at > LEASE_ENDED_US);
    return queue_advance(work,
                         db_query(work->tx, err,
                                  "UPDATE operations SET owner = '', lease_until = $1, "
                                  "attempts = CASE WHEN attempts > $2 THEN attempts - $2 "
                                  "ELSE 0 END, waits_for = $3, updated_at = $4 WHERE id = $5 "
                                  "AND owner = $6" RETURNING_PASSED,
                                  DB_INT(retry_at), DB_INT(uncounted), DB_TEXT(waits_for),
                                  DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner)),
                         err);
}

int operation_retry(struct work *work, const char *id, const char *owner, int64_t retry_at,
                    struct error *err) {
    return let_go(work, id, owner, retry_at, 0, NULL, err);
}

int operation_put_back(struct work *work, const char *id, const char *owner, int64_t retry_at,
                       struct error *err) {
    return let_go(work, id, owner, retry_at, 1, NULL, err);
}

int operation_wait_for(struct work *work, const char *id, const char *owner, const char *what,
                       int64_t retry_at, struct error *err) {
    return let_go(work, id, owner, retry_at, 1, what, err);
}

int operation_make_long(struct work *work, const char *id, const char *owner, struct error *err) {
    struct operation operation;
    int moved = operation_one(work,
                              db_query(work->tx, err,
                                       "UPDATE operations SET is_long = 1, owner = NULL, "
                                       "lease_until = NULL, attempts = attempts - 1, "
                                       "waits_for = NULL, updated_at = $1 WHERE id = $2 AND "
                                       "owner = $3 RETURNING " OPERATION_COLUMNS,
                                       DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner)),
                              &operation, err);

    assert(owner && *owner);
    return moved > 0 && operation_notify(work, &operation, NULL, err) < 0 ? -1 : moved;
}

int operation_set_progress(struct work *work, const char *id, const char *owner, int percent,
                           struct error *err) {
    assert(owner && *owner);
    assert(percent >= 0 && percent < 100);
    return db_run(work->tx, err, "UPDATE operations SET progress = $1 WHERE id = $2 AND owner = $3",
                  DB_INT(percent), DB_TEXT(id), DB_TEXT(owner));
}

int operation_note(struct work *work, const char *id, const char *owner, const char *arguments,
                   struct error *err) {
    assert(owner && *owner);
    return db_run(work->tx, err,
                  "UPDATE operations SET arguments = $1, updated_at = $2 "
                  "WHERE id = $3 AND owner = $4",
                  DB_TEXT(arguments), DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner));
}

int operation_set_size(struct work *work, const char *id, int64_t size_gb, struct error *err) {
    assert(size_gb > 0);
    return db_run(work->tx, err,
                  "UPDATE operations SET new_size_gb = $1, updated_at = $2 WHERE id = $3",
                  DB_INT(size_gb), DB_INT(work->clock_us), DB_TEXT(id)) < 0
               ? -1
               : 0;
}

int operation_renew(struct work *work, const char *owner, const char *id, struct error *err) {
    int64_t lease = work->clock_us + work->settings->operation_lease_s * SECOND_US;

    assert(owner && *owner);
    return db_run(
        work->tx, err,
        "UPDATE operations SET lease_until = $1 WHERE id = $2 AND owner = $3 AND " IS_NOT_CANCELLED,
        DB_INT(lease), DB_TEXT(id), DB_TEXT(owner));
}

int operation_end_stale_leases(struct work *work, const char *prefix, const char *owner,
                               struct error *err) {
    assert(*prefix && owner && *owner);
    return db_run(work->tx, err,
                  "UPDATE operations SET lease_until = $4 "
                  "WHERE substr(owner, 1, CAST($1 AS INTEGER)) = $2 AND owner <> $3",
                  DB_INT(strlen(prefix)), DB_TEXT(prefix), DB_TEXT(owner), DB_INT(LEASE_ENDED_US));
}

int operation_answer(struct work *work, const char *id, const char *arguments, struct error *err) {
    assert(id);
    return queue_advance_removed(
               work,
               db_query(work->tx, err,
                        "UPDATE operations SET phase = $1, owner = NULL, lease_until = NULL, "
                        "arguments = $2, updated_at = $3 WHERE id = $4" RETURNING_PASSED,
                        DB_TEXT(operation_phase_text(PHASE_ANSWERED)), DB_TEXT(arguments),
                        DB_INT(work->clock_us), DB_TEXT(id)),
               err) < 0
               ? -1
               : 0;
}

int operation_expire(struct work *work, int64_t age_us, struct error *err) {
    assert(age_us > 0);
    return db_run(work->tx, err, "DELETE FROM operations WHERE " IS_ANSWERED " AND updated_at < $1",
                  DB_INT(work->over_us - age_us));
}

int operation_leave(struct work *work, const char *object_id, const struct operation_kind *kind,
                    unsigned status, struct error *err) {
    const struct status_change change = { .from = (int)kind->meanwhile,
                                          .to = status,
                                          .unless_reset = true };
    int changed = status_write(work, kind->object, object_id, &change, err);

    assert(kind->object && kind->meanwhile < kind->object->status_count);
    return changed < 0 ? -1 : changed == 0;
}

int operation_end(struct work *work, const struct operation *ended, struct error *err) {
    return db_change(work->tx, err, "DELETE FROM operations WHERE id = $1", DB_TEXT(ended->id)) < 0
               ? -1
               : queue_advance_ended(work, ended, err);
}

int operation_end_held(struct work *work, const struct operation *held, struct error *err) {
    int ended;

    assert(held->owner && *held->owner);
    ended = db_run(work->tx, err,
                   "DELETE FROM operations WHERE id = $1 AND owner = $2 AND " IS_NOT_CANCELLED,
                   DB_TEXT(held->id), DB_TEXT(held->owner));
    return ended > 0 ? queue_advance_ended(work, held, err) : ended < 0 ? -1 : 1;
}

int operation_end_of(struct work *work, const char *target_id, struct error *err) {
    struct operation operation;
    int found = operation_of(work, target_id, &operation, err);

    return found > 0 ? operation_end(work, &operation, err) : found;
}

int operation_insert_once(struct work *work, const struct operation_kind *kind,
                          const struct operation *fields, struct error *err) {
    int waiting =
        db_run(work->tx, err,
               "UPDATE operations SET attempts = 0 WHERE volume_id = $1 AND kind = $2 AND "
               "COALESCE(arguments, '') = $3 AND COALESCE(owner, '') = ''",
               DB_TEXT(fields->volume_id), DB_TEXT(kind->name),
               DB_TEXT(fields->arguments ? fields->arguments : ""));

    assert(fields->volume_id);
    if (waiting != 0)
        return waiting < 0 ? -1 : 0;
    return operation_insert(work, kind, fields, NULL, err);
}

/* A loss of power may have taken a claim of an earlier boot, which is not flushed, but not the
 * effects of its worker. */
static int may_have_traces(struct work *work, const struct operation *operation,
                           struct error *err) {
    if (!operation->kind->leaves_traces || operation->attempts > 0)
        return operation->kind->leaves_traces;
    return clock_is_earlier_boot(work->tx, operation->created_at, err);
}

/* Inspecting the effects of its former worker moves no data: it runs on the workers for short
 * work.  The volume's place in the queue is free for the next operation. */
static int make_cancelled(struct work *work, const char *id, struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE operations SET phase = $1, target_id = id, deadline = NULL, "
                     "is_long = 0, owner = NULLIF(owner, ''), updated_at = $2, "
                     "lease_until = CASE WHEN owner <> '' THEN lease_until END WHERE id = $3",
                     DB_TEXT(operation_phase_text(PHASE_CANCELLED)), DB_INT(work->clock_us),
                     DB_TEXT(id));
}

int operation_cancel(struct work *work, const struct operation *operation, struct error *err) {
    /* also one with an expired lease: recovery decides about that; but none before it begins */
    bool has_worker = operation->owner && *operation->owner && operation->attempts > 0;
    struct operation cancelled = *operation;
    int traces;

    if (operation->phase == PHASE_CANCELLED)
        return 0;
    if (operation->kind->cancel && operation->kind->cancel(work, operation, err) < 0)
        return -1;
    traces = may_have_traces(work, operation, err);
    if (traces < 0)
        return -1;
    if (!has_worker && traces == 0)
        return operation_end(work, operation, err);
    cancelled.is_long = false;
    return make_cancelled(work, operation->id, err) < 0
               ? -1
               : operation_notify(work, &cancelled, NULL, err);
}

int operation_inspect(struct work *work, const struct operation_kind *kind,
                      const struct operation *fields, struct error *err) {
    const char *id;

    assert(kind->leaves_traces && !fields->is_long);
    return operation_insert(work, kind, fields, &id, err) < 0 ? -1 : make_cancelled(work, id, err);
}

int operation_close(struct work *work, const struct operation *operation, const char *owner,
                    struct error *err) {
    const char *volume_id = operation->volume_id;
    int closed =
        queue_advance_removed(work,
                              db_query(work->tx, err,
                                       "DELETE FROM operations WHERE id = $1 AND owner = $2 "
                                       "AND " IS_CANCELLED RETURNING_PASSED,
                                       DB_TEXT(operation->id), DB_TEXT(owner)),
                              err);

    assert(owner && *owner);
    if (closed <= 0)
        return closed;
    if (queue_notify_volume(work, volume_id, err) < 0 ||
        (operation->turn_of && queue_notify_next(work, volume_id, err) < 0))
        return -1;
    return 1;
}

/* $1 the present instant, $2, $3 and $6 of the rule. */
#define IS_ORPHAN                                                                  \
    "(lease_until < $1 OR (owner IS NULL AND COALESCE(updated_at, created_at) <= " \
    "CASE WHEN phase IN ('waiting', 'cancelled') AND $6 = 2 THEN "                 \
    "($2 + COALESCE(deadline, created_at)) / 2 "                                   \
    "WHEN phase IN ('waiting', 'cancelled') THEN $2 "                              \
    "WHEN phase = 'queued' AND $6 > 0 THEN ($3 + created_at) / 2 "                 \
    "ELSE $3 END)) AND " IS_DUE("$1")

/* With a condition for each of the indices operations_at_work and operations_in_line. */
#define ORPHANS(condition) \
    "SELECT id FROM operations WHERE host = $4 AND is_long = $7 AND " condition " AND " IS_ORPHAN

static int patience_of(const struct orphan_rule *rule) {
    return rule->sparing ? 2 : rule->patient;
}

int operation_orphans(struct work *work, const char *host, const struct orphan_rule *rule,
                      unsigned most, struct operation **ret, struct error *err) {
    assert(most > 0);
    return operation_all(
        work,
        db_query(
            work->tx, err,
            "SELECT " OPERATION_COLUMNS
            " FROM operations WHERE id IN (" ORPHANS("owner IS NOT NULL") " UNION ALL " ORPHANS(
                "owner IS NULL AND " HAS_NO_ANSWER) ") ORDER BY created_at, id LIMIT $5",
            DB_INT(work->over_us), DB_INT(rule->waiting_since_us), DB_INT(rule->queued_since_us),
            DB_TEXT(host), DB_INT(most), DB_INT(patience_of(rule)), DB_BOOL(rule->is_long)),
        ret, err);
}

int operation_any(struct work *work, struct error *err) {
    return db_query_any(work->tx, err, "SELECT 1 FROM operations LIMIT 1");
}

int operation_redeliver(struct work *work, const struct operation *orphan,
                        const struct orphan_rule *rule, struct error *err) {
    /* Without its dead owner it counts as notified just now. */
    int freed =
        db_run(work->tx, err,
               "UPDATE operations SET owner = NULL, lease_until = NULL, updated_at = $5 "
               "WHERE id = $4 AND " IS_ORPHAN,
               DB_INT(work->over_us), DB_INT(rule->waiting_since_us), DB_INT(rule->queued_since_us),
               DB_TEXT(orphan->id), DB_INT(work->clock_us), DB_INT(patience_of(rule)));

    if (freed <= 0 || operation_notify(work, orphan, NULL, err) < 0)
        return freed <= 0 ? freed : -1;
    /* Its dead worker blocked others, too. */
    return orphan->owner ? queue_advance_past(work, orphan, err) : 0;
}

/* clang-format off */
/* The queue of a project: its operations at the backend without an owner.  Each is searched by an
 * index (operations_in_line, operations_at_work) and none is read through; the scalar queries keep
 * PostgreSQL from joining with all of the table instead. */
#define NEXT_LINE(behind) \
    "(SELECT project_id FROM operations WHERE host = $4 AND is_long = $6 AND owner IS NULL AND " HAS_NO_ANSWER \
    behind " ORDER BY project_id LIMIT 1)"
#define LINES \
    "lines (project_id) AS (SELECT " NEXT_LINE("") " UNION ALL " \
    "SELECT " NEXT_LINE(" AND project_id > lines.project_id") \
    " FROM lines WHERE project_id IS NOT NULL)"
#define ONE_OF_LINE(which) \
    "(SELECT id FROM operations WHERE host = $4 AND is_long = $6 AND project_id = lines.project_id AND " \
    IS_DUE("$1") " AND " which " LIMIT 1)"
#define TOLD_AT "COALESCE(updated_at, created_at)"
#define LONGEST_AGO \
    ONE_OF_LINE("owner IS NULL AND " TOLD_AT " <= $2 ORDER BY " TOLD_AT ", created_at, id")
#define AT_WORK ONE_OF_LINE("owner <> ''")
/* A new one was not announced. */
#define TOLD_SINCE ONE_OF_LINE("owner IS NULL AND " TOLD_AT " > $3 AND updated_at > $3")
/* clang-format on */

int operation_unserved(struct work *work, const char *host, bool is_long, int64_t waiting_since_us,
                       int64_t announced_since_us, unsigned most, struct operation **ret,
                       struct error *err) {
    assert(most > 0);
    return operation_all(
        work,
        db_query(work->tx, err,
                 "WITH RECURSIVE " LINES " SELECT " OPERATION_COLUMNS
                 " FROM operations WHERE id IN (SELECT " LONGEST_AGO " FROM lines WHERE "
                 "project_id IS NOT NULL AND " AT_WORK " IS NULL AND " TOLD_SINCE " IS NULL) "
                 "ORDER BY created_at, id LIMIT $5",
                 DB_INT(work->over_us), DB_INT(waiting_since_us), DB_INT(announced_since_us),
                 DB_TEXT(host), DB_INT(most), DB_BOOL(is_long)),
        ret, err);
}

int operation_note_announced(struct work *work, const struct operation *operation,
                             struct error *err) {
    return db_run(work->tx, err,
                  "UPDATE operations SET updated_at = $1 WHERE id = $2 AND owner IS NULL",
                  DB_INT(work->clock_us), DB_TEXT(operation->id));
}
