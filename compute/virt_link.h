/*
 * How libvirtd is reached: one connection that all share who ask libvirt alone, and one of its own
 * for each question to a guest.  The first that cannot be made, and the first that can again, are
 * in the log.  Thread-safe.
 */
#pragma once

#include "common/error.h"
#include "compute/virt_library.h"

struct virt_link;

/* Opens nothing yet. */
struct virt_link *virt_link_new(const char *uri);
void virt_link_free(struct virt_link *link);

/*
 * A connection of the caller's own, as every question to a guest has it: libvirtd takes no more of
 * a connection that waits for five answers.  NULL: ERROR_UNAVAILABLE.
 */
virConnectPtr virt_link_open(struct virt_link *link, struct error *err);

/* A reference to the common connection, which is for what never waits for a guest; the same. */
virConnectPtr virt_link_share(struct virt_link *link, struct error *err);
