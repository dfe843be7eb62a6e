#include "rpc/amqp/receiver.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/worker.h"
#include "rpc/amqp/declare.h"
#include "rpc/amqp/delivery.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

/* Answers that wait for their queue to come back, and all that are on their way. */
enum { REPLIES_AGAIN = 256, REPLIES_MOST = 4096 };

enum { REPLY_AGAIN_MS = 250, REPLY_LIFE_MS = 60000, SILENT_MS = 15000 };

/* A queue that messages are taken from. */
struct source {
    struct source *next;
    struct subscription *subscription;
    char *exchange, *routing_key, *queue;
    bool fanout;
    unsigned channel;
    enum { SOURCE_CLOSED, SOURCE_ASKED, SOURCE_OPEN } state;
    int64_t retry_us, pause_ms;
    int64_t late_us; /* when to tell that the broker does not answer; 0: told */
};

/* An answer whose queue is not there yet, or is not there any more. */
struct reply {
    LIST_ENTRY(reply) all;
    struct receiver *receiver;
    int64_t until_us;
    const char *body; /* behind the name of the queue */
    char queue[];
};

LIST_HEAD(deliveries, delivery);
STAILQ_HEAD(done, delivery);
LIST_HEAD(replies, reply);

struct receiver {
    struct receiver_settings settings;
    struct sender *sender;
    pthread_t thread;
    bool threaded;
    int wake; /* eventfd */
    struct monitor *monitor;

    /* Of the thread, once it runs. */
    struct link *link;
    int64_t retry_us;
    struct source *sources;
    unsigned source_count;
    bool cancelled;

    /* Guards the rest; pools are called with it held, so that nothing is put into one that has
     * ended. */
    pthread_mutex_t lock;
    struct worker_pool *answers; /* that wait to be sent again */
    unsigned generation;         /* of the connection; 0: none */
    unsigned generations;
    struct deliveries deliveries;
    struct done done;
    struct replies replies;
    unsigned reply_count, beat_count;
    struct recent absent; /* queues that nobody reads answers from */
    int paused;
    bool draining, ending;
};

static void *allocate(size_t size) {
    void *memory = calloc(1, size);

    if (!memory)
        abort();
    return memory;
}

static char *copy(const char *text) {
    char *copied = strdup(text);

    if (!copied)
        abort();
    return copied;
}

static void wake(struct receiver *receiver) {
    while (eventfd_write(receiver->wake, 1) < 0 && errno == EINTR)
        ;
}

/* ---- for deliveries ---- */

struct sender *receiver_sender(struct receiver *receiver) {
    return receiver->sender;
}

const struct clock *receiver_clock(const struct receiver *receiver) {
    return receiver->settings.link.clock;
}

static void run_step(void *arg) {
    struct delivery *delivery = arg;

    delivery->step(delivery);
}

/* Called with the lock held. */
static struct worker_pool *pool_of(struct subscription *subscription, unsigned workers) {
    if (!subscription->pool)
        subscription->pool = worker_pool_new("rpc", workers);
    return subscription->pool;
}

void receiver_later(struct delivery *delivery, int64_t pause_ms) {
    struct receiver *receiver = delivery->receiver;
    struct subscription *subscription = delivery->subscription;
    struct work_item item = { delivery->key, run_step, delivery };

    pthread_mutex_lock(&receiver->lock);
    if (!receiver->draining && pause_ms == 0)
        worker_pool_put(pool_of(subscription, receiver->settings.workers), &item);
    else if (!receiver->draining)
        worker_pool_put_later(pool_of(subscription, receiver->settings.workers), &item, pause_ms);
    pthread_mutex_unlock(&receiver->lock);
}

bool receiver_lost(struct delivery *delivery) {
    struct receiver *receiver = delivery->receiver;
    bool lost;

    pthread_mutex_lock(&receiver->lock);
    lost = delivery->generation != receiver->generation;
    pthread_mutex_unlock(&receiver->lock);
    return lost;
}

void receiver_done(struct delivery *delivery) {
    struct receiver *receiver = delivery->receiver;

    pthread_mutex_lock(&receiver->lock);
    STAILQ_INSERT_TAIL(&receiver->done, delivery, done);
    pthread_mutex_unlock(&receiver->lock);
    wake(receiver);
}

