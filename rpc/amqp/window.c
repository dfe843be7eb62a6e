#include "rpc/amqp/window.h"

#include "common/heap.h"
#include "common/thread.h"
#include "common/words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { BUCKETS = 1024 };

struct outgoing {
    STAILQ_ENTRY(outgoing) next;
    struct send_message message; /* its texts follow this struct */
    bool returned;
    void (*confirm)(void *arg, bool taken);
    void *arg;
};

STAILQ_HEAD(outgoings, outgoing);

/* The messages of one key, oldest first.  A lane is in `ready`, or its first message is in flight;
 * a message without a key has its own lane. */
struct lane {
    STAILQ_ENTRY(lane) ready;
    LIST_ENTRY(lane) bucket;
    struct outgoings messages;
    char key[];
};

STAILQ_HEAD(lanes, lane);
LIST_HEAD(bucket, lane);

struct window {
    /* Of the sender's thread. */
    struct lane *given[WINDOW_MOST]; /* by tag */
    uint64_t sent, settled;          /* tags up to which messages were sent, and confirmed */

    pthread_mutex_t lock; /* guards the members below */
    bool closed;
    struct lanes ready;
    struct bucket buckets[BUCKETS];
};

/* ---- lanes; called with the lock held ---- */

static struct bucket *bucket_of(struct window *window, const char *key) {
    return &window->buckets[word_hash(key) % BUCKETS];
}

static void lane_append(struct window *window, const char *key, struct outgoing *outgoing) {
    struct lane *lane = *key ? LIST_FIRST(bucket_of(window, key)) : NULL;

    while (lane && strcmp(lane->key, key) != 0)
        lane = LIST_NEXT(lane, bucket);
    if (!lane) {
        lane = heap_new(sizeof *lane + strlen(key) + 1);
        memcpy(lane->key, key, strlen(key) + 1);
        STAILQ_INIT(&lane->messages);
        LIST_INSERT_HEAD(bucket_of(window, key), lane, bucket);
        STAILQ_INSERT_TAIL(&window->ready, lane, ready);
    }
    STAILQ_INSERT_TAIL(&lane->messages, outgoing, next);
}

static void lane_free(struct lane *lane) {
    LIST_REMOVE(lane, bucket);
    free(lane);
}

/* Confirms the first message of a lane that is not in `ready`. */
static void lane_settle(struct window *window, struct lane *lane, bool taken,
                        struct outgoings *ended) {
    struct outgoing *first = STAILQ_FIRST(&lane->messages);

    if (!taken) {
        STAILQ_CONCAT(ended, &lane->messages);
        lane_free(lane);
        return;
    }
    STAILQ_REMOVE_HEAD(&lane->messages, next);
    STAILQ_INSERT_TAIL(ended, first, next);
    if (STAILQ_EMPTY(&lane->messages))
        lane_free(lane);
    else
        STAILQ_INSERT_TAIL(&window->ready, lane, ready);
}

/* ---- waiting messages ---- */

static const char *text_put(char **place, const char *text) {
    char *copy = *place;

    *place = stpcpy(copy, text) + 1;
    return copy;
}

static struct outgoing *outgoing_new(const struct send_message *message) {
    const char *reason = message->reason ? message->reason : "";
    struct outgoing *outgoing =
        heap_new(sizeof *outgoing + strlen(message->routing_key) + strlen(message->content_type) +
                 strlen(reason) + message->size + 3);
    char *texts = (char *)(outgoing + 1);

    outgoing->message = *message;
    outgoing->message.key = NULL; /* the lane's */
    outgoing->message.routing_key = text_put(&texts, message->routing_key);
    outgoing->message.content_type = text_put(&texts, message->content_type);
    outgoing->message.reason = message->reason ? text_put(&texts, reason) : NULL;
    outgoing->message.body = message->size > 0 ? memcpy(texts, message->body, message->size) : NULL;
    return outgoing;
}

void window_put(struct window *window, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg) {
    struct outgoing *outgoing = outgoing_new(message);
    bool closed;

    outgoing->confirm = confirm;
    outgoing->arg = arg;
    pthread_mutex_lock(&window->lock);
    closed = window->closed;
    if (!closed)
        lane_append(window, message->key, outgoing);
    pthread_mutex_unlock(&window->lock);
    if (closed) {
        free(outgoing);
        confirm(arg, false);
    }
}

