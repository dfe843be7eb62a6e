/*
 * The reference of a request to existing storage.  An unmanaged object has a name of its own
 * (driver.h); clients that know it as volume-ID or snapshot-ID, as upstream's drivers leave it, may
 * use that.
 */
#pragma once

#include "operation/work.h"

enum manage_object { MANAGE_VOLUME, MANAGE_SNAPSHOT };

/* Makes *reference the driver's name.  ERROR_BAD_REQUEST: a row has that object. */
int manage_reference(struct work *work, enum manage_object object, const char **reference,
                     struct error *err);
