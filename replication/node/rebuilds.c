#include "replication/node/rebuilds.h"

#include "common/heap.h"

#include <stdatomic.h>
#include <stdlib.h>

struct rebuilds {
    unsigned most;
    atomic_uint running;
};

struct rebuilds *rebuilds_new(unsigned most) {
    struct rebuilds *rebuilds = heap_new(sizeof(*rebuilds));

    rebuilds->most = most;
    atomic_init(&rebuilds->running, 0);
    return rebuilds;
}

void rebuilds_free(struct rebuilds *rebuilds) {
    free(rebuilds);
}

bool rebuilds_begin(struct rebuilds *rebuilds) {
    if (atomic_fetch_add(&rebuilds->running, 1) < rebuilds->most)
        return true;
    atomic_fetch_sub(&rebuilds->running, 1);
    return false;
}

void rebuilds_end(struct rebuilds *rebuilds) {
    atomic_fetch_sub(&rebuilds->running, 1);
}
