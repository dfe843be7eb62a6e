/*
 * A text table: each column is as wide as its widest cell, separated by two blanks.
 */
#pragma once

#include "common/arena.h"

enum { TABLE_COLUMNS = 12 };

struct table {
    struct arena *arena;
    const char *const *names; /* ended with NULL */
    unsigned numbers;         /* bits of the right-aligned columns */
    unsigned columns, rows;
    const char **cells; /* of all rows */
};

/* `names` lives as long as the table. */
void table_begin(struct table *table, struct arena *arena, const char *const *names,
                 unsigned numbers);
/* As many cells as columns; NULL and "" are shown as "-". They live as long as the table. */
void table_add(struct table *table, const char *const *cells);
void table_print(const struct table *table);
