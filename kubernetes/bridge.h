/*
 * Declared volumes in Kubernetes: the objects of CStorVolumePolicy, CStorVolumeConfig and
 * CStorVolumeSnapshot of a cluster are kept as documents of our API, and what becomes of those is
 * written to the objects' statuses.
 *
 * It keeps nothing itself: everything is read anew when something has changed on either side, when
 * it failed before, and now and then.  Any number of bridges may run and end at any moment
 * (kubernetes/sync.h).
 */
#pragma once

#include "config/config.h"

struct bridge;
struct own_user;

extern const struct option kubernetes_options[]; /* section kubernetes */

struct bridge_settings {
    const struct config *config; /* outlives the bridge */
    const char *volume_url;      /* root of the volume API; NULL: what the catalog says to `user` */
    const char *volume_token;    /* when there is no user; NULL: none */
    struct own_user *user;       /* who calls it; outlives the bridge */
};

/* Fails only when it is not said where the cluster is; one that does not answer is waited for. */
int bridge_start(const struct bridge_settings *settings, struct bridge **ret, struct error *err);
/* Within a second or two. NULL is fine. */
void bridge_stop(struct bridge *bridge);
