/*
 * Declared volumes in Kubernetes: the CStorVolumePolicy, CStorVolumeConfig and CStorVolumeSnapshot
 * objects of a cluster are kept as documents of the volume API, whose results are written to the
 * objects' statuses.
 *
 * The bridge is stateless: it reads everything again when either side changes, after a failure, and
 * periodically.  Any number of bridges may run and stop at any moment (kubernetes/sync.h).
 */
#pragma once

#include "config/config.h"

struct bridge;
struct own_user;

extern const struct option kubernetes_options[]; /* section kubernetes */

struct bridge_settings {
    const struct config *config; /* outlives the bridge */
    const char *volume_url;      /* root of the volume API; NULL: from the catalog of `user` */
    const char *volume_token;    /* when there is no user; NULL: none */
    struct own_user *user;       /* of the calls; outlives the bridge */
};

/* Fails only when the cluster's address is unknown; an unreachable one is retried. */
int bridge_start(const struct bridge_settings *settings, struct bridge **ret, struct error *err);
/* Within a second or two.  NULL is fine. */
void bridge_stop(struct bridge *bridge);
