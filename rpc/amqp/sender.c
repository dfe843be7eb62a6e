#include "rpc/amqp/sender.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>

/* WINDOW messages may wait for the broker's word at the same time. */
enum {
    WINDOW = 4096,
    BUCKETS = 1024,
    DRAIN_MS = 2000,
    INTERRUPT_MS = 3000,
    DECLARED_MOST = 64,
    DEAD_MOST = 10000
};

struct outgoing {
    STAILQ_ENTRY(outgoing) next;
    enum send_where where;
    const char *routing_key, *content_type, *body, *reason; /* behind this struct */
    size_t size;
    int attempts;
    bool returned;
    void (*confirm)(void *arg, bool taken);
    void *arg;
};

STAILQ_HEAD(outgoings, outgoing);

/* The messages of one key, oldest first.  A lane stands in `ready`, or its first message is in the
 * window; a message without a key has a lane of its own. */
struct lane {
    STAILQ_ENTRY(lane) ready;
    LIST_ENTRY(lane) bucket;
    struct outgoings messages;
    char key[];
};

STAILQ_HEAD(lanes, lane);
LIST_HEAD(bucket, lane);

struct sender {
    struct sender_settings settings;
    pthread_t thread;
    int wake; /* eventfd */

    /* Of the thread. */
    struct link *link;
    int64_t retry_us;
    struct lane *window[WINDOW]; /* by delivery tag */
    uint64_t sent, settled;      /* tags up to which messages were sent, and confirmed */
    bool exchange_declared;
    char *declared[DECLARED_MOST]; /* queues */
    unsigned declared_count;

    pthread_mutex_t lock; /* guards the rest */
    struct lanes ready;
    struct bucket buckets[BUCKETS];
    bool stopping;
    int64_t stop_us; /* monotonic */
};

static void *allocate(size_t size) {
    void *memory = calloc(1, size);

    if (!memory)
        abort();
    return memory;
}

static void wake(struct sender *sender) {
    while (eventfd_write(sender->wake, 1) < 0 && errno == EINTR)
        ;
}

/* ---- lanes; called with the lock held ---- */

static struct bucket *bucket_of(struct sender *sender, const char *key) {
    unsigned hash = 5381;

    for (; *key; key++)
        hash = hash * 33 + (unsigned char)*key;
    return &sender->buckets[hash % BUCKETS];
}

static struct lane *lane_find(struct sender *sender, const char *key) {
    struct lane *lane = LIST_FIRST(bucket_of(sender, key));

    while (lane && strcmp(lane->key, key) != 0)
        lane = LIST_NEXT(lane, bucket);
    return lane;
}

static void lane_append(struct sender *sender, const char *key, struct outgoing *message) {
    struct lane *lane = *key ? lane_find(sender, key) : NULL;

    if (!lane) {
        lane = allocate(sizeof *lane + strlen(key) + 1);
        memcpy(lane->key, key, strlen(key) + 1);
        STAILQ_INIT(&lane->messages);
        LIST_INSERT_HEAD(bucket_of(sender, key), lane, bucket);
        STAILQ_INSERT_TAIL(&sender->ready, lane, ready);
    }
    STAILQ_INSERT_TAIL(&lane->messages, message, next);
}

static void lane_free(struct lane *lane) {
    LIST_REMOVE(lane, bucket);
    free(lane);
}

/* The first message of a lane that stood in the window is settled. */
static void lane_settle(struct sender *sender, struct lane *lane, bool taken,
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
        STAILQ_INSERT_TAIL(&sender->ready, lane, ready);
}

/* ---- the window ---- */

static void tell_ended(struct outgoings *ended, bool taken) {
    while (!STAILQ_EMPTY(ended)) {
        struct outgoing *message = STAILQ_FIRST(ended);

        STAILQ_REMOVE_HEAD(ended, next);
        message->confirm(message->arg, taken);
        free(message);
    }
}