bool receiver_handled(struct delivery *delivery) {
    struct receiver *receiver = delivery->receiver;
    const char *id = delivery->envelope.unique_id;
    bool handled;

    pthread_mutex_lock(&receiver->lock);
    handled = recent_has(&delivery->subscription->handled, id, 0);
    pthread_mutex_unlock(&receiver->lock);
    if (handled)
        log_info(NULL, "message came twice, dropped", "queue", delivery->queue, "method",
                 delivery->envelope.method, "id", id, NULL);
    return handled;
}

void receiver_remember(struct delivery *delivery) {
    struct receiver *receiver = delivery->receiver;

    pthread_mutex_lock(&receiver->lock);
    recent_put(&delivery->subscription->handled, delivery->envelope.unique_id, INT64_MAX);
    pthread_mutex_unlock(&receiver->lock);
}

bool receiver_may_pause(struct receiver *receiver) {
    bool may;

    pthread_mutex_lock(&receiver->lock);
    may = receiver->paused < (int)receiver->settings.prefetch / 2;
    pthread_mutex_unlock(&receiver->lock);
    return may;
}

void receiver_paused(struct receiver *receiver, int change) {
    pthread_mutex_lock(&receiver->lock);
    receiver->paused += change;
    pthread_mutex_unlock(&receiver->lock);
}

static void delivery_free(struct delivery *delivery) {
    monitor_leave(delivery->receiver->monitor, &delivery->monitored);
    arena_free(delivery->arena);
    free(delivery->body);
    free(delivery);
}

/* ---- answers ---- */

static void reply_send(void *arg);

static void reply_end(struct reply *reply) {
    struct receiver *receiver = reply->receiver;

    pthread_mutex_lock(&receiver->lock);
    LIST_REMOVE(reply, all);
    receiver->reply_count--;
    pthread_mutex_unlock(&receiver->lock);
    free(reply);
}

static bool is_absent(struct receiver *receiver, const char *queue) {
    bool absent;

    pthread_mutex_lock(&receiver->lock);
    absent = recent_has(&receiver->absent, queue, clock_monotonic_us());
    pthread_mutex_unlock(&receiver->lock);
    return absent;
}

static void caller_is_gone(struct reply *reply) {
    struct receiver *receiver = reply->receiver;

    if (is_absent(receiver, reply->queue))
        return;
    pthread_mutex_lock(&receiver->lock);
    recent_put(&receiver->absent, reply->queue, clock_monotonic_us() + REPLY_LIFE_MS * 1000);
    pthread_mutex_unlock(&receiver->lock);
    log_warning(NULL, "answer dropped, its caller is gone", "queue", reply->queue, NULL);
}

/* Called by the sender. */
static void reply_confirm(void *arg, bool taken) {
    struct reply *reply = arg;
    struct receiver *receiver = reply->receiver;
    bool again = false;

    if (!taken && clock_monotonic_us() < reply->until_us && !is_absent(receiver, reply->queue)) {
        pthread_mutex_lock(&receiver->lock);
        again = !receiver->draining && receiver->reply_count <= REPLIES_AGAIN;
        if (again)
            worker_pool_put_later(receiver->answers, &(struct work_item){ "", reply_send, reply },
                                  REPLY_AGAIN_MS);
        pthread_mutex_unlock(&receiver->lock);
    }
    if (again)
        return;
    if (!taken)
        caller_is_gone(reply);
    reply_end(reply);
}

static void reply_send(void *arg) {
    struct reply *reply = arg;
    const struct send_message message = {
        .where = SEND_QUEUE,
        .routing_key = reply->queue,
        .key = "",
        .content_type = "application/json",
        .body = reply->body,
        .size = strlen(reply->body),
    };

    sender_put(reply->receiver->sender, &message, reply_confirm, reply);
}

