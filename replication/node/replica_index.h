/*
 * Where the replicas are that documents of the API have on this node: by their uids alone, whoever
 * asks.  Thread-safe.
 */
#pragma once

#include "replication/node/assignment.h"

struct replica_index;

struct replica_index *replica_index_new(void);
void replica_index_free(struct replica_index *index); /* NULL is fine */
/* All that there are. */
void replica_index_set(struct replica_index *index, struct assignment *const *assignments,
                       unsigned count);

/* 1: held, in *ret; 0: there is no such replica here; -1: nobody has said yet which there are. */
int replica_index_find(struct replica_index *index, const char *uid, struct assignment **ret);
