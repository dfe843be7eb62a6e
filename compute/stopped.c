#include "compute/stopped.h"

#include "common/cleanup.h"
#include "compute/domain_xml.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DISKS_MOST  64
#define GREETING    "NBDMAGIC"
#define GREETING_MS 1000

int stopped_by_error(virConnectPtr connection, virDomainPtr domain, struct error *err) {
    int state, reason;

    if (virt.virDomainGetState(domain, &state, &reason, 0) < 0)
        return virt_fail_looking(connection, "reading the domain's state", err);
    return state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_IOERROR;
}

/* ---- the server ---- */

/* Whether it is the export that is asked for QEMU will see. */
static bool greets(int fd) {
    struct pollfd readable = { .fd = fd, .events = POLLIN };
    char text[sizeof GREETING - 1];

    return poll(&readable, 1, GREETING_MS) > 0 &&
           recv(fd, text, sizeof text, MSG_DONTWAIT) == (ssize_t)sizeof text &&
           memcmp(text, GREETING, sizeof text) == 0;
}

/* One that has no room for another client is not waited for. */
static bool serves(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, path, strlen(path));
    return connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 && greets(fd);
}

/* ---- the guest ---- */

/* 1: all that has failed is served again; 0: something else has failed, or not yet. */
static int are_served(const struct guest *guest, const virDomainDiskError *errors, int count,
                      struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);

    if (!xml)
        return virt_fail_looking(guest->connection, "reading the domain", err);
    for (int i = 0; i < count; i++) {
        const char *path;
        int found = domain_xml_find_server(xml, errors[i].disk, guest->arena, &path, err);

        if (found <= 0 || !serves(path))
            return found < 0 ? -1 : 0;
    }
    return count > 0;
}

static int look_at_disks(const struct guest *guest, struct error *err) {
    virDomainDiskError errors[DISKS_MOST];
    int count = virt.virDomainGetDiskErrors(guest->domain, errors, DISKS_MOST, 0), served;

    if (count < 0)
        return virt_fail_looking(guest->connection, "reading the errors of the disks", err);
    served = are_served(guest, errors, count, err);
    for (int i = 0; i < count; i++)
        free(errors[i].disk);
    return served;
}

int stopped_go_on(const struct guest *guest, struct error *err) {
    int stopped = stopped_by_error(guest->connection, guest->domain, err), served;

    if (stopped <= 0)
        return stopped;
    served = look_at_disks(guest, err);
    if (served <= 0)
        return served;
    /* Somebody else may have been at it meanwhile. */
    stopped = stopped_by_error(guest->connection, guest->domain, err);
    if (stopped <= 0)
        return stopped;
    return virt.virDomainResume(guest->domain) == 0
               ? 1
               : virt_fail(guest->connection, "resuming the instance", err);
}
