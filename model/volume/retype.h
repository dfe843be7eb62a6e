/*
 * A volume gets another type in place: nothing moves, so its pool must be one for that type, and
 * all is done when the request is answered.
 */
#pragma once

#include "model/volume/volume.h"

/* `type`: id or name, if visible to the caller.  ERROR_NOT_FOUND: there is none; ERROR_BAD_REQUEST:
 * not now, not to that type, or it would have to move; ERROR_OVER_QUOTA: of that type.
 * *ret_multiattach: may several attach it now? */
int volume_retype(struct work *work, const struct volume *volume, const char *type,
                  bool *ret_multiattach, struct error *err);
