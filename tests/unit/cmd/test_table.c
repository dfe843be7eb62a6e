#include "cmd/table.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The output of the table. */
static const char *printed(struct arena *arena, const struct table *table) {
    char *text = arena_alloc(arena, 4096);
    FILE *kept = tmpfile();
    int out = dup(STDOUT_FILENO);

    ck_assert_ptr_nonnull(kept);
    fflush(stdout);
    ck_assert_int_ge(dup2(fileno(kept), STDOUT_FILENO), 0);
    table_print(table);
    fflush(stdout);
    ck_assert_int_ge(dup2(out, STDOUT_FILENO), 0);
    close(out);
    rewind(kept);
    text[fread(text, 1, 4095, kept)] = '\0';
    fclose(kept);
    return text;
}

START_TEST(columns_are_as_wide_as_their_widest_cell) {
    static const char *const names[] = { "name", "bytes", "path", NULL };
    autoarena struct arena *arena = arena_new();
    struct table table;

    table_begin(&table, arena, names, 1 << 1);
    table_add(&table, (const char *const[]){ "a", "1", "/x" });
    table_add(&table, (const char *const[]){ "much-longer", "123456789", NULL });
    table_add(&table, (const char *const[]){ "\xc3\xa4\xc3\xb6", "", "a\x1b[2J\xe2\x80\xaez" });
    ck_assert_str_eq(printed(arena, &table), "name             bytes  path\n"
                                             "a                    1  /x\n"
                                             "much-longer  123456789  -\n"
                                             "\xc3\xa4\xc3\xb6                   -  a?[2J?z\n");
}
END_TEST

START_TEST(a_table_without_rows_has_its_names) {
    static const char *const names[] = { "id", "kind", NULL };
    autoarena struct arena *arena = arena_new();
    struct table table;

    table_begin(&table, arena, names, 0);
    ck_assert_str_eq(printed(arena, &table), "id  kind\n");
}
END_TEST

CHECK_MAIN("table", columns_are_as_wide_as_their_widest_cell, a_table_without_rows_has_its_names)
