#include "operation/operation.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "operation/host.h"
#include "operation/query.h"
#include "operation/taker.h"
#include "json/json.h"

#include <string.h>

static const char *const phase_texts[PHASES] = {
#define PHASE(name, text) [PHASE_##name] = text,
#include "operation/phase.def"
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

static const struct operation_kind *kind_read(struct arena *arena, const char *name) {
    const struct operation_kind *kind = operation_kind_find(name);
    struct operation_kind *unknown;

    if (kind)
        return kind;
    /* A later version of this program may have stored it. */
    unknown = arena_alloc(arena, sizeof *unknown);
    *unknown = (struct operation_kind){ .name = arena_text(arena, name), .method = "unknown" };
    return unknown;
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
        .has_deadline = !db_is_null(rows, 14),
        .attempts = db_int(rows, 15),
        .arguments = db_copy(rows, 16, arena),
        .created_at = db_int(rows, 17),
        .updated_at = db_int(rows, 18),
        .object_id = db_copy(rows, 19, arena),
        .turn_of = db_copy(rows, 20, arena),
        .waits_for = db_copy(rows, 21, arena),
        .is_long = db_bool(rows, 22),
        .progress = (int)db_int(rows, 23),
    };
    return 0;
}

const json_t *operation_arguments(struct arena *arena, const struct operation *operation) {
    const char *text = operation->arguments;

    return text ? json_parse(arena, text, strlen(text), NULL) : NULL;
}

bool operation_is_older(const struct operation *one, const struct operation *other) {
    return one->created_at != other->created_at ? one->created_at < other->created_at
                                                : strcmp(one->id, other->id) < 0;
}

char *operation_topic(struct arena *arena, const char *host, bool is_long) {
    return arena_join(arena, is_long ? "cinder-volume-long." : "cinder-volume.",
                      host_backend(arena, host), NULL);
}

/* A process handles the messages of one key one after the other: an operation that may run beside
 * others has a key of its own.  Operations that read their own volume share one, so that many
 * copies of it do not occupy every worker of the backend; and those that change another object of
 * their volume share one: where the storage has them all in one chain, each would occupy a worker
 * while it waits for a reader. */
static const char *key_of(struct arena *arena, const struct operation *operation) {
    const char *turn_of = operation->turn_of;

    if (!turn_of)
        return operation->volume_id;
    if (strcmp(operation->object_id, operation->volume_id) == 0)
        return operation->object_id;
    if (strcmp(turn_of, operation->volume_id) == 0)
        return arena_join(arena, turn_of, "/reads", NULL);
    return arena_join(arena, operation->volume_id, "/parts", NULL);
}

struct outbox_message operation_message(struct arena *arena, const struct operation *operation,
                                        const char *method) {
    assert(operation->volume_id && operation->host);
    return (struct outbox_message){
        .topic = operation_topic(arena, operation->host, operation->is_long),
        .method = method ? method : operation->kind->method,
        .key = key_of(arena, operation),
        .project = operation->project_id,
        .payload = arena_join(arena, "{\"operation_id\": \"", operation->id, "\"}", NULL),
    };
}

int operation_notify(struct work *work, const struct operation *operation, const char *method,
                     struct error *err) {
    struct outbox_message message = operation_message(work->arena, operation, method);

    assert(work->clock_us > 0);
    message.created_at = work->clock_us;
    return outbox_put(work->tx, &message, err);
}

static int insert_turns(struct work *work, const struct operation *operation, struct error *err) {
    for (unsigned i = 0; i < operation->turn_count; i++) {
        assert(operation->turns[i].of);
        if (db_run(work->tx, err,
                   "INSERT INTO operation_turns (operation_id, turn_of, only_reads) "
                   "VALUES ($1, $2, $3)",
                   DB_TEXT(operation->id), DB_TEXT(operation->turns[i].of),
                   DB_BOOL(operation->turns[i].only_reads)) < 0)
            return -1;
    }
    return 0;
}

/* Mostly there is none, which costs a sixth of the query for all of them. */
static int any_on(struct work *work, const char *volume_id, struct error *err) {
    return db_query_any(work->tx, err,
                        "SELECT 1 FROM operations WHERE volume_id = $1 UNION ALL " ANY_OF_QUEUE,
                        DB_TEXT(volume_id));
}

/* Claims it as operation_claim() would once it is there: none is in front of it, and none is left
 * of a cancelled one.  The lease begins behind the instant that the taker has noted. */
static int claim_at_once(struct work *work, struct operation *operation, struct error *err) {
    struct operation_taker *taker = work->settings->taker;
    int others = 0;

    assert(operation->turn_count == 0);
    assert(!operation->turn_of || strcmp(operation->turn_of, operation->volume_id) == 0);
    pthread_mutex_lock(&taker->lock);
    if (taker->accept && operation->turn_of)
        others = any_on(work, operation->volume_id, err);
    if (taker->accept && others == 0)
        taker->accept(taker->arg, work, operation);
    pthread_mutex_unlock(&taker->lock);
    if (others < 0 || !operation->owner)
        return others < 0 ? -1 : 0;
    operation->phase = PHASE_RUNNING;
    operation->lease_until =
        clock_shared_us(work->settings->clock) + work->settings->operation_lease_s * SECOND_US;
    return 0;
}

