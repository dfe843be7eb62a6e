/*
 * Health of a volume served by this node: its phase, those of its replicas, and the reasons, as a
 * function of observed facts only.
 *
 * The phase follows from the modes of the replicas, so that they never contradict each other.  No
 * message is empty; messages of replicas and failures name hosts and paths, and are for
 * administrators.
 */
#pragma once

#include "common/arena.h"
#include "replication/engine/target.h"

struct replica_facts {
    const char *uid;
    bool votes;        /* it is a voting member */
    bool unresponsive; /* its pool is unresponsive */
    bool rebuilding;
    bool empty; /* it was never rebuilt */
    enum replica_health health;
    const char *failure;         /* of a request, while it is a voting member; NULL: none */
    bool resumed;                /* it has missed writes, and all are resynchronized */
    const char *flaw;            /* why its file is not good; NULL: unknown */
    const char *rebuild_failure; /* of the last rebuild; NULL: none */
    bool has_retries;            /* its rebuild is retried, */
    bool lacks_space;            /* after a failure for lack of space */
};

struct target_facts {
    bool serves;
    bool was_served; /* earlier */
    unsigned needed; /* size of the quorum */
    int64_t undecided;
    bool resynchronizing, reverting;
    const char *trouble; /* failure of the last step; NULL: none */
    unsigned count;
    struct replica_facts replicas[MEMBERS_MOST];
};

struct health {
    const char *phase;  /* mode, of a replica */
    const char *reason; /* of a replica whose rebuild failed; NULL: none */
    const char *message;
};

struct target_health {
    struct health volume;
    struct health replicas[MEMBERS_MOST];
};

/* The facts known to the target; the caller adds others. */
void target_facts_read(const struct target_status *status, struct target_facts *ret);
/* The texts are in the arena or of the facts. */
struct target_health target_health_of(struct arena *arena, const struct target_facts *facts);
