#include "compute/hypervisor/blocks.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "compute/hypervisor/domain_xml.h"
#include "compute/hypervisor/image.h"
#include "json/json.h"

#include <string.h>

static int refuse_detached(struct error *err) {
    return error_set(err, ERROR_CONFLICT, "the disk has been detached from the instance");
}

int blocks_list(const struct guest *guest, const struct disk *disk, const char *const **ret,
                struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);
    int found = xml ? domain_xml_list_chain(xml, disk->serial, guest->arena, ret, err)
                    : virt_fail_query(guest->connection, "reading the domain", err);

    return found == 0 ? refuse_detached(err) : found < 0 ? -1 : 0;
}

/* The guest would see the content of another backing image, or the end of a smaller one. */
static int check_overlay(const struct guest *guest, const struct disk_overlay *overlay,
                         struct error *err) {
    const struct disk *disk = overlay->disk;
    const char *slash = strrchr(disk->source, '/'), *below;
    int64_t capacity;

    if (image_layer(guest->arena, overlay->path, &capacity, &below, err) < 0)
        return -1;
    if (!slash || (strcmp(below, slash + 1) != 0 && strcmp(below, disk->source) != 0))
        return error_set(err, ERROR_BACKEND, "%s has the backing file \"%.100s\" instead of %s",
                         overlay->path, below, disk->source);
    if (capacity < disk->capacity)
        return error_set(err, ERROR_BACKEND, "%s has %jd bytes, the disk has %jd", overlay->path,
                         (intmax_t)capacity, (intmax_t)disk->capacity);
    return 0;
}

static int create(const struct guest *guest, const char *definition, unsigned flags,
                  struct error *err) {
    virDomainSnapshotPtr snapshot = virt.virDomainSnapshotCreateXML(
        guest->domain, definition,
        flags | VIR_DOMAIN_SNAPSHOT_CREATE_DISK_ONLY | VIR_DOMAIN_SNAPSHOT_CREATE_REUSE_EXT |
            VIR_DOMAIN_SNAPSHOT_CREATE_NO_METADATA | VIR_DOMAIN_SNAPSHOT_CREATE_ATOMIC);

    if (!snapshot)
        return virt_fail(guest->connection, "taking the snapshot", err);
    virt.virDomainSnapshotFree(snapshot);
    return 0;
}

int blocks_snapshot(const struct guest *guest, const struct disk_overlay *overlays, unsigned count,
                    struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);
    const char *definition;
    int found;

    if (!xml)
        return virt_fail_query(guest->connection, "reading the domain", err);
    found = domain_xml_snapshot(xml, overlays, count, guest->arena, &definition, err);
    if (found <= 0)
        return found == 0 ? refuse_detached(err) : -1;
    for (unsigned i = 0; i < count; i++)
        if (check_overlay(guest, &overlays[i], err) < 0)
            return -1;
    /* a connected guest agent can flush the file systems */
    if (strstr(xml, "name='org.qemu.guest_agent.0' state='connected'")) {
        struct error failure = { 0 };

        if (create(guest, definition, VIR_DOMAIN_SNAPSHOT_CREATE_QUIESCE, &failure) == 0)
            return 0;
        if (failure.kind == ERROR_UNAVAILABLE)
            return error_pass(err, &failure);
    }
    return create(guest, definition, 0, err);
}

int blocks_merge(const struct guest *guest, const struct disk *disk, const char *top,
                 const char *base, struct error *err) {
    int result;

    if (top)
        result = virt.virDomainBlockCommit(guest->domain, disk->source, base, top, 0,
                                           VIR_DOMAIN_BLOCK_COMMIT_RELATIVE);
    else
        result = virt.virDomainBlockRebase(guest->domain, disk->source, base, 0,
                                           base ? VIR_DOMAIN_BLOCK_REBASE_RELATIVE : 0);
    return result < 0 ? virt_fail(guest->connection, "merging images of the disk", err) : 0;
}

int blocks_forget(const struct guest *guest, const struct disk *disk, struct error *err) {
    const unsigned whole = VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE;
    int persistent = virt.virDomainIsPersistent(guest->domain), found;
    autofree char *xml = persistent > 0 ? virt.virDomainGetXMLDesc(guest->domain, whole) : NULL;
    const char *alone;

    if (persistent == 0)
        return 0;
    if (!xml)
        return virt_fail_query(guest->connection, "reading the domain's definition", err);
    found = domain_xml_without_chain(xml, disk->serial, disk->source, guest->arena, &alone, err);
    if (found <= 0)
        return found;
    if (virt.virDomainUpdateDeviceFlags(guest->domain, alone, VIR_DOMAIN_AFFECT_CONFIG) < 0)
        return virt_fail(guest->connection, "changing the domain's definition", err);
    return 0;
}

bool blocks_job_ends(virDomainPtr domain) {
    static const char *const quiet[] = { "running", "paused", "ready", "standby" };
    autoarena struct arena *arena = arena_new();
    autofree char *answer = NULL;
    const json_t *jobs;

    if (virt.virDomainQemuMonitorCommand(domain, "{\"execute\": \"query-jobs\"}", &answer, 0) < 0)
        return false;
    jobs = json_object_get(json_parse(arena, answer, strlen(answer), NULL), "return");
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const char *status = json_text_of(json_array_get(jobs, i), "status");

        if (!status || !words_have(quiet, LENGTH(quiet), status))
            return true;
    }
    return false;
}
