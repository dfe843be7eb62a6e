/*
 * Messages between the API and the managers.  A message is delivered at least once: a consumer
 * claims the work it names by a conditional change in the database, so a second delivery does
 * nothing.  Messages of one topic and key keep their order and are never handled at the same time
 * by one process; only one that is delivered again takes its place behind those that wait by then.
 * The workers of a topic are shared out among the projects whose messages wait.
 *
 * Peers that are no scoria may call or cast too where the engine lets them in: such a message says
 * the version of the interface it means, and its caller may wait for an answer.
 *
 * Engines: local.c (inside one process, or processes that share one database); amqp.c; split.c puts
 * one of them behind notifications and another behind everything else.
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
    const char *project;       /* whose work it is about; NULL or "": nobody's, or not known */
    const char *payload;       /* JSON object */
    const char *version;       /* of the peer's interface, "3.19"; NULL: sent by a scoria */
    struct rpc_answer *answer; /* NULL: nobody waits for one */
};

/* What the consumer leaves for a caller. */
struct rpc_answer {
    struct arena *arena;  /* of the texts */
    const char *result;   /* JSON; NULL: null */
    struct error failure; /* a kind other than ERROR_NONE: raised at the caller instead */
};

/* Messages that no delivery can make good; a caller hears of it, the message is put aside. */
enum rpc_refusal {
    RPC_NO_METHOD = 1,
    RPC_NO_VERSION = 2,
    RPC_BAD_ARGUMENTS = 3, /* err says what is wrong */
};

/* 0: handled (or of no use any more): never again. -1: deliver again later. > 0: a rpc_refusal. */
typedef int rpc_consumer(void *arg, const struct rpc_message *message, struct error *err);

struct rpc {
    const struct rpc_engine *engine;
};

/* Has an engine somewhere to bring messages of a topic? */
enum rpc_reach {
    RPC_NOWHERE,
    RPC_HERE,       /* as the only process (local: a subscriber here) */
    RPC_EVERYWHERE, /* as every other process may */
};

struct rpc_engine {
    const char *name;
    int (*subscribe)(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                     struct error *err);
    /* Takes a copy of the message. 0: confirm() will be called exactly once, from any thread and
     * maybe before this returns: with true when it is safe to forget the message, with false when
     * it must be published again (at the latest from stop()). -1: not taken, confirm() is never
     * called. */
    int (*publish)(struct rpc *rpc, const struct rpc_message *message,
                   void (*confirm)(void *arg, bool taken), void *arg, struct error *err);
    enum rpc_reach (*reaches)(struct rpc *rpc, const char *topic);
    /* The topic that brings a message for a subscriber of this one to this process alone, past
     * those that wait for any; NULL, or no such function: all wait in this process. */
    const char *(*own_topic)(struct rpc *rpc, struct arena *arena, const char *topic);
    void (*stop)(struct rpc *rpc); /* ends deliveries, waits for running consumers, frees */
};

/* In process. `workers` 0: nothing runs by itself; rpc_local_step() delivers (tests). */
struct rpc *rpc_local_new(unsigned workers);

unsigned rpc_local_waiting(struct rpc *rpc);

/* The rest is for `workers` 0 only. */

/* Delivers the `index`-th waiting message (0 = oldest), or the oldest one that has the same key, in
 * the calling thread. false: there is none. One that is not handled goes to the end. */
bool rpc_local_step(struct rpc *rpc, unsigned index);
/* A crash: forgets every waiting message; each is given back with confirm(arg, false). */
void rpc_local_forget(struct rpc *rpc);
