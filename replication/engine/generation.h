/*
 * What a volume's replicas have agreed on, and what one of them knows of it.
 *
 * Each change of who votes makes a new generation: a higher number and a nonce, so that two which
 * were made by writers who did not see each other are not taken for one.  A generation names the
 * one it was made from (its base), which is known to be written wholly only when every member has
 * it.  Plain values.
 */
#pragma once

#include "common/arena.h"
#include "common/clock.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLICAS_MOST     7
#define VOLUME_BYTES_MOST (INT64_C(1) << 60)
#define NONCE_SIZE        17 /* 16 hex digits and the end */
#define RECOVERIES_MOST   (INT64_C(1) << 27)

struct generation_id {
    int64_t number; /* from 1 on; 0: none */
    char nonce[NONCE_SIZE];
};

struct generation {
    struct generation_id id, base;
    unsigned wanted;    /* how many replicas the volume is to have: a majority of it serves */
    int64_t size_bytes; /* what clients see */
    unsigned count;     /* members: as many as are needed have each write that was answered */
    char members[REPLICAS_MOST][UUID_SIZE];
};

enum replica_mark {
    REPLICA_EMPTY,    /* has no data yet, or not all: its generation means nothing */
    REPLICA_DIRTY,    /* may be written to, or was when its writer ended */
    REPLICA_DISPUTED, /* the same, as earlier versions have written it */
    REPLICA_CLEAN,    /* as its writer left it in good order */
};

/* The state of one replica, as it stands beside its data. */
struct replica_state {
    char volume[UUID_SIZE], replica[UUID_SIZE];
    enum replica_mark mark;
    struct generation generation;
};

bool generation_same(const struct generation_id *a, const struct generation_id *b);
bool generation_has(const struct generation *generation, const char *replica);
/* How many voters must be there: more than half of those wanted. */
unsigned generation_needed(const struct generation *generation);

/* The first of a volume: the same however often its creation is tried. */
void generation_first(const char *volume, int64_t size_bytes, const char *const *replicas,
                      unsigned count, struct generation *ret);
/* One made from `base`, without members; the nonce is random. */
void generation_next(const struct generation *base, const struct clock *clock,
                     struct generation *ret);
/* The lowest number behind the salvage of that number (0: none yet, 0): above all that writers had
 * before it, wherever that is. */
int64_t generation_floor(int64_t recovery);
/* Of a volume that is nothing but this replica, whatever others hold. */
void generation_recover(const struct generation *base, int64_t recovery, const char *replica,
                        const struct clock *clock, struct generation *ret);
/* Up to REPLICAS_MOST. */
void generation_add(struct generation *generation, const char *replica);
/*
 * May a volume go on with `next` from `before`?  It has the majority that it asks for, and those
 * that it leaves behind are none of what was asked for before: they cannot believe that they are
 * the volume.
 */
bool generation_follows(const struct generation *before, const struct generation *next);

/* One line of JSON and one with its checksum. */
const char *replica_state_text(struct arena *arena, const struct replica_state *state);
/* -1 (ERROR_BACKEND): nothing that replica_state_text() wrote. */
int replica_state_parse(struct arena *arena, const char *text, size_t size,
                        struct replica_state *ret, struct error *err);
