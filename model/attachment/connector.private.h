/*
 * A client's description of a host that is to connect a volume.  It is stored with the attachment,
 * so its size is bounded; only the driver interprets it.
 */
#pragma once

#include "common/error.h"

#include <jansson.h>

/* ERROR_BAD_REQUEST names the invalid field. */
int connector_check(const json_t *connector, struct error *err);
