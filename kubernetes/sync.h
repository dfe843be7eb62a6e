/*
 * Reconciles one object of Kubernetes with its document in the volume API: from any state, any
 * number of times, by any number of bridges at once.
 *
 * The object has the desired state, the volume API the actual one.  Both are read again, and each
 * write is conditional on the version that was read: a concurrent writer is refused and reads
 * again, so no leader election is needed.
 */
#pragma once

#include "client/documents.h"
#include "kubernetes/cluster.h"

struct sync_kind {
    const char *name;             /* "CStorVolumeConfig" */
    const char *plural;           /* "cstorvolumeconfigs" */
    struct remote_documents ours; /* the documents in the volume API */
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

/* 0: reconciled; 1: not yet, repeat later (a refused edit, or something is being created or
 * deleted); -1: failed. */
int sync_object(const struct sync *sync, struct arena *arena, const char *namespace,
                const char *name, struct error *err);
