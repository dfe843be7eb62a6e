#include "replication/node/rebuild_failures.h"

#include "common/cleanup.h"
#include "common/no_space.h"

#include <stdio.h>
#include <string.h>

static const struct backoff_limits pauses = { .first_us = 5 * SECOND_US,
                                              .most_us = 320 * SECOND_US };

const struct rebuild_failure *rebuild_failures_find(const struct rebuild_failures *failures,
                                                    const char *replica) {
    for (unsigned i = 0; i < LENGTH(failures->of); i++) {
        if (failures->of[i].backoff.failures > 0 && strcmp(failures->of[i].replica, replica) == 0)
            return &failures->of[i];
    }
    return NULL;
}

/* The entry of this replica, or a free one, or the one that is due first, probably of a removed
 * replica. */
static struct rebuild_failure *slot_for(struct rebuild_failures *failures, const char *replica) {
    struct rebuild_failure *slot = &failures->of[0];

    for (unsigned i = 0; i < LENGTH(failures->of); i++) {
        struct rebuild_failure *other = &failures->of[i];

        if (other->backoff.failures > 0 && strcmp(other->replica, replica) == 0)
            return other;
        if (slot->backoff.failures > 0 &&
            (other->backoff.failures == 0 || other->backoff.due_us < slot->backoff.due_us))
            slot = other;
    }
    *slot = (struct rebuild_failure){ .replica = "" };
    snprintf(slot->replica, sizeof(slot->replica), "%s", replica);
    return slot;
}

void rebuild_failures_add(struct rebuild_failures *failures, const char *replica,
                          const struct error *why, int64_t now_us) {
    struct rebuild_failure *failure = slot_for(failures, replica);

    backoff_fail(&failure->backoff, &pauses, now_us);
    failure->why = *why;
    failure->least_free_bytes = -1;
}

void rebuild_failures_forget(struct rebuild_failures *failures, const char *replica) {
    for (unsigned i = 0; i < LENGTH(failures->of); i++) {
        if (strcmp(failures->of[i].replica, replica) == 0)
            failures->of[i] = (struct rebuild_failure){ .replica = "" };
    }
}

void rebuild_failures_see(struct rebuild_failures *failures, const char *replica, bool ready) {
    for (unsigned i = 0; i < LENGTH(failures->of); i++) {
        struct rebuild_failure *failure = &failures->of[i];

        if (failure->backoff.failures == 0 || strcmp(failure->replica, replica) != 0)
            continue;
        if (!ready)
            failure->away = true;
        else if (failure->away)
            *failure = (struct rebuild_failure){ .replica = "" };
    }
}

bool rebuild_failures_lack_space(const struct rebuild_failures *failures) {
    bool lack = false;

    for (unsigned i = 0; i < LENGTH(failures->of); i++)
        lack |= failures->of[i].backoff.failures > 0 && error_is_no_space(&failures->of[i].why);
    return lack;
}

void rebuild_failures_note_space(struct rebuild_failures *failures, const char *replica,
                                 int64_t free_bytes) {
    for (unsigned i = 0; i < LENGTH(failures->of); i++) {
        struct rebuild_failure *failure = &failures->of[i];
        int64_t least = failure->least_free_bytes;

        if (failure->backoff.failures == 0 || strcmp(failure->replica, replica) != 0 ||
            !error_is_no_space(&failure->why))
            continue;
        if (least >= 0 && free_bytes > 2 * least + REBUILD_SPACE_BYTES) {
            failure->backoff.due_us = 0;
            least = free_bytes;
        }
        failure->least_free_bytes = least < 0 || free_bytes < least ? free_bytes : least;
    }
}

void rebuild_failures_note_decisions(struct rebuild_failures *failures, unsigned decisions) {
    if (failures->decisions == decisions)
        return;
    failures->decisions = decisions;
    for (unsigned i = 0; i < LENGTH(failures->of); i++)
        failures->of[i].backoff.due_us = 0;
}

int rebuild_failures_next(const struct rebuild_failures *failures, const char *const *replicas,
                          unsigned count, int64_t now_us) {
    unsigned fewest = 0;
    int next = -1;

    for (unsigned i = 0; i < count; i++) {
        const struct rebuild_failure *failure = rebuild_failures_find(failures, replicas[i]);
        unsigned times = failure ? failure->backoff.failures : 0;

        if ((failure && backoff_waits(&failure->backoff, now_us)) || (next >= 0 && times >= fewest))
            continue;
        next = (int)i;
        fewest = times;
    }
    return next;
}
