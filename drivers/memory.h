/*
 * Volumes that are only numbers: for tests, drills and the simulation.
 *
 * A volume is its virtual size, a number for its content and whether a guest holds it; a snapshot
 * is the first two.  Of the bytes of its data only that at 1 MiB is kept, as the number
 * (memory_data.c).  Handles come from memory_driver.open() or memory_new(), and are closed after
 * all data opened by them.  Guests and operators are tests/lib/memory_guests.h.  Thread-safe;
 * callbacks of list_volumes() run under the handle's lock.
 */
#pragma once

#include "drivers/driver.h"

/* A handle without a configuration; memory_driver.close() frees it. */
void *memory_new(const char *pool, int64_t capacity_gb);

/*
 * A call that changes something checks first, then calls the fence, then acts; a process may be
 * paused at each of these points.  `between` is called there, without a lock held, with the member
 * of struct driver: false, the process has died there and nothing more happens.  Meanwhile an
 * extend holds the image's lock itself, so that no guest can take it.
 */
enum memory_point { MEMORY_LOOKED, MEMORY_FENCED };
typedef bool memory_between(void *arg, enum memory_point point, const char *call,
                            const char *name_id);
