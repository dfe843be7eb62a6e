/*
 * How a volume is: its phase and its conditions, as a function of what was observed and of nothing
 * else.
 *
 * What its node reports counts while that node is heard; of a volume that no node has, the pools of
 * its replicas decide, beside the phase in which its last node left it.  Messages are for members
 * of the project: they name no host, and none is empty.
 */
#pragma once

#include "declared/condition.h"

#include "common/arena.h"

/* From the best to the worst. */
enum volume_phase {
    VOLUME_IS_INIT, /* it was not served yet */
    VOLUME_IS_HEALTHY,
    VOLUME_IS_DEGRADED,
    VOLUME_IS_OFFLINE,
    VOLUME_IS_ERROR,
    VOLUME_PHASES
};

extern const char *const volume_phase_names[]; /* by number, ended with NULL */

struct volume_facts {
    unsigned needed;           /* replicas without which nothing is written */
    enum volume_phase reached; /* as its node has reported it, the present one or the last */

    bool is_wanted;       /* on a node, by its config */
    bool has_node;        /* a node has the volume, or is about to; */
    bool is_unresponsive; /* and was not heard of for too long; */
    bool is_assigned;     /* by the volume's spec */
    bool is_serving;      /* and serves it; */
    bool is_listed;       /* and has reported each replica: */
    unsigned listed, in_sync;
    int64_t undecided; /* blocks about which no majority of them agrees */

    /* Replicas that count, however they were reported, and those of them that are made and stand in
     * pools that are online. */
    unsigned replicas, present;
    unsigned counted, counted_in_sync; /* of those, what its node has reported */

    const char *rebuilt;         /* replica that is being rebuilt; NULL: none */
    const char *failed;          /* replica whose rebuild failed; NULL: none */
    const char *failure;         /* and why, "NoSpace" or another word */
    const char *near_full;       /* replica whose pool has little space left; NULL: none */
    bool is_rebuild_interrupted; /* one was running when the volume stopped being served */
};

struct volume_health {
    enum volume_phase phase;
    struct condition available, redundant, rebuilding, near_full;
};

/* Those that spec and status of a CStorVolume say; the texts are theirs. */
void volume_facts_read(const json_t *spec, const json_t *status, struct volume_facts *facts);

/* Of a volume that a node has, by its report alone. */
enum volume_phase volume_phase_served(const struct volume_facts *facts);
/* Of any. */
enum volume_phase volume_phase_of(const struct volume_facts *facts);

/* The texts are in the arena. */
struct volume_health volume_health_of(struct arena *arena, const struct volume_facts *facts);

/* A condition that is as it should be, or soon is without help: its event is a normal one. */
bool volume_condition_is_good(const struct condition *condition);
