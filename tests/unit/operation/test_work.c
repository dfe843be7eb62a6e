#include "operation/work.h"

#include "tests/lib/work_test.h"

typedef int transaction(struct db *db, const struct work *base, work_body *body, void *arg,
                        struct error *err);

static transaction *const writing[] = { work_transaction, work_transaction_unsynced };

/* A database, and the members that a body has to find in its work. */
struct bench {
    struct db *db;
    struct arena *arena;
    struct work_fixture fixture;
    struct work base;
};

static struct bench *bench_new(void) {
    struct arena *arena = arena_new();
    struct bench *bench = arena_alloc(arena, sizeof *bench);
    const struct db_settings settings = { .url = database_url(), .inline_writes = true };
    struct error err = { 0 };

    *bench = (struct bench){ .arena = arena, .fixture = test_fixture() };
    bench->base = (struct work){
        .arena = arena,
        .context = &bench->fixture.context,
        .settings = &bench->fixture.settings,
    };
    ck_assert_msg(db_open(&settings, &bench->db, &err) == 0, "%s", err.message);
    return bench;
}

static void bench_end(struct bench **bench) {
    db_close((*bench)->db);
    arena_free((*bench)->arena);
}
#define autobench __attribute__((cleanup(bench_end)))

/* ---- the members of a body's work ---- */

#define assert_about(shown, instant_us)                     \
    do {                                                    \
        int64_t about_ = (shown);                           \
                                                            \
        ck_assert_int_ge(about_, (instant_us));             \
        ck_assert_int_lt(about_, (instant_us) + SECOND_US); \
    } while (0)

static int look(struct work *work, void *arg, struct error *err) {
    const struct bench *bench = arg;

    (void)err;
    ck_assert_ptr_nonnull(work->tx);
    ck_assert_ptr_eq(work->arena, bench->base.arena);
    ck_assert_ptr_eq(work->context, bench->base.context);
    ck_assert_ptr_eq(work->settings, bench->base.settings);
    assert_about(work->now_us, NOW_US);
    assert_about(work->clock_us, CLOCK_US);
    if (!postgresql_given()) /* whose clock is not sure at first */
        ck_assert_int_eq(work->over_us, work->clock_us);
    return 7;
}

START_TEST(a_body_gets_the_callers_context_and_two_instants) {
    autobench struct bench *bench = bench_new();
    struct error err = { 0 };

    for (size_t i = 0; i < LENGTH(writing); i++)
        ck_assert_int_eq(writing[i](bench->db, &bench->base, look, bench, &err), 7);
    ck_assert_int_eq(work_read(bench->db, &bench->base, look, bench, &err), 7);
    ck_assert_ptr_null(bench->base.tx);
}
END_TEST

/* ---- effects that stay ---- */

static int put_service(struct work *work, void *arg, struct error *err) {
    bool fails = arg;

    if (db_run(work->tx, err,
               "INSERT INTO services (id, binary_name, host, availability_zone, disabled, frozen, "
               "reported_at, created_at) VALUES ($1, 'b', $1, 'nova', 0, 0, 1, 1)",
               DB_TEXT(work_uuid(work))) < 0)
        return -1;
    return fails ? error_set(err, ERROR_CONFLICT, "refused") : 0;
}

static int count_services(struct work *work, void *arg, struct error *err) {
    int64_t count = 0;

    (void)arg;
    return db_query_int(work->tx, &count, err, "SELECT COUNT(*) FROM services") < 0 ? -1
                                                                                    : (int)count;
}

START_TEST(a_refused_body_has_no_effect) {
    for (size_t i = 0; i < LENGTH(writing); i++) {
        autobench struct bench *bench = bench_new();
        struct error err = { 0 };

        ck_assert_int_eq(writing[i](bench->db, &bench->base, put_service, NULL, &err), 0);
        ck_assert_int_eq(writing[i](bench->db, &bench->base, put_service, bench, &err), -1);
        ck_assert_str_eq(err.message, "refused");
        ck_assert_int_eq(work_read(bench->db, &bench->base, count_services, NULL, &err), 1);
    }
}
END_TEST

/* ---- instants and ids ---- */

WORK_TEST(an_instant_of_the_database_is_shown_as_the_wall_has_it) {
    (void)err;
    ck_assert_int_eq(work_shown(work, CLOCK_US), NOW_US);
    ck_assert_int_eq(work_shown(work, CLOCK_US - 5), NOW_US - 5);
    ck_assert_int_eq(work_shown(work, CLOCK_US + 5), NOW_US + 5);
    ck_assert_int_eq(work_shown(work, 0), 0); /* unset */
}

WORK_TEST(every_id_is_another) {
    const char *one = work_uuid(work), *other = work_uuid(work);

    (void)err;
    ck_assert(uuid_parse(one, NULL) && uuid_parse(other, NULL));
    ck_assert_str_ne(one, other);
}

CHECK_MAIN("work", a_body_gets_the_callers_context_and_two_instants, a_refused_body_has_no_effect,
           an_instant_of_the_database_is_shown_as_the_wall_has_it, every_id_is_another)
