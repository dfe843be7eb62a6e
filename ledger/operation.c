#include "ledger/operation.h"

#include "common/cleanup.h"
#include "db/outbox.h"
#include "ledger/host.h"
#include "ledger/query.h"
#include "json/json.h"

#include <string.h>

#define OPERATION_COLUMNS                                                                       \
    "id, kind, target_id, volume_id, host, phase, project_id, user_id, request_id, "            \
    "previous_status, new_size_gb, failed, owner, lease_until, deadline, attempts, arguments, " \
    "created_at, updated_at, COALESCE(object_id, target_id), turn_of"

/* What the phases are to the statements. */
#define IS_CANCELLED     "phase = 'cancelled'"
#define IS_NOT_CANCELLED "phase <> 'cancelled'"
#define AWAITS_REPORT    "phase IN ('sending', 'waiting')"
#define IS_ANSWERED      "phase = 'answered'"
#define HAS_NO_ANSWER    "phase <> 'answered'"
/* What may be handed to a worker; `now`: the place of an instant. */
#define IS_DUE(now) HAS_NO_ANSWER " AND (phase <> 'waiting' OR deadline <= " now ")"

static const char *const phase_texts[PHASES] = {
#define PHASE(name, text) [PHASE_##name] = text,
#include "ledger/phase.def"
#undef PHASE
};

const char *operation_phase_text(enum operation_phase phase) {
    return phase < PHASES ? phase_texts[phase] : "unknown";
}

static enum operation_phase phase_parse(const char *text) {
    unsigned phase = 0;

    while (phase < PHASES && strcmp(phase_texts[phase], text) != 0)
        phase++;
    return (enum operation_phase)phase;
}

const struct operation_kind *operation_kind_find(const char *name) {
    for (const struct operation_kind *const *kind = operation_kinds; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0)
            return *kind;
    return NULL;
}

/* A later version of this program may have left it. */
static const struct operation_kind *kind_unknown(struct arena *arena, const char *name) {
    struct operation_kind *kind = arena_alloc(arena, sizeof *kind);

    *kind = (struct operation_kind){ .name = arena_text(arena, name), .method = "unknown" };
    return kind;
}

static const struct operation_kind *kind_read(struct arena *arena, const char *name) {
    const struct operation_kind *kind = operation_kind_find(name);

    return kind ? kind : kind_unknown(arena, name);
}

static int operation_read(struct work *work, const struct db_rows *rows, void *ret,
                          struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct operation *)ret = (struct operation){
        .id = db_copy(rows, 0, arena),
        .kind = kind_read(arena, db_text(rows, 1)),
        .target_id = db_copy(rows, 2, arena),
        .volume_id = db_copy(rows, 3, arena),
        .host = db_copy(rows, 4, arena),
        .phase = phase_parse(db_text(rows, 5)),
        .project_id = db_copy(rows, 6, arena),
        .user_id = db_copy(rows, 7, arena),
        .request_id = db_copy(rows, 8, arena),
        .previous_status = db_copy(rows, 9, arena),
        .new_size_gb = db_int(rows, 10),
        .failed = db_bool(rows, 11),
        .owner = db_copy(rows, 12, arena),
        .lease_until = db_int(rows, 13),
        .deadline = db_int(rows, 14),
        .attempts = db_int(rows, 15),
        .arguments = db_copy(rows, 16, arena),
        .created_at = db_int(rows, 17),
        .updated_at = db_int(rows, 18),
        .object_id = db_copy(rows, 19, arena),
        .turn_of = db_copy(rows, 20, arena),
    };
    return 0;
}

const json_t *operation_arguments(struct arena *arena, const struct operation *operation) {
    const char *text = operation->arguments;

    return text ? json_parse(arena, text, strlen(text), NULL) : NULL;
}

char *operation_topic(struct arena *arena, const char *host) {
    return arena_format(arena, "cinder-volume.%s", host_backend(arena, host));
}

int operation_notify(struct work *work, const struct operation *operation, const char *method,
                     struct error *err) {
    const char *payload = arena_format(work->arena, "{\"operation_id\": \"%s\"}", operation->id);

    return outbox_put(work->tx, operation_topic(work->arena, operation->host),
                      method ? method : operation->kind->method, operation->volume_id, payload,
                      work->clock_us, err);
}

