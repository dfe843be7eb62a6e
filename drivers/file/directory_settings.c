#include "drivers/file/directory_settings.h"

#define FILLS(member_) OPTION_FILLS(struct directory_settings, member_)

/* clang-format off */
const struct option directory_options[] = {
    { .section = OPTION_BACKEND, .key = "qemu_img_program", .type = OPTION_TEXT, FILLS(qemu_img.program), .fallback = "qemu-img",
      .help = "Program that creates and grows qcow2 images: a name that is looked up in PATH, "
              "or a path." },
    { .section = OPTION_BACKEND, .key = "qemu_img_timeout", .type = OPTION_SECONDS, FILLS(qemu_img.timeout_s), .fallback = "600",
      .min = 1, .max = 86400, .help = "Seconds after which a run of that program has failed and is ended." },
    { .section = OPTION_BACKEND, .key = "volume_copy_bps_limit", .type = OPTION_INT, FILLS(copy_bytes_per_second), .fallback = "0",
      .min = 0, .max = INT64_MAX / 1000000,
      .help = "Largest rate of a copy of a volume or snapshot in bytes per second; 0: no limit. Where files of the "
              "file system can share blocks, no data are copied." },
    OPTIONS_END
};
/* clang-format on */

/* For the last check before a file grows, when only [DEFAULT] has a ratio: the scheduler obeys
 * that. */
#define USUAL_OVER_SUBSCRIPTION 20.0

void directory_settings_load(const struct driver_backend *backend, struct directory_settings *ret) {
    const struct config *config = backend->config;
    bool given = config_given(config, backend->name, "max_over_subscription_ratio");

    *ret = (struct directory_settings){
        .over_subscription_given = given,
        .over_subscription =
            given ? config_float(config, backend->name, "max_over_subscription_ratio")
                  : USUAL_OVER_SUBSCRIPTION,
        .reserved_percent = config_int(config, backend->name, "reserved_percentage"),
        .sparse = true,
        .mode = 0600,
    };
    config_fill(config, backend->name, directory_options, ret);
}

json_t *directory_capabilities(const struct directory_settings *settings, unsigned features) {
    bool thin = settings->sparse || settings->qcow2;
    /* QEMU refuses to share a qcow2 image between guests. */
    unsigned missing = (settings->qcow2 ? DRIVER_MULTIATTACH : 0) |
                       (thin ? DRIVER_THICK : DRIVER_THIN | DRIVER_RECLAIM);
    json_t *report = driver_capabilities(features & ~missing);

    json_object_set_new(report, POOL_SNAPSHOT_OVERLAYS, json_boolean(settings->overlays));
    json_object_set_new(report, "reserved_percentage", json_integer(settings->reserved_percent));
    if (settings->over_subscription_given)
        json_object_set_new(report, "max_over_subscription_ratio",
                            json_real(settings->over_subscription));
    return report;
}
