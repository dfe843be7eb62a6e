#include "rpc/amqp/receiver.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/worker.h"
#include "rpc/amqp/answers.h"
#include "rpc/amqp/delivery.h"

#include <poll.h>
#include <string.h>

enum { INTERRUPT_MS = 3000 };

struct receiver {
    struct receiver_settings settings;
    struct delivery_means means;
    struct subscription *subscriptions;
    pthread_t thread;
    bool threaded;

    /* Of the thread, once it runs. */
    struct link *link;
    struct sources sources;
    int64_t retry_us;

    _Atomic bool draining, ending;
};

/* ---- events ---- */

static void deliver(struct receiver *receiver, const struct source *source,
                    struct link_event *event) {
    struct delivery *delivery = heap_new(sizeof *delivery);

    delivery->means = &receiver->means;
    delivery->subscription = source->subscription;
    delivery->queue = source->queue;
    delivery->channel = event->channel;
    delivery->tag = event->tag;
    delivery->arena = arena_new();
    inbox_add(receiver->means.inbox, delivery);
    delivery_begin(delivery, event);
}

static int receive_event(struct receiver *receiver, struct link_event *event, struct error *err) {
    struct source *source = source_of(&receiver->sources, event->channel);

    if (!source)
        return 0;
    switch (event->kind) {
    case LINK_DELIVERED:
        deliver(receiver, source, event);
        return 0;
    case LINK_TAKEN:
        source_opened(source);
        link_works(receiver->link);
        return 0;
    case LINK_REFUSED:
        /* its deliveries are repeated on a new connection */
        if (source->state == SOURCE_OPEN)
            return error_set(err, ERROR_UNAVAILABLE, "%s: queue %s: %s", link_where(receiver->link),
                             source->queue, event->text);
        source_refused(source, &receiver->sources, receiver->link, event->text);
        return 0;
    case LINK_CANCELLED: /* the queue was deleted, or its node is down */
        return error_set(err, ERROR_UNAVAILABLE, "%s: queue %s was deleted",
                         link_where(receiver->link), source->queue);
    default:
        return 0;
    }
}

static int receive(struct receiver *receiver, struct error *err) {
    struct link_event event;
    int result = 0;

    while (result == 0) {
        if (link_next(receiver->link, &event, err) < 0)
            return -1;
        if (event.kind == LINK_NOTHING)
            return 0;
        result = receive_event(receiver, &event, err);
        free(event.body);
    }
    return result;
}

/* ---- acknowledgements ---- */

static int acknowledge(struct receiver *receiver, struct error *err) {
    struct delivery *delivery;
    bool lost;
    int result = 0;

    while (result == 0 && (delivery = inbox_done(receiver->means.inbox, &lost))) {
        if (!lost)
            result = link_ack(receiver->link, delivery->channel, delivery->tag, err);
        delivery_free(delivery);
    }
    return result;
}

/* ---- the thread ---- */

static void connection_failed(struct receiver *receiver, const struct error *err) {
    int64_t pause_ms = link_pause_ms(receiver->link);

    inbox_connected(receiver->means.inbox, false);
    link_drop(receiver->link);
    sources_close(&receiver->sources);
    receiver->retry_us = clock_monotonic_us() + pause_ms * 1000;
    log_warning(NULL, "broker unavailable, receiving stopped", "error", err->message, "retry_ms",
                LOG_INT(pause_ms), NULL);
}

static void wait_for_more(struct receiver *receiver, int timeout_ms) {
    struct pollfd files[2] = {
        { .fd = inbox_fd(receiver->means.inbox), .events = POLLIN },
        { .fd = link_fd(receiver->link), .events = POLLIN },
    };
    int64_t now_us = clock_monotonic_us();
    int64_t beat_us = answers_beat(receiver->means.answers, now_us);

    if (beat_us > 0 && beat_us - now_us < (int64_t)timeout_ms * 1000)
        timeout_ms = (int)((beat_us - now_us) / 1000) + 1;
    if (poll(files, 2, timeout_ms) > 0 && files[0].revents)
        inbox_quiet(receiver->means.inbox);
}

