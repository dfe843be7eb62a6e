/*
 * The snapshots that one replica of this node is to hold, or to remove, as its document says: files
 * beside its data.  One goes for one reason alone: the document names it and says so.
 */
#pragma once

#include "replication/node/assignment.h"

struct copies;

struct held_look {
    json_t *list; /* the caller's, for the status of the replica; NULL: it could not be looked */
    bool copies;  /* one is on its way */
    bool waits;   /* not all is as it is to be */
};

/* Removes, begins copies or goes on with them, and looks. */
void held_keep(struct copies *copies, const struct replica *place,
               const struct assignment *assignment, struct held_look *ret);
