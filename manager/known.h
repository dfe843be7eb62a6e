/*
 * What a driver asks of the database while it opens a backend (driver_backend.has_volume).
 */
#pragma once

#include "drivers/driver.h"
#include "ledger/settings.h"

struct known {
    struct db *db;
    const struct settings *settings;
    const char *host; /* node@backend */
};

/* `known` lives as long as what is opened with these settings. */
void known_set(struct driver_backend *backend, struct known *known);
