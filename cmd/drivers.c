#include "cmd/drivers.h"

#include "replicated/driver.h"

/* clang-format off */
const struct option driver_choice_options[] = {
    { .section = OPTION_BACKEND, .key = "volume_driver", .type = OPTION_TEXT, .fallback = "file",
      .help = "Where the volumes of this backend live: file, nfs, netapp_nfs, powerstore_nfs, "
              "quobyte, replicated, memory or fault. Cinder's class paths of the drivers of the same kind are "
              "taken, too." },
    OPTIONS_END
};
/* clang-format on */

const struct driver *const drivers[] = {
    &file_driver,           &nfs_driver,     &netapp_nfs_driver,
    &powerstore_nfs_driver, &quobyte_driver, &replicated_driver,
    &memory_driver,         &fault_driver,   NULL
};