static void receiver_step(struct receiver *receiver) {
    int64_t wait_us = receiver->retry_us - clock_monotonic_us();
    struct error err;

    if (!link_is_open(receiver->link)) {
        acknowledge(receiver, &err); /* frees lost ones */
        if (wait_us > 0)
            wait_for_more(receiver, (int)(wait_us / 1000) + 1);
        else if (receiver->draining)
            receiver->retry_us =
                clock_monotonic_us() + receiver->settings.link.retry_most_ms * 1000;
        else if (link_open(receiver->link, &err) < 0)
            connection_failed(receiver, &err);
        else {
            inbox_connected(receiver->means.inbox, true);
            log_info(NULL, "connected for receiving", "broker", link_where(receiver->link), NULL);
        }
    } else if ((receiver->draining ? sources_cancel(&receiver->sources, receiver->link, &err)
                                   : sources_take(&receiver->sources, receiver->link, &err)) < 0 ||
               receive(receiver, &err) < 0 || acknowledge(receiver, &err) < 0) {
        connection_failed(receiver, &err);
    } else {
        wait_for_more(receiver, link_idle_ms(receiver->link));
    }
}

static void *receiver_main(void *arg) {
    struct receiver *receiver = arg;
    struct error err;

    pthread_setname_np(pthread_self(), "amqp-receive");
    while (!receiver->ending)
        receiver_step(receiver);
    acknowledge(receiver, &err);
    link_close(receiver->link);
    return NULL;
}

/* ---- start ---- */

struct receiver *receiver_new(const struct receiver_settings *settings, struct sender *sender) {
    struct receiver *receiver = heap_new(sizeof *receiver);

    receiver->settings = *settings;
    receiver->sources.settings = &receiver->settings.source;
    receiver->sources.link_settings = &receiver->settings.link;
    receiver->link = link_new(&receiver->settings.link);
    receiver->means = (struct delivery_means){
        .inbox = inbox_new(settings->workers, (int)settings->source.prefetch / 2),
        .answers = answers_new(sender, settings->link.clock),
        .sender = sender,
        .clock = settings->link.clock,
    };
    return receiver;
}

int receiver_subscribe(struct receiver *receiver, const char *topic, rpc_consumer *consumer,
                       void *arg, struct error *err) {
    struct subscription *subscription;

    for (subscription = receiver->subscriptions; subscription; subscription = subscription->next)
        if (strcmp(subscription->topic, topic) == 0)
            return error_set(err, ERROR_CONFLICT, "Topic %s has a consumer already.", topic);
    subscription = heap_new(sizeof *subscription);
    subscription->topic = heap_text(topic);
    subscription->consumer = consumer;
    subscription->arg = arg;
    if (sources_add(&receiver->sources, subscription, err) < 0) {
        free(subscription->topic);
        free(subscription);
        return -1;
    }
    subscription->next = receiver->subscriptions;
    receiver->subscriptions = subscription;
    return 0;
}

void receiver_start(struct receiver *receiver) {
    if (!receiver->subscriptions)
        return;
    answers_start(receiver->means.answers);
    if (pthread_create(&receiver->thread, NULL, receiver_main, receiver) != 0)
        abort();
    receiver->threaded = true;
}

/* ---- end ---- */

static void pools_do(const struct receiver *receiver, void (*what)(struct worker_pool *pool)) {
    for (const struct subscription *one = receiver->subscriptions; one; one = one->next)
        if (one->pool)
            what(one->pool);
}

void receiver_drain(struct receiver *receiver) {
    receiver->draining = true;
    inbox_drain(receiver->means.inbox);
    answers_drain(receiver->means.answers);
    inbox_wake(receiver->means.inbox);
    pools_do(receiver, worker_pool_close); /* all are told before the first one is awaited */
    pools_do(receiver, worker_pool_stop);
    answers_stop(receiver->means.answers);
}

void receiver_free(struct receiver *receiver) {
    struct delivery *delivery;

    receiver->ending = true;
    inbox_wake(receiver->means.inbox);
    if (receiver->threaded && !thread_join_within(receiver->thread, INTERRUPT_MS)) {
        link_interrupt(receiver->link);
        pthread_join(receiver->thread, NULL);
    }
    while ((delivery = inbox_rest(receiver->means.inbox)))
        delivery_free(delivery);
    sources_free(&receiver->sources);
    while (receiver->subscriptions) {
        struct subscription *subscription = receiver->subscriptions;

        receiver->subscriptions = subscription->next;
        free(subscription->topic);
        free(subscription);
    }
    answers_free(receiver->means.answers);
    inbox_free(receiver->means.inbox);
    link_free(receiver->link);
    free(receiver);
}
