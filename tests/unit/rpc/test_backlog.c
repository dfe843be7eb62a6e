#include "rpc/backlog.private.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

static struct backlog *backlog;
static const int64_t *ids;

/* A row of each letter, of the project of that name. */
static void fill(const char *projects, size_t bytes) {
    backlog = backlog_new();
    for (size_t i = 0; projects[i]; i++)
        backlog_add(backlog, (int64_t)i + 1, (char[]){ projects[i], '\0' }, bytes);
}

static const char *cut(size_t bytes_most) {
    static char text[256];
    size_t count = backlog_cut(backlog, bytes_most, &ids), length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%jd ", (intmax_t)ids[i]);
    return text;
}

START_TEST(nothing_is_cut_within_the_limit) {
    fill("aab", 100);
    ck_assert_str_eq(cut(300), "");
    ck_assert_uint_eq(backlog_bytes(backlog), 300);
    backlog_free(backlog);
}
END_TEST

START_TEST(the_oldest_are_cut) {
    fill("aaaa", 100);
    ck_assert_str_eq(cut(299), "1 2 ");
    ck_assert_uint_eq(backlog_bytes(backlog), 200);
    ck_assert_str_eq(cut(150), "3 ");
    ck_assert_str_eq(cut(0), "4 ");
    ck_assert_uint_eq(backlog_bytes(backlog), 0);
    backlog_free(backlog);
}
END_TEST

START_TEST(the_projects_with_most_lose_theirs) {
    fill("aabacaaca", 100);
    ck_assert_str_eq(cut(500), "1 2 4 6 ");
    ck_assert_str_eq(cut(300), "5 7 ");
    ck_assert_uint_eq(backlog_bytes(backlog), 300);
    backlog_free(backlog);
}
END_TEST

START_TEST(many_rows_of_many_projects_are_cut_to_equal_shares) {
    enum { PROJECTS = 1000, ROWS = 20000 };
    size_t count;

    backlog = backlog_new();
    for (int i = 0; i < ROWS; i++) {
        char project[16];

        snprintf(project, sizeof(project), "%d", i % PROJECTS);
        backlog_add(backlog, i + 1, project, 10);
    }
    count = backlog_cut(backlog, ROWS * 5, &ids);
    ck_assert_uint_eq(count, ROWS / 2);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(ids[i], (int64_t)i + 1);
    backlog_clear(backlog);
    ck_assert_uint_eq(backlog_bytes(backlog), 0);
    ck_assert_str_eq(cut(0), "");
    backlog_free(backlog);
}
END_TEST

CHECK_MAIN("backlog", nothing_is_cut_within_the_limit, the_oldest_are_cut,
           the_projects_with_most_lose_theirs, many_rows_of_many_projects_are_cut_to_equal_shares)
