/*
 * Is it the directory of the backend's volumes, and not the empty mount point of a missing mount,
 * or another mount?
 */
#pragma once

#include "drivers/file/directory.h"

/*
 * It is when it has the backend's marker, ".scoria-<name>".  A directory without it is marked if it
 * has a volume of the backend, or if no volume is recorded (at `location`; NULL: anywhere).
 * Otherwise it is refused (ERROR_UNAVAILABLE): a volume that is not found there need not be gone.
 * A read-only caller writes no marker; without a database any directory is accepted.
 */
int directory_claim(const struct directory *directory, const struct driver_backend *backend,
                    const char *location, struct error *err);
