/*
 * A volume's generation, on which its replicas have agreed, and the state of one replica.
 *
 * Each change of the voting members makes a new generation: a higher number and a nonce, which
 * distinguishes two that were made by writers without knowledge of each other. A generation names
 * its base, from which it was made, and which is known to be written completely only when every
 * member has it. Plain values.
 */
#pragma once

#include "common/arena.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/replicas.h"

#include <stdbool.h>
#include <stdint.h>

#define VOLUME_BYTES_MOST (INT64_C(1) << 60)
#define NONCE_SIZE        17 /* 16 hex digits and the end */
#define RECOVERIES_MOST   (INT64_C(1) << 27)

struct generation_id {
    int64_t number; /* from 1 on; 0: none */
    char nonce[NONCE_SIZE];
};

struct generation {
    struct generation_id id, base;
    unsigned wanted;    /* replicas that the volume is to have: a majority of them serves */
    int64_t size_bytes; /* visible to clients */
    unsigned count;     /* members: as many as are needed have each answered write */
    char members[REPLICAS_MOST][UUID_SIZE];
};

enum replica_mark {
    REPLICA_EMPTY,    /* has no data yet, or not all: its generation counts for nothing */
    REPLICA_DIRTY,    /* may be written to, or was when its writer ended */
    REPLICA_DISPUTED, /* the same, as earlier versions have written it */
    REPLICA_CLEAN,    /* its writer has stopped cleanly */
};

/* The state of one replica, as it stands beside its data. */
struct replica_state {
    char volume[UUID_SIZE], replica[UUID_SIZE];
    enum replica_mark mark;
    struct generation generation;
};

bool generation_same(const struct generation_id *a, const struct generation_id *b);
bool generation_has(const struct generation *generation, const char *replica);
/* Required voters: more than half of the wanted replicas. */
unsigned generation_needed(const struct generation *generation);

/* The first of a volume: the same for each attempt to create it. */
void generation_first(const char *volume, int64_t size_bytes, const char *const *replicas,
                      unsigned count, struct generation *ret);
/* One made from `base`, without members; the nonce is random. */
void generation_next(const struct generation *base, const struct clock *clock,
                     struct generation *ret);
/* The lowest number after the forced recovery of that number (0: none yet, 0): above all numbers of
 * earlier writers, known or not. */
int64_t generation_floor(int64_t recovery);
/* Of a volume that consists of this replica alone, whatever others hold. */
void generation_recover(const struct generation *base, int64_t recovery, const char *replica,
                        const struct clock *clock, struct generation *ret);
/* Up to REPLICAS_MOST. */
void generation_add(struct generation *generation, const char *replica);
/*
 * May `next` follow `before`? It has the majority that it needs, and the replicas without it are no
 * majority of `before`: they cannot form a quorum.
 */
bool generation_follows(const struct generation *before, const struct generation *next);

/* One line of JSON and one with its checksum. */
const char *replica_state_text(struct arena *arena, const struct replica_state *state);
/* -1 (ERROR_BACKEND): not written by replica_state_text(). */
int replica_state_parse(struct arena *arena, const char *text, size_t size,
                        struct replica_state *ret, struct error *err);
