#include "operation/settings.h"

#include <string.h>

static const char *const notification_drivers[] = { "noop", "log", "messagingv2", "messaging",
                                                    NULL };

static const char *const verifications[] = { "enabled", "disabled", NULL };

#define FILLS(member_) OPTION_FILLS(struct settings, member_)

/* clang-format off */
const struct option settings_options[] = {
    { .section = "DEFAULT", .key = "default_volume_type", .type = OPTION_TEXT, FILLS(default_volume_type), .fallback = "__DEFAULT__",
      .help = "Volume type of volumes that are created without one." },
    { .section = "DEFAULT", .key = "default_group_type", .type = OPTION_TEXT, FILLS(default_group_type), .fallback = "__DEFAULT__",
      .help = "Group type that the API reports as the default of groups created without one. __DEFAULT__ exists "
              "from the start." },
    { .section = "DEFAULT", .key = "storage_availability_zone", .type = OPTION_TEXT, FILLS(storage_availability_zone), .fallback = "nova",
      .help = "Availability zone of this node's volume service." },
    { .section = "DEFAULT", .key = "default_availability_zone", .type = OPTION_TEXT, FILLS(default_availability_zone),
      .help = "Zone of volumes created without one. Unset: storage_availability_zone." },
    { .section = "DEFAULT", .key = "allow_availability_zone_fallback", .type = OPTION_BOOL, FILLS(allow_availability_zone_fallback),
      .fallback = "false",
      .help = "Put a volume into the default zone when the requested zone does not exist, instead of refusing the "
              "request." },
    { .section = "DEFAULT", .key = "quota_volumes", .type = OPTION_INT, .fallback = "10", .min = -1, .max = 2147483647,
      .help = "Volumes of a project; -1 for no limit, as without Keystone when unset." },
    { .section = "DEFAULT", .key = "quota_snapshots", .type = OPTION_INT, .fallback = "10", .min = -1, .max = 2147483647,
      .help = "Snapshots of a project; -1 for no limit, as without Keystone when unset." },
    { .section = "DEFAULT", .key = "quota_gigabytes", .type = OPTION_INT, .fallback = "1000", .min = -1, .max = 2147483647,
      .help = "GiB of a project's volumes and snapshots together; -1 for no limit, as without Keystone when unset." },
    { .section = "DEFAULT", .key = "no_snapshot_gb_quota", .type = OPTION_BOOL, FILLS(no_snapshot_gb_quota), .fallback = "false",
      .help = "New snapshots do not count in a project's gigabytes." },
    { .section = "DEFAULT", .key = "quota_backups", .type = OPTION_INT, .fallback = "10", .min = -1, .max = 2147483647,
      .help = "Backups of a project; -1 for no limit, as without Keystone when unset." },
    { .section = "DEFAULT", .key = "quota_backup_gigabytes", .type = OPTION_INT, .fallback = "1000", .min = -1, .max = 2147483647,
      .help = "GiB of a project's backups; -1 for no limit, as without Keystone when unset." },
    { .section = "DEFAULT", .key = "quota_groups", .type = OPTION_INT, .fallback = "10", .min = -1, .max = 2147483647,
      .help = "Volume groups of a project; -1 for no limit, as without Keystone when unset." },
    { .section = "DEFAULT", .key = "per_volume_size_limit", .type = OPTION_INT, FILLS(per_volume_size_limit), .fallback = "-1",
      .min = -1, .max = 2147483647, .help = "GiB of a single volume; -1 for no limit." },
    { .section = "DEFAULT", .key = "quota_metadata_items", .type = OPTION_INT, FILLS(metadata_items), .fallback = "128", .min = 1, .max = 4096,
      .help = "Items of the metadata of one volume, of its image metadata, and of the extra specs of one type." },
    { .section = "DEFAULT", .key = "per_volume_attachments_limit", .type = OPTION_INT, FILLS(per_volume_attachments), .fallback = "128",
      .min = 1, .max = 4096, .help = "Attachments of a single volume." },
    { .section = "DEFAULT", .key = "per_project_messages_limit", .type = OPTION_INT, FILLS(per_project_messages), .fallback = "1000",
      .min = 1, .max = 100000, .help = "User messages that are kept of a project; the oldest go first." },
    { .section = "DEFAULT", .key = "per_project_documents_mb", .type = OPTION_INT, FILLS(document_bytes), .unit = 1 << 20, .fallback = "128",
      .min = 1, .max = 1048576, .help = "MiB of all policies, configs and snapshots together that a project declares, without their status." },
    { .section = "DEFAULT", .key = "extend_deadline", .type = OPTION_SECONDS, FILLS(extend_deadline_s), .fallback = "600", .min = 1, .max = 31536000,
      .help = "Seconds that an extend waits for the compute side's report. Then the size of the image decides: the "
              "extend succeeds if it has grown, otherwise it is rolled back." },
    { .section = "DEFAULT", .key = "assisted_snapshot_create_deadline", .type = OPTION_SECONDS, FILLS(assisted_create_deadline_s), .fallback = "600",
      .min = 1, .max = 31536000,
      .help = "Seconds that a snapshot taken by the host of a running guest waits for its report. Then the files "
              "decide: the snapshot succeeds if the guest writes to the new file, otherwise it is undone." },
    { .section = "DEFAULT", .key = "assisted_snapshot_delete_deadline", .type = OPTION_SECONDS, FILLS(assisted_delete_deadline_s), .fallback = "7200",
      .min = 1, .max = 31536000, .help = "The same of a snapshot that is deleted by merging files below a running guest." },
    { .section = "DEFAULT", .key = "attached_reclaim_deadline", .type = OPTION_SECONDS, FILLS(attached_reclaim_deadline_s), .fallback = "3600",
      .min = 1, .max = 31536000,
      .help = "Seconds that reclaiming space of an attached volume waits for the guest to trim its file systems. "
              "Then it has failed; space reclaimed by then stays free." },
    { .section = "DEFAULT", .key = "operation_lease", .type = OPTION_SECONDS, FILLS(operation_lease_s), .fallback = "15", .min = 2, .max = 3600,
      .help = "Seconds without a heartbeat after which a manager counts as dead and its operations are taken over." },
    { .section = "DEFAULT", .key = "message_ttl", .type = OPTION_SECONDS, FILLS(message_ttl_s), .fallback = "2592000", .min = 1, .max = 315360000,
      .help = "Seconds that user messages are kept." },
    { .section = "DEFAULT", .key = "service_down_time", .type = OPTION_SECONDS, FILLS(service_down_s), .fallback = "60", .min = 2, .max = 86400,
      .help = "Seconds without a report after which a service counts as down." },
    { .section = "DEFAULT", .key = "replica_pool_down_time", .type = OPTION_SECONDS, FILLS(replica_pool_down_s), .fallback = "30",
      .min = 2, .max = 86400, .help = "Seconds without a report after which a pool of replicas counts as offline." },
    { .section = "DEFAULT", .key = "replica_replacements", .type = OPTION_INT, FILLS(replica_replacements_most), .fallback = "2",
      .min = 1, .max = 1000,
      .help = "Largest number of replicas of declared volumes that are copied at once to replace replicas on "
              "offline or drained pools." },
    { .section = "DEFAULT", .key = "target_takeover_time", .type = OPTION_SECONDS, FILLS(target_takeover_s), .fallback = "60", .min = 0, .max = 86400,
      .help = "Seconds without a report of any pool of a node after which a declared volume that is published on "
              "another node, or nowhere, is taken from it, if it has three replicas or more and most of them can "
              "keep the unresponsive node from writing and were reported for as long; 0: never." },
    { .section = "DEFAULT", .key = "max_over_subscription_ratio", .type = OPTION_FLOAT, FILLS(max_over_subscription_ratio), .fallback = "20.0",
      .help = "Limit of the total size of sparse volumes, as a multiple of the capacity of a "
              "thin pool." },
    { .section = "DEFAULT", .key = "osapi_max_limit", .type = OPTION_INT, FILLS(max_limit), .fallback = "1000", .min = 1, .max = 100000,
      .help = "Most items in one answer of a list." },
    { .section = "DEFAULT", .key = "osapi_max_page_mb", .type = OPTION_INT, FILLS(page_bytes), .unit = 1 << 20, .fallback = "8",
      .min = 1, .max = 1024, .help = "MiB of one page of a list: one that would be larger ends earlier, with a link to the next." },
    { .section = "DEFAULT", .key = "verify_glance_signatures", .type = OPTION_WORD, .fallback = "enabled", .words = verifications,
      .help = "Whether signatures of images are verified when a volume is made of one, with certificates of the key "
              "manager (section barbican). Without a key manager signed images are refused while this is enabled." },
    { .section = "DEFAULT", .key = "cinder_internal_tenant_project_id", .type = OPTION_TEXT, FILLS(internal_project_id),
      .help = "Project of the volumes that are entries of image caches (image_volume_cache_enabled)." },
    { .section = "DEFAULT", .key = "cinder_internal_tenant_user_id", .type = OPTION_TEXT, FILLS(internal_user_id),
      .help = "User of these volumes." },
    { .section = "DEFAULT", .key = "allowed_direct_url_schemes", .type = OPTION_LIST,
      .help = "With cinder, a volume of a raw image is a clone of the volume that the image service names as the place of "
              "its content (cinder://), if that is on the same pool and of the image's owner. Other schemes have no effect." },
    { .section = "DEFAULT", .key = "enable_force_upload", .type = OPTION_BOOL, FILLS(enable_force_upload), .fallback = "false",
      .help = "Whether a request with force makes an image of an attached volume, too: of its content at one moment, "
              "as after a loss of power of its guest." },
    { .section = "oslo_messaging_notifications", .key = "driver", .type = OPTION_WORD, .fallback = "noop",
      .words = notification_drivers,
      .help = "Where notifications about volumes go: noop makes none, log writes each to the log, messagingv2 "
              "sends them to the broker, messaging does so in the older form without an envelope." },
    { .section = "oslo_messaging_notifications", .key = "topics", .type = OPTION_LIST, .fallback = "notifications",
      .help = "Topics of notifications, at most 8; each with .info behind it is the name of a queue in the broker." },
    { .section = "oslo_messaging_notifications", .key = "transport_url", .type = OPTION_TEXT, .secret = true,
      .help = "The broker of notifications. Unset: the one of [DEFAULT] transport_url." },
    { .section = "oslo_messaging_notifications", .key = "waiting_mb", .type = OPTION_INT, .fallback = "64", .min = 1, .max = 1048576,
      .help = "MiB of notifications that wait in the database while their broker is away. Above that the oldest are dropped, "
              "of the projects with most, and the log has their number." },
    OPTIONS_END
};
/* clang-format on */

