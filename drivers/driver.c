#include "drivers/driver.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/nearest.h"

#include <string.h>

const struct driver *const drivers[] = {
    &file_driver,           &nfs_driver,     &netapp_nfs_driver,
    &powerstore_nfs_driver, &quobyte_driver, &replicated_driver,
    &memory_driver,         &fault_driver,   NULL
};

const struct driver_feature_row driver_features[] = {
    { DRIVER_MULTIATTACH, "multiattach", "multiattach" },
    { DRIVER_ONLINE_EXTEND, "online extend", "online_extend_support" },
    { DRIVER_THIN, "thin", "thin_provisioning_support" },
    { DRIVER_THICK, "thick", "thick_provisioning_support" },
    { DRIVER_SNAPSHOT, "snapshot", "snapshot_support" },
    { DRIVER_CLONE, "clone", "clone_support" },
    { DRIVER_REVERT, "revert", "revert_support" },
    { DRIVER_MANAGE, "manage", "manage_support" },
    { DRIVER_MANAGE_SNAPSHOT, "manage snapshot", "manage_snapshot_support" },
    { DRIVER_ASSIST, "assisted snapshot", NULL },
    { DRIVER_RECLAIM, "reclaim", "reclaim_support" },
    { .name = NULL },
};

/* The options of every backend. */
/* clang-format off */
static const struct option backend_options[] = {
    { .section = OPTION_BACKEND, .key = "volume_driver", .type = OPTION_TEXT, .fallback = "file",
      .help = "Where the volumes of this backend live: file, nfs, netapp_nfs, powerstore_nfs, "
              "quobyte, replicated, memory or fault. Cinder's class paths of the drivers of the same kind are "
              "taken, too." },
    { .section = OPTION_BACKEND, .key = "volume_backend_name", .type = OPTION_TEXT,
      .help = "Name that volume types select by their extra spec of this name. Unset: the "
              "name of the section." },
    { .section = OPTION_BACKEND, .key = "backend_host", .type = OPTION_TEXT,
      .help = "Host of this backend's volumes in place of [DEFAULT] host. Managers on several nodes "
              "that reach the same storage and give the same name here serve the backend together." },
    { .section = OPTION_BACKEND, .key = "max_over_subscription_ratio", .type = OPTION_FLOAT, .min = 1, .max = 1000000,
      .help = "Limit of the total size of sparse volumes, as a multiple of the capacity. "
              "Unset: as in [DEFAULT]." },
    { .section = OPTION_BACKEND, .key = "reserved_percentage", .type = OPTION_INT, .fallback = "0", .min = 0, .max = 100,
      .help = "Percentage of the total capacity that new volumes and growth leave free." },
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

size_t driver_add_options(const struct option **tables, size_t count, size_t most) {
    count = add_table(tables, count, most, backend_options);
    for (size_t i = 0; drivers[i]; i++) {
        for (const struct option *const *table = drivers[i]->options; *table; table++)
            count = add_table(tables, count, most, *table);
    }
    return count;
}

/* Class paths in configurations written for cinder. */
static const struct {
    const char *path;
    const struct driver *driver;
} class_paths[] = {
    { "cinder.volume.drivers.nfs.NfsDriver", &nfs_driver },
    { "cinder.volume.drivers.netapp.common.NetAppDriver", &netapp_nfs_driver },
    { "cinder.volume.drivers.dell_emc.powerstore.nfs.PowerStoreNFSDriver", &powerstore_nfs_driver },
    { "cinder.volume.drivers.quobyte.QuobyteDriver", &quobyte_driver },
};

const struct driver *driver_find(const char *name) {
    for (size_t i = 0; drivers[i]; i++) {
        if (strcmp(drivers[i]->name, name) == 0)
            return drivers[i];
    }
    for (size_t i = 0; i < LENGTH(class_paths); i++) {
        if (strcmp(class_paths[i].path, name) == 0)
            return class_paths[i].driver;
    }
    return NULL;
}

const char *driver_nearest(const char *name) {
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; drivers[i]; i++)
        nearest_try(&nearest, drivers[i]->name);
    return nearest.word ? nearest.word : drivers[0]->name;
}
