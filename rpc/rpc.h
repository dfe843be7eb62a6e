/*
 * Messages between the API and the managers.  A message is delivered at least once: a consumer
 * claims its work by a conditional change in the database, so a second delivery does nothing.
 * Messages of one topic and key keep their order and are never handled concurrently by one process;
 * only a redelivered one is placed after those that wait by then.  The workers of a topic are
 * shared fairly among the projects whose messages wait.
 *
 * Peers other than scoria may call or cast where the engine admits them: such a message has the
 * version of its interface, and its caller may wait for a response.
 *
 * Engines: local.c (inside one process, or processes that share one database); amqp.c; switch.c
 * combines one for notifications with another for everything else.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct rpc_message {
    const char *topic;
    const char *method;
    const char *key;
    const char *project;       /* project of the work; NULL or "": none, or unknown */
    const char *payload;       /* JSON object */
    const char *version;       /* of the peer's interface, "3.19"; NULL: sent by a scoria */
    struct rpc_answer *answer; /* NULL: no response is expected */
    bool own;                  /* delivered within the process that wrote its row */
};

/* The response of a consumer to a caller. */
struct rpc_answer {
    struct arena *arena;  /* of the texts */
    const char *result;   /* JSON; NULL: null */
    struct error failure; /* a kind other than ERROR_NONE: raised at the caller instead */
};

/* Messages that fail at every delivery; the caller gets the error, the message goes to the dead
 * letters. */
enum rpc_refusal {
    RPC_NO_METHOD = 1,
    RPC_NO_VERSION = 2,
    RPC_BAD_ARGUMENTS = 3, /* see err */
};

/* 0: handled (or obsolete): never again.  -1: deliver again later.  > 0: a rpc_refusal. */
typedef int rpc_consumer(void *arg, const struct rpc_message *message, struct error *err);

/* The two functions of a message that is handed over; `confirm` as of publish(). */
struct rpc_receiver {
    rpc_consumer *consumer;
    void (*confirm)(void *arg, bool taken);
    void *arg; /* of both */
};

struct rpc {
    const struct rpc_engine *engine;
};

/* Can an engine deliver messages of a topic? */
enum rpc_reach {
    RPC_NOWHERE,
    RPC_HERE,       /* as the only process (local: a subscriber here) */
    RPC_EVERYWHERE, /* like every other process */
};

struct rpc_engine {
    const char *name;
    int (*subscribe)(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                     struct error *err);
    /* Copies the message.  0: confirm() will be called exactly once, from any thread and possibly
     * before this returns: with true when the message may be forgotten, with false when it must be
     * published again (at the latest from stop()). -1: not accepted, confirm() is never called. */
    int (*publish)(struct rpc *rpc, const struct rpc_message *message,
                   void (*confirm)(void *arg, bool taken), void *arg, struct error *err);
    /* The same for another consumer than the subscriber, on the workers of the topic and among its
     * messages, with the same order and shares.  NULL: the engine's messages leave the process. */
    int (*hand_over)(struct rpc *rpc, const struct rpc_message *message,
                     const struct rpc_receiver *receiver, struct error *err);
    enum rpc_reach (*reaches)(struct rpc *rpc, const char *topic);
    /* The topic that delivers to a subscriber of this one in this process only, past the messages
     * that wait for any process; NULL, or no such function: all wait in this process. */
    const char *(*own_topic)(struct rpc *rpc, struct arena *arena, const char *topic);
    void (*stop)(struct rpc *rpc); /* ends deliveries, waits for running consumers, frees */
};

/* In process.  `workers` 0: nothing runs by itself; rpc_local_step() delivers (tests). */
struct rpc *rpc_local_new(unsigned workers);

unsigned rpc_local_waiting(struct rpc *rpc);

/* For `workers` 0 only: */

/* Delivers the `index`-th waiting message (0 = oldest), or the oldest one that has the same key, in
 * the calling thread.  false: there is none.  A failed one goes to the end. */
bool rpc_local_step(struct rpc *rpc, unsigned index);
/* A crash: drops every waiting message; each is failed with confirm(arg, false). */
void rpc_local_forget(struct rpc *rpc);