int operation_insert(struct work *work, const struct operation_kind *kind,
                     const struct operation *fields, const char **ret_id, struct error *err) {
    struct operation operation = *fields;

    operation.id = work_uuid(work);
    operation.kind = kind;
    if (!operation.target_id)
        operation.target_id = operation.volume_id;
    operation.host = host_backend(work->arena, operation.host);
    if (db_run(
            work->tx, err,
            "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, project_id, "
            "user_id, request_id, previous_status, new_size_gb, attempts, arguments, created_at, "
            "object_id, turn_of) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13, $3, $14)",
            DB_TEXT(operation.id), DB_TEXT(kind->name), DB_TEXT(operation.target_id),
            DB_TEXT(operation.volume_id), DB_TEXT(operation.host),
            DB_TEXT(phase_texts[PHASE_QUEUED]), DB_TEXT(operation.project_id),
            DB_TEXT(work->context->user_id), DB_TEXT(work->context->request_id),
            DB_TEXT(operation.previous_status),
            operation.new_size_gb ? DB_INT(operation.new_size_gb) : DB_NULL,
            DB_TEXT(operation.arguments), DB_INT(work->clock_us), DB_TEXT(operation.turn_of)) < 0)
        return -1;
    if (operation_notify(work, &operation, NULL, err) < 0)
        return -1;
    if (ret_id)
        *ret_id = operation.id;
    return 0;
}

int operation_insert_once(struct work *work, const struct operation_kind *kind,
                          const struct operation *fields, struct error *err) {
    int waiting =
        db_run(work->tx, err,
               "UPDATE operations SET attempts = 0 WHERE volume_id = $1 AND "
               "kind = $2 AND arguments = $3 AND COALESCE(owner, '') = ''",
               DB_TEXT(fields->volume_id), DB_TEXT(kind->name), DB_TEXT(fields->arguments));

    if (waiting != 0)
        return waiting < 0 ? -1 : 0;
    return operation_insert(work, kind, fields, NULL, err);
}

static int operation_all(struct work *work, struct db_rows *query, struct operation **ret,
                         struct error *err) {
    return query_all(work, query, operation_read, ret, err);
}

static int operation_one(struct work *work, struct db_rows *query, struct operation *ret,
                         struct error *err) {
    return query_one(work, query, operation_read, ret, err);
}

int operation_get(struct work *work, const char *id, struct operation *ret, struct error *err) {
    return operation_one(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS " FROM operations WHERE id = $1",
                                  DB_TEXT(id)),
                         ret, err);
}

int operation_held(struct work *work, const char *id, const char *owner, struct operation *ret,
                   struct error *err) {
    return operation_one(
        work,
        db_query(work->tx, err,
                 "SELECT " OPERATION_COLUMNS
                 " FROM operations WHERE id = $1 AND owner = $2 AND " IS_NOT_CANCELLED,
                 DB_TEXT(id), DB_TEXT(owner)),
        ret, err);
}

int operation_of(struct work *work, const char *target_id, struct operation *ret,
                 struct error *err) {
    return operation_one(
        work,
        db_query(work->tx, err, "SELECT " OPERATION_COLUMNS " FROM operations WHERE target_id = $1",
                 DB_TEXT(target_id)),
        ret, err);
}

/* Those of one turn do not overlap, and the oldest is first; but nobody waits for what waits itself
 * for a report, and those that only read what the turn is about (another volume is made of it) do
 * not wait for each other.  What is cancelled waits for none. */
#define IS_IN_LINE     "phase NOT IN ('sending', 'waiting', 'answered')"
#define ONLY_READS(of) of ".turn_of <> " of ".volume_id"
#define IS_ITS_TURN                                                                             \
    "(" IS_CANCELLED " OR turn_of IS NULL OR NOT EXISTS (SELECT 1 FROM operations other "       \
    "WHERE other.turn_of = operations.turn_of AND other.id <> operations.id AND "               \
    "NOT (" ONLY_READS("other") " AND " ONLY_READS(                                             \
        "operations") ") AND "                                                                  \
                      "(COALESCE(other.owner, '') <> '' OR (other." IS_IN_LINE                  \
                      " AND (other.created_at < "                                               \
                      "operations.created_at OR (other.created_at = operations.created_at AND " \
                      "other.id < operations.id))))))"

int operation_claim(struct work *work, const char *id, const char *owner, struct operation *ret,
                    struct error *err) {
    int64_t lease = work->clock_us + work->settings->operation_lease_s * SECOND_US;

    return operation_one(
        work,
        db_query(
            work->tx, err,
            "UPDATE operations SET owner = $1, lease_until = $2, attempts = attempts + 1, "
            "phase = CASE WHEN phase = 'queued' THEN 'running' ELSE phase END, "
            "updated_at = $3 WHERE id = $4 AND (owner IS NULL OR lease_until < $5) AND " IS_DUE(
                "$5") " AND "
                      "(" IS_CANCELLED " OR NOT EXISTS (SELECT 1 FROM operations other WHERE "
                      "other.volume_id = operations.volume_id AND other." IS_CANCELLED ")) "
                      "AND " IS_ITS_TURN " RETURNING " OPERATION_COLUMNS,
            DB_TEXT(owner), DB_INT(lease), DB_INT(work->clock_us), DB_TEXT(id),
            DB_INT(work->over_us)),
        ret, err);
}