void receiver_answer(struct delivery *delivery, const char *body) {
    struct receiver *receiver = delivery->receiver;
    const char *queue = delivery->envelope.reply_queue;
    size_t length = strlen(queue) + 1;
    struct reply *reply;
    bool too_many;

    monitor_leave(receiver->monitor, &delivery->monitored);
    if (is_absent(receiver, queue))
        return;
    reply = allocate(sizeof *reply + length + strlen(body) + 1);
    reply->receiver = receiver;
    reply->until_us = clock_monotonic_us() + REPLY_LIFE_MS * 1000;
    memcpy(reply->queue, queue, length);
    reply->body = strcpy(reply->queue + length, body);
    pthread_mutex_lock(&receiver->lock);
    LIST_INSERT_HEAD(&receiver->replies, reply, all);
    too_many = ++receiver->reply_count > REPLIES_MOST;
    pthread_mutex_unlock(&receiver->lock);
    if (too_many) {
        log_warning(NULL, "answer dropped, too many are on their way", "queue", queue, NULL);
        reply_end(reply);
    } else {
        reply_send(reply);
    }
}

/* ---- signs of life ---- */

void receiver_watch(struct delivery *delivery) {
    monitor_watch(delivery->receiver->monitor, &delivery->monitored, &delivery->envelope,
                  clock_monotonic_us());
    wake(delivery->receiver);
}

/* Called by the sender. One that does not arrive is not repeated: another follows. */
static void beat_confirm(void *arg, bool taken) {
    struct receiver *receiver = arg;

    (void)taken;
    pthread_mutex_lock(&receiver->lock);
    receiver->beat_count--;
    pthread_mutex_unlock(&receiver->lock);
}

/* Called by the monitor.  They do not pile up while the broker takes none. */
static void send_beat(void *arg, const struct envelope *called) {
    struct receiver *receiver = arg;
    autoarena struct arena *arena = arena_new();
    const char *body =
        envelope_heartbeat(arena, called, envelope_unique_id(arena, receiver->settings.link.clock));
    const struct send_message message = {
        .where = SEND_QUEUE,
        .routing_key = called->reply_queue,
        .key = "",
        .content_type = "application/json",
        .body = body,
        .size = strlen(body),
    };
    bool too_many;

    pthread_mutex_lock(&receiver->lock);
    too_many = receiver->beat_count >= REPLIES_AGAIN;
    receiver->beat_count += !too_many;
    pthread_mutex_unlock(&receiver->lock);
    if (!too_many)
        sender_put(receiver->sender, &message, beat_confirm, receiver);
}

/* ---- queues ---- */

static int source_take(struct receiver *receiver, struct source *source, struct error *err) {
    const struct receiver_settings *settings = &receiver->settings;
    const struct declare_source take = {
        .queue = {
            .name = source->queue,
            .exchange = source->exchange,
            .routing_key = source->routing_key,
            .durable = source->fanout ? settings->transient_quorum : settings->durable,
            .auto_delete = source->fanout ? false : settings->auto_delete,
            .quorum = source->fanout ? settings->transient_quorum : settings->quorum,
            .expires_ms = source->fanout ? settings->transient_ttl_s * 1000 : 0,
        },
        .exchange_type = source->fanout ? "fanout" : "topic",
        .exchange_auto_delete = source->fanout || settings->auto_delete,
        .prefetch = settings->prefetch,
    };

    source->state = SOURCE_ASKED;
    source->late_us = clock_monotonic_us() + SILENT_MS * 1000;
    return declare_source(receiver->link, source->channel, &take, err);
}

/* What the broker refuses is asked for again after a growing pause. */
static void source_refused(struct receiver *receiver, struct source *source, const char *why) {
    const struct link_settings *settings = &receiver->settings.link;

    source->state = SOURCE_CLOSED;
    source->pause_ms += source->pause_ms ? settings->retry_more_ms : settings->retry_ms;
    if (source->pause_ms > settings->retry_most_ms)
        source->pause_ms = settings->retry_most_ms;
    source->retry_us = clock_monotonic_us() + source->pause_ms * 1000;
    log_error(NULL,
              "queue cannot be used; do amqp_durable_queues, amqp_auto_delete and "
              "rabbit_quorum_queue have the values of the others?",
              "queue", source->queue, "broker", link_where(receiver->link), "error", why,
              "retry_ms", LOG_INT(source->pause_ms), NULL);
}

