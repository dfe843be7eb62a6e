/*
 * Where the replicas are that documents of the API have on this node: by their uids alone, whoever
 * asks.  Thread-safe.
 */
#pragma once

#include "replication/node/assignment.h"

struct places;

struct places *places_new(void);
void places_free(struct places *places); /* NULL is fine */
/* All that there are. */
void places_set(struct places *places, struct assignment *const *assignments, unsigned count);

/* 1: held, in *ret; 0: there is no such replica here; -1: nobody has said yet which there are. */
int places_find(struct places *places, const char *uid, struct assignment **ret);