/* ---- whose turn it is next ---- */

static int notify_all(struct work *work, struct db_rows *query, struct error *err) {
    struct operation *left;
    int count = operation_all(work, query, &left, err);

    for (int i = 0; i < count; i++)
        if (operation_notify(work, &left[i], NULL, err) < 0)
            return -1;
    return count < 0 ? -1 : 0;
}

/* Whoever was told in vain to begin, and has nobody in front of it any more: the first in line, or
 * all that read in front of the first that changes something.  Those that read need not be told by
 * one of their own: nothing that changed kept them waiting. */
static int tell_next(struct work *work, const char *turn_of, bool by_reader, struct error *err) {
    return notify_all(work,
                      db_query(work->tx, err,
                               "SELECT " OPERATION_COLUMNS
                               " FROM operations WHERE turn_of = $1 AND " IS_IN_LINE
                               " AND " IS_NOT_CANCELLED " AND owner IS NULL AND " IS_ITS_TURN
                               " AND ($2 = 0 OR volume_id = turn_of) ORDER BY created_at, id",
                               DB_TEXT(turn_of), DB_BOOL(by_reader)),
                      err);
}

/* What a statement tells of the operation that it has ended, or that has lost its worker. */
struct passed {
    const char *turn_of; /* NULL: its worker keeps it, or nobody waits for it */
    bool only_read;
};
#define RETURNING_PASSED " RETURNING turn_of, CASE WHEN turn_of <> volume_id THEN 1 ELSE 0 END"

static int passed_read(struct work *work, const struct db_rows *rows, void *item,
                       struct error *err) {
    (void)err;
    *(struct passed *)item = (struct passed){ db_copy(rows, 0, work->arena), db_bool(rows, 1) };
    return 0;
}

/* How many it has ended, 1 or 0; or -1. */
static int pass_on(struct work *work, struct db_rows *query, struct error *err) {
    struct passed passed;
    int ended = query_one(work, query, passed_read, &passed, err);

    if (ended <= 0 || !passed.turn_of)
        return ended;
    return tell_next(work, passed.turn_of, passed.only_read, err) < 0 ? -1 : 1;
}

int operation_move(struct work *work, const char *id, const char *owner, enum operation_phase from,
                   enum operation_phase to, bool keep_owner, struct error *err) {
    if (keep_owner)
        return db_run(work->tx, err,
                      "UPDATE operations SET phase = $1, updated_at = $2 "
                      "WHERE id = $3 AND phase = $4 AND owner = $5",
                      DB_TEXT(phase_texts[to]), DB_INT(work->clock_us), DB_TEXT(id),
                      DB_TEXT(phase_texts[from]), DB_TEXT(owner));
    return pass_on(work,
                   db_query(work->tx, err,
                            "UPDATE operations SET phase = $1, owner = NULL, lease_until = NULL, "
                            "updated_at = $2 WHERE id = $3 AND phase = $4 AND "
                            "owner = $5" RETURNING_PASSED,
                            DB_TEXT(phase_texts[to]), DB_INT(work->clock_us), DB_TEXT(id),
                            DB_TEXT(phase_texts[from]), DB_TEXT(owner)),
                   err);
}

int operation_set_deadline(struct work *work, const char *id, int64_t deadline, struct error *err) {
    return db_change(work->tx, err, "UPDATE operations SET deadline = $1 WHERE id = $2",
                     DB_INT(deadline), DB_TEXT(id));
}

int operation_report(struct work *work, const struct operation *operation, bool failed,
                     struct error *err) {
    return db_run(work->tx, err,
                  "UPDATE operations SET phase = $1, failed = $2, owner = NULL, "
                  "lease_until = NULL, deadline = NULL, updated_at = $3 "
                  "WHERE id = $4 AND " AWAITS_REPORT,
                  DB_TEXT(phase_texts[PHASE_COMPLETING]), DB_BOOL(failed), DB_INT(work->clock_us),
                  DB_TEXT(operation->id));
}

int operation_hurry(struct work *work, const struct operation *operation, struct error *err) {
    if (db_run(work->tx, err,
               "UPDATE operations SET deadline = $1 WHERE id = $2 AND " AWAITS_REPORT,
               DB_INT(DEADLINE_OVER_US), DB_TEXT(operation->id)) < 0)
        return -1;
    return operation_notify(work, operation, NULL, err);
}

