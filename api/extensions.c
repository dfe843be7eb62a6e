#include "api/routes.h"
#include "common/cleanup.h"
#include "rest/answer.h"

#include <string.h>

struct extension {
    const char *alias, *name, *updated, *description;
};

/* The extensions served here: clients offer what they find.  Texts and dates are upstream's; the
 * last one is scoria's own. */
/* clang-format off */
static const struct extension extensions[] = {
    { "os-vol-image-meta", "VolumeImageMetadata", "2012-12-07T00:00:00+00:00",
      "Show image metadata associated with the volume." },
    { "os-used-limits", "UsedLimits", "2013-10-03T00:00:00+00:00",
      "Provide data on limited resources that are being used." },
    { "os-admin-actions", "AdminActions", "2012-08-25T00:00:00+00:00",
      "Enable admin actions." },
    { "os-types-extra-specs", "TypesExtraSpecs", "2011-08-24T00:00:00+00:00",
      "Type extra specs support." },
    { "encryption", "VolumeTypeEncryption", "2013-07-01T00:00:00+00:00",
      "Encryption support for volume types." },
    { "os-volume-encryption-metadata", "VolumeEncryptionMetadata", "2013-07-10T00:00:00+00:00",
      "Volume encryption metadata retrieval support." },
    { "os-quota-sets", "Quotas", "2011-08-08T00:00:00+00:00",
      "Quota management support." },
    { "os-volume-actions", "VolumeActions", "2012-05-31T00:00:00+00:00",
      "Enable volume actions." },
    { "os-quota-class-sets", "QuotaClasses", "2012-03-12T00:00:00+00:00",
      "Quota classes management support." },
    { "os-availability-zone", "AvailabilityZones", "2013-06-27T00:00:00+00:00",
      "Describe Availability Zones." },
    { "os-volume-type-access", "VolumeTypeAccess", "2014-06-26T00:00:00Z",
      "Volume type access support." },
    { "os-services", "Services", "2012-10-28T00:00:00-00:00",
      "Services support." },
    { "os-hosts", "Hosts", "2011-06-29T00:00:00+00:00",
      "Admin-only host administration." },
    { "os-types-manage", "TypesManage", "2011-08-24T00:00:00+00:00",
      "Types manage support." },
    { "os-volume-transfer", "VolumeTransfer", "2013-05-29T00:00:00+00:00",
      "Volume transfer management support." },
    { "os-volume-manage", "VolumeManage", "2014-02-10T00:00:00+00:00",
      "Allows existing backend storage to be 'managed' by Cinder." },
    { "os-volume-unmanage", "VolumeUnmanage", "2012-05-31T00:00:00+00:00",
      "Enable volume unmanage operation." },
    { "os-snapshot-manage", "SnapshotManage", "2014-12-31T00:00:00+00:00",
      "Allows existing backend storage to be 'managed' by Cinder." },
    { "os-snapshot-unmanage", "SnapshotUnmanage", "2014-12-31T00:00:00+00:00",
      "Enable volume unmanage operation." },
    { "os-snapshot-actions", "SnapshotActions", "2013-07-16T00:00:00+00:00",
      "Enable snapshot manager actions." },
    { "os-extended-snapshot-attributes", "ExtendedSnapshotAttributes", "2012-06-19T00:00:00+00:00",
      "Extended SnapshotAttributes support." },
    { "os-vol-tenant-attr", "VolumeTenantAttribute", "2011-11-03T00:00:00+00:00",
      "Expose the internal project_id as an attribute of a volume." },
    { "os-vol-host-attr", "VolumeHostAttribute", "2011-11-03T00:00:00+00:00",
      "Expose host as an attribute of a volume." },
    { "os-vol-mig-status-attr", "VolumeMigStatusAttribute", "2013-08-08T00:00:00+00:00",
      "Expose migration_status as an attribute of a volume." },
    { "os-extended-services", "ExtendedServices", "2014-01-10T00:00:00-00:00",
      "Extended services support." },
    { "qos-specs", "Qos_specs_manage", "2013-08-02T00:00:00+00:00",
      "QoS specs support." },
    { "scheduler-stats", "Scheduler_stats", "2014-09-07T00:00:00+00:00",
      "Scheduler stats support." },
    { "capabilities", "Capabilities", "2015-08-31T00:00:00+00:00",
      "Capabilities support." },
    { "OS-SCH-HNT", "SchedulerHints", "2013-04-18T00:00:00+00:00",
      "Pass arbitrary key/value pairs to the scheduler." },
    { "consistencygroups", "Consistencygroups", "2014-08-18T00:00:00+00:00",
      "consistency groups support." },
    { "cgsnapshots", "Cgsnapshots", "2014-08-18T00:00:00+00:00",
      "cgsnapshots support." },
    { "os-extend-volume-completion", "ExtendVolumeCompletion", "2026-08-01T00:00:00+00:00",
      "The compute service reports the end of the growth of an attached volume." },
    { "os-reclaim-space", "ReclaimSpace", "2026-11-01T00:00:00+00:00",
      "A volume gives back room that holds nothing." },
    { "os-volume-policies", "VolumePolicies", "2026-11-23T00:00:00+00:00",
      "Declare what volumes are like." },
};
/* clang-format on */

static const struct shape_key keys[] = {
    SHAPE(struct extension, name, "name", TEXT),
    SHAPE(struct extension, alias, "alias", TEXT),
    SHAPE(struct extension, description, "description", TEXT),
    SHAPE(struct extension, updated, "updated", TEXT),
    SHAPE_BY(shape_no_items, "links", LIST),
    SHAPES_END,
};
static const struct shape shape = { "extension", keys };

static int extensions_list(struct request *request, struct error *err) {
    (void)err;
    answer_rows(request, extensions, LENGTH(extensions), sizeof(extensions[0]), 0);
    return 0;
}

static int extensions_show(struct request *request, struct error *err) {
    for (size_t i = 0; i < LENGTH(extensions); i++)
        if (strcmp(extensions[i].alias, request->id) == 0) {
            answer_row(request, &extensions[i], 0);
            return 0;
        }
    return error_set(err, ERROR_NOT_FOUND, "There is no extension %s.", request->id);
}

const struct route extension_routes[] = {
    { .method = "GET",
      .path = "/extensions",
      ANSWER("extensions", shape),
      .handler = extensions_list,
      .status = 200,
      .flags = ROUTE_MANY },
    { .method = "GET",
      .path = "/extensions/{id}",
      ANSWER("extension", shape),
      .handler = extensions_show,
      .status = 200 },
    ABSENT("POST", "/extensions"),
    ABSENT("PUT", "/extensions/{id}"),
    ABSENT("DELETE", "/extensions/{id}"),
    ROUTES_END,
};
