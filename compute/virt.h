/*
 * What the files over libvirt share: its objects released by attribute, its errors as ours.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "compute/virt_library.h"

struct guest {
    virConnectPtr connection;
    virDomainPtr domain;
    struct arena *arena; /* for answers */
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

void virt_free_domains(virDomainPtr **domains); /* a list that NULL ends, and the list */
#define autodomains __attribute__((cleanup(virt_free_domains)))

/* The error of libvirt's last call on this thread, with hypervisor.h's kinds; always returns -1.
 * `connection` may be NULL. */
int virt_fail(virConnectPtr connection, const char *what, struct error *err);

/* The same of a look at a guest: one that ends meanwhile fails it in many words, look again. */
int virt_fail_looking(virConnectPtr connection, const char *what, struct error *err);
