/*
 * Queries of a driver to the database while it opens a backend (driver_backend.knows).
 */
#pragma once

#include "drivers/driver.h"
#include "operation/settings.h"

struct known {
    struct db *db;
    const struct settings *settings;
    const char *host; /* node@backend */
};

/* `known` must outlive what is opened with these settings. */
void known_set(struct driver_backend *backend, struct known *known);
