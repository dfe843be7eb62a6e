#include "rpc/switch.h"

#include "common/heap.h"

#include <stdlib.h>
#include <string.h>

struct rpc_switch {
    struct rpc rpc;
    struct rpc *first, *second;
    struct arena *arena;
    const char **prefixes;
};

static struct rpc_switch *switch_of(struct rpc *rpc) {
    return (struct rpc_switch *)rpc; /* its first member */
}

static struct rpc *choose(struct rpc *rpc, const char *topic) {
    const struct rpc_switch *both = switch_of(rpc);

    for (const char *const *prefix = both->prefixes; *prefix; prefix++)
        if (strncmp(topic, *prefix, strlen(*prefix)) == 0)
            return both->second;
    return both->first;
}

static int switch_subscribe(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                            struct error *err) {
    struct rpc *chosen = choose(rpc, topic);

    return chosen->engine->subscribe(chosen, topic, consumer, arg, err);
}

static int switch_publish(struct rpc *rpc, const struct rpc_message *message,
                          void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    struct rpc *chosen = choose(rpc, message->topic);

    return chosen->engine->publish(chosen, message, confirm, arg, err);
}

static int switch_hand_over(struct rpc *rpc, const struct rpc_message *message,
                            const struct rpc_receiver *receiver, struct error *err) {
    struct rpc *chosen = choose(rpc, message->topic);

    return chosen->engine->hand_over
               ? chosen->engine->hand_over(chosen, message, receiver, err)
               : error_set(err, ERROR_UNAVAILABLE, "Topic %s is the broker's.", message->topic);
}

static enum rpc_reach switch_reaches(struct rpc *rpc, const char *topic) {
    struct rpc *chosen = choose(rpc, topic);

    return chosen->engine->reaches(chosen, topic);
}

static const char *switch_own_topic(struct rpc *rpc, struct arena *arena, const char *topic) {
    struct rpc *chosen = choose(rpc, topic);

    return chosen->engine->own_topic ? chosen->engine->own_topic(chosen, arena, topic) : NULL;
}

static void switch_stop(struct rpc *rpc) {
    struct rpc_switch *both = switch_of(rpc);

    both->first->engine->stop(both->first);
    both->second->engine->stop(both->second);
    arena_free(both->arena);
    free(both);
}

static const struct rpc_engine switch_engine = {
    .name = "switch",
    .subscribe = switch_subscribe,
    .publish = switch_publish,
    .hand_over = switch_hand_over,
    .reaches = switch_reaches,
    .own_topic = switch_own_topic,
    .stop = switch_stop,
};

struct rpc *rpc_switch_new(struct rpc *first, struct rpc *second, const char *const *prefixes) {
    struct rpc_switch *both = heap_new(sizeof(*both));
    unsigned count = 0;

    while (prefixes[count])
        count++;
    both->rpc.engine = &switch_engine;
    both->first = first;
    both->second = second;
    both->arena = arena_new();
    both->prefixes = arena_alloc(both->arena, (count + 1) * sizeof *both->prefixes);
    for (unsigned i = 0; i < count; i++)
        both->prefixes[i] = arena_text(both->arena, prefixes[i]);
    return &both->rpc;
}
