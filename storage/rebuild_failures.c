#include "storage/rebuild_failures.h"

#include "common/clock.h"

#include <stdio.h>
#include <string.h>

#define RETRY_FIRST_S 5
#define DOUBLINGS     6

const struct rebuild_failure *rebuild_failures_find(const struct rebuild_failures *failures,
                                                    const char *replica) {
    for (unsigned i = 0; i < REPLICAS_MOST; i++) {
        if (failures->of[i].count > 0 && strcmp(failures->of[i].replica, replica) == 0)
            return &failures->of[i];
    }
    return NULL;
}

/* Of this replica; or a free one; or the one whose attempt is due first, of a replica that is
 * probably gone. */
static struct rebuild_failure *slot_for(struct rebuild_failures *failures, const char *replica) {
    struct rebuild_failure *slot = &failures->of[0];

    for (unsigned i = 0; i < REPLICAS_MOST; i++) {
        struct rebuild_failure *other = &failures->of[i];

        if (other->count > 0 && strcmp(other->replica, replica) == 0)
            return other;
        if (slot->count > 0 && (other->count == 0 || other->retry_us < slot->retry_us))
            slot = other;
    }
    *slot = (struct rebuild_failure){ .count = 0 };
    snprintf(slot->replica, sizeof(slot->replica), "%s", replica);
    return slot;
}

void rebuild_failures_add(struct rebuild_failures *failures, const char *replica,
                          const struct error *why, int64_t now_us) {
    struct rebuild_failure *failure = slot_for(failures, replica);
    unsigned doubled = failure->count < DOUBLINGS ? failure->count : DOUBLINGS;

    failure->count++;
    failure->retry_us = now_us + ((int64_t)RETRY_FIRST_S << doubled) * SECOND_US;
    failure->why = *why;
}

void rebuild_failures_forget(struct rebuild_failures *failures, const char *replica) {
    for (unsigned i = 0; i < REPLICAS_MOST; i++) {
        if (strcmp(failures->of[i].replica, replica) == 0)
            failures->of[i] = (struct rebuild_failure){ .count = 0 };
    }
}

int rebuild_failures_next(const struct rebuild_failures *failures, const char *const *replicas,
                          unsigned count, int64_t now_us) {
    unsigned fewest = 0;
    int next = -1;

    for (unsigned i = 0; i < count; i++) {
        const struct rebuild_failure *failure = rebuild_failures_find(failures, replicas[i]);
        unsigned times = failure ? failure->count : 0;

        if ((failure && failure->retry_us > now_us) || (next >= 0 && times >= fewest))
            continue;
        next = (int)i;
        fewest = times;
    }
    return next;
}
