#include "replication/node/rebuild_slots.h"

#include "common/assert.h"
#include "common/heap.h"

#include <stdatomic.h>
#include <stdlib.h>

struct rebuild_slots {
    unsigned most;
    atomic_uint running;
};

struct rebuild_slots *rebuild_slots_new(unsigned most) {
    struct rebuild_slots *slots = heap_new(sizeof(*slots));

    slots->most = most;
    atomic_init(&slots->running, 0);
    return slots;
}

void rebuild_slots_free(struct rebuild_slots *slots) {
    free(slots);
}

bool rebuild_slots_take(struct rebuild_slots *slots) {
    if (atomic_fetch_add(&slots->running, 1) < slots->most)
        return true;
    atomic_fetch_sub(&slots->running, 1);
    return false;
}

void rebuild_slots_release(struct rebuild_slots *slots) {
    unsigned before = atomic_fetch_sub(&slots->running, 1);

    assert(before > 0);
}
