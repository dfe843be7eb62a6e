#include "common/clock.h"

#include "tests/lib/check_main.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *text_of(int64_t instant_us) {
    static char text[CLOCK_TEXT_SIZE];

    return clock_text(instant_us, text);
}

START_TEST(now_always_grows) {
    int64_t last = clock_now_us(&clock_system);

    for (int i = 0; i < 100000; i++) {
        int64_t now = clock_now_us(&clock_system);

        ck_assert_int_gt(now, last);
        last = now;
    }
    ck_assert_int_gt(last, INT64_C(1600000000) * 1000000);
}
END_TEST

#define THREADS 4
#define CALLS   20000

static void *read_clock(void *arg) {
    int64_t *instants = arg;

    for (int i = 0; i < CALLS; i++)
        instants[i] = clock_now_us(&clock_system);
    return NULL;
}

static int compare_instants(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

START_TEST(no_two_threads_get_the_same_instant) {
    static int64_t instants[THREADS * CALLS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_clock, instants + i * CALLS), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < THREADS * CALLS; i++)
        ck_assert(i % CALLS == 0 || instants[i] > instants[i - 1]);
    qsort(instants, THREADS * CALLS, sizeof(instants[0]), compare_instants);
    for (int i = 1; i < THREADS * CALLS; i++)
        ck_assert_int_gt(instants[i], instants[i - 1]);
}
END_TEST

static int64_t fixed_now(void *arg) {
    return *(const int64_t *)arg;
}

static void fixed_random(void *arg, void *bytes, size_t size) {
    (void)arg;
    memset(bytes, 0xff, size);
}