static void window_settle(struct sender *sender, uint64_t tag, bool taken) {
    struct outgoings ended = STAILQ_HEAD_INITIALIZER(ended);
    struct lane **place = &sender->window[tag % WINDOW];
    struct lane *lane = *place;

    if (!lane)
        return;
    *place = NULL;
    pthread_mutex_lock(&sender->lock);
    taken = taken && !STAILQ_FIRST(&lane->messages)->returned;
    lane_settle(sender, lane, taken, &ended);
    pthread_mutex_unlock(&sender->lock);
    tell_ended(&ended, taken);
}

/* Tags may be confirmed out of order; `settled` follows as far as there is no gap. */
static void window_confirm(struct sender *sender, const struct link_event *event) {
    uint64_t first = event->multiple ? sender->settled + 1 : event->tag;

    if (event->tag > sender->sent || event->tag <= sender->settled)
        return;
    for (uint64_t tag = first; tag <= event->tag; tag++)
        window_settle(sender, tag, event->kind == LINK_ACK);
    while (sender->settled < sender->sent && !sender->window[(sender->settled + 1) % WINDOW])
        sender->settled++;
}

static void window_returned(struct sender *sender, const struct link_event *event) {
    uint64_t tag = strtoull(event->id, NULL, 10);
    struct lane *lane;

    if (tag <= sender->settled || tag > sender->sent)
        return;
    lane = sender->window[tag % WINDOW];
    if (!lane)
        return;
    STAILQ_FIRST(&lane->messages)->returned = true;
    if (STAILQ_FIRST(&lane->messages)->where == SEND_NOTIFICATION)
        sender->declared_count = 0; /* somebody deleted the queue */
    log_debug(NULL, "message came back", "routing_key", STAILQ_FIRST(&lane->messages)->routing_key,
              "reason", event->text, NULL);
}

/* What was under way when the connection broke may or may not have arrived: it is sent again,
 * before everything else. */
static void window_take_back(struct sender *sender) {
    pthread_mutex_lock(&sender->lock);
    for (uint64_t tag = sender->sent; tag > sender->settled; tag--) {
        struct lane **place = &sender->window[tag % WINDOW];

        if (*place) {
            STAILQ_FIRST(&(*place)->messages)->returned = false;
            STAILQ_INSERT_HEAD(&sender->ready, *place, ready);
        }
        *place = NULL;
    }
    pthread_mutex_unlock(&sender->lock);
    sender->sent = sender->settled = 0;
}

