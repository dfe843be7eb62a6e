/*
 * A guest that libvirt has paused as one of its disks had an I/O error (error_policy stop).  What
 * had failed is done again when it goes on; of an NBD client QEMU then looks for its server anew.
 */
#pragma once

#include "compute/virt.h"

/* 1, 0; -1: look again. */
int stopped_by_error(virConnectPtr connection, virDomainPtr domain, struct error *err);

/* As the hypervisor's go_on(). */
int stopped_go_on(const struct guest *guest, struct error *err);
