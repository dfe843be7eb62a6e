/*
 * The messages of a sender: waiting, and sent but not confirmed yet.
 *
 * The messages of one key follow each other: the next is sent when the previous one is confirmed.
 * One that is not accepted fails those after it, too, so that their order is kept when they are
 * sent again.
 *
 * window_put() may be called by any thread, the rest by the sender's.  A message in flight is valid
 * until it is confirmed or taken back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WINDOW_MOST = 4096 }; /* most messages in flight */

enum send_where {
    SEND_TOPIC,        /* the exchange of topics; a queue must be bound */
    SEND_NOTIFICATION, /* the same; a missing queue is created */
    SEND_QUEUE,        /* directly to an existing queue */
    SEND_DEAD,         /* the queue of dead letters, created when missing */
};

struct send_message {
    enum send_where where;
    const char *routing_key, *key; /* key "": no order */
    const char *content_type;
    const char *body;
    size_t size;
    int attempts;       /* see link_publish */
    const char *reason; /* see link_publish */
};

struct window;

struct window *window_new(void);
/* Waiting and later messages are not accepted. */
void window_close(struct window *window);
void window_free(struct window *window);

/* Copies the message.  `confirm` is called exactly once, from any thread. */
void window_put(struct window *window, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg);

/* The next message to be sent, with the number of its confirmation: 1, 2, … since
 * window_take_back(). NULL: none is ready, or the window is full. */
const struct send_message *window_next(struct window *window, uint64_t *ret_tag);
bool window_has_next(struct window *window);
bool window_is_empty(struct window *window); /* nothing waits, and nothing is in flight */

/* Confirmation by the broker of one message, or of all up to it. */
void window_confirm(struct window *window, uint64_t tag, bool multiple, bool taken);
/* It was undeliverable: its confirmation, which follows, does not count.  NULL: no such one. */
const struct send_message *window_returned(struct window *window, uint64_t tag);
/* Messages in flight may or may not have arrived: they are sent again, before all others. */
void window_take_back(struct window *window);
