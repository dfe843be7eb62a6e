/*
 * The driver for Kubernetes: CSI and CSI-Addons on one Unix socket, in front of the volume API.
 *
 * It is a client of that API and keeps nothing itself: whatever is true of a volume is asked there,
 * so any number of drivers may run and end at any moment.  What it announces is what works.
 */
#pragma once

#include "config/config.h"

struct csi_driver;
struct own_user;

extern const struct option csi_options[]; /* section csi */

struct csi_settings {
    const struct config *config; /* outlives the driver */
    const char *endpoint;        /* of the gRPC server (grpc/server.h) */
    const char *volume_url;      /* root of the volume API; NULL: what the catalog says to `user` */
    struct own_user *user;       /* who calls it; outlives the driver */
};

int csi_driver_start(const struct csi_settings *settings, struct csi_driver **ret,
                     struct error *err);
/* Calls that run may end for `grace_ms`. NULL is fine. */
void csi_driver_stop(struct csi_driver *driver, int64_t grace_ms);
