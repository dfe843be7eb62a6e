/*
 * The result of a query of another service's database; text in the arena, NULL for SQL NULL.
 */
#pragma once

#include "common/arena.h"

#include <stddef.h>

struct source_table {
    unsigned columns;
    size_t rows;
    const char **cells;
};

static inline const char *source_cell(const struct source_table *table, size_t row,
                                      unsigned column) {
    return table->cells[row * table->columns + column];
}

/* Appends a copy of a row. */
void source_table_add(struct arena *arena, struct source_table *table, const char *const *cells);
/* Into the order of the bytes of the first column, then of the rows as they were: engines sort text
 * by the rules of languages. */
void source_table_sort(struct arena *arena, struct source_table *table);
/* The rows of an owner in a table whose first column is its id; how many, from *ret_first. */
size_t source_rows_of(const struct source_table *table, const char *id, size_t *ret_first);
