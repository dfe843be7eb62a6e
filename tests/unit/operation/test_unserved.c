/*
 * Which of the operations that wait for a worker are announced past a broker's queue, and the cost
 * of the query.
 */
#include "operation/operation.h"
#include "tests/lib/work_test.h"

#include <sqlite3.h>

#define HOST         "node@slow"
#define MOST         64
#define PROJECTS     5
#define OVER_US      1000 /* the instant of the question */
#define WAITED_US    800
#define ANNOUNCED_US 700
#define NEVER        (-1)

struct row {
    char project;
    const char *owner; /* NULL: of no process */
    const char *phase;
    int64_t created_at, updated_at, deadline; /* updated_at may be NEVER */
    const char *host;
};

static const char *id_of(struct work *work, size_t index) {
    return arena_format(work->arena, "id-%04zu", index);
}

static void put(struct work *work, size_t index, const struct row *row) {
    struct error err = { 0 };
    const char *id = id_of(work, index), project[] = { row->project, '\0' };

    ck_assert_msg(db_run(work->tx, &err,
                         "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, "
                         "project_id, user_id, request_id, owner, deadline, attempts, created_at, "
                         "updated_at) VALUES ($1, 'extend', $1, $1, $2, $3, $4, 'u', 'r', $5, $6, "
                         "0, $7, NULLIF($8, -1))",
                         DB_TEXT(id), DB_TEXT(row->host), DB_TEXT(row->phase), DB_TEXT(project),
                         DB_TEXT(row->owner), DB_INT(row->deadline), DB_INT(row->created_at),
                         DB_INT(row->updated_at)) == 1,
                  "%s", err.message);
}

static int send_request(struct work *work, unsigned most, struct operation **found,
                        struct error *err) {
    work->over_us = OVER_US;
    return operation_unserved(work, HOST, false, WAITED_US, ANNOUNCED_US, most, found, err);
}

/* The promises of the header, of one row after the other. */
static int64_t announced_time(const struct row *row) {
    return row->updated_at == NEVER ? row->created_at : row->updated_at;
}

static bool is_due(const struct row *row) {
    return strcmp(row->host, HOST) == 0 && strcmp(row->phase, "answered") != 0 &&
           (strcmp(row->phase, "waiting") != 0 || row->deadline <= OVER_US);
}

/* Ids rise with the index. */
static bool is_before(const struct row *one, const struct row *other) {
    if (announced_time(one) != announced_time(other))
        return announced_time(one) < announced_time(other);
    return one->created_at != other->created_at ? one->created_at < other->created_at : one < other;
}

static const struct row *of_project(const struct row *rows, size_t count, char project) {
    const struct row *first = NULL;

    for (const struct row *row = rows; row < rows + count; row++) {
        if (row->project != project || !is_due(row))
            continue;
        if (row->owner ? *row->owner : row->updated_at > ANNOUNCED_US)
            return NULL;
        if (!row->owner && announced_time(row) <= WAITED_US && (!first || is_before(row, first)))
            first = row;
    }
    return first;
}

static void assert_found(struct work *work, const struct row *rows, size_t count,
                         struct error *err) {
    struct operation *found;
    bool is_found[MOST] = { false };
    int number, expected = 0;

    number = send_request(work, MOST, &found, err);
    ck_assert_msg(number >= 0, "%s", err->message);
    for (int i = 0; i < number; i++) {
        for (size_t j = 0; j < count; j++)
            is_found[j] |= strcmp(found[i].id, id_of(work, j)) == 0;
        ck_assert(i == 0 || found[i - 1].created_at < found[i].created_at ||
                  (found[i - 1].created_at == found[i].created_at &&
                   strcmp(found[i - 1].id, found[i].id) < 0));
    }
    for (size_t i = 0; i < PROJECTS; i++) {
        const char project = (char)('a' + i);
        const struct row *row = of_project(rows, count, project);

        ck_assert_msg(!row || is_found[row - rows], "none of %c", project);
        expected += row != NULL;
    }
    ck_assert_int_eq(number, expected);
}

/* Few values, so that they often meet. */
static unsigned draw(unsigned below) {
    unsigned char byte;

    test_random(NULL, &byte, 1);
    return byte % below;
}

