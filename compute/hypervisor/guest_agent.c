#include "compute/hypervisor/guest_agent.h"

#include "common/cleanup.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    int code;
    enum error_kind kind;
} kinds[] = {
    { VIR_ERR_ARGUMENT_UNSUPPORTED, ERROR_BAD_REQUEST }, /* the domain has no channel for an
                                                          * agent */
    { VIR_ERR_CONFIG_UNSUPPORTED, ERROR_BAD_REQUEST },
    { VIR_ERR_OPERATION_UNSUPPORTED, ERROR_BAD_REQUEST },
    { VIR_ERR_NO_SUPPORT, ERROR_BAD_REQUEST },
    { VIR_ERR_AGENT_UNRESPONSIVE, ERROR_CONFLICT },
    { VIR_ERR_AGENT_UNSYNCED, ERROR_CONFLICT },
};

static int fail(const struct guest *guest, const char *what, struct error *err) {
    int code = virt.virGetLastErrorCode();

    virt_fail(guest->connection, what, err);
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (kinds[i].code == code)
            err->kind = kinds[i].kind;
    return -1;
}

struct file_systems {
    virDomainFSInfoPtr *list;
    int count;
};

static void free_file_systems(struct file_systems *all) {
    for (int i = 0; i < all->count; i++)
        virt.virDomainFSInfoFree(all->list[i]);
    free(all->list);
}
#define autofilesystems __attribute__((cleanup(free_file_systems)))

/* Only a mounted file system knows its free blocks. */
static int find_file_system(const struct guest *guest, const struct disk *disk, struct error *err) {
    autofilesystems struct file_systems all = { 0 };
    int count = virt.virDomainGetFSInfo(guest->domain, &all.list, 0);

    if (count < 0)
        return fail(guest, "querying the guest's file systems", err);
    all.count = count;
    for (int i = 0; i < count; i++) {
        for (size_t j = 0; j < all.list[i]->ndevAlias; j++) {
            if (strcmp(all.list[i]->devAlias[j], disk->target) == 0)
                return 0;
        }
    }
    return error_set(
        err, ERROR_BAD_REQUEST,
        "The guest has no file system of the volume mounted: free space is known of mounted file systems only.");
}

#define QUERY_SECONDS  30
#define ANSWER_SECONDS 3600

int guest_agent_trim(const struct guest *guest, const struct disk *disk, struct error *err) {
    /* Without a timeout an unresponsive agent would occupy its thread while the guest runs. */
    virt.virDomainAgentSetResponseTimeout(guest->domain, QUERY_SECONDS, 0);
    if (find_file_system(guest, disk, err) < 0)
        return -1;
    virt.virDomainAgentSetResponseTimeout(guest->domain, ANSWER_SECONDS, 0);
    /* QEMU's agent trims all mounted file systems and takes no mount point. */
    if (virt.virDomainFSTrim(guest->domain, NULL, 0, 0) < 0)
        return fail(guest, "trimming the guest's file systems", err);
    return 0;
}
