/*
 * The database's clock on SQLite: this machine's CLOCK_BOOTTIME for every process, over steps of
 * the wall's clock and over boots.
 */
#include "tests/unit/db/scratch.h"

#define YEAR_US (31536000 * SECOND_US)
#define WALL_US INT64_C(1800000000000000)

/* A process's own clocks, standing still. */
struct own {
    struct clock clock;
    int64_t wall_us, steady_us;
};

static int64_t read_wall(void *arg) {
    return ((const struct own *)arg)->wall_us;
}

static int64_t read_steady(void *arg) {
    return ((const struct own *)arg)->steady_us;
}

static struct own *own_new(int64_t wall_us, int64_t steady_us) {
    struct own *own = calloc(1, sizeof(*own));

    ck_assert_ptr_nonnull(own);
    *own = (struct own){ { .now_us = read_wall, .steady_us = read_steady, .arg = own },
                         wall_us,
                         steady_us };
    return own;
}

static struct db *process(const char *url, const struct own *own) {
    const struct db_settings settings = { .url = url, .inline_writes = true, .clock = &own->clock };
    struct error err = { 0 };
    struct db *db = NULL;

    ck_assert_msg(db_open(&settings, &db, &err) == 0, "%s", err.message);
    return db;
}

static int64_t shown(struct db *db) {
    return clock_shared_us(db_clock(db));
}

/* The few calls of a test get instants that follow each other. */
#define assert_about(db, instant_us)                        \
    do {                                                    \
        int64_t about_ = shown(db);                         \
                                                            \
        ck_assert_int_ge(about_, (instant_us));             \
        ck_assert_int_lt(about_, (instant_us) + SECOND_US); \
    } while (0)

static const int64_t steps[] = { -YEAR_US,       -3600 * SECOND_US, -30 * SECOND_US,
                                 30 * SECOND_US, 3600 * SECOND_US,  YEAR_US };

START_TEST(a_step_while_it_runs_is_not_seen) {
    for (size_t i = 0; i < LENGTH(steps); i++) {
        autofree struct own *own = own_new(WALL_US, 100 * SECOND_US);
        struct db *db = process("sqlite://", own);

        assert_about(db, WALL_US);
        own->wall_us += steps[i];
        assert_about(db, WALL_US);
        own->steady_us += 10 * SECOND_US;
        assert_about(db, WALL_US + 10 * SECOND_US);
        ck_assert_int_eq(clock_now_us(db_clock(db)), WALL_US + steps[i]); /* it is shown */
        db_close(db);
    }
}
END_TEST

START_TEST(all_processes_of_a_boot_have_one_clock) {
    for (size_t i = 0; i < LENGTH(steps); i++) {
        autoscratch struct scratch scratch;
        autofree struct own *first = own_new(WALL_US, 100 * SECOND_US);
        autofree struct own *second = own_new(WALL_US + steps[i], 107 * SECOND_US);
        struct db *one, *other;

        scratch_make(&scratch);
        one = process(scratch.url, first);
        other = process(scratch.url, second);
        assert_about(one, WALL_US);
        assert_about(other, WALL_US + 7 * SECOND_US);
        db_close(one);
        first->steady_us = 200 * SECOND_US;
        first->wall_us = WALL_US + 3 * steps[i];
        one = process(scratch.url, first); /* it starts again */
        assert_about(one, WALL_US + 100 * SECOND_US);
        db_close(one);
        db_close(other);
    }
}
END_TEST

#define OTHER_BOOT "UPDATE clock SET base = '11111111-1111-4111-8111-111111111111'"
#define REPORTED                                                                         \
    "INSERT INTO services (id, binary_name, host, availability_zone, disabled, frozen, " \
    "reported_at, created_at) VALUES ('s', 'b', 'h', 'z', 0, 0, 1800000050000000, 1)"

START_TEST(after_another_boot_the_clock_continues_from_the_stored_time) {
    for (size_t i = 0; i < LENGTH(steps); i++) {
        autoscratch struct scratch scratch;
        autofree struct own *before = own_new(WALL_US, 5000 * SECOND_US);
        autofree struct own *after = own_new(WALL_US + steps[i], 5 * SECOND_US);
        struct db *one, *other;

        scratch_make(&scratch);
        one = process(scratch.url, before);
        sql_run(one, REPORTED);
        sql_run(one, OTHER_BOOT);
        db_close(one);
        one = process(scratch.url, after);
        assert_about(one, WALL_US + 50 * SECOND_US);
        after->steady_us += 60 * SECOND_US;
        other = process(scratch.url, after);
        assert_about(one, WALL_US + 110 * SECOND_US);
        assert_about(other, WALL_US + 110 * SECOND_US);
        db_close(one);
        db_close(other);
    }
}
END_TEST

/* No process lives that could hold one. */
START_TEST(after_another_boot_every_lease_is_over) {
    autoscratch struct scratch scratch;
    autofree struct own *before = own_new(WALL_US, 5000 * SECOND_US);
    autofree struct own *after = own_new(WALL_US - YEAR_US, 5 * SECOND_US);
    struct db *db;

    scratch_make(&scratch);
    db = process(scratch.url, before);
    sql_run(db, "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, project_id, "
                "user_id, request_id, attempts, owner, lease_until, created_at) VALUES ('o', "
                "'delete', 'v', 'v', 'h', 'running', 'p', 'u', 'r', 1, 'dead', 1800000015000000, "
                "1800000000000000)");
    sql_run(db, OTHER_BOOT);
    db_close(db);
    db = process(scratch.url, after);
    ck_assert_int_gt(shown(db), INT64_C(1800000015000000));
    assert_about(db, INT64_C(1800000015000000));
    db_close(db);
}
END_TEST

/* One that was written by the wall's clock, which has been set back since. */
START_TEST(the_clock_begins_after_the_time_stored_by_a_former_version) {
    autoscratch struct scratch scratch;
    autofree struct own *before = own_new(WALL_US, 5000 * SECOND_US);
    autofree struct own *after = own_new(WALL_US - 3600 * SECOND_US, 6000 * SECOND_US);
    struct db *db;

    scratch_make(&scratch);
    db = process(scratch.url, before);
    sql_run(db, REPORTED);
    sql_run(db, "DELETE FROM clock");
    db_close(db);
    db = process(scratch.url, after);
    assert_about(db, WALL_US + 50 * SECOND_US);
    db_close(db);
}
END_TEST

CHECK_MAIN("clock", a_step_while_it_runs_is_not_seen, all_processes_of_a_boot_have_one_clock,
           after_another_boot_the_clock_continues_from_the_stored_time,
           after_another_boot_every_lease_is_over,
           the_clock_begins_after_the_time_stored_by_a_former_version)