static struct row drawn_row(void) {
    static const char *const owners[] = { NULL, NULL, NULL, NULL, NULL, NULL, "", "m" };
    static const char *const phases[] = { "queued", "queued", "waiting", "cancelled", "answered" };
    static const int64_t touched[] = { NEVER, NEVER, 600, 700, 701, 800, 801, 650, 650 };
    static const int64_t created[] = { 500, 600, 650, 700, 701, 800, 801 };
    static const int64_t deadlines[] = { 999, 1000, 1001 };

    return (struct row){ .project = (char)('a' + draw(PROJECTS)),
                         .owner = owners[draw(LENGTH(owners))],
                         .phase = phases[draw(LENGTH(phases))],
                         .created_at = created[draw(LENGTH(created))],
                         .updated_at = touched[draw(LENGTH(touched))],
                         .deadline = deadlines[draw(LENGTH(deadlines))],
                         .host = draw(8) ? HOST : "node@other" };
}

WORK_TEST(an_operation_of_each_project_without_a_worker_is_found) {
    enum { ROUNDS = 100 };
    struct row rows[MOST];

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + draw(round % 2 ? 12 : 40);

        sql(work, "DELETE FROM operations");
        for (size_t i = 0; i < count; i++) {
            rows[i] = drawn_row();
            put(work, i, &rows[i]);
        }
        assert_found(work, rows, count, err);
    }
}

WORK_TEST(no_more_are_found_than_are_wanted_and_the_oldest_first) {
    struct operation *found;

    for (size_t i = 0; i < 5; i++)
        put(work, i,
            &(struct row){ (char)('a' + i), NULL, "queued", (int64_t)(100 - i), NEVER, 0, HOST });
    ck_assert_int_eq(send_request(work, 2, &found, err), 2);
    ck_assert_str_eq(found[0].id, id_of(work, 4));
    ck_assert_str_eq(found[1].id, id_of(work, 3));
}

WORK_TEST(an_empty_queue_has_none) {
    struct operation *found;

    ck_assert_int_eq(send_request(work, 2, &found, err), 0);
    put(work, 0, &(struct row){ 'a', NULL, "answered", 1, NEVER, 0, HOST });
    ck_assert_int_eq(send_request(work, 2, &found, err), 0);
}

static int64_t steps_done; /* of the query, as SQLite counts them */

static int statement_seen(unsigned kind, void *arg, void *statement, void *text) {
    (void)kind, (void)arg, (void)text;
    if (strstr(sqlite3_sql(statement), " operations "))
        steps_done += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
}

static int database_opened(sqlite3 *handle, const char **message, const void *routines) {
    (void)message, (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, statement_seen, NULL);
}

/* Of three projects: one has a worker, one was announced, one is to be announced. */
static int64_t cost_of(struct work *work, size_t count, struct error *err) {
    struct operation *found;

    sql(work, "DELETE FROM operations");
    for (size_t i = 0; i < count; i++)
        put(work, i,
            &(struct row){ (char)('a' + i % 3), i == 0 ? "m" : NULL, "queued", (int64_t)(i % 600),
                           i == 1 ? ANNOUNCED_US + 1 : NEVER, 0, HOST });
    steps_done = 0;
    ck_assert_int_eq(send_request(work, 9, &found, err), 1);
    ck_assert_int_eq(*found[0].project_id, 'c');
    ck_assert_int_gt(steps_done, 0);
    return steps_done;
}

static void the_same_is_requested_of_few_and_of_many(struct work *work, struct error *err) {
    int64_t few = cost_of(work, 30, err), many = cost_of(work, 3000, err);

    ck_assert_msg(many == few, "%jd steps of few, %jd of many", (intmax_t)few, (intmax_t)many);
}

START_TEST(a_long_queue_costs_as_little_as_a_short_one) {
    if (postgresql_given())
        return; /* it has plans of its own */

    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))database_opened), SQLITE_OK);
    db_close(work_db);
    work_db = NULL; /* it is opened again */
    run_in_work(the_same_is_requested_of_few_and_of_many);
}
END_TEST

CHECK_MAIN("unserved", an_operation_of_each_project_without_a_worker_is_found,
           no_more_are_found_than_are_wanted_and_the_oldest_first, an_empty_queue_has_none,
           a_long_queue_costs_as_little_as_a_short_one)
