/*
 * Work queue of names of objects.
 *
 * A name is queued once: when it is added again while being processed, it is processed once more
 * afterwards.  A failed one is retried after a pause that doubles.  Namespaces are served
 * round-robin, so that many objects of one delay those of another by one item only.  Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct queue;

struct queue_item {
    unsigned kind;
    const char *namespace, *name;
    unsigned tries; /* consecutive failures of this item */
};

struct queue *queue_new(int64_t first_pause_ms, int64_t longest_pause_ms);
void queue_free(struct queue *queue);

/* Adds it, also during its pause. */
void queue_call(struct queue *queue, unsigned kind, const char *namespace, const char *name);
/* The next one, which is the caller's until queue_settle() or queue_retry(); waits for it.  NULL:
 * the queue was closed. */
const struct queue_item *queue_take(struct queue *queue);
void queue_settle(struct queue *queue, const struct queue_item *item);
void queue_retry(struct queue *queue, const struct queue_item *item);

/* Ends all waits. */
void queue_close(struct queue *queue);
/* For tests: the number of items, including paused ones. */
unsigned queue_size(struct queue *queue);
