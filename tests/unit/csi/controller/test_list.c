/*
 * Lists are read in pages, and of each page only the kept rows stay.
 */
#include "csi/controller/controller.private.h"

#include "tests/lib/check_main.h"

#include <string.h>

enum { THERE = 2500, PAGE = 1000 };

static size_t largest; /* bytes of the arena that a page came into */
static unsigned pages, kept;

static int page(const struct client *api, struct arena *arena, const char *query,
                const char *marker, unsigned limit, void **ret, struct error *err) {
    unsigned first = marker ? (unsigned)strtoul(marker, NULL, 10) + 1 : 0, count = 0;
    const char **ids = arena_alloc(arena, (limit + 1) * sizeof(*ids));

    (void)api, (void)query, (void)err;
    if (arena_bytes(arena) > largest)
        largest = arena_bytes(arena);
    memset(arena_alloc(arena, 1 << 20), 'x', 1 << 20); /* the API's response about them */
    for (; count < limit && count < PAGE && first + count < THERE; count++)
        ids[count] = arena_format(arena, "%04u", first + count);
    *ret = ids;
    pages++;
    return (int)count;
}

static const struct controller_kind kind = { .row_size = sizeof(char *), .page = page };

static int keep(void *arg, const void *row, struct error *err) {
    const char *id = *(const char *const *)row;

    (void)err;
    ck_assert_uint_eq(strtoul(id, NULL, 10), *(unsigned *)arg + kept);
    kept++;
    return 0;
}

static char *collect(struct arena *arena, int32_t most, const char *token) {
    unsigned first = *token ? (unsigned)strtoul(token, NULL, 10) + 1 : 0;
    const struct controller_list list = {
        .kind = &kind, .max_entries = most, .token = token, .keep = keep, .arg = &first
    };
    struct error err;
    char *next;

    largest = 0;
    pages = kept = 0;
    ck_assert_int_eq(controller_collect(NULL, arena, &list, &next, &err), 0);
    return next;
}

START_TEST(a_page_is_freed_before_the_next_one) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(collect(arena, 0, ""), "");
    ck_assert_uint_eq(kept, THERE);
    ck_assert_uint_eq(pages, 4);
    ck_assert_uint_lt(largest, 1 << 20);
    ck_assert_uint_lt(arena_bytes(arena), 1 << 16);
}
END_TEST

START_TEST(a_token_is_there_as_long_as_there_is_more) {
    static const struct {
        int32_t most;
        const char *token;
        unsigned kept;
        const char *next;
    } rows[] = {
        { 1, "", 1, "0000" },       { 999, "", 999, "0998" },       { 1000, "", 1000, "0999" },
        { 1001, "", 1001, "1000" }, { 2499, "", 2499, "2498" },     { 2500, "", 2500, "" },
        { 2501, "", 2500, "" },     { 1000, "0999", 1000, "1999" }, { 1000, "1999", 500, "" },
        { 500, "1999", 500, "" },   { 10, "2499", 0, "" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoarena struct arena *arena = arena_new();

        ck_assert_str_eq(collect(arena, rows[i].most, rows[i].token), rows[i].next);
        ck_assert_uint_eq(kept, rows[i].kept);
    }
}
END_TEST

CHECK_MAIN("controller_list", a_page_is_freed_before_the_next_one,
           a_token_is_there_as_long_as_there_is_more)