START_TEST(a_test_may_replace_time_and_chance) {
    int64_t instant = 42;
    const struct clock clock = { .now_us = fixed_now, .random = fixed_random, .arg = &instant };
    char text[UUID_SIZE];

    ck_assert_int_eq(clock_now_us(&clock), 42);
    ck_assert_str_eq(clock_uuid(&clock, text), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}
END_TEST

START_TEST(monotonic_time_does_not_go_back) {
    int64_t before = clock_monotonic_us();

    ck_assert_int_ge(clock_monotonic_us(), before);
}
END_TEST

START_TEST(instants_are_written_as_the_api_does) {
    ck_assert_str_eq(text_of(0), "1970-01-01T00:00:00.000000");
    ck_assert_str_eq(text_of(1), "1970-01-01T00:00:00.000001");
    ck_assert_str_eq(text_of(-1), "1969-12-31T23:59:59.999999");
    ck_assert_str_eq(text_of(INT64_C(951782400000000)), "2000-02-29T00:00:00.000000");
    ck_assert_str_eq(text_of(INT64_C(1795252087123456)), "2026-11-21T09:08:07.123456");
    ck_assert_str_eq(text_of(INT64_MIN), "0001-01-01T00:00:00.000000");
    ck_assert_str_eq(text_of(INT64_MAX), "9999-12-31T23:59:59.999999");
}
END_TEST

/* Every day of the centuries that matter, samples of the others. */
START_TEST(text_agrees_with_the_c_library) {
    int64_t parsed;

    for (int64_t day = -719162; day<2932897; day += day> - 36524 && day < 73049 ? 1 : 17) {
        time_t seconds = day * 86400 + (day & 0xffff);
        char expected[64];
        struct tm tm;

        gmtime_r(&seconds, &tm);
        snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.000000",
                 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        if (strcmp(text_of(seconds * 1000000), expected) != 0)
            ck_abort_msg("%s instead of %s", text_of(seconds * 1000000), expected);
        if (clock_parse(expected, &parsed) != 0 || parsed != seconds * 1000000)
            ck_abort_msg("%s was read wrongly", expected);
    }
}
END_TEST

START_TEST(iso_8601_is_read) {
    static const struct {
        const char *text, *same;
    } rows[] = {
        { "2026-11-21", "2026-11-21T00:00:00.000000" },
        { "2026-11-21T09:08:07", "2026-11-21T09:08:07.000000" },
        { "2026-11-21 09:08:07", "2026-11-21T09:08:07.000000" },
        { "2026-11-21T09:08:07Z", "2026-11-21T09:08:07.000000" },
        { "2026-11-21T09:08:07.1", "2026-11-21T09:08:07.100000" },
        { "2026-11-21T09:08:07.123456", "2026-11-21T09:08:07.123456" },
        { "2026-11-21T09:08:07.123456Z", "2026-11-21T09:08:07.123456" },
        { "2026-11-21T09:08:07.999999999", "2026-11-21T09:08:07.999999" },
        { "2026-11-21T09:08:07+02:30", "2026-11-21T06:38:07.000000" },
        { "2026-11-21T23:08:07.5-02:00", "2026-11-22T01:08:07.500000" },
        { "2024-02-29", "2024-02-29T00:00:00.000000" },
        { "2000-02-29", "2000-02-29T00:00:00.000000" },
        { "0001-01-01", "0001-01-01T00:00:00.000000" },
        { "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        int64_t instant;

        ck_assert_int_eq(clock_parse(rows[i].text, &instant), 0);
        ck_assert_str_eq(text_of(instant), rows[i].same);
    }
}
END_TEST

START_TEST(a_malformed_instant_is_refused_and_sets_nothing) {
    static const char *const texts[] = {
        "",
        "2026",
        "2026-11",
        "2026-11-21T",
        "2026-11-21 ",
        " 2026-11-21",
        "2026-11-21x",
        "2026/11/21",
        "2026-1-21",
        "2026-11-1",
        "+026-11-21",
        "0000-01-01",
        "2026-00-21",
        "2026-13-21",
        "2026-11-00",
        "2026-11-31",
        "2026-12-32",
        "2026-02-29",
        "1900-02-29",
        "2100-02-29",
        "2024-02-30",
        "2026-11-21T09:08",
        "2026-11-21T24:00:00",
        "2026-11-21T09:60:00",
        "2026-11-21T09:08:60",
        "2026-11-21T9:08:07",
        "2026-11-21T09-08-07",
        "2026-11-21T09:08:07.",
        "2026-11-21T09:08:07.Z",
        "2026-11-21T09:08:07.1234567890",
        "2026-11-21T09:08:07,5",
        "2026-11-21T09:08:07z",
        "2026-11-21T09:08:07ZZ",
        "2026-11-21T09:08:07 Z",
        "2026-11-21T09:08:07+",
        "2026-11-21T09:08:07+02",
        "2026-11-21T09:08:07+0200",
        "2026-11-21T09:08:07+24:00",
        "2026-11-21T09:08:07-02:60",
        "2026-11-21T09:08:07+02:00Z",
        "2026-11-21Z",
        "20261121T090807",
        "now",
    };

    for (size_t i = 0; i < LENGTH(texts); i++) {
        int64_t instant = 42;

        if (clock_parse(texts[i], &instant) != -1)
            ck_abort_msg("\"%s\" was taken", texts[i]);
        ck_assert_int_eq(instant, 42);
    }
}
END_TEST

START_TEST(uuids_are_random_and_well_formed) {
    char first[UUID_SIZE], text[UUID_SIZE], same[UUID_SIZE];

    clock_uuid(&clock_system, first);
    for (int i = 0; i < 1000; i++) {
        ck_assert_ptr_eq(clock_uuid(&clock_system, text), text);
        ck_assert_uint_eq(strlen(text), 36);
        ck_assert_uint_eq(strspn(text, "0123456789abcdef-"), 36);
        ck_assert_int_eq(text[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", text[19]));
        ck_assert(uuid_parse(text, same));
        ck_assert_str_eq(same, text);
        ck_assert_str_ne(text, first);
    }
}
END_TEST

START_TEST(large_random_pieces_are_filled) {
    static char first[4000], second[4000];

    clock_system.random(clock_system.arg, first, sizeof(first));
    clock_system.random(clock_system.arg, second, sizeof(second));
    ck_assert_mem_ne(first, second, sizeof(first));
    ck_assert_mem_ne(first + sizeof(first) - 64, second + sizeof(second) - 64, 64);
}
END_TEST

START_TEST(a_forked_child_does_not_repeat_its_parent) {
    char own[UUID_SIZE], childs[UUID_SIZE];
    pid_t child;
    int ends[2];

    clock_uuid(&clock_system, own);
    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        clock_uuid(&clock_system, childs);
        exit(write(ends[1], childs, UUID_SIZE) == UUID_SIZE ? 0 : 1);
    }
    clock_uuid(&clock_system, own);
    ck_assert_int_eq(read(ends[0], childs, UUID_SIZE), UUID_SIZE);
    ck_assert(uuid_parse(childs, NULL));
    ck_assert_str_ne(own, childs);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

#define IDS 200

static void *make_ids(void *arg) {
    char(*ids)[UUID_SIZE] = arg;

    for (int i = 0; i < IDS; i++)
        clock_uuid(&clock_system, ids[i]);
    return NULL;
}

static int compare_ids(const void *left, const void *right) {
    return strcmp(left, right);
}

START_TEST(threads_never_make_the_same_id) {
    static char ids[THREADS * IDS][UUID_SIZE];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_ids, ids[i * IDS]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    qsort(ids, THREADS * IDS, UUID_SIZE, compare_ids);
    for (int i = 1; i < THREADS * IDS; i++)
        ck_assert_str_ne(ids[i], ids[i - 1]);
}
END_TEST

START_TEST(uuids_are_read_in_every_spelling) {
    static const char *const texts[] = {
        "0123abcd-4567-89ab-cdef-0123456789ab",
        "0123ABCD-4567-89AB-CDEF-0123456789AB",
        "0123abcd456789abcdef0123456789ab",
        "0-1-2-3abcd45-6789abcdef0123456789ab--",
    };
    char text[UUID_SIZE];

    for (size_t i = 0; i < LENGTH(texts); i++) {
        ck_assert(uuid_parse(texts[i], text));
        ck_assert_str_eq(text, "0123abcd-4567-89ab-cdef-0123456789ab");
        ck_assert(uuid_parse(texts[i], NULL));
        ck_assert_int_eq(uuid_is_canonical(texts[i]), i == 0);
    }
}
END_TEST

START_TEST(other_texts_are_no_uuids_and_set_nothing) {
    static const char *const texts[] = {
        "",
        "-",
        "volume",
        "0123abcd-4567-89ab-cdef-0123456789a",
        "0123abcd-4567-89ab-cdef-0123456789abc",
        "0123abcd-4567-89ab-cdef-0123456789ag",
        "{0123abcd-4567-89ab-cdef-0123456789ab}",
        " 0123abcd-4567-89ab-cdef-0123456789ab",
        "0123abcd-4567-89ab-cdef-0123456789a\xc3\xa4",
    };
    char text[UUID_SIZE] = "untouched";

    for (size_t i = 0; i < LENGTH(texts); i++) {
        ck_assert(!uuid_parse(texts[i], text));
        ck_assert(!uuid_parse(texts[i], NULL));
        ck_assert(!uuid_is_canonical(texts[i]));
    }
    ck_assert_str_eq(text, "untouched");
}
END_TEST

CHECK_MAIN("clock", now_always_grows, no_two_threads_get_the_same_instant,
           a_test_may_replace_time_and_chance, monotonic_time_does_not_go_back,
           instants_are_written_as_the_api_does, text_agrees_with_the_c_library, iso_8601_is_read,
           a_malformed_instant_is_refused_and_sets_nothing, uuids_are_random_and_well_formed,
           large_random_pieces_are_filled, a_forked_child_does_not_repeat_its_parent,
           threads_never_make_the_same_id, uuids_are_read_in_every_spelling,
           other_texts_are_no_uuids_and_set_nothing)