int operation_settle(struct work *work, const char *target_id, struct error *err) {
    struct operation operation;
    int found = operation_of(work, target_id, &operation, err);

    if (found <= 0 || !operation.kind->settle)
        return found < 0 ? -1 : 0;
    return operation.kind->settle(work, &operation, err);
}

int operation_postpone(struct work *work, const char *id, const char *owner, int64_t deadline,
                       struct error *err) {
    return pass_on(work,
                   db_query(work->tx, err,
                            "UPDATE operations SET deadline = $1, owner = NULL, "
                            "lease_until = NULL, updated_at = $2 "
                            "WHERE id = $3 AND owner = $4" RETURNING_PASSED,
                            DB_INT(deadline), DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner)),
                   err);
}

int operation_retry(struct work *work, const char *id, const char *owner, int64_t retry_at,
                    struct error *err) {
    return pass_on(work,
                   db_query(work->tx, err,
                            "UPDATE operations SET owner = '', lease_until = $1, updated_at = $2 "
                            "WHERE id = $3 AND owner = $4" RETURNING_PASSED,
                            DB_INT(retry_at), DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner)),
                   err);
}

int operation_note(struct work *work, const char *id, const char *owner, const char *arguments,
                   struct error *err) {
    return db_run(work->tx, err,
                  "UPDATE operations SET arguments = $1, updated_at = $2 "
                  "WHERE id = $3 AND owner = $4",
                  DB_TEXT(arguments), DB_INT(work->clock_us), DB_TEXT(id), DB_TEXT(owner));
}

int operation_renew(struct work *work, const char *owner, const char *id, struct error *err) {
    int64_t lease = work->clock_us + work->settings->operation_lease_s * SECOND_US;

    return db_run(
        work->tx, err,
        "UPDATE operations SET lease_until = $1 WHERE id = $2 AND owner = $3 AND " IS_NOT_CANCELLED,
        DB_INT(lease), DB_TEXT(id), DB_TEXT(owner));
}

int operation_disown(struct work *work, const char *prefix, const char *owner, struct error *err) {
    return db_run(work->tx, err,
                  "UPDATE operations SET lease_until = $4 "
                  "WHERE substr(owner, 1, CAST($1 AS INTEGER)) = $2 AND owner <> $3",
                  DB_INT(strlen(prefix)), DB_TEXT(prefix), DB_TEXT(owner), DB_INT(LEASE_ENDED_US));
}

int operation_answer(struct work *work, const char *id, const char *arguments, struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE operations SET phase = $1, owner = NULL, lease_until = NULL, "
                     "arguments = $2, updated_at = $3 WHERE id = $4",
                     DB_TEXT(phase_texts[PHASE_ANSWERED]), DB_TEXT(arguments),
                     DB_INT(work->clock_us), DB_TEXT(id));
}

int operation_expire(struct work *work, int64_t age_us, struct error *err) {
    return db_run(work->tx, err, "DELETE FROM operations WHERE " IS_ANSWERED " AND updated_at < $1",
                  DB_INT(work->over_us - age_us));
}

int operation_on(struct work *work, const char *volume_id, struct operation **ret,
                 struct error *err) {
    return operation_all(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS
                                  " FROM operations WHERE volume_id = $1 OR turn_of = $1 "
                                  "ORDER BY created_at, id",
                                  DB_TEXT(volume_id)),
                         ret, err);
}

int operation_leave(struct work *work, const char *object_id, const struct operation_kind *kind,
                    unsigned status, struct error *err) {
    const struct status_change change = { .from = (int)kind->meanwhile,
                                          .to = status,
                                          .unless_reset = true };
    int changed = status_write(work, kind->object, object_id, &change, err);

    return changed < 0 ? -1 : changed == 0;
}

int operation_end(struct work *work, const char *id, struct error *err) {
    return pass_on(work,
                   db_query(work->tx, err, "DELETE FROM operations WHERE id = $1" RETURNING_PASSED,
                            DB_TEXT(id)),
                   err) < 0
               ? -1
               : 0;
}

int operation_end_of(struct work *work, const char *target_id, struct error *err) {
    struct operation operation;
    int found = operation_of(work, target_id, &operation, err);

    return found > 0 ? operation_end(work, operation.id, err) : found;
}

/* Also one whose lease seems over: whoever recovers the dead judges that. */
static bool has_worker(const struct operation *operation) {
    return operation->owner && *operation->owner;
}

