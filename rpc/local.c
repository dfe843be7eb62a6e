#include "rpc/rpc.h"

#include "common/assert.h"
#include "common/backoff.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/worker.h"

#include <stdlib.h>
#include <string.h>

static const struct backoff_limits pauses = { .first_us = 100000, .most_us = 10 * SECOND_US };

/* Every topic has its own workers: an unresponsive backend does not occupy those of another. */
struct subscription {
    char *topic;
    rpc_consumer *consumer;
    void *arg;
    struct worker_pool *pool; /* local->lock; created, with it held, for the first message */
    struct subscription *next;
};

/* A message from publication to confirmation. */
struct delivery {
    struct local *local;
    struct subscription *subscription;
    struct rpc_message message; /* its texts follow this struct */
    rpc_consumer *consumer;
    void *consumer_arg;
    void (*confirm)(void *arg, bool taken);
    void *confirm_arg;
    unsigned failures; /* before the next attempt */
    struct delivery *next, *previous;
};

struct local {
    struct rpc rpc;
    unsigned workers; /* of each topic; 0: deliveries are made by rpc_local_step() */

    pthread_mutex_t lock; /* guards the members below */
    struct subscription *subscriptions;
    struct delivery *first, *last;
    unsigned count;
};

static struct local *local_of(struct rpc *rpc) {
    return (struct local *)rpc; /* its first member */
}

static void delivery_append(struct local *local, struct delivery *delivery) {
    scoped_lock(&local->lock);
    delivery->next = NULL;
    delivery->previous = local->last;
    *(local->last ? &local->last->next : &local->first) = delivery;
    local->last = delivery;
    local->count++;
}

/* Called with the lock held. */
static void delivery_unlink(struct local *local, struct delivery *delivery) {
    *(delivery->previous ? &delivery->previous->next : &local->first) = delivery->next;
    *(delivery->next ? &delivery->next->previous : &local->last) = delivery->previous;
    local->count--;
}

static void delivery_end(struct delivery *delivery, bool taken) {
    delivery->confirm(delivery->confirm_arg, taken);
    free(delivery);
}

static bool delivery_handled(const struct delivery *delivery) {
    struct error err = { .kind = ERROR_NONE };
    int result = delivery->consumer(delivery->consumer_arg, &delivery->message, &err);

    if (result > 0)
        log_error(NULL, "message refused, dropped", "topic", delivery->message.topic, "method",
                  delivery->message.method, "error", err.message, NULL);
    if (result >= 0)
        return true;
    log_warning(NULL, "message failed, redelivering", "topic", delivery->message.topic, "method",
                delivery->message.method, "key", delivery->message.key, "error", err.message, NULL);
    return false;
}

/* Runs in a worker.  The delivery stays in the list until it is handled, so that stop() finds
 * it. */
static void delivery_run(void *arg) {
    struct delivery *delivery = arg;
    struct local *local = delivery->local;
    const struct work_item again = { delivery->message.key, delivery->message.project, delivery_run,
                                     delivery };

    if (delivery_handled(delivery)) {
        pthread_mutex_lock(&local->lock);
        delivery_unlink(local, delivery);
        pthread_mutex_unlock(&local->lock);
        delivery_end(delivery, true);
        return;
    }
    worker_pool_put_later(delivery->subscription->pool, &again,
                          backoff_pause_us(&pauses, ++delivery->failures) / 1000);
}

static struct subscription *subscription_find(struct local *local, const char *topic) {
    struct subscription *found;

    scoped_lock(&local->lock);
    for (found = local->subscriptions; found && strcmp(found->topic, topic) != 0;)
        found = found->next;
    return found;
}

static struct worker_pool *subscription_pool(struct local *local,
                                             struct subscription *subscription) {
    scoped_lock(&local->lock);
    if (!subscription->pool)
        subscription->pool = worker_pool_new_fair("rpc", local->workers);
    return subscription->pool;
}

static int local_subscribe(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                           struct error *err) {
    struct local *local = local_of(rpc);
    struct subscription *subscription;

    if (subscription_find(local, topic))
        return error_set(err, ERROR_CONFLICT, "Topic %s has a consumer already.", topic);
    subscription = heap_new(sizeof(*subscription));
    subscription->topic = heap_text(topic);
    subscription->consumer = consumer;
    subscription->arg = arg;
    scoped_lock(&local->lock);
    subscription->next = local->subscriptions;
    local->subscriptions = subscription;
    return 0;
}

static const char *text_put(char **place, const char *text) {
    char *copy = *place;

    *place = stpcpy(copy, text) + 1;
    return copy;
}

static struct delivery *delivery_new(struct local *local, const struct rpc_message *message) {
    const char *project = message->project ? message->project : "";
    size_t size = strlen(message->topic) + strlen(message->method) + strlen(message->key) +
                  strlen(project) + strlen(message->payload) + 5;
    struct delivery *delivery = heap_new(sizeof(*delivery) + size);
    char *texts;

