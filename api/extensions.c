#include "api/routes.h"

#include <string.h>

/* Upstream tells a date for each; ours is the date of the table. */
#define UPDATED "2026-08-01T00:00:00+00:00"

struct extension {
    const char *alias, *name, *description;
};

/* clang-format off */
static const struct extension extensions[] = {
    { "os-vol-image-meta", "VolumeImageMetadata", "Image metadata of a volume." },
    { "os-volume-unmanage", "VolumeUnmanage", "Forgets a volume and leaves its storage alone." },
    { "os-used-limits", "UsedLimits", "Usage beside the limits of a project." },
    { "os-admin-actions", "AdminActions", "Actions of operators: reset of a status, forced ends." },
    { "cgsnapshots", "Cgsnapshots", "Snapshots of consistency groups." },
    { "os-types-extra-specs", "TypesExtraSpecs", "Extra specs of volume types." },
    { "os-snapshot-unmanage", "SnapshotUnmanage", "Forgets a snapshot and leaves its storage alone." },
    { "encryption", "VolumeTypeEncryption", "Encryption of volume types." },
    { "os-volume-encryption-metadata", "VolumeEncryptionMetadata", "How a volume is encrypted." },
    { "consistencygroups", "Consistencygroups", "Groups of volumes that are snapshotted together." },
    { "os-snapshot-actions", "SnapshotActions", "Status reports of snapshots." },
    { "backups", "Backups", "Backups of volumes." },
    { "os-quota-sets", "Quotas", "Quotas of projects." },
    { "os-volume-actions", "VolumeActions", "Attach, detach, extend and other actions of volumes." },
    { "os-quota-class-sets", "QuotaClasses", "Quotas of classes of projects." },
    { "os-availability-zone", "AvailabilityZones", "Zones that volumes can be made in." },
    { "os-volume-type-access", "VolumeTypeAccess", "Projects that may use private volume types." },
    { "os-services", "Services", "Services, where they run and whether they are alive." },
    { "os-hosts", "Hosts", "Hosts and what they hold." },
    { "os-types-manage", "TypesManage", "Making, changing and deleting volume types." },
    { "os-extended-snapshot-attributes", "ExtendedSnapshotAttributes", "Project and progress of snapshots." },
    { "os-snapshot-manage", "SnapshotManage", "Takes existing snapshots over." },
    { "os-vol-tenant-attr", "VolumeTenantAttribute", "The project of a volume." },
    { "os-vol-host-attr", "VolumeHostAttribute", "The backend of a volume." },
    { "os-vol-mig-status-attr", "VolumeMigStatusAttribute", "The state of a volume's migration." },
    { "qos-specs", "Qos_specs_manage", "Quality of service of volume types." },
    { "os-volume-transfer", "VolumeTransfer", "Hands volumes to another project." },
    { "os-volume-manage", "VolumeManage", "Takes existing storage over as volumes." },
    { "os-extended-services", "ExtendedServices", "Why a service is disabled." },
    { "scheduler-stats", "Scheduler_stats", "Pools and their room." },
    { "capabilities", "Capabilities", "What a backend can do." },
    { "OS-SCH-HNT", "SchedulerHints", "Hints for the placement of a new volume." },
    { "os-extend-volume-completion", "ExtendVolumeCompletion",
      "The compute service reports the end of the growth of an attached volume." },
    { NULL, NULL, NULL },
};
/* clang-format on */

static void put_extension(struct json_out *out, const struct extension *extension) {
    out_begin_object(out);
    out_put_text(out, "name", extension->name);
    out_put_text(out, "alias", extension->alias);
    out_put_text(out, "description", extension->description);
    out_put_text(out, "updated", UPDATED);
    out_key(out, "links");
    out_begin_array(out);
    out_end_array(out);
    out_end_object(out);
}

static int extensions_list(struct request *request, struct error *err) {
    struct json_out *out = &request->out;

    (void)err;
    out_begin_object(out);
    out_key(out, "extensions");
    out_begin_array(out);
    for (const struct extension *extension = extensions; extension->alias; extension++)
        put_extension(out, extension);
    out_end_array(out);
    out_end_object(out);
    return 0;
}

static int extensions_show(struct request *request, struct error *err) {
    const struct extension *extension = extensions;

    while (extension->alias && strcmp(extension->alias, request->id) != 0)
        extension++;
    if (!extension->alias)
        return error_set(err, ERROR_NOT_FOUND, "There is no extension %s.", request->id);
    out_begin_object(&request->out);
    out_key(&request->out, "extension");
    put_extension(&request->out, extension);
    out_end_object(&request->out);
    return 0;
}

const struct route extension_routes[] = {
    { .method = "GET", .path = "/extensions", .handler = extensions_list, .status = 200 },
    { .method = "GET", .path = "/extensions/{id}", .handler = extensions_show, .status = 200 },
    { .method = "POST", .path = "/extensions", .flags = ROUTE_ABSENT },
    { .method = "PUT", .path = "/extensions/{id}", .flags = ROUTE_ABSENT },
    { .method = "DELETE", .path = "/extensions/{id}", .flags = ROUTE_ABSENT },
    ROUTES_END,
};
