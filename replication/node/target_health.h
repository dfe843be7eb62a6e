/*
 * How a volume that is served on this node is: its phase, that of each of its replicas, and why, as
 * a function of what was observed and of nothing else.
 *
 * The phase follows from the replicas' modes, so that none of them contradicts it.  No message is
 * empty; those of replicas and of trouble name hosts and paths, and are for administrators.
 */
#pragma once

#include "common/arena.h"
#include "replication/engine/target.h"

struct replica_facts {
    const char *uid;
    bool votes;        /* the daemon reads and writes it */
    bool unresponsive; /* its pool does not answer now */
    bool rebuilding;
    bool empty; /* and was never filled */
    enum replica_health health;
    const char *failure;         /* a request failed while it votes; NULL: none */
    const char *flaw;            /* why its file is not good; NULL: nothing is known */
    const char *rebuild_failure; /* why the last rebuild failed; NULL: it has not */
    bool has_retries;            /* and it is tried again and again, */
    bool lacks_space;            /* for lack of space on its pool */
};

struct target_facts {
    bool serves;
    bool was_served; /* before */
    unsigned needed; /* replicas without which nothing is written */
    int64_t undecided;
    bool resynchronizing, reverting;
    const char *trouble; /* what could not be done last; NULL: nothing */
    unsigned count;
    struct replica_facts replicas[REPLICAS_MOST];
};

struct health {
    const char *phase;  /* or mode, of a replica */
    const char *reason; /* of a replica whose rebuild failed; NULL */
    const char *message;
};

struct target_health {
    struct health volume;
    struct health replicas[REPLICAS_MOST];
};

/* The facts of one target's replicas as it has them; those that the caller knows are added. */
void target_facts_read(const struct target_status *status, struct target_facts *ret);
/* The texts are in the arena, or the facts'. */
struct target_health target_health_of(struct arena *arena, const struct target_facts *facts);