static void source_look(struct source *source, int64_t now_us) {
    if (source->state != SOURCE_ASKED || source->late_us == 0 || now_us < source->late_us)
        return;
    source->late_us = 0;
    log_warning(NULL, "broker does not answer for a queue", "queue", source->queue, NULL);
}

static int sources_take(struct receiver *receiver, struct error *err) {
    int64_t now_us = clock_monotonic_us();

    for (struct source *source = receiver->sources; source; source = source->next) {
        source_look(source, now_us);
        if (source->state == SOURCE_CLOSED && source->retry_us <= now_us &&
            source_take(receiver, source, err) < 0)
            return -1;
    }
    return 0;
}

static int sources_cancel(struct receiver *receiver, struct error *err) {
    receiver->cancelled = true;
    for (struct source *source = receiver->sources; source; source = source->next)
        if (source->state == SOURCE_OPEN && link_cancel(receiver->link, source->channel, err) < 0)
            return -1;
    return 0;
}

static struct source *source_of(struct receiver *receiver, unsigned channel) {
    struct source *source = receiver->sources;

    while (source && source->channel != channel)
        source = source->next;
    return source;
}

/* ---- what comes in ---- */

static void deliver(struct receiver *receiver, const struct source *source,
                    struct link_event *event) {
    struct delivery *delivery = allocate(sizeof *delivery);

    delivery->receiver = receiver;
    delivery->subscription = source->subscription;
    delivery->queue = source->queue;
    delivery->channel = event->channel;
    delivery->tag = event->tag;
    delivery->arena = arena_new();
    pthread_mutex_lock(&receiver->lock);
    delivery->generation = receiver->generation;
    LIST_INSERT_HEAD(&receiver->deliveries, delivery, all);
    pthread_mutex_unlock(&receiver->lock);
    delivery_begin(delivery, event);
}

