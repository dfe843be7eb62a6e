/*
 * How a request names storage that is to be taken over.  An object that the service let go of has a
 * name of its own (driver.h); clients that have known it as volume-ID or snapshot-ID, as upstream's
 * drivers leave it, may name it so.
 */
#pragma once

#include "ledger/work.h"

enum manage_object { MANAGE_VOLUME, MANAGE_SNAPSHOT };

/* Makes *reference the name that the driver knows.  ERROR_BAD_REQUEST: a row has that object. */
int manage_reference(struct work *work, enum manage_object object, const char **reference,
                     struct error *err);
