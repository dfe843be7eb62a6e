/*
 * GET /volumes, /volumes/detail, /volumes/summary: rows of the table in volumes.c.
 */
#pragma once

#include "api/routes.h"

route_handler volume_list_short, volume_list_detail, volume_list_summary;
