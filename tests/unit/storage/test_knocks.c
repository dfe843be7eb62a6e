#include "storage/knocks.h"

#include "tests/lib/check_main.h"
#include "tests/lib/hung_disk.h"
#include "tests/lib/wall.h"

#include <stdlib.h>

static char top[] = "/tmp/test-knocks-XXXXXX";
static struct knocks *knocks;

static void begin(void) {
    strcpy(top, "/tmp/test-knocks-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    knocks = knocks_new();
}

static void end(void) {
    ck_assert(knocks_stop(knocks, 60000));
    rmdir(top);
}

START_TEST(what_is_not_there_answers) {
    ck_assert_int_eq(knocks_silence_ms(knocks, top), 0);
    ck_assert_int_eq(knocks_silence_ms(knocks, "/tmp/test-knocks-no-such"), 0);
}
END_TEST

/* As one that was stopped for an hour goes on: it has seen no more of it than a moment. */
START_TEST(silence_counts_as_far_as_somebody_looked) {
    int disk = hung_disk(top);
    int64_t first_ms, next_ms;

    if (disk < 0)
        return;
    first_ms = knocks_silence_ms(knocks, top);
    ck_assert_int_gt(first_ms, 0);
    monotonic_pass(3600);
    next_ms = knocks_silence_ms(knocks, top);
    monotonic_pass(-3600); /* libcheck has an eye on it, too */
    ck_assert_int_gt(next_ms, first_ms);
    ck_assert_int_lt(next_ms, first_ms + 60000);
    hung_disk_end(top, disk);
    while (knocks_silence_ms(knocks, top) > 0)
        ;
}
END_TEST

CHECK_MAIN_WITH("knocks", true, begin, end, what_is_not_there_answers,
                silence_counts_as_far_as_somebody_looked)
