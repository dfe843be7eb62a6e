/*
 * Makes one object of Kubernetes and the document that our API keeps for it agree: whatever
 * happened before, as often as one likes, by any number of bridges at once.
 *
 * The object says what is wanted, our API what is.  Both are read anew, and each write names what
 * was read: who comes second is refused and reads again, so that no bridge has to lead.
 */
#pragma once

#include "client/documents.h"
#include "kubernetes/cluster.h"

struct sync_kind {
    const char *name;             /* "CStorVolumeConfig" */
    const char *plural;           /* "cstorvolumeconfigs" */
    struct remote_documents ours; /* where our API has them */
};

#define SYNC_API "/apis/cstor.openebs.io/v1"

extern const struct sync_kind sync_kinds[]; /* ended with a NULL name */

struct sync {
    const struct cluster *cluster;
    const struct client *api;
    const struct sync_kind *kind;
};

/* "/apis/cstor.openebs.io/v1/namespaces/…/cstorvolumeconfigs/…"; each may be NULL: all, the list */
const char *sync_path(struct arena *arena, const struct sync_kind *kind, const char *namespace,
                      const char *name);

/* 0: they agree; 1: not yet, look again after a while (a refused edit, something that is being made
 * or deleted); -1: failed. */
int sync_object(const struct sync *sync, struct arena *arena, const char *namespace,
                const char *name, struct error *err);
