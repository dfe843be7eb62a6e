/*
 * Mutual exclusion of calls by name: of a volume, a share, or a slot.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct volume_lock {
    const char *name; /* while it is held, the name */
    struct volume_lock *next;
    bool requested;
};

/* false: it is held.  `name` must live until volume_lock_release(). */
bool volume_lock_try(struct volume_lock *lock, const char *name);
/* The same, and the holder can detect the request. */
bool volume_lock_request(struct volume_lock *lock, const char *name);
bool volume_lock_is_requested(const struct volume_lock *lock);
/* false: it was held for all of `most_ms`. */
bool volume_lock_wait(struct volume_lock *lock, const char *name, int64_t most_ms);
/* No effect on a lock that is not held. */
void volume_lock_release(struct volume_lock *lock);

#define autolock __attribute__((cleanup(volume_lock_release)))
