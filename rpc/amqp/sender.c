#include "rpc/amqp/sender.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/words.h"
#include "rpc/amqp/declare.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

enum { DRAIN_MS = 2000, INTERRUPT_MS = 3000, DECLARED_MOST = 64, DEAD_MOST = 10000 };

struct sender {
    struct sender_settings settings;
    struct window *window;
    pthread_t thread;
    int wake; /* eventfd */

    /* Of the thread. */
    struct link *link;
    int64_t retry_us;
    bool exchange_declared;
    char *declared[DECLARED_MOST]; /* queues */
    unsigned declared_count;

    pthread_mutex_t lock; /* guards the members below */
    bool stopping;
    int64_t stop_us; /* monotonic */
};

static void wake(struct sender *sender) {
    while (eventfd_write(sender->wake, 1) < 0 && errno == EINTR)
        ;
}

/* ---- sending ---- */

static void forget_declared(struct sender *sender) {
    sender->declared_count = 0;
    for (unsigned i = 0; i < DECLARED_MOST; i++) {
        free(sender->declared[i]);
        sender->declared[i] = NULL;
    }
    sender->exchange_declared = false;
}

/* An existing queue with other arguments accepts messages as well. */
static int queue_ensure(struct sender *sender, const struct declare_queue *queue,
                        struct error *err) {
    int result;
    char **place;

    if (words_have((const char *const *)sender->declared, sender->declared_count, queue->name))
        return 0;
    result = declare_queue(sender->link, queue, err);
    if (result < 0)
        return -1;
    if (result > 0)
        log_warning(NULL, "queue exists with other arguments, used unchanged", "error",
                    err->message, NULL);
    if (sender->declared_count == DECLARED_MOST)
        sender->declared_count = 0;
    place = &sender->declared[sender->declared_count++];
    free(*place);
    *place = heap_text(queue->name);
    return 0;
}

static int declare(struct sender *sender, const struct send_message *message, struct error *err) {
    const struct sender_settings *settings = &sender->settings;
    const struct declare_queue notifications = {
        .name = message->routing_key,
        .exchange = settings->exchange,
        .routing_key = message->routing_key,
        .durable = settings->durable,
        .auto_delete = settings->auto_delete,
        .quorum = settings->quorum,
    };
    const struct declare_queue dead = {
        .name = SENDER_DEAD_QUEUE,
        .durable = true,
        .length_most = DEAD_MOST,
    };

    if (message->where == SEND_DEAD)
        return queue_ensure(sender, &dead, err);
    if (message->where == SEND_QUEUE)
        return 0;
    if (!sender->exchange_declared &&
        declare_exchange(sender->link, settings->exchange, "topic", settings->durable,
                         settings->auto_delete, err) != 0)
        return -1;
    sender->exchange_declared = true;
    return message->where == SEND_NOTIFICATION ? queue_ensure(sender, &notifications, err) : 0;
}

static int send_message(struct sender *sender, const struct send_message *message, uint64_t tag,
                        struct error *err) {
    bool topic = message->where == SEND_TOPIC || message->where == SEND_NOTIFICATION;
    char id[24];
    struct link_publish publish = {
        .exchange = topic ? sender->settings.exchange : "",
        .routing_key = message->routing_key,
        .id = id,
        .content_type = message->content_type,
        .body = message->body,
        .size = message->size,
        .attempts = message->attempts,
        .reason = message->reason,
    };

    snprintf(id, sizeof id, "%ju", (uintmax_t)tag);
    if (declare(sender, message, err) < 0)
        return -1;
    return link_publish(sender->link, &publish, err);
}

static int send_ready(struct sender *sender, struct error *err) {
    const struct send_message *message;
    uint64_t tag;

    while (link_can_send(sender->link) && (message = window_next(sender->window, &tag)))
        if (send_message(sender, message, tag, err) < 0)
            return -1;
    return 0;
}

static void came_back(struct sender *sender, const struct link_event *event) {
    const struct send_message *message =
        window_returned(sender->window, strtoull(event->id, NULL, 10));

    if (!message)
        return;
    if (message->where == SEND_NOTIFICATION)
        sender->declared_count = 0; /* the queue was deleted */
    log_debug(NULL, "message returned", "routing_key", message->routing_key, "reason", event->text,
              NULL);
}

