#include "manager/import/source_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void source_table_add(struct arena *arena, struct source_table *table, const char *const *cells) {
    const size_t used = table->rows * table->columns;
    bool full = (table->rows & (table->rows - 1)) == 0; /* a power of two, or none */
    const char **row;

    if (full) {
        size_t room = (table->rows ? table->rows * 2 : 1) * table->columns;
        const char **grown = arena_alloc(arena, room * sizeof *grown);

        if (used)
            memcpy(grown, table->cells, used * sizeof *grown);
        table->cells = grown;
    }
    row = table->cells + used;
    for (unsigned i = 0; i < table->columns; i++)
        row[i] = cells[i] ? arena_text(arena, cells[i]) : NULL;
    table->rows++;
}

struct sorted_row {
    const char *const *cells;
    size_t number;
};

static int compare_rows(const void *left, const void *right) {
    const struct sorted_row *a = left, *b = right;
    int order = strcmp(a->cells[0] ? a->cells[0] : "", b->cells[0] ? b->cells[0] : "");

    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

void source_table_sort(struct arena *arena, struct source_table *table) {
    const size_t columns = table->columns;
    struct sorted_row *rows = arena_alloc(arena, (table->rows + 1) * sizeof *rows);
    const char **cells = arena_alloc(arena, (table->rows * columns + 1) * sizeof *cells);

    for (size_t i = 0; i < table->rows; i++)
        rows[i] = (struct sorted_row){ table->cells + i * columns, i };
    qsort(rows, table->rows, sizeof *rows, compare_rows);
    for (size_t i = 0; i < table->rows; i++)
        memcpy(cells + i * columns, rows[i].cells, columns * sizeof *cells);
    table->cells = cells;
}

size_t source_rows_of(const struct source_table *table, const char *id, size_t *ret_first) {
    size_t first = 0, end = table->rows, count = 0;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (strcmp(source_cell(table, middle, 0), id) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    while (first + count < table->rows && strcmp(source_cell(table, first + count, 0), id) == 0)
        count++;
    *ret_first = first;
    return count;
}