static bool window_has_room(const struct window *window) {
    return window->sent - window->settled < WINDOW_MOST;
}

static bool window_has_ready(struct window *window) {
    scoped_lock(&window->lock);
    return !STAILQ_EMPTY(&window->ready);
}

bool window_has_next(struct window *window) {
    return window_has_room(window) && window_has_ready(window);
}

bool window_is_empty(struct window *window) {
    return window->sent == window->settled && !window_has_ready(window);
}

/* ---- messages in flight ---- */

const struct send_message *window_next(struct window *window, uint64_t *ret_tag) {
    struct lane *lane;

    if (!window_has_room(window))
        return NULL;
    pthread_mutex_lock(&window->lock);
    lane = STAILQ_FIRST(&window->ready);
    if (lane)
        STAILQ_REMOVE_HEAD(&window->ready, ready);
    pthread_mutex_unlock(&window->lock);
    if (!lane)
        return NULL;
    *ret_tag = ++window->sent;
    window->given[*ret_tag % WINDOW_MOST] = lane;
    return &STAILQ_FIRST(&lane->messages)->message;
}

static void tell_ended(struct outgoings *ended, bool taken) {
    while (!STAILQ_EMPTY(ended)) {
        struct outgoing *outgoing = STAILQ_FIRST(ended);

        STAILQ_REMOVE_HEAD(ended, next);
        outgoing->confirm(outgoing->arg, taken);
        free(outgoing);
    }
}

static void window_settle(struct window *window, uint64_t tag, bool taken) {
    struct outgoings ended = STAILQ_HEAD_INITIALIZER(ended);
    struct lane **place = &window->given[tag % WINDOW_MOST];
    struct lane *lane = *place;

    if (!lane)
        return;
    *place = NULL;
    pthread_mutex_lock(&window->lock);
    taken = taken && !STAILQ_FIRST(&lane->messages)->returned;
    lane_settle(window, lane, taken, &ended);
    pthread_mutex_unlock(&window->lock);
    tell_ended(&ended, taken);
}

/* Tags may be confirmed out of order; `settled` advances to the first gap. */
void window_confirm(struct window *window, uint64_t tag, bool multiple, bool taken) {
    if (tag > window->sent || tag <= window->settled)
        return;
    for (uint64_t i = multiple ? window->settled + 1 : tag; i <= tag; i++)
        window_settle(window, i, taken);
    while (window->settled < window->sent && !window->given[(window->settled + 1) % WINDOW_MOST])
        window->settled++;
}

const struct send_message *window_returned(struct window *window, uint64_t tag) {
    struct lane *lane;

    if (tag <= window->settled || tag > window->sent)
        return NULL;
    lane = window->given[tag % WINDOW_MOST];
    if (!lane)
        return NULL;
    STAILQ_FIRST(&lane->messages)->returned = true;
    return &STAILQ_FIRST(&lane->messages)->message;
}

void window_take_back(struct window *window) {
    pthread_mutex_lock(&window->lock);
    for (uint64_t tag = window->sent; tag > window->settled; tag--) {
        struct lane **place = &window->given[tag % WINDOW_MOST];

        if (*place) {
            STAILQ_FIRST(&(*place)->messages)->returned = false;
            STAILQ_INSERT_HEAD(&window->ready, *place, ready);
        }
        *place = NULL;
    }
    pthread_mutex_unlock(&window->lock);
    window->sent = window->settled = 0;
}

/* ---- start and end ---- */

struct window *window_new(void) {
    struct window *window = heap_new(sizeof *window);

    pthread_mutex_init(&window->lock, NULL);
    STAILQ_INIT(&window->ready);
    return window;
}

void window_close(struct window *window) {
    struct outgoings ended = STAILQ_HEAD_INITIALIZER(ended);
    struct lane *lane;

    window_take_back(window);
    pthread_mutex_lock(&window->lock);
    window->closed = true;
    while ((lane = STAILQ_FIRST(&window->ready))) {
        STAILQ_REMOVE_HEAD(&window->ready, ready);
        lane_settle(window, lane, false, &ended);
    }
    pthread_mutex_unlock(&window->lock);
    tell_ended(&ended, false);
}

void window_free(struct window *window) {
    window_close(window);
    pthread_mutex_destroy(&window->lock);
    free(window);
}
