/*
 * The driver for Kubernetes: CSI and CSI-Addons on one Unix socket, a client of the volume API.
 *
 * It stores nothing: the state of a volume is read from the API, so any number of drivers may run
 * and stop at any moment.  It announces only capabilities that are implemented.
 */
#pragma once

#include "config/config.h"

struct csi_driver;
struct own_user;

extern const struct option csi_options[]; /* section csi */

struct csi_settings {
    const struct config *config; /* outlives the driver */
    const char *endpoint;        /* of the gRPC server (grpc/server.h) */
    const char *volume_url;      /* root of the volume API; NULL: from the catalog of `user` */
    struct own_user *user;       /* service user for the volume API; outlives the driver */
};

int csi_driver_start(const struct csi_settings *settings, struct csi_driver **ret,
                     struct error *err);
/* Running calls have `grace_ms` to finish.  NULL is fine. */
void csi_driver_stop(struct csi_driver *driver, int64_t grace_ms);