static int receive_event(struct receiver *receiver, struct link_event *event, struct error *err) {
    struct source *source = source_of(receiver, event->channel);

    if (!source)
        return 0;
    switch (event->kind) {
    case LINK_DELIVERED:
        deliver(receiver, source, event);
        return 0;
    case LINK_TAKEN:
        source->state = SOURCE_OPEN;
        source->pause_ms = 0;
        link_works(receiver->link);
        return 0;
    case LINK_REFUSED:
        if (source->state ==
            SOURCE_OPEN) /* what it has delivered comes again on a new connection */
            return error_set(err, ERROR_UNAVAILABLE, "%s: queue %s: %s", link_where(receiver->link),
                             source->queue, event->text);
        source_refused(receiver, source, event->text);
        return 0;
    case LINK_CANCELLED: /* the queue was deleted, or its node went down */
        return error_set(err, ERROR_UNAVAILABLE, "%s: queue %s was taken away",
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

/* ---- acknowledging ---- */

/* The next delivery that is done, out of every list. */
static struct delivery *done_take(struct receiver *receiver, bool *ret_lost) {
    struct delivery *delivery;

    pthread_mutex_lock(&receiver->lock);
    delivery = STAILQ_FIRST(&receiver->done);
    if (delivery) {
        STAILQ_REMOVE_HEAD(&receiver->done, done);
        LIST_REMOVE(delivery, all);
        *ret_lost = delivery->generation != receiver->generation;
    }
    pthread_mutex_unlock(&receiver->lock);
    return delivery;
}

static int acknowledge(struct receiver *receiver, struct error *err) {
    struct delivery *delivery;
    bool lost;
    int result = 0;

    while (result == 0 && (delivery = done_take(receiver, &lost))) {
        if (!lost)
            result = link_ack(receiver->link, delivery->channel, delivery->tag, err);
        delivery_free(delivery);
    }
    return result;
}

/* ---- the thread ---- */

static void set_generation(struct receiver *receiver, bool connected) {
    pthread_mutex_lock(&receiver->lock);
    receiver->generation = connected ? ++receiver->generations : 0;
    pthread_mutex_unlock(&receiver->lock);
}

static void connection_failed(struct receiver *receiver, const struct error *err) {
    int64_t pause_ms = link_pause_ms(receiver->link);

    set_generation(receiver, false);
    link_close(receiver->link);
    for (struct source *source = receiver->sources; source; source = source->next) {
        source->state = SOURCE_CLOSED;
        source->retry_us = 0;
    }
    receiver->retry_us = clock_monotonic_us() + pause_ms * 1000;
    log_warning(NULL, "broker cannot be used, no messages are taken", "error", err->message,
                "retry_ms", LOG_INT(pause_ms), NULL);
}

static bool is_set(struct receiver *receiver, const bool *flag) {
    bool set;

    pthread_mutex_lock(&receiver->lock);
    set = *flag;
    pthread_mutex_unlock(&receiver->lock);
    return set;
}

static void wait_for_more(struct receiver *receiver, int timeout_ms) {
    struct pollfd files[2] = {
        { .fd = receiver->wake, .events = POLLIN },
        { .fd = link_fd(receiver->link), .events = POLLIN },
    };
    int64_t now_us = clock_monotonic_us(), beat_us = monitor_beat(receiver->monitor, now_us);
    eventfd_t ignored;

    if (beat_us > 0 && beat_us - now_us < (int64_t)timeout_ms * 1000)
        timeout_ms = (int)((beat_us - now_us) / 1000) + 1;
    if (poll(files, 2, timeout_ms) > 0 && files[0].revents)
        eventfd_read(receiver->wake, &ignored);
}

static int connect_now(struct receiver *receiver, struct error *err) {
    if (link_open(receiver->link, err) < 0)
        return -1;
    set_generation(receiver, true);
    log_info(NULL, "connected to take messages", "broker", link_where(receiver->link), NULL);
    return 0;
}

static int take_and_acknowledge(struct receiver *receiver, struct error *err) {
    if (!is_set(receiver, &receiver->draining)) {
        if (sources_take(receiver, err) < 0)
            return -1;
    } else if (!receiver->cancelled && sources_cancel(receiver, err) < 0) {
        return -1;
    }
    if (receive(receiver, err) < 0)
        return -1;
    return acknowledge(receiver, err);
}

static void work_once(struct receiver *receiver) {
    int64_t wait_us = receiver->retry_us - clock_monotonic_us();
    struct error err;

    if (!link_is_open(receiver->link)) {
        acknowledge(receiver, &err); /* frees what is lost */
        if (wait_us > 0)
            wait_for_more(receiver, (int)(wait_us / 1000) + 1);
        else if (is_set(receiver, &receiver->draining))
            receiver->retry_us =
                clock_monotonic_us() + receiver->settings.link.retry_most_ms * 1000;
        else if (connect_now(receiver, &err) < 0)
            connection_failed(receiver, &err);
    } else if (take_and_acknowledge(receiver, &err) < 0) {
        connection_failed(receiver, &err);
    } else {
        wait_for_more(receiver, link_idle_ms(receiver->link));
    }
}

static void *work(void *arg) {
    struct receiver *receiver = arg;
    struct error err;

    pthread_setname_np(pthread_self(), "amqp-receive");
    while (!is_set(receiver, &receiver->ending))
        work_once(receiver);
    acknowledge(receiver, &err);
    link_close(receiver->link);
    return NULL;
}

/* ---- start ---- */

struct receiver *receiver_new(const struct receiver_settings *settings, struct sender *sender) {
    struct receiver *receiver = allocate(sizeof *receiver);

    receiver->settings = *settings;
    receiver->sender = sender;
    receiver->link = link_new(&receiver->settings.link);
    receiver->monitor = monitor_new(send_beat, receiver);
    receiver->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&receiver->lock, NULL);
    STAILQ_INIT(&receiver->done);
    if (receiver->wake < 0)
        abort();
    return receiver;
}

static void source_add(struct receiver *receiver, struct subscription *subscription,
                       const char *exchange, const char *routing_key, const char *queue,
                       bool fanout) {
    struct source *source = allocate(sizeof *source);

    source->subscription = subscription;
    source->exchange = copy(exchange);
    source->routing_key = copy(routing_key);
    source->queue = copy(queue);
    source->fanout = fanout;
    source->channel = LINK_SOURCES + receiver->source_count++;
    source->next = receiver->sources;
    receiver->sources = source;
}

static void sources_add(struct receiver *receiver, struct subscription *subscription) {
    const struct receiver_settings *settings = &receiver->settings;
    const char *topic = subscription->topic;
    autoarena struct arena *arena = arena_new();
    const char *exchange = arena_format(arena, "%s_fanout", topic);
    const char *own = arena_format(arena, "%s.%s", topic, settings->server);
    unsigned char random[16];
    char hex[33];

    settings->link.clock->random(settings->link.clock->arg, random, sizeof random);
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(hex + i * 2, 3, "%02x", random[i]);
    source_add(receiver, subscription, settings->exchange, topic, topic, false);
    source_add(receiver, subscription, settings->exchange, own, own, false);
    source_add(receiver, subscription, exchange, topic, arena_format(arena, "%s_%s", exchange, hex),
               true);
}

int receiver_subscribe(struct receiver *receiver, const char *topic, rpc_consumer *consumer,
                       void *arg, struct error *err) {
    struct subscription *subscription;

    for (const struct source *source = receiver->sources; source; source = source->next)
        if (strcmp(source->subscription->topic, topic) == 0)
            return error_set(err, ERROR_CONFLICT, "Topic %s has a consumer already.", topic);
    if (LINK_SOURCES + receiver->source_count + 3 > LINK_CHANNELS)
        return error_set(err, ERROR_BAD_REQUEST, "There are too many topics for one connection.");
    subscription = allocate(sizeof *subscription);
    subscription->topic = copy(topic);
    subscription->consumer = consumer;
    subscription->arg = arg;
    sources_add(receiver, subscription);
    return 0;
}

void receiver_start(struct receiver *receiver) {
    if (!receiver->sources)
        return;
    receiver->answers = worker_pool_new("answers", 1);
    if (pthread_create(&receiver->thread, NULL, work, receiver) != 0)
        abort();
    receiver->threaded = true;
}

/* ---- end ---- */

static void set(struct receiver *receiver, bool *flag) {
    pthread_mutex_lock(&receiver->lock);
    *flag = true;
    pthread_mutex_unlock(&receiver->lock);
    wake(receiver);
}

static void pools_do(const struct receiver *receiver, void (*what)(struct worker_pool *pool)) {
    for (const struct source *source = receiver->sources; source; source = source->next)
        if (source->fanout && source->subscription->pool) /* one of each subscription's three */
            what(source->subscription->pool);
}

void receiver_drain(struct receiver *receiver) {
    set(receiver, &receiver->draining);
    pools_do(receiver, worker_pool_close); /* all before the first one is waited for */
    pools_do(receiver, worker_pool_stop);
    if (receiver->answers)
        worker_pool_stop(receiver->answers);
    monitor_end(receiver->monitor); /* whoever takes the rest over will tell of it */
}

static void sources_free(struct receiver *receiver) {
    while (receiver->sources) {
        struct source *source = receiver->sources;

        receiver->sources = source->next;
        if (source->fanout) { /* one of each subscription's three */
            free(source->subscription->topic);
            free(source->subscription);
        }
        free(source->exchange);
        free(source->routing_key);
        free(source->queue);
        free(source);
    }
}

static void join(struct receiver *receiver) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3;
    if (pthread_timedjoin_np(receiver->thread, NULL, &until) == 0)
        return;
    link_interrupt(receiver->link);
    pthread_join(receiver->thread, NULL);
}

void receiver_free(struct receiver *receiver) {
    struct delivery *delivery;
    struct reply *reply;

    set(receiver, &receiver->ending);
    if (receiver->threaded)
        join(receiver);
    while ((delivery = LIST_FIRST(&receiver->deliveries))) {
        LIST_REMOVE(delivery, all);
        delivery_free(delivery);
    }
    while ((reply = LIST_FIRST(&receiver->replies))) {
        LIST_REMOVE(reply, all);
        free(reply);
    }
    sources_free(receiver);
    monitor_free(receiver->monitor);
    link_free(receiver->link);
    close(receiver->wake);
    pthread_mutex_destroy(&receiver->lock);
    free(receiver);
}
