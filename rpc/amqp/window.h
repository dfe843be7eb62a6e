/*
 * The messages of a sender: those that wait, and those that the broker has not confirmed yet.
 *
 * The messages of one key follow each other: the next is given out when the one before is
 * confirmed.  One that is not taken ends those behind it, too, so that their order stays when they
 * are given to send again.
 *
 * window_put() may be called by any thread, the rest by the sender's.  A message given out is valid
 * until it is confirmed or taken back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WINDOW_MOST = 4096 }; /* messages that are given out at the same time */

enum send_where {
    SEND_TOPIC,        /* the exchange of topics; somebody must have bound a queue */
    SEND_NOTIFICATION, /* the same; the queue is made when it is missing */
    SEND_QUEUE,        /* straight to a queue that must be there */
    SEND_DEAD,         /* the queue of messages put aside, made when it is missing */
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
/* What is left was not taken, nor is what is put from now on. */
void window_close(struct window *window);
void window_free(struct window *window);

/* Copies the message. `confirm` is called exactly once, from any thread. */
void window_put(struct window *window, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg);

/* Gives out the next message under the number by which it is confirmed: 1, 2, … since
 * window_take_back().  NULL: none is ready, or there is no room. */
const struct send_message *window_next(struct window *window, uint64_t *ret_tag);
bool window_has_next(struct window *window);
bool window_is_empty(struct window *window); /* nothing waits, and nothing is given out */

/* The broker's word on one message, or on all up to it. */
void window_confirm(struct window *window, uint64_t tag, bool multiple, bool taken);
/* It could not be delivered: its confirmation, which follows, does not count. NULL: no such one. */
const struct send_message *window_returned(struct window *window, uint64_t tag);
/* What is given out may or may not have arrived: it is given out again, before everything else. */
void window_take_back(struct window *window);
