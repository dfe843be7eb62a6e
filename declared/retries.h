/*
 * What failed is tried again, each time after a longer pause: 5 ms, doubled up to 1000 s.  Belongs
 * to one thread; instants are of a steady clock.
 */
#pragma once

#include "common/clock.h"

#include <stdbool.h>

#define RETRIES_FIRST_US 5000
#define RETRIES_MOST_US  (1000 * SECOND_US)
#define RETRIES_KEPT     16384 /* so many are remembered; more are not waited for */

struct retries;

struct retries *retries_new(void);
void retries_free(struct retries *retries);

void retries_fail(struct retries *retries, const char *id, int64_t now_us);
void retries_forget(struct retries *retries, const char *id);
/* It is due now, or all are, behind those that were due before; how often each has failed is not
 * forgotten. */
void retries_requeue(struct retries *retries, const char *id, int64_t now_us);
void retries_requeue_all(struct retries *retries, int64_t now_us);

bool retries_is_empty(const struct retries *retries);
/* It has failed, and is not due yet. */
bool retries_waits(const struct retries *retries, const char *id, int64_t now_us);
/* One that is due, until the next call of anything here; NULL: none. */
const char *retries_due(const struct retries *retries, int64_t now_us);
/* When the next is; INT64_MAX: none. */
int64_t retries_next_us(const struct retries *retries);
