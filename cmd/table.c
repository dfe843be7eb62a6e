#include "cmd/table.h"

#include "cmd/plain_text.h"
#include "common/assert.h"

#include <stdbool.h>
#include <string.h>

void table_begin(struct table *table, struct arena *arena, const char *const *names,
                 unsigned numbers) {
    *table = (struct table){ .arena = arena, .names = names, .numbers = numbers };
    while (names[table->columns])
        table->columns++;
    assert(table->columns <= TABLE_COLUMNS);
}

void table_add(struct table *table, const char *const *cells) {
    size_t size = table->columns * sizeof *table->cells;

    if ((table->rows & (table->rows - 1)) == 0) { /* a power of two: copies are rare */
        const char **larger =
            arena_alloc(table->arena, (table->rows ? 2 * (size_t)table->rows : 1) * size);

        if (table->rows > 0)
            memcpy(larger, table->cells, table->rows * size);
        table->cells = larger;
    }
    for (unsigned i = 0; i < table->columns; i++)
        table->cells[table->rows * table->columns + i] = cells[i] && *cells[i] ? cells[i] : "-";
    table->rows++;
}

static void print_row(const struct table *table, const char *const *cells, const int *widths) {
    for (unsigned i = 0; i < table->columns; i++) {
        bool is_last = i + 1 == table->columns, is_number = table->numbers >> i & 1;
        int missing = widths[i] - plain_text_width(cells[i]);

        if (is_number)
            printf("%*s", missing, "");
        plain_text_put(stdout, cells[i]);
        if (!is_last)
            printf("%*s", is_number ? 2 : missing + 2, "");
    }
    putchar('\n');
}

void table_print(const struct table *table) {
    int widths[TABLE_COLUMNS];

    for (unsigned i = 0; i < table->columns; i++) {
        widths[i] = plain_text_width(table->names[i]);
        for (unsigned row = 0; row < table->rows; row++) {
            int width = plain_text_width(table->cells[row * table->columns + i]);

            if (width > widths[i])
                widths[i] = width;
        }
    }
    print_row(table, table->names, widths);
    for (unsigned row = 0; row < table->rows; row++)
        print_row(table, table->cells + row * table->columns, widths);
}
