/*
 * What a client says of a host that is to reach a volume.  It is kept with the attachment, so its
 * size is bounded; what it means is the driver's business.
 */
#pragma once

#include "common/error.h"

#include <jansson.h>

/* ERROR_BAD_REQUEST names what is wrong. */
int connector_check(const json_t *connector, struct error *err);