static bool leaves_traces(const struct operation *operation) {
    return operation->kind->leaves_traces && operation->attempts > 0;
}

int operation_cancel(struct work *work, const struct operation *operation, struct error *err) {
    if (operation->phase == PHASE_CANCELLED)
        return 0;
    if (operation->kind->cancel && operation->kind->cancel(work, operation, err) < 0)
        return -1;
    if (!has_worker(operation) && !leaves_traces(operation))
        return operation_end(work, operation->id, err);
    /* The volume's own place is free for what comes next. */
    if (db_run(work->tx, err,
               "UPDATE operations SET phase = $1, target_id = id, deadline = NULL, "
               "owner = NULLIF(owner, ''), updated_at = $2, "
               "lease_until = CASE WHEN owner <> '' THEN lease_until END WHERE id = $3",
               DB_TEXT(phase_texts[PHASE_CANCELLED]), DB_INT(work->clock_us),
               DB_TEXT(operation->id)) < 0)
        return -1;
    return operation_notify(work, operation, NULL, err);
}

/* Those that wait on the volume for what was cancelled there, and not for a turn of its own. */
static int tell_volume(struct work *work, const char *volume_id, struct error *err) {
    return notify_all(work,
                      db_query(work->tx, err,
                               "SELECT " OPERATION_COLUMNS " FROM operations WHERE volume_id = $1 "
                               "AND COALESCE(turn_of, '') <> volume_id AND owner IS NULL AND "
                               "phase IN ('queued', 'completing') ORDER BY created_at, id",
                               DB_TEXT(volume_id)),
                      err);
}

int operation_close(struct work *work, const struct operation *operation, const char *owner,
                    struct error *err) {
    const char *volume_id = operation->volume_id;
    bool others = operation->turn_of && strcmp(operation->turn_of, volume_id) != 0;
    int closed = pass_on(work,
                         db_query(work->tx, err,
                                  "DELETE FROM operations WHERE id = $1 AND owner = $2 "
                                  "AND " IS_CANCELLED RETURNING_PASSED,
                                  DB_TEXT(operation->id), DB_TEXT(owner)),
                         err);

    if (closed <= 0)
        return closed;
    if (tell_volume(work, volume_id, err) < 0 ||
        (others && tell_next(work, volume_id, false, err) < 0))
        return -1;
    return 1;
}

/* $1 what is over, $2 and $3 of the rule. */
#define IS_ORPHAN                                                                  \
    "(lease_until < $1 OR (owner IS NULL AND COALESCE(updated_at, created_at) <= " \
    "CASE WHEN phase IN ('waiting', 'cancelled') THEN $2 ELSE $3 END)) AND " IS_DUE("$1")

int operation_orphans(struct work *work, const char *host, const struct orphan_rule *rule,
                      unsigned most, struct operation **ret, struct error *err) {
    return operation_all(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS
                                  " FROM operations WHERE host = $4 AND " IS_ORPHAN
                                  " ORDER BY created_at, id LIMIT $5",
                                  DB_INT(work->over_us), DB_INT(rule->waiting_since_us),
                                  DB_INT(rule->queued_since_us), DB_TEXT(host), DB_INT(most)),
                         ret, err);
}

int operation_hand_out(struct work *work, const struct operation *orphan,
                       const struct orphan_rule *rule, struct error *err) {
    /* Without its dead owner it counts as handed out just now. */
    int freed = db_run(work->tx, err,
                       "UPDATE operations SET owner = NULL, lease_until = NULL, updated_at = $5 "
                       "WHERE id = $4 AND " IS_ORPHAN,
                       DB_INT(work->over_us), DB_INT(rule->waiting_since_us),
                       DB_INT(rule->queued_since_us), DB_TEXT(orphan->id), DB_INT(work->clock_us));

    if (freed <= 0 || operation_notify(work, orphan, NULL, err) < 0)
        return freed <= 0 ? freed : -1;
    /* Its dead worker kept others waiting, too. */
    return orphan->owner && orphan->turn_of ? tell_next(work, orphan->turn_of, false, err) : 0;
}

int operation_count(struct work *work, const char *volume_id, const struct operation_kind *kind,
                    int64_t *ret, struct error *err) {
    return db_query_int(
        work->tx, ret, err,
        "SELECT COUNT(*) FROM operations WHERE volume_id = $1 AND kind = $2 AND " HAS_NO_ANSWER,
        DB_TEXT(volume_id), DB_TEXT(kind->name));
}

int operation_list(struct work *work, struct operation **ret, struct error *err) {
    return operation_all(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS
                                  " FROM operations ORDER BY created_at, id"),
                         ret, err);
}
