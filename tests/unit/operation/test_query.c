#include "operation/query.h"

#include "tests/lib/work_test.h"

struct item {
    const char *text;
    int64_t number;
};

/* Refuses the number 13. */
static int read_item(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    struct item item = { db_copy(rows, 0, work->arena), db_int(rows, 1) };

    if (item.number == 13)
        return error_set(err, ERROR_CONFLICT, "%s is thirteen", item.text);
    *(struct item *)ret = item;
    return 0;
}

static void put_items(struct work *work, unsigned count) {
    sql(work, "CREATE TABLE items (text TEXT, number BIGINT)");
    for (unsigned i = 0; i < count; i++)
        sql(work, "INSERT INTO items VALUES ('item %u', %u)", i, i);
}

#define ITEMS "SELECT text, number FROM items"

/* ---- all of them, one or none ---- */

WORK_TEST(all_rows_are_read_in_their_order) {
    struct item *items;

    put_items(work, 10);
    ck_assert_int_eq(
        query_all(work, db_query(work->tx, err, ITEMS " ORDER BY number"), read_item, &items, err),
        10);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(items[i].number, i);
        ck_assert_str_eq(items[i].text, arena_format(work->arena, "item %d", i));
    }
}

WORK_TEST(no_rows_are_none_and_no_failure) {
    struct item *items, item = { "as it was", 7 };

    put_items(work, 0);
    ck_assert_int_eq(query_all(work, db_query(work->tx, err, ITEMS), read_item, &items, err), 0);
    ck_assert_int_eq(query_one(work, db_query(work->tx, err, ITEMS), read_item, &item, err), 0);
    ck_assert_str_eq(item.text, "as it was");
}

WORK_TEST(one_row_is_the_first) {
    struct item item;

    put_items(work, 3);
    ck_assert_int_eq(query_one(work, db_query(work->tx, err, ITEMS " ORDER BY number DESC"),
                               read_item, &item, err),
                     1);
    ck_assert_int_eq(item.number, 2);
}

WORK_TEST(a_column_of_texts_needs_no_reader) {
    const char **texts, *text = "as it was";

    put_items(work, 2);
    sql(work, "UPDATE items SET text = NULL WHERE number = 1");
    ck_assert_int_eq(query_all(work,
                               db_query(work->tx, err, "SELECT text FROM items ORDER BY number"),
                               query_text, &texts, err),
                     2);
    ck_assert_str_eq(texts[0], "item 0");
    ck_assert_ptr_null(texts[1]);
    ck_assert_int_eq(query_one(work,
                               db_query(work->tx, err, "SELECT text FROM items WHERE number = 1"),
                               query_text, &text, err),
                     1);
    ck_assert_ptr_null(text);
}

WORK_TEST(a_row_that_cannot_be_read_fails_and_writes_nothing) {
    struct item *items = NULL, item = { "as it was", 7 };

    put_items(work, 15);
    REFUSED(
        query_all(work, db_query(work->tx, err, ITEMS " ORDER BY number"), read_item, &items, err),
        CONFLICT);
    ck_assert_str_eq(err->message, "item 13 is thirteen");
    ck_assert_ptr_null(items);
    REFUSED(
        query_one(work, db_query(work->tx, err, ITEMS " WHERE number = 13"), read_item, &item, err),
        CONFLICT);
    ck_assert_int_eq(item.number, 7);
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct item *items, item;

    put_items(work, 1);
    FAILS_WITHOUT("items", query_all(work, db_query(work->tx, err, ITEMS), read_item, &items, err));
    FAILS_WITHOUT("items", query_one(work, db_query(work->tx, err, ITEMS), read_item, &item, err));
    FAILS_READING("items", query_all(work, db_query(work->tx, err, ITEMS), read_item, &items, err));
    FAILS_READING("items", query_one(work, db_query(work->tx, err, ITEMS), read_item, &item, err));
}

/* ---- pages ---- */

static const char *page_of(struct work *work, const struct query *query) {
    struct error err = { 0 };
    struct item *items;
    int count = query_all(work, query_page(work, ITEMS, query, &err), read_item, &items, &err);
    const char *numbers = "";

    ck_assert_msg(count >= 0, "%s", err.message);
    for (int i = 0; i < count; i++)
        numbers = arena_format(work->arena, "%s%jd ", numbers, (intmax_t)items[i].number);
    return numbers;
}

WORK_TEST(a_page_is_the_requested_part) {
    const struct db_value least[] = { DB_INT(2) };
    struct query query = { .where = "1=1", .order = "number", .limit = 3 };

    (void)err;
    put_items(work, 6);
    ck_assert_str_eq(page_of(work, &query), "0 1 2 ");
    query.offset = 4;
    ck_assert_str_eq(page_of(work, &query), "4 5 ");
    query = (struct query){
        .where = "number >= $1", .values = least, .value_count = 1, .order = "number", .limit = 2
    };
    ck_assert_str_eq(page_of(work, &query), "2 3 ");
    query.limit = -1;
    query.order = "number DESC";
    ck_assert_str_eq(page_of(work, &query), "5 4 3 2 ");
    query = (struct query){ .where = "number = 3", .limit = 0 };
    ck_assert_str_eq(page_of(work, &query), "");
    query.limit = -1;
    ck_assert_str_eq(page_of(work, &query), "3 ");
}

/* ---- arrays and places ---- */

WORK_TEST(an_array_keeps_its_members_while_it_grows) {
    int *numbers = NULL;

    (void)err;
    for (unsigned i = 0; i < 1000; i++) {
        numbers = query_grow(work->arena, numbers, i, sizeof *numbers);
        numbers[i] = (int)i;
    }
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(numbers[i], i);
}

START_TEST(counts_of_parameters_are_powers_of_two) {
    static const unsigned counts[][2] = { { 0, 1 }, { 1, 1 },     { 2, 2 },      { 3, 4 },
                                          { 4, 4 }, { 100, 128 }, { 1000, 1024 } };

    for (size_t i = 0; i < LENGTH(counts); i++)
        ck_assert_uint_eq(query_in_count(counts[i][0]), counts[i][1]);
}
END_TEST

CHECK_MAIN("query", all_rows_are_read_in_their_order, no_rows_are_none_and_no_failure,
           one_row_is_the_first, a_column_of_texts_needs_no_reader,
           a_row_that_cannot_be_read_fails_and_writes_nothing, a_failing_database_is_reported,
           a_page_is_the_requested_part, an_array_keeps_its_members_while_it_grows,
           counts_of_parameters_are_powers_of_two)