static int receive(struct sender *sender, struct error *err) {
    struct link_event event;

    for (;;) {
        if (link_next(sender->link, &event, err) < 0)
            return -1;
        if (event.kind == LINK_NOTHING)
            return 0;
        if (event.kind == LINK_ACK || event.kind == LINK_NACK) {
            window_confirm(sender->window, event.tag, event.multiple, event.kind == LINK_ACK);
            link_works(sender->link);
        } else if (event.kind == LINK_RETURNED) {
            came_back(sender, &event);
        }
        free(event.body);
    }
}

/* ---- the thread ---- */

static void connection_failed(struct sender *sender, const struct error *err) {
    int64_t pause_ms = link_pause_ms(sender->link);

    link_drop(sender->link);
    window_take_back(sender->window);
    forget_declared(sender);
    sender->retry_us = clock_monotonic_us() + pause_ms * 1000;
    log_warning(NULL, "broker unavailable, messages wait", "error", err->message, "retry_ms",
                LOG_INT(pause_ms), NULL);
}

static void wait_for_more(struct sender *sender, int timeout_ms) {
    bool wants_to_send = link_is_open(sender->link) && window_has_next(sender->window);
    struct pollfd files[2] = {
        { .fd = sender->wake, .events = POLLIN },
        { .fd = link_fd(sender->link), .events = POLLIN },
    };
    eventfd_t ignored;

    /* a blocked broker announces when it accepts messages again */
    if (wants_to_send && !link_can_send(sender->link))
        files[1].events |= link_is_blocked(sender->link) ? 0 : POLLOUT;
    if (poll(files, 2, timeout_ms) > 0 && files[0].revents)
        eventfd_read(sender->wake, &ignored);
}

static bool is_over(struct sender *sender) {
    bool stopping;

    pthread_mutex_lock(&sender->lock);
    stopping = sender->stopping;
    pthread_mutex_unlock(&sender->lock);
    return stopping && (!link_is_open(sender->link) || clock_monotonic_us() >= sender->stop_us ||
                        window_is_empty(sender->window));
}

static void sender_step(struct sender *sender) {
    int64_t wait_us = sender->retry_us - clock_monotonic_us();
    struct error err;

    if (!link_is_open(sender->link)) {
        if (wait_us > 0)
            wait_for_more(sender, (int)(wait_us / 1000) + 1);
        else if (link_open(sender->link, &err) < 0 || link_confirms(sender->link, &err) < 0)
            connection_failed(sender, &err);
        else
            log_info(NULL, "connected for sending", "broker", link_where(sender->link), NULL);
        return;
    }
    if (send_ready(sender, &err) < 0 || receive(sender, &err) < 0) {
        connection_failed(sender, &err);
        return;
    }
    if (window_has_next(sender->window) && link_can_send(sender->link))
        return;
    wait_for_more(sender, link_idle_ms(sender->link));
}

static void *sender_main(void *arg) {
    struct sender *sender = arg;

    pthread_setname_np(pthread_self(), "amqp-send");
    while (!is_over(sender))
        sender_step(sender);
    link_close(sender->link);
    window_take_back(sender->window);
    return NULL;
}

struct sender *sender_new(const struct sender_settings *settings) {
    struct sender *sender = heap_new(sizeof(*sender));

    sender->settings = *settings;
    sender->link = link_new(&sender->settings.link);
    sender->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&sender->lock, NULL);
    sender->window = window_new();
    if (sender->wake < 0 || pthread_create(&sender->thread, NULL, sender_main, sender) != 0)
        abort();
    return sender;
}

void sender_put(struct sender *sender, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg) {
    window_put(sender->window, message, confirm, arg);
    wake(sender);
}

void sender_stop(struct sender *sender) {
    pthread_mutex_lock(&sender->lock);
    sender->stopping = true;
    sender->stop_us = clock_monotonic_us() + DRAIN_MS * 1000;
    pthread_mutex_unlock(&sender->lock);
    wake(sender);
    if (!thread_join_within(sender->thread, INTERRUPT_MS)) {
        link_interrupt(sender->link);
        pthread_join(sender->thread, NULL);
    }
    window_close(sender->window);
}

void sender_free(struct sender *sender) {
    window_free(sender->window);
    forget_declared(sender);
    link_free(sender->link);
    close(sender->wake);
    pthread_mutex_destroy(&sender->lock);
    free(sender);
}
