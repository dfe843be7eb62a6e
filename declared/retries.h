/*
 * Retries with growing pauses: 5 ms, doubled up to 1000 s. Belongs to one thread; times are of a
 * steady clock.
 */
#pragma once

#include "common/clock.h"

#include <stdbool.h>

#define RETRIES_FIRST_US 5000
#define RETRIES_MOST_US  (1000 * SECOND_US)
#define RETRIES_KEPT     16384 /* limit of remembered ids; others have no pause */

struct retries;

struct retries *retries_new(void);
void retries_free(struct retries *retries);

void retries_fail(struct retries *retries, const char *id, int64_t now_us);
void retries_forget(struct retries *retries, const char *id);
/* Makes it due now, or all, after those that were due before; the number of failures is kept. */
void retries_requeue(struct retries *retries, const char *id, int64_t now_us);
void retries_requeue_all(struct retries *retries, int64_t now_us);

bool retries_is_empty(const struct retries *retries);
/* It has failed, and is not due yet. */
bool retries_waits(const struct retries *retries, const char *id, int64_t now_us);
/* One that is due, valid until the next call of a function here; NULL: none. */
const char *retries_due(const struct retries *retries, int64_t now_us);
/* The time of the next one; INT64_MAX: none. */
int64_t retries_next_us(const struct retries *retries);
