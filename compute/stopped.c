#include "compute/stopped.h"

#include "common/cleanup.h"
#include "compute/domain_xml.h"
#include "compute/nbd_probe.h"

#include <stdlib.h>

#define DISKS_MOST 64

int stopped_by_error(virConnectPtr connection, virDomainPtr domain, struct error *err) {
    int state, reason;

    if (virt.virDomainGetState(domain, &state, &reason, 0) < 0)
        return virt_fail_query(connection, "reading the domain's state", err);
    return state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_IOERROR;
}

/* ---- the guest ---- */

/* 1: the servers of all failed disks are available; 0: another disk has failed, or not yet. */
static int are_served(const struct guest *guest, const virDomainDiskError *errors, int count,
                      struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);

    if (!xml)
        return virt_fail_query(guest->connection, "reading the domain", err);
    for (int i = 0; i < count; i++) {
        struct disk_server server;
        int found = domain_xml_find_server(xml, errors[i].disk, guest->arena, &server, err);

        if (found <= 0 || !nbd_probe(server.socket, server.export))
            return found < 0 ? -1 : 0;
    }
    return count > 0;
}

static int check_disks(const struct guest *guest, struct error *err) {
    virDomainDiskError errors[DISKS_MOST];
    int count = virt.virDomainGetDiskErrors(guest->domain, errors, DISKS_MOST, 0), served;

    if (count < 0)
        return virt_fail_query(guest->connection, "reading the errors of the disks", err);
    served = are_served(guest, errors, count, err);
    for (int i = 0; i < count; i++)
        free(errors[i].disk);
    return served;
}

int stopped_resume(const struct guest *guest, struct error *err) {
    int stopped = stopped_by_error(guest->connection, guest->domain, err), served;

    if (stopped <= 0)
        return stopped;
    served = check_disks(guest, err);
    if (served <= 0)
        return served;
    /* It may have been resumed by other means meanwhile. */
    stopped = stopped_by_error(guest->connection, guest->domain, err);
    if (stopped <= 0)
        return stopped;
    return virt.virDomainResume(guest->domain) == 0
               ? 1
               : virt_fail(guest->connection, "resuming the instance", err);
}
