/*
 * The health of a volume: its phase and conditions, as a function of observed facts alone.
 *
 * A node's report counts while the node responds; the state of a volume without a node follows
 * from the pools of its replicas and from its last phase. Messages are for members of the project:
 * they name no host, and none is empty.
 */
#pragma once

#include "declared/condition.h"

#include "common/arena.h"

/* From best to worst. */
enum volume_phase {
    VOLUME_IS_INIT, /* not served yet */
    VOLUME_IS_HEALTHY,
    VOLUME_IS_DEGRADED,
    VOLUME_IS_OFFLINE,
    VOLUME_IS_ERROR,
    VOLUME_PHASES
};

extern const char *const volume_phase_names[]; /* by number, ended with NULL */

struct volume_facts {
    unsigned needed;           /* replicas that a write needs */
    enum volume_phase reached; /* the phase that its current or last node has reported */

    bool is_wanted;       /* published by its config */
    bool has_node;        /* a node has the volume, or is about to; */
    bool is_unresponsive; /* and has not reported for too long; */
    bool is_assigned;     /* by the volume's spec */
    bool is_serving;      /* and serves it; */
    bool is_listed;       /* and has reported each replica: */
    unsigned listed, in_sync;
    int64_t undecided; /* blocks without a majority */

    /* Replicas that count, however reported, and those of them that are created and in pools that
     * are online. */
    unsigned replicas, present;
    unsigned counted, counted_in_sync; /* of those, as reported by its node */

    const char *rebuilt;         /* replica being rebuilt; NULL: none */
    const char *failed;          /* replica whose rebuild failed; NULL: none */
    const char *failure;         /* and the reason, such as "NoSpace" */
    const char *near_full;       /* replica whose pool has little space left; NULL: none */
    bool is_rebuild_interrupted; /* one was running when the volume stopped being served */
};

struct volume_health {
    enum volume_phase phase;
    struct condition available, redundant, rebuilding, near_full;
};

/* Facts in spec and status of a CStorVolume; the texts belong to these. */
void volume_facts_read(const json_t *spec, const json_t *status, struct volume_facts *facts);

enum volume_phase volume_phase_of(const struct volume_facts *facts);

/* By their bodies: the config is published on a node that the volume's spec does not assign, or not
 * for clients. Reports of its present node say nothing about when it can be reached. */
bool volume_is_awaited(const json_t *config, const json_t *volume);
/* Clients may take the volume for one that they can reach. */
bool volume_phase_is_usable(enum volume_phase phase);

/* The texts are in the arena. */
struct volume_health volume_health_of(struct arena *arena, const struct volume_facts *facts);

/* A normal condition, or one that ends without intervention: its event is a normal one. */
bool volume_condition_is_good(const struct condition *condition);
