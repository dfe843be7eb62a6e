/*
 * GET /volumes/summary: a row of the table in volumes.c.
 */
#pragma once

#include "rest/route.h"

route_handler volume_summary_show;
extern const struct shape volume_summary_shape;
