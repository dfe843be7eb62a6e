#include "rpc/amqp/recent.h"

#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

START_TEST(the_last_sixteen_are_known) {
    struct recent recent = { 0 };
    char name[16];

    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        ck_assert(!recent_has(&recent, name, 0));
        recent_put(&recent, name, 10);
        ck_assert(recent_has(&recent, name, 9));
        ck_assert(!recent_has(&recent, name, 10));
    }
    ck_assert(!recent_has(&recent, "n3", 0));
    ck_assert(recent_has(&recent, "n4", 0));
}
END_TEST

START_TEST(empty_and_long_names_are_not_kept) {
    struct recent recent = { 0 };
    char name[RECENT_NAME + 1];

    memset(name, 'x', sizeof(name));
    name[RECENT_NAME] = '\0';
    recent_put(&recent, name, 10);
    recent_put(&recent, "", 10);
    ck_assert(!recent_has(&recent, name, 0));
    ck_assert(!recent_has(&recent, "", 0));
    ck_assert_uint_eq(recent.next, 0);
    name[RECENT_NAME - 1] = '\0';
    recent_put(&recent, name, 10);
    ck_assert(recent_has(&recent, name, 0));
}
END_TEST

CHECK_MAIN("amqp_recent", the_last_sixteen_are_known, empty_and_long_names_are_not_kept)
