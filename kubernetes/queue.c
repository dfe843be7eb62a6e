#include "kubernetes/queue.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <search.h> /* declares a struct entry of its own */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define NEVER INT64_MAX

enum state { READY, PAUSED, TAKEN };

struct waiting {
    struct queue_item item; /* first: a caller has a pointer to it */
    char *namespace, *name;
    enum state state;
    bool again; /* added again while taken */
    int64_t due_us;
    TAILQ_ENTRY(waiting) link; /* of its space's `ready`, or of `paused` */
};

TAILQ_HEAD(waiting_list, waiting);

/* A namespace with ready items. */
struct space {
    const char *namespace; /* text after the struct */
    struct waiting_list ready;
    TAILQ_ENTRY(space) link;
};

TAILQ_HEAD(space_list, space);

struct queue {
    struct backoff_limits pauses;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct waiting_list paused;
    struct space_list spaces; /* in order of service */
    void *space_tree;         /* the same, by name */
    void *tree;               /* of all entries, by name */
    unsigned size;
    bool closed;
};

static int compare(const void *a, const void *b) {
    const struct waiting *one = a, *other = b;
    int order = (int)one->item.kind - (int)other->item.kind;

    if (order == 0)
        order = strcmp(one->item.namespace, other->item.namespace);
    return order ? order : strcmp(one->item.name, other->item.name);
}

struct queue *queue_new(int64_t first_pause_ms, int64_t longest_pause_ms) {
    struct queue *queue = heap_new(sizeof *queue);

    queue->pauses = (struct backoff_limits){ .first_us = first_pause_ms * 1000,
                                             .most_us = longest_pause_ms * 1000 };
    pthread_mutex_init(&queue->lock, NULL);
    thread_cond_init(&queue->changed);
    TAILQ_INIT(&queue->paused);
    TAILQ_INIT(&queue->spaces);
    return queue;
}

static void free_entry(void *arg) {
    struct waiting *entry = arg;

    free(entry->namespace);
    free(entry->name);
    free(entry);
}

void queue_free(struct queue *queue) {
    if (!queue)
        return;
    tdestroy(queue->space_tree, free);
    tdestroy(queue->tree, free_entry);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static int compare_spaces(const void *a, const void *b) {
    const struct space *one = a, *other = b;

    return strcmp(one->namespace, other->namespace);
}

static void make_ready(struct queue *queue, struct waiting *entry) {
    const struct space wanted = { .namespace = entry->namespace };
    struct space **found = tfind(&wanted, &queue->space_tree, compare_spaces);
    struct space *space = found ? *found : NULL;

    if (!space) {
        space = heap_new(sizeof *space + strlen(entry->namespace) + 1);
        space->namespace = strcpy((char *)(space + 1), entry->namespace);
        TAILQ_INIT(&space->ready);
        if (!tsearch(space, &queue->space_tree, compare_spaces))
            abort();
        TAILQ_INSERT_TAIL(&queue->spaces, space, link);
    }
    entry->state = READY;
    TAILQ_INSERT_TAIL(&space->ready, entry, link);
    pthread_cond_broadcast(&queue->changed);
}

/* The first of the next namespace; NULL: nothing is ready. */
static struct waiting *next_ready(struct queue *queue) {
    struct space *space = TAILQ_FIRST(&queue->spaces);
    struct waiting *entry = space ? TAILQ_FIRST(&space->ready) : NULL;

    if (!entry)
        return NULL;
    TAILQ_REMOVE(&space->ready, entry, link);
    TAILQ_REMOVE(&queue->spaces, space, link);
    if (!TAILQ_EMPTY(&space->ready)) {
        TAILQ_INSERT_TAIL(&queue->spaces, space, link);
        return entry;
    }
    tdelete(space, &queue->space_tree, compare_spaces);
    free(space);
    return entry;
}

void queue_call(struct queue *queue, unsigned kind, const char *namespace, const char *name) {
    struct waiting wanted = { .item = { kind, namespace, name, 0 } };
    struct waiting **found, *entry;

    scoped_lock(&queue->lock);
    found = tfind(&wanted, &queue->tree, compare);
    if (!found) {
        entry = heap_new(sizeof *entry);
        entry->namespace = heap_text(namespace);
        entry->name = heap_text(name);
        entry->item = (struct queue_item){ kind, entry->namespace, entry->name, 0 };
        if (!tsearch(entry, &queue->tree, compare))
            abort();
        queue->size++;
        make_ready(queue, entry);
    } else {
        entry = *found;
        if (entry->state == PAUSED) {
            TAILQ_REMOVE(&queue->paused, entry, link);
            make_ready(queue, entry);
        }
        entry->again = entry->state == TAKEN;
    }
}

/* Moves expired ones to `ready`; returns the next expiry. */
static int64_t end_pauses(struct queue *queue) {
    int64_t now_us = clock_monotonic_us(), next_us = NEVER;
    struct waiting *entry, *next;

    for (entry = TAILQ_FIRST(&queue->paused); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->due_us <= now_us) {
            TAILQ_REMOVE(&queue->paused, entry, link);
            make_ready(queue, entry);
        } else if (entry->due_us < next_us) {
            next_us = entry->due_us;
        }
    }
    return next_us;
}

const struct queue_item *queue_take(struct queue *queue) {
    struct waiting *entry = NULL;

    scoped_lock(&queue->lock);
    while (!queue->closed) {
        int64_t next_us = end_pauses(queue);

        if ((entry = next_ready(queue)))
            break;
        if (next_us == NEVER)
            pthread_cond_wait(&queue->changed, &queue->lock);
        else
            thread_cond_wait(&queue->changed, &queue->lock, next_us);
    }
    if (entry) {
        entry->state = TAKEN;
        entry->again = false;
    }
    return entry ? &entry->item : NULL;
}

static struct waiting *entry_of(const struct queue_item *item) {
    return (struct waiting *)(uintptr_t)item;
}

void queue_settle(struct queue *queue, const struct queue_item *item) {
    struct waiting *entry = entry_of(item);

    scoped_lock(&queue->lock);
    entry->item.tries = 0;
    if (entry->again) {
        make_ready(queue, entry);
    } else {
        tdelete(entry, &queue->tree, compare);
        queue->size--;
        free_entry(entry);
    }
}

void queue_retry(struct queue *queue, const struct queue_item *item) {
    struct waiting *entry = entry_of(item);

    scoped_lock(&queue->lock);
    entry->due_us = clock_monotonic_us() + backoff_pause_us(&queue->pauses, ++entry->item.tries);
    if (entry->again) {
        make_ready(queue, entry);
    } else {
        entry->state = PAUSED;
        TAILQ_INSERT_TAIL(&queue->paused, entry, link);
        pthread_cond_broadcast(&queue->changed);
    }
}

void queue_close(struct queue *queue) {
    scoped_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
}

unsigned queue_size(struct queue *queue) {
    scoped_lock(&queue->lock);
    return queue->size;
}
