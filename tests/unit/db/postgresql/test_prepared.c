#include "db/postgresql/prepared.h"

#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

static struct prepared_cache cache;

static struct prepared *find(const char *sql, struct db_value value) {
    return prepared_find(&cache, sql, &value, 1);
}

/* As for a statement that the server has got. */
static struct prepared *keep(const char *sql, struct db_value value, bool *ret_forgotten) {
    struct prepared *prepared = prepared_room(&cache, ret_forgotten);

    prepared_keep(&cache, prepared, sql, &value, 1);
    prepared->used = ++cache.tick;
    return prepared;
}

static const char *text_of(unsigned i) {
    static char text[32];

    snprintf(text, sizeof(text), "SELECT %u", i);
    return text;
}

START_TEST(a_statement_fits_the_types_that_it_was_prepared_with) {
    const struct db_value two[] = { DB_INT(1), DB_INT(2) };
    bool forgotten;
    struct prepared *number = keep("SELECT $1", DB_INT(1), &forgotten);

    ck_assert(!forgotten);
    ck_assert_ptr_eq(find("SELECT $1", DB_INT(7)), number);
    ck_assert_ptr_eq(find("SELECT $1", DB_NULL), number);
    ck_assert_ptr_null(find("SELECT $1", DB_TEXT("7")));
    ck_assert_ptr_null(find("SELECT $1 ", DB_INT(7)));
    ck_assert_ptr_null(prepared_find(&cache, "SELECT $1", two, 2));
    ck_assert_ptr_null(prepared_find(&cache, "SELECT $1", NULL, 0));
    /* the same text stands beside it for another type */
    ck_assert_ptr_ne(keep("SELECT $1", DB_TEXT("x"), &forgotten), number);
    ck_assert_ptr_eq(find("SELECT $1", DB_INT(7)), number);
    ck_assert_ptr_nonnull(find("SELECT $1", DB_TEXT("7")));
    prepared_forget_all(&cache);
    ck_assert_ptr_null(find("SELECT $1", DB_INT(7)));
}
END_TEST

START_TEST(the_least_recently_used_statement_is_evicted) {
    bool forgotten;

    for (unsigned i = 0; i < PREPARED_MOST; i++) {
        keep(text_of(i), DB_NULL, &forgotten)->number = i;
        ck_assert(!forgotten);
    }
    find(text_of(0), DB_NULL)->used = ++cache.tick;
    ck_assert_uint_eq(keep("one more", DB_NULL, &forgotten)->number, 1);
    ck_assert(forgotten);
    ck_assert_ptr_null(find(text_of(1), DB_NULL));
    ck_assert_ptr_nonnull(find(text_of(0), DB_NULL));
    for (unsigned i = 2; i < PREPARED_MOST; i++)
        ck_assert_ptr_nonnull(find(text_of(i), DB_NULL));
    prepared_forget_all(&cache);
}
END_TEST

START_TEST(a_slot_whose_statement_was_refused_is_reused_first) {
    struct prepared *place;
    bool forgotten;

    for (unsigned i = 0; i < PREPARED_MOST - 1; i++)
        keep(text_of(i), DB_NULL, &forgotten);
    place = prepared_room(&cache, &forgotten);
    ck_assert(!forgotten);
    ck_assert_ptr_eq(prepared_room(&cache, &forgotten), place);
    ck_assert(!forgotten);
    for (unsigned i = 0; i < PREPARED_MOST - 1; i++)
        ck_assert_ptr_nonnull(find(text_of(i), DB_NULL));
    prepared_forget_all(&cache);
}
END_TEST

CHECK_MAIN("postgresql_prepared", a_statement_fits_the_types_that_it_was_prepared_with,
           the_least_recently_used_statement_is_evicted,
           a_slot_whose_statement_was_refused_is_reused_first)