static bool window_is_empty(const struct sender *sender) {
    return sender->sent == sender->settled;
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

static bool is_declared(const struct sender *sender, const char *queue) {
    for (unsigned i = 0; i < sender->declared_count; i++)
        if (strcmp(sender->declared[i], queue) == 0)
            return true;
    return false;
}

static void remember_declared(struct sender *sender, const char *queue) {
    char **place;

    if (sender->declared_count == DECLARED_MOST)
        sender->declared_count = 0;
    place = &sender->declared[sender->declared_count++];
    free(*place);
    *place = strdup(queue);
    if (!*place)
        abort();
}

static int declare_exchange(struct sender *sender, struct error *err) {
    const struct sender_settings *settings = &sender->settings;

    if (sender->exchange_declared)
        return 0;
    if (link_exchange(sender->link, settings->exchange, "topic", settings->durable,
                      settings->auto_delete, err) != 0)
        return -1;
    sender->exchange_declared = true;
    return 0;
}

/* A queue that is there with other arguments takes messages as well as ours would. */
static int declare_queue(struct sender *sender, const struct link_queue *queue, struct error *err) {
    int result;

    if (is_declared(sender, queue->name))
        return 0;
    result = link_queue(sender->link, queue, err);
    if (result < 0)
        return -1;
    if (result > 0)
        log_warning(NULL, "queue has other arguments, used as it is", "error", err->message, NULL);
    remember_declared(sender, queue->name);
    return 0;
}

static int declare(struct sender *sender, const struct outgoing *message, struct error *err) {
    const struct sender_settings *settings = &sender->settings;
    const struct link_queue notifications = {
        .name = message->routing_key,
        .exchange = settings->exchange,
        .routing_key = message->routing_key,
        .durable = settings->durable,
        .auto_delete = settings->auto_delete,
        .quorum = settings->quorum,
    };
    const struct link_queue dead = {
        .name = SENDER_DEAD_QUEUE,
        .durable = true,
        .length_most = DEAD_MOST,
    };

    if (message->where == SEND_DEAD)
        return declare_queue(sender, &dead, err);
    if (message->where == SEND_QUEUE)
        return 0;
    if (declare_exchange(sender, err) < 0)
        return -1;
    return message->where == SEND_NOTIFICATION ? declare_queue(sender, &notifications, err) : 0;
}

static int send_message(struct sender *sender, const struct outgoing *message, uint64_t tag,
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

static struct lane *ready_take(struct sender *sender) {
    struct lane *lane;

    pthread_mutex_lock(&sender->lock);
    lane = STAILQ_FIRST(&sender->ready);
    if (lane)
        STAILQ_REMOVE_HEAD(&sender->ready, ready);
    pthread_mutex_unlock(&sender->lock);
    return lane;
}

static bool has_ready(struct sender *sender) {
    bool ready;

    pthread_mutex_lock(&sender->lock);
    ready = !STAILQ_EMPTY(&sender->ready);
    pthread_mutex_unlock(&sender->lock);
    return ready;
}

static bool has_room(const struct sender *sender) {
    return sender->sent - sender->settled < WINDOW;
}

static int send_ready(struct sender *sender, struct error *err) {
    struct lane *lane;

    while (has_room(sender) && link_can_send(sender->link) && (lane = ready_take(sender))) {
        uint64_t tag = ++sender->sent;

        sender->window[tag % WINDOW] = lane; /* from here on it comes back when the link breaks */
        if (send_message(sender, STAILQ_FIRST(&lane->messages), tag, err) < 0)
            return -1;
    }
    return 0;
}

static int receive(struct sender *sender, struct error *err) {
    struct link_event event;

    for (;;) {
        if (link_next(sender->link, &event, err) < 0)
            return -1;
        if (event.kind == LINK_NOTHING)
            return 0;
        if (event.kind == LINK_ACK || event.kind == LINK_NACK) {
            window_confirm(sender, &event);
            link_works(sender->link);
        } else if (event.kind == LINK_RETURNED) {
            window_returned(sender, &event);
        }
        free(event.body);
    }
}

/* ---- the thread ---- */

static void connection_failed(struct sender *sender, const struct error *err) {
    int64_t pause_ms = link_pause_ms(sender->link);

    link_close(sender->link);
    window_take_back(sender);
    forget_declared(sender);
    sender->retry_us = clock_monotonic_us() + pause_ms * 1000;
    log_warning(NULL, "broker cannot be used, messages wait", "error", err->message, "retry_ms",
                LOG_INT(pause_ms), NULL);
}

static int connect_now(struct sender *sender, struct error *err) {
    if (link_open(sender->link, err) < 0 || link_confirms(sender->link, err) < 0)
        return -1;
    log_info(NULL, "connected to send messages", "broker", link_where(sender->link), NULL);
    return 0;
}

static void wait_for_more(struct sender *sender, int timeout_ms) {
    bool wants_to_send = link_is_open(sender->link) && has_room(sender) && has_ready(sender);
    struct pollfd files[2] = {
        { .fd = sender->wake, .events = POLLIN },
        { .fd = link_fd(sender->link), .events = POLLIN },
    };
    eventfd_t ignored;

    /* A broker that has told us to stop says so when it wants more. */
    if (wants_to_send && !link_can_send(sender->link))
        files[1].events |= link_is_blocked(sender->link) ? 0 : POLLOUT;
    if (poll(files, 2, timeout_ms) > 0 && files[0].revents)
        eventfd_read(sender->wake, &ignored);
}

static bool is_stopping(struct sender *sender) {
    bool stopping;

    pthread_mutex_lock(&sender->lock);
    stopping = sender->stopping;
    pthread_mutex_unlock(&sender->lock);
    return stopping;
}

static bool is_over(struct sender *sender) {
    return is_stopping(sender) &&
           (!link_is_open(sender->link) || clock_monotonic_us() >= sender->stop_us ||
            (window_is_empty(sender) && !has_ready(sender)));
}

static void work_once(struct sender *sender) {
    int64_t wait_us = sender->retry_us - clock_monotonic_us();
    struct error err;

    if (!link_is_open(sender->link)) {
        if (wait_us > 0)
            wait_for_more(sender, (int)(wait_us / 1000) + 1);
        else if (connect_now(sender, &err) < 0)
            connection_failed(sender, &err);
        return;
    }
    if (send_ready(sender, &err) < 0 || receive(sender, &err) < 0) {
        connection_failed(sender, &err);
        return;
    }
    if (has_room(sender) && has_ready(sender) && link_can_send(sender->link))
        return;
    wait_for_more(sender, link_idle_ms(sender->link));
}

static void *work(void *arg) {
    struct sender *sender = arg;

    pthread_setname_np(pthread_self(), "amqp-send");
    while (!is_over(sender))
        work_once(sender);
    link_close(sender->link);
    window_take_back(sender);
    return NULL;
}

struct sender *sender_new(const struct sender_settings *settings) {
    struct sender *sender = allocate(sizeof *sender);

    sender->settings = *settings;
    sender->link = link_new(&sender->settings.link);
    sender->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&sender->lock, NULL);
    STAILQ_INIT(&sender->ready);
    if (sender->wake < 0 || pthread_create(&sender->thread, NULL, work, sender) != 0)
        abort();
    return sender;
}

static const char *text_put(char **place, const char *text) {
    char *copy = *place;

    *place = stpcpy(copy, text) + 1;
    return copy;
}

static struct outgoing *outgoing_new(const struct send_message *message) {
    const char *reason = message->reason ? message->reason : "";
    struct outgoing *outgoing =
        allocate(sizeof *outgoing + strlen(message->routing_key) + strlen(message->content_type) +
                 strlen(reason) + message->size + 3);
    char *texts = (char *)(outgoing + 1);

    outgoing->where = message->where;
    outgoing->routing_key = text_put(&texts, message->routing_key);
    outgoing->content_type = text_put(&texts, message->content_type);
    outgoing->reason = message->reason ? text_put(&texts, reason) : NULL;
    if (message->size > 0)
        outgoing->body = memcpy(texts, message->body, message->size);
    outgoing->size = message->size;
    outgoing->attempts = message->attempts;
    return outgoing;
}

void sender_put(struct sender *sender, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg) {
    struct outgoing *outgoing = outgoing_new(message);

    outgoing->confirm = confirm;
    outgoing->arg = arg;
    pthread_mutex_lock(&sender->lock);
    lane_append(sender, message->key, outgoing);
    pthread_mutex_unlock(&sender->lock);
    wake(sender);
}

/* ---- the end ---- */

static void give_back_all(struct sender *sender) {
    struct outgoings ended = STAILQ_HEAD_INITIALIZER(ended);
    struct lane *lane;

    pthread_mutex_lock(&sender->lock);
    while ((lane = STAILQ_FIRST(&sender->ready))) {
        STAILQ_REMOVE_HEAD(&sender->ready, ready);
        lane_settle(sender, lane, false, &ended);
    }
    pthread_mutex_unlock(&sender->lock);
    tell_ended(&ended, false);
}

void sender_stop(struct sender *sender) {
    struct timespec until;

    pthread_mutex_lock(&sender->lock);
    sender->stopping = true;
    sender->stop_us = clock_monotonic_us() + DRAIN_MS * 1000;
    pthread_mutex_unlock(&sender->lock);
    wake(sender);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += INTERRUPT_MS / 1000;
    if (pthread_timedjoin_np(sender->thread, NULL, &until) != 0) {
        link_interrupt(sender->link);
        pthread_join(sender->thread, NULL);
    }
    give_back_all(sender);
    forget_declared(sender);
    link_free(sender->link);
    close(sender->wake);
    pthread_mutex_destroy(&sender->lock);
    free(sender);
}