int operation_insert(struct work *work, const struct operation_kind *kind,
                     const struct operation *fields, const char **ret_id, struct error *err) {
    struct operation operation = *fields;

    assert(kind->method && fields->volume_id && fields->host);
    assert(!((fields->turn_of || kind->single_queue) && fields->turn_count > 0));
    assert(fields->new_size_gb >= 0);
    operation.id = work_uuid(work);
    operation.kind = kind;
    if (!operation.target_id)
        operation.target_id = operation.object_id ? operation.id : operation.volume_id;
    if (!operation.object_id)
        operation.object_id = operation.target_id;
    if (!operation.created_at)
        operation.created_at = work->clock_us;
    operation.host = host_backend(work->arena, operation.host);
    operation.phase = PHASE_QUEUED;
    operation.owner = NULL;
    operation.attempts = 0;
    if (operation.at_once && work->settings->taker && claim_at_once(work, &operation, err) < 0)
        return -1;
    if (db_run(
            work->tx, err,
            "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, project_id, "
            "user_id, request_id, previous_status, new_size_gb, attempts, arguments, created_at, "
            "object_id, turn_of, owner, lease_until, updated_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
            "$18, $19)",
            DB_TEXT(operation.id), DB_TEXT(kind->name), DB_TEXT(operation.target_id),
            DB_TEXT(operation.volume_id), DB_TEXT(operation.host),
            DB_TEXT(phase_texts[operation.phase]), DB_TEXT(operation.project_id),
            DB_TEXT(work->context->user_id), DB_TEXT(work->context->request_id),
            DB_TEXT(operation.previous_status),
            operation.new_size_gb ? DB_INT(operation.new_size_gb) : DB_NULL,
            DB_INT(operation.attempts), DB_TEXT(operation.arguments), DB_INT(operation.created_at),
            DB_TEXT(operation.object_id), DB_TEXT(operation.turn_of), DB_TEXT(operation.owner),
            operation.owner ? DB_INT(operation.lease_until) : DB_NULL,
            operation.owner ? DB_INT(work->clock_us) : DB_NULL) < 0)
        return -1;
    if (insert_turns(work, &operation, err) < 0 ||
        (!operation.owner && operation_notify(work, &operation, NULL, err) < 0))
        return -1;
    if (ret_id)
        *ret_id = operation.id;
    return 0;
}

int operation_all(struct work *work, struct db_rows *query, struct operation **ret,
                  struct error *err) {
    return query_all(work, query, operation_read, ret, err);
}

int operation_one(struct work *work, struct db_rows *query, struct operation *ret,
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
    assert(owner && *owner); /* '' is the owner of a released one */
    return operation_one(
        work,
        db_query(work->tx, err,
                 "SELECT " OPERATION_COLUMNS
                 " FROM operations WHERE id = $1 AND owner = $2 AND " IS_NOT_CANCELLED,
                 DB_TEXT(id), DB_TEXT(owner)),
        ret, err);
}

int operation_is_held(struct work *work, const char *id, const char *owner, struct error *err) {
    assert(owner && *owner);
    return db_query_any(
        work->tx, err,
        "SELECT 1 FROM operations WHERE id = $1 AND owner = $2 AND " IS_NOT_CANCELLED, DB_TEXT(id),
        DB_TEXT(owner));
}

int operation_of(struct work *work, const char *target_id, struct operation *ret,
                 struct error *err) {
    return operation_one(
        work,
        db_query(work->tx, err, "SELECT " OPERATION_COLUMNS " FROM operations WHERE target_id = $1",
                 DB_TEXT(target_id)),
        ret, err);
}

int operation_assisted(struct work *work, const char *volume_id, struct operation *ret,
                       struct error *err) {
    return operation_one(
        work,
        db_query(work->tx, err,
                 "SELECT " OPERATION_COLUMNS " FROM operations WHERE "
                 "volume_id = $1 AND target_id <> volume_id AND " IS_ASSISTED("operations"),
                 DB_TEXT(volume_id)),
        ret, err);
}

int operation_begun(struct work *work, const char *volume_id, struct operation **ret,
                    struct error *err) {
    return operation_all(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS " FROM operations WHERE "
                                  "volume_id = $1 AND target_id <> volume_id AND phase = $2 "
                                  "ORDER BY created_at, id",
                                  DB_TEXT(volume_id), DB_TEXT(phase_texts[PHASE_RUNNING])),
                         ret, err);
}

int operation_on(struct work *work, const char *volume_id, struct operation **ret,
                 struct error *err) {
    int any = any_on(work, volume_id, err);

    *ret = NULL;
    if (any <= 0)
        return any;
    return operation_all(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS
                                  " FROM operations WHERE id IN (SELECT id FROM operations "
                                  "WHERE volume_id = $1 OR turn_of = $1 UNION "
                                  "SELECT operation_id FROM operation_turns WHERE turn_of = $1) "
                                  "ORDER BY created_at, id",
                                  DB_TEXT(volume_id)),
                         ret, err);
}

/* clang-format off */
#define IDS_ABOUT \
    "SELECT id FROM operations WHERE volume_id = $1 AND object_id = $2 " \
    "UNION SELECT operation_id FROM operation_turns WHERE turn_of = $1 " \
    "UNION SELECT id FROM operations c WHERE volume_id = $1 AND " \
    TARGETS_ITSELF("c") " AND " IS_CANCELLED
/* clang-format on */

int operation_about(struct work *work, const char *volume_id, const char *object_id,
                    struct operation **ret, struct error *err) {
    int any = any_on(work, volume_id, err);

    *ret = NULL;
    if (any <= 0)
        return any;
    return operation_all(work,
                         db_query(work->tx, err,
                                  "SELECT " OPERATION_COLUMNS " FROM operations WHERE id IN "
                                  "(" IDS_ABOUT ") ORDER BY created_at, id",
                                  DB_TEXT(volume_id), DB_TEXT(object_id)),
                         ret, err);
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
