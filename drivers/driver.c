#include "drivers/driver.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/nearest.h"

#include <string.h>

const struct driver_feature_row driver_features[] = {
#define FEATURE(bit, name, capability) { DRIVER_##bit, name, capability },
#include "drivers/driver.def"
    { .name = NULL },
};

unsigned driver_supported(const struct driver *driver) {
    unsigned some = 0, missing = 0;

#define CALL(feature, result, name, parameters, arguments, subject, output) \
    *(driver->name ? &some : &missing) |= DRIVER_##feature;
#include "drivers/driver.def"
    return driver->properties | (some & ~missing);
}

json_t *driver_capabilities(unsigned features) {
    json_t *report = json_object();

    for (const struct driver_feature_row *row = driver_features; row->name; row++) {
        if (row->capability)
            json_object_set_new(report, row->capability, json_boolean(features & row->bit));
    }
    return report;
}

/* The options of every backend. */
/* clang-format off */
static const struct option backend_options[] = {
    { .section = OPTION_BACKEND, .key = "volume_backend_name", .type = OPTION_TEXT,
      .help = "Name that volume types select by their extra spec of this name. Unset: the "
              "name of the section." },
    { .section = OPTION_BACKEND, .key = "backend_host", .type = OPTION_HOST,
      .help = "Host of this backend's volumes in place of [DEFAULT] host. Managers on several nodes "
              "that reach the same storage and give the same name here serve the backend together." },
    { .section = OPTION_BACKEND, .key = "max_over_subscription_ratio", .type = OPTION_FLOAT, .min = 1, .max = 1000000,
      .help = "Limit of the total size of sparse volumes, as a multiple of the capacity. "
              "Unset: as in [DEFAULT]." },
    { .section = OPTION_BACKEND, .key = "reserved_percentage", .type = OPTION_INT, .fallback = "0", .min = 0, .max = 100,
      .help = "Percentage of the total capacity that new volumes and growth leave free." },
    { .section = OPTION_BACKEND, .key = "image_volume_cache_enabled", .type = OPTION_BOOL, .fallback = "false",
      .help = "Keep the content of each image in a volume of the internal project (cinder_internal_tenant_project_id and "
              "cinder_internal_tenant_user_id, both must be set), and make volumes of the image as clones of it. A backend "
              "that makes no clones keeps none." },
    { .section = OPTION_BACKEND, .key = "image_volume_cache_max_size_gb", .type = OPTION_INT, .fallback = "200", .min = 0, .max = 2147483647,
      .help = "Largest total size of these volumes, which count in no quota; the least recently used are deleted. 0: no limit." },
    { .section = OPTION_BACKEND, .key = "image_volume_cache_max_count", .type = OPTION_INT, .fallback = "50", .min = 0, .max = 2147483647,
      .help = "Largest number of these volumes; the least recently used are deleted. 0: no limit." },
    { .section = OPTION_BACKEND, .key = "image_upload_use_cinder_backend", .type = OPTION_BOOL, .fallback = "false",
      .help = "Make a raw image of a volume by a clone of it, which the image service gets as the place of the content "
              "(cinder://), in place of the bytes. Where the clone fails, or the image service refuses the place, the bytes are "
              "sent. Glance needs its store cinder for such images." },
    { .section = OPTION_BACKEND, .key = "image_upload_use_internal_tenant", .type = OPTION_BOOL, .fallback = "false",
      .help = "Such a clone belongs to the internal project (cinder_internal_tenant_project_id and "
              "cinder_internal_tenant_user_id), and counts in its quota, not in that of the project of the request." },
    { .section = OPTION_BACKEND, .key = "report_discard_supported", .type = OPTION_BOOL, .fallback = "false",
      .help = "Report that the disk of a connected volume may be trimmed: connection_info has discard then, and "
              "Nova gives the disk discard=unmap, without which a guest's discards free no space." },
    OPTIONS_END
};
/* clang-format on */

static size_t add_table(const struct option **tables, size_t count, size_t most,
                        const struct option *table) {
    for (size_t i = 0; i < count; i++) {
        if (tables[i] == table)
            return count;
    }
    assert(count < most);
    tables[count] = table;
    return count + 1;
}

size_t driver_add_options(const struct driver *const *drivers, const struct option **tables,
                          size_t count, size_t most) {
    count = add_table(tables, count, most, backend_options);
    for (size_t i = 0; drivers[i]; i++) {
        for (const struct option *const *table = drivers[i]->options; *table; table++)
            count = add_table(tables, count, most, *table);
    }
    return count;
}

const struct driver *driver_find(const struct driver *const *drivers, const char *name) {
    for (; *drivers; drivers++) {
        if (strcmp((*drivers)->name, name) == 0 ||
            ((*drivers)->class_path && strcmp((*drivers)->class_path, name) == 0))
            return *drivers;
    }
    return NULL;
}

const char *driver_nearest(const struct driver *const *drivers, const char *name) {
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; drivers[i]; i++)
        nearest_try(&nearest, drivers[i]->name);
    return nearest.word ? nearest.word : drivers[0]->name;
}
