/*
 * Helpers of the files that read rows: one page of a list, and arrays that grow in the arena.
 */
#pragma once

#include "volume/volume.h"

/*
 * Runs "<select> WHERE … ORDER BY … LIMIT … OFFSET …" as the query says; a NULL order is none.
 * `select` ends before WHERE and has no places of its own.  NULL and err on failure; ended by
 * autorows.
 */
struct db_rows *query_page(struct work *work, const char *select, const struct volume_query *query,
                           struct error *err);

/* Room for one more item of `size` bytes behind the `count` that `items` holds; grows by doubling,
 * the old block stays in the arena. `count` must rise by one between calls. */
void *query_grow(struct arena *arena, void *items, unsigned count, size_t size);

/* Number of values that IN (…) shall have for `count` of them: the next power of two, so that the
 * texts of statements repeat. */
unsigned query_in_count(unsigned count);
