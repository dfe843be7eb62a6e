#include "replication/node/replica_index.h"

#include "common/assert.h"
#include "common/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct replica_index {
    pthread_mutex_t lock; /* guards the rest */
    bool known;
    unsigned count;
    struct assignment **all; /* held; ordered by uid */
};

struct replica_index *replica_index_new(void) {
    struct replica_index *index = heap_new(sizeof(*index));

    pthread_mutex_init(&index->lock, NULL);
    return index;
}

static void release_all(struct assignment **all, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        assignment_release(all[i]);
    free(all);
}

void replica_index_free(struct replica_index *index) {
    if (!index)
        return;
    release_all(index->all, index->count);
    pthread_mutex_destroy(&index->lock);
    free(index);
}

static int compare(const void *a, const void *b) {
    return strcmp((*(struct assignment *const *)a)->uid, (*(struct assignment *const *)b)->uid);
}

void replica_index_set(struct replica_index *index, struct assignment *const *assignments,
                       unsigned count) {
    struct assignment **all = heap_new((count + 1) * sizeof(*all)), **before;
    unsigned before_count;

    for (unsigned i = 0; i < count; i++) {
        assert(assignments[i]->kind == ASSIGNMENT_REPLICA);
        all[i] = assignment_hold(assignments[i]);
    }
    qsort(all, count, sizeof(*all), compare);
    pthread_mutex_lock(&index->lock);
    before = index->all;
    before_count = index->count;
    index->all = all;
    index->count = count;
    index->known = true;
    pthread_mutex_unlock(&index->lock);
    release_all(before, before_count);
}

static int compare_uid(const void *uid, const void *assignment) {
    return strcmp(uid, (*(struct assignment *const *)assignment)->uid);
}

int replica_index_find(struct replica_index *index, const char *uid, struct assignment **ret) {
    struct assignment **found = NULL;
    int outcome;

    pthread_mutex_lock(&index->lock);
    if (index->count > 0)
        found = bsearch(uid, index->all, index->count, sizeof(*index->all), compare_uid);
    if (found)
        *ret = assignment_hold(*found);
    outcome = found ? 1 : index->known ? 0 : -1;
    pthread_mutex_unlock(&index->lock);
    return outcome;
}
