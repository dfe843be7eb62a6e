#include "rpc/split.h"

#include <stdlib.h>
#include <string.h>

struct split {
    struct rpc rpc;
    struct rpc *first, *second;
    struct arena *arena;
    const char **prefixes;
};

static struct split *split_of(struct rpc *rpc) {
    return (struct split *)rpc; /* its first member */
}

static struct rpc *choose(struct rpc *rpc, const char *topic) {
    const struct split *split = split_of(rpc);

    for (const char *const *prefix = split->prefixes; *prefix; prefix++)
        if (strncmp(topic, *prefix, strlen(*prefix)) == 0)
            return split->second;
    return split->first;
}

static int split_subscribe(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                           struct error *err) {
    struct rpc *chosen = choose(rpc, topic);

    return chosen->engine->subscribe(chosen, topic, consumer, arg, err);
}

static int split_publish(struct rpc *rpc, const struct rpc_message *message,
                         void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    struct rpc *chosen = choose(rpc, message->topic);

    return chosen->engine->publish(chosen, message, confirm, arg, err);
}

static enum rpc_reach split_reaches(struct rpc *rpc, const char *topic) {
    struct rpc *chosen = choose(rpc, topic);

    return chosen->engine->reaches(chosen, topic);
}

static void split_stop(struct rpc *rpc) {
    struct split *split = split_of(rpc);

    split->first->engine->stop(split->first);
    split->second->engine->stop(split->second);
    arena_free(split->arena);
    free(split);
}

static const struct rpc_engine split_engine = {
    .name = "split",
    .subscribe = split_subscribe,
    .publish = split_publish,
    .reaches = split_reaches,
    .stop = split_stop,
};

struct rpc *rpc_split_new(struct rpc *first, struct rpc *second, const char *const *prefixes) {
    struct split *split = calloc(1, sizeof *split);
    unsigned count = 0;

    if (!split)
        abort();
    while (prefixes[count])
        count++;
    split->rpc.engine = &split_engine;
    split->first = first;
    split->second = second;
    split->arena = arena_new();
    split->prefixes = arena_alloc(split->arena, (count + 1) * sizeof *split->prefixes);
    for (unsigned i = 0; i < count; i++)
        split->prefixes[i] = arena_text(split->arena, prefixes[i]);
    return &split->rpc;
}
