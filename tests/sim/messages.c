/*
 * Messages inside a process: those of one key come one after another, all others in any order.
 */
#include "tests/sim/nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 64

struct subscription {
    char topic[64];
    rpc_consumer *consumer;
    void *arg;
};

struct message {
    struct messages *messages;
    struct subscription *subscription;
    char method[48], key[40], payload[192];
    void (*confirm)(void *arg, bool taken);
    void *confirm_arg;
    bool there, in_work;
    uint64_t number; /* they keep their order for each key */
};

struct messages {
    struct rpc rpc; /* first */
    struct node *node;
    struct subscription subscriptions[8];
    unsigned subscription_count;
    struct message list[MESSAGES];
    uint64_t number;
};

static struct messages *messages_of(struct rpc *rpc) {
    return (struct messages *)rpc;
}

static int messages_subscribe(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                              struct error *err) {
    struct messages *messages = messages_of(rpc);
    struct subscription *place = &messages->subscriptions[messages->subscription_count++];

    (void)err;
    assert(messages->subscription_count <= LENGTH(messages->subscriptions));
    *place = (struct subscription){ .consumer = consumer, .arg = arg };
    snprintf(place->topic, sizeof place->topic, "%s", topic);
    return 0;
}

static struct subscription *subscription_find(struct messages *messages, const char *topic) {
    for (unsigned i = 0; i < messages->subscription_count; i++)
        if (strcmp(messages->subscriptions[i].topic, topic) == 0)
            return &messages->subscriptions[i];
    return NULL;
}

static enum rpc_reach messages_reaches(struct rpc *rpc, const char *topic) {
    return subscription_find(messages_of(rpc), topic) ? RPC_HERE : RPC_NOWHERE;
}

static int messages_publish(struct rpc *rpc, const struct rpc_message *message,
                            void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    struct messages *messages = messages_of(rpc);
    struct subscription *subscription = subscription_find(messages, message->topic);

    for (unsigned i = 0; i < MESSAGES && subscription; i++) {
        struct message *place = &messages->list[i];

        if (place->there)
            continue;
        *place = (struct message){ .messages = messages,
                                   .subscription = subscription,
                                   .confirm = confirm,
                                   .confirm_arg = arg,
                                   .there = true,
                                   .number = ++messages->number };
        snprintf(place->method, sizeof place->method, "%s", message->method);
        snprintf(place->key, sizeof place->key, "%s", message->key);
        snprintf(place->payload, sizeof place->payload, "%s", message->payload);
        return 0;
    }
    return error_set(err, ERROR_UNAVAILABLE, "no consumer of %s", message->topic);
}

static void give_back(struct messages *messages) {
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct message *message = &messages->list[i];

        if (!message->there || message->in_work)
            continue;
        message->there = false;
        message->confirm(message->confirm_arg, false);
    }
}

static void messages_stop(struct rpc *rpc) {
    give_back(messages_of(rpc));
    free(messages_of(rpc));
}

static const struct rpc_engine messages_engine = {
    .name = "simulated",
    .subscribe = messages_subscribe,
    .publish = messages_publish,
    .reaches = messages_reaches,
    .stop = messages_stop,
};

struct rpc *messages_new(struct node *node) {
    struct messages *messages = calloc(1, sizeof *messages);

    assert(messages);
    messages->rpc.engine = &messages_engine;
    messages->node = node;
    return &messages->rpc;
}

/* Is it the oldest of its key, and is none of its key in work? */
static bool may_begin(const struct messages *messages, const struct message *message) {
    if (!message->there || message->in_work)
        return false;
    for (unsigned i = 0; i < MESSAGES; i++) {
        const struct message *other = &messages->list[i];

        if (other->there && other != message && strcmp(other->key, message->key) == 0 &&
            (other->in_work || other->number < message->number))
            return false;
    }
    return true;
}

static void deliver(struct sim *sim, void *arg) {
    struct message *message = arg;
    const struct rpc_message given = { .topic = message->subscription->topic,
                                       .method = message->method,
                                       .key = message->key,
                                       .payload = message->payload };
    struct error err = { .kind = ERROR_NONE };
    int result = message->subscription->consumer(message->subscription->arg, &given, &err);

    message->in_work = false;
    if (result < 0 && !message->messages->node->process.dying) {
        message->number = ++message->messages->number; /* it comes again, behind the others */
        note(sim, "%s: %s is not handled: %s", message->messages->node->process.name,
             message->method, err.message);
        return;
    }
    message->there = false;
    message->confirm(message->confirm_arg, result >= 0);
}

bool messages_deliver(struct sim *sim, struct node *node) {
    struct messages *messages = messages_of(node->rpc);
    unsigned first = below(sim, MESSAGES);

    for (unsigned i = 0; i < MESSAGES; i++) {
        struct message *message = &messages->list[(first + i) % MESSAGES];

        if (!may_begin(messages, message))
            continue;
        if (!thread_begin(sim, &node->process, deliver, message, message->method))
            return false;
        message->in_work = true;
        return true;
    }
    return false;
}

void messages_lose(struct rpc *rpc) {
    give_back(messages_of(rpc));
}
