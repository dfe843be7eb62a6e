/*
 * Is it the directory that the backend's volumes are in, and not the empty place of a mount that is
 * missing, or another mount?
 */
#pragma once

#include "drivers/file/directory.h"

/*
 * It is when it has the backend's marker, ".scoria-<name>".  One without
 * gets it if it has a volume of the backend, or if there is none that was made (at `location`;
 * NULL: anywhere).  Otherwise it is refused (ERROR_UNAVAILABLE): a volume that is not found there
 * is not a volume that is gone.  Who only looks writes no marker; with nobody to ask, any is taken.
 */
int directory_claim(const struct directory *directory, const struct driver_backend *backend,
                    const char *location, struct error *err);
