/*
 * A guest that libvirt has paused because one of its disks had an I/O error (error_policy stop).
 * The failed requests are repeated when it is resumed; QEMU's NBD client then reconnects to its
 * server.
 */
#pragma once

#include "compute/virt.h"

/* 1, 0; -1: unknown, check again. */
int stopped_by_error(virConnectPtr connection, virDomainPtr domain, struct error *err);

/* The hypervisor's resume(). */
int stopped_resume(const struct guest *guest, struct error *err);
