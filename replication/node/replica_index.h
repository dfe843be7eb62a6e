/*
 * Index of this node's replicas by uid, from documents of the API.  Thread-safe.
 */
#pragma once

#include "replication/node/assignment.h"

struct replica_index;

struct replica_index *replica_index_new(void);
void replica_index_free(struct replica_index *index); /* NULL is fine */
/* Replaces all. */
void replica_index_set(struct replica_index *index, struct assignment *const *assignments,
                       unsigned count);

/* 1: held, in *ret; 0: this node has no such replica; -1: unknown, as the API has not responded
 * yet. */
int replica_index_find(struct replica_index *index, const char *uid, struct assignment **ret);