/* Without identity all callers are one user of a service of its own. */
static int64_t quota(const struct config *config, const char *key) {
    bool known = strcmp(config_text(config, "DEFAULT", "auth_strategy"), "keystone") == 0;

    return known || config_given(config, "DEFAULT", key) ? config_int(config, "DEFAULT", key) : -1;
}

void settings_load(const struct config *config, const struct clock *clock, struct settings *ret) {
    static const char notifications[] = "oslo_messaging_notifications";
    const char *driver = config_text(config, notifications, "driver");

    *ret = (struct settings){
        .clock = clock,
        .quota_volumes = quota(config, "quota_volumes"),
        .quota_snapshots = quota(config, "quota_snapshots"),
        .quota_gigabytes = quota(config, "quota_gigabytes"),
        .quota_backups = quota(config, "quota_backups"),
        .quota_backup_gigabytes = quota(config, "quota_backup_gigabytes"),
        .quota_groups = quota(config, "quota_groups"),
    };
    ret->verify_image_signatures =
        strcmp(config_text(config, "DEFAULT", "verify_glance_signatures"), "enabled") == 0;
    for (size_t i = 0; config_item(config, "DEFAULT", "allowed_direct_url_schemes", i); i++)
        ret->clones_image_volumes |=
            strcmp(config_item(config, "DEFAULT", "allowed_direct_url_schemes", i), "cinder") == 0;
    config_fill(config, NULL, settings_options, ret);
    ret->notifications = strcmp(driver, "noop") != 0;
    ret->notifications_whole = ret->notifications && strcmp(driver, "log") != 0;
    for (unsigned i = 0; i < NOTIFICATION_TOPICS_MOST; i++)
        ret->notification_topics[i] = config_item(config, notifications, "topics", i);
}
