/*
 * Names of objects that somebody has to look at.
 *
 * A name stands there once: when it is called for while it is being looked at, it comes once more
 * behind that.  One that failed comes again after a pause that doubles.  Namespaces have their
 * turns one after the other: many objects of one keep those of another waiting for one of them.
 * Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct queue;

struct queue_item {
    unsigned kind;
    const char *namespace, *name;
    unsigned tries; /* of the same, without an end that settled it */
};

struct queue *queue_new(int64_t first_pause_ms, int64_t longest_pause_ms);
void queue_free(struct queue *queue);

/* Now, also when it is in a pause. */
void queue_call(struct queue *queue, unsigned kind, const char *namespace, const char *name);
/* The next one, which is the caller's until queue_settle() or queue_retry(); waits for it.  NULL:
 * the queue was closed. */
const struct queue_item *queue_take(struct queue *queue);
void queue_settle(struct queue *queue, const struct queue_item *item);
void queue_retry(struct queue *queue, const struct queue_item *item);

/* Whoever waits waits no longer. */
void queue_close(struct queue *queue);
/* Tests: how many there are, in pauses, too. */
unsigned queue_size(struct queue *queue);
