/*
 * Declarations shared by the files over libvirt: release of its objects by attribute, conversion of
 * its errors.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "compute/hypervisor/virt_library.h"

struct guest {
    virConnectPtr connection;
    virDomainPtr domain;
    struct arena *arena; /* of results */
};

static inline void cleanup_connection(const virConnectPtr *connection) {
    if (*connection)
        virt.virConnectClose(*connection);
}
#define autoconnection __attribute__((cleanup(cleanup_connection)))

static inline void cleanup_domain(const virDomainPtr *domain) {
    if (*domain)
        virt.virDomainFree(*domain);
}
#define autodomain __attribute__((cleanup(cleanup_domain)))

void virt_free_domains(virDomainPtr **domains); /* a list ended by NULL, and its elements */
#define autodomains __attribute__((cleanup(virt_free_domains)))

/* The error of libvirt's last call on this thread, with the kinds of hypervisor.h; returns -1.
 * `connection` may be NULL. */
int virt_fail(virConnectPtr connection, const char *what, struct error *err);

/* The same for a query of a guest: a guest that stops meanwhile causes various errors, so the query
 * may be repeated (ERROR_CONFLICT). */
int virt_fail_query(virConnectPtr connection, const char *what, struct error *err);
