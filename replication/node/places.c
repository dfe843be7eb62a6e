#include "replication/node/places.h"

#include "common/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct places {
    pthread_mutex_t lock; /* guards the rest */
    bool told;
    unsigned count;
    struct assignment **all; /* held; in the order of their uids */
};

struct places *places_new(void) {
    struct places *places = heap_new(sizeof(*places));

    pthread_mutex_init(&places->lock, NULL);
    return places;
}

static void let_go(struct assignment **all, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        assignment_release(all[i]);
    free(all);
}

void places_free(struct places *places) {
    if (!places)
        return;
    let_go(places->all, places->count);
    pthread_mutex_destroy(&places->lock);
    free(places);
}

static int compare(const void *a, const void *b) {
    return strcmp((*(struct assignment *const *)a)->uid, (*(struct assignment *const *)b)->uid);
}

void places_set(struct places *places, struct assignment *const *assignments, unsigned count) {
    struct assignment **all = heap_new((count + 1) * sizeof(*all)), **before;
    unsigned before_count;

    for (unsigned i = 0; i < count; i++)
        all[i] = assignment_hold(assignments[i]);
    qsort(all, count, sizeof(*all), compare);
    pthread_mutex_lock(&places->lock);
    before = places->all;
    before_count = places->count;
    places->all = all;
    places->count = count;
    places->told = true;
    pthread_mutex_unlock(&places->lock);
    let_go(before, before_count);
}

static int compare_uid(const void *uid, const void *assignment) {
    return strcmp(uid, (*(struct assignment *const *)assignment)->uid);
}

int places_find(struct places *places, const char *uid, struct assignment **ret) {
    struct assignment **found = NULL;
    int outcome;

    pthread_mutex_lock(&places->lock);
    if (places->count > 0)
        found = bsearch(uid, places->all, places->count, sizeof(*places->all), compare_uid);
    if (found)
        *ret = assignment_hold(*found);
    outcome = found ? 1 : places->told ? 0 : -1;
    pthread_mutex_unlock(&places->lock);
    return outcome;
}
