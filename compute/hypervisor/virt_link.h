/*
 * Connections to libvirtd: a shared one for queries that libvirt answers itself, and a separate one
 * for each query of a guest.  The first failure and the first success after it are logged.
 * Thread-safe.
 */
#pragma once

#include "common/error.h"
#include "compute/hypervisor/virt_library.h"

struct virt_link;

/* Opens nothing yet, nor is the library loaded. */
struct virt_link *virt_link_new(const char *uri);
void virt_link_free(struct virt_link *link);

/*
 * A connection of the caller's own, for a query of a guest: libvirtd processes at most five calls
 * of a connection at a time.  NULL: ERROR_UNAVAILABLE.
 */
virConnectPtr virt_link_open(struct virt_link *link, struct error *err);

/* A reference to the shared connection, for calls that never wait for a guest. */
virConnectPtr virt_link_share(struct virt_link *link, struct error *err);
