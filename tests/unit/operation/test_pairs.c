#include "operation/pairs.h"

#include "tests/lib/work_test.h"

static const struct pair_rows things = {
    .what = "Words of thing",
    PAIR_ROWS("things", "thing_id"),
    .characters_most = 40,
};

static void make_table(struct work *work) {
    sql(work, "CREATE TABLE things (thing_id TEXT, key TEXT, value TEXT, "
              "PRIMARY KEY (thing_id, key))");
}

static int put(struct work *work, const char *id, bool merge, struct pairs pairs,
               struct error *err) {
    return pair_rows_put(work, &things, &(struct pair_owner){ .id = id }, &pairs, merge, err);
}

#define PAIRS(...)                                                       \
    (struct pairs) {                                                     \
        (const struct pair[]){ __VA_ARGS__ },                            \
            sizeof((struct pair[]){ __VA_ARGS__ }) / sizeof(struct pair) \
    }

/* "key=value " of each. */
static const char *words_of(struct work *work, const char *id) {
    struct error err = { 0 };
    const char *text = "";
    struct pairs pairs;

    ck_assert_msg(pair_rows_get(work, &things, id, &pairs, &err) == 0, "%s", err.message);
    for (unsigned i = 0; i < pairs.count; i++)
        text = arena_format(work->arena, "%s%s=%s ", text, pairs.items[i].key,
                            pairs.items[i].value ? pairs.items[i].value : "(null)");
    return text;
}

START_TEST(a_value_is_found_by_its_key) {
    const struct pairs pairs = PAIRS({ "a", "1" }, { "b", NULL }, { "c", "3" });

    ck_assert_str_eq(pairs_get(&pairs, "c"), "3");
    ck_assert_ptr_null(pairs_get(&pairs, "b"));
    ck_assert_ptr_null(pairs_get(&pairs, "d"));
    ck_assert_ptr_null(pairs_get(&(struct pairs){ 0 }, "a"));
}
END_TEST

WORK_TEST(a_set_is_added_to_or_replaced) {
    make_table(work);
    OK(put(work, "t1", true, PAIRS({ "b", "2" }, { "a", "1" }), err));
    OK(put(work, "t2", true, PAIRS({ "a", "other" }), err));
    OK(put(work, "t1", true, PAIRS({ "a", "9" }, { "c", NULL }), err));
    ck_assert_str_eq(words_of(work, "t1"), "a=9 b=2 c=(null) ");
    OK(put(work, "t1", false, PAIRS({ "d", "4" }), err));
    ck_assert_str_eq(words_of(work, "t1"), "d=4 ");
    OK(put(work, "t1", false, (struct pairs){ 0 }, err));
    ck_assert_str_eq(words_of(work, "t1"), "");
    ck_assert_str_eq(words_of(work, "t2"), "a=other ");
}

WORK_TEST(a_set_has_a_bound_of_items) {
    make_table(work);
    settings_of(work)->metadata_items = 2;
    REFUSED(put(work, "t1", true, PAIRS({ "a", "" }, { "b", "" }, { "c", "" }), err), TOO_LARGE);
    ck_assert_str_eq(err->message,
                     "MetadataLimitExceeded: Words of thing t1: at most 2 items are allowed.");
    ck_assert_int_eq(rows_of(work, "things"), 0);
    OK(put(work, "t1", true, PAIRS({ "a", "" }, { "b", "" }), err));
    OK(put(work, "t1", true, PAIRS({ "b", "again" }), err));
    REFUSED(put(work, "t1", true, PAIRS({ "c", "" }), err), TOO_LARGE);
    OK(put(work, "t2", true, PAIRS({ "c", "" }), err));
}

WORK_TEST(a_set_has_the_bound_of_characters_of_its_table) {
    static const struct pair_rows unbounded = {
        .what = "Words of thing",
        PAIR_ROWS("things", "thing_id"),
    };
    const struct pairs more = PAIRS({ "key", "and 38 characters that are too many..." });

    make_table(work);
    OK(put(work, "t1", true, PAIRS({ "key", "of 37 characters, which just fits in." }), err));
    REFUSED(put(work, "t1", false, more, err), TOO_LARGE);
    ck_assert_str_eq(err->message,
                     "MetadataLimitExceeded: Words of thing t1: at most 40 characters are "
                     "allowed.");
    OK(pair_rows_put(work, &unbounded, &(struct pair_owner){ .id = "t2" }, &more, true, err));
}

WORK_TEST(the_bounds_of_a_set_are_known_before_it_is_stored) {
    const struct pairs fits =
                           PAIRS({ "key", "of 37 characters, which just fits \xc3\xa4\xc3\xb6." },
                                 { "", NULL }),
                       does_not =
                           PAIRS({ "key", "of 37 characters, which just fits in." }, { "k", "" });

    OK(pair_rows_check(work, &things, "t1", &fits, err));
    REFUSED(pair_rows_check(work, &things, "t1", &does_not, err), TOO_LARGE);
}

WORK_TEST(an_accepted_set_is_stored_whatever_its_bounds_are_by_then) {
    make_table(work);
    OK(put(work, "t1", true, PAIRS({ "a", "1" }), err));
    settings_of(work)->metadata_items = 1;
    OK(pair_rows_put_accepted(work, &things, &(struct pair_owner){ .id = "t1" },
                              &PAIRS({ "b", "2" }, { "c", "3" }), err));
    ck_assert_str_eq(words_of(work, "t1"), "b=2 c=3 ");
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct pairs pairs;

    make_table(work);
    FAILS_WITHOUT("things", put(work, "t1", true, PAIRS({ "a", "1" }), err));
    FAILS_WITHOUT("things", put(work, "t1", false, PAIRS({ "a", "1" }), err));
    FAILS_WITHOUT("things", pair_rows_get(work, &things, "t1", &pairs, err));
}

CHECK_MAIN("pairs", a_value_is_found_by_its_key, a_set_is_added_to_or_replaced,
           a_set_has_a_bound_of_items, a_set_has_the_bound_of_characters_of_its_table,
           the_bounds_of_a_set_are_known_before_it_is_stored,
           an_accepted_set_is_stored_whatever_its_bounds_are_by_then,
           a_failing_database_is_reported)