    texts = (char *)(delivery + 1);
    delivery->local = local;
    delivery->message.topic = text_put(&texts, message->topic);
    delivery->message.method = text_put(&texts, message->method);
    delivery->message.key = text_put(&texts, message->key);
    delivery->message.project = text_put(&texts, project);
    delivery->message.payload = text_put(&texts, message->payload);
    delivery->message.own = message->own;
    return delivery;
}

/* `receiver` NULL: the subscriber. */
static int deliver(struct local *local, const struct rpc_message *message,
                   const struct rpc_receiver *receiver, void (*confirm)(void *arg, bool taken),
                   void *arg, struct error *err) {
    struct subscription *subscription = subscription_find(local, message->topic);
    struct delivery *delivery;

    if (!subscription)
        return error_set(err, ERROR_UNAVAILABLE, "Topic %s has no consumer.", message->topic);
    delivery = delivery_new(local, message);
    delivery->subscription = subscription;
    delivery->consumer = receiver ? receiver->consumer : subscription->consumer;
    delivery->consumer_arg = receiver ? receiver->arg : subscription->arg;
    delivery->confirm = confirm;
    delivery->confirm_arg = arg;
    delivery_append(local, delivery);
    if (local->workers > 0)
        worker_pool_put(subscription_pool(local, subscription),
                        &(struct work_item){ delivery->message.key, delivery->message.project,
                                             delivery_run, delivery });
    return 0;
}

static int local_publish(struct rpc *rpc, const struct rpc_message *message,
                         void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    return deliver(local_of(rpc), message, NULL, confirm, arg, err);
}

static int local_hand_over(struct rpc *rpc, const struct rpc_message *message,
                           const struct rpc_receiver *receiver, struct error *err) {
    return deliver(local_of(rpc), message, receiver, receiver->confirm, receiver->arg, err);
}

static enum rpc_reach local_reaches(struct rpc *rpc, const char *topic) {
    return subscription_find(local_of(rpc), topic) ? RPC_HERE : RPC_NOWHERE;
}

static void deliveries_give_back(struct local *local) {
    struct delivery *delivery = local->first;

    local->first = local->last = NULL;
    local->count = 0;
    while (delivery) {
        struct delivery *next = delivery->next;

        delivery_end(delivery, false);
        delivery = next;
    }
}

static void local_stop(struct rpc *rpc) {
    struct local *local = local_of(rpc);

    for (struct subscription *each = local->subscriptions; each; each = each->next)
        if (each->pool)
            worker_pool_close(each->pool); /* all are told before the first one is awaited */
    for (struct subscription *each = local->subscriptions; each; each = each->next)
        if (each->pool)
            worker_pool_stop(each->pool);
    deliveries_give_back(local);
    while (local->subscriptions) {
        struct subscription *subscription = local->subscriptions;

        local->subscriptions = subscription->next;
        free(subscription->topic);
        free(subscription);
    }
    pthread_mutex_destroy(&local->lock);
    free(local);
}

static const struct rpc_engine local_engine = {
    .name = "local",
    .subscribe = local_subscribe,
    .publish = local_publish,
    .hand_over = local_hand_over,
    .reaches = local_reaches,
    .stop = local_stop,
};

struct rpc *rpc_local_new(unsigned workers) {
    struct local *local = heap_new(sizeof(*local));

    local->rpc.engine = &local_engine;
    pthread_mutex_init(&local->lock, NULL);
    local->workers = workers;
    return &local->rpc;
}

/* Called with the lock held. */
static struct delivery *delivery_choose(const struct local *local, unsigned index) {
    struct delivery *wanted = local->first;
    struct delivery *oldest = local->first;

    while (wanted && index-- > 0)
        wanted = wanted->next;
    if (!wanted || *wanted->message.key == '\0')
        return wanted;
    while (strcmp(oldest->message.key, wanted->message.key) != 0)
        oldest = oldest->next;
    return oldest;
}

bool rpc_local_step(struct rpc *rpc, unsigned index) {
    struct local *local = local_of(rpc);
    struct delivery *delivery;

    assert(local->workers == 0);
    pthread_mutex_lock(&local->lock);
    delivery = delivery_choose(local, index);
    if (delivery)
        delivery_unlink(local, delivery);
    pthread_mutex_unlock(&local->lock);
    if (!delivery)
        return false;
    if (delivery_handled(delivery))
        delivery_end(delivery, true);
    else
        delivery_append(local, delivery);
    return true;
}

unsigned rpc_local_waiting(struct rpc *rpc) {
    struct local *local = local_of(rpc);

    scoped_lock(&local->lock);
    return local->count;
}

void rpc_local_forget(struct rpc *rpc) {
    struct local *local = local_of(rpc);

    assert(local->workers == 0);
    deliveries_give_back(local);
}
