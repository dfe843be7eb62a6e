/*
 * What failed is tried again, each time after a longer pause: 5 ms, doubled up to 1000 s.  Belongs
 * to one thread; instants are of a steady clock.
 */
#pragma once

#include "common/clock.h"

#include <stdbool.h>

#define BACKOFF_FIRST_US 5000
#define BACKOFF_MOST_US  (1000 * SECOND_US)
#define BACKOFF_KEPT     16384 /* so many are remembered; more are not waited for */

struct backoff;

struct backoff *backoff_new(void);
void backoff_free(struct backoff *backoff);

void backoff_fail(struct backoff *backoff, const char *id, int64_t now_us);
void backoff_forget(struct backoff *backoff, const char *id);
/* It is due now, or all are, behind those that were due before; how often each has failed is not
 * forgotten. */
void backoff_hurry(struct backoff *backoff, const char *id, int64_t now_us);
void backoff_hurry_all(struct backoff *backoff, int64_t now_us);

bool backoff_is_empty(const struct backoff *backoff);
/* It has failed, and is not due yet. */
bool backoff_waits(const struct backoff *backoff, const char *id, int64_t now_us);
/* One that is due, until the next call of anything here; NULL: none. */
const char *backoff_due(const struct backoff *backoff, int64_t now_us);
/* When the next is; INT64_MAX: none. */
int64_t backoff_next_us(const struct backoff *backoff);
