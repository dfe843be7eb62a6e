/*
 * GET /types: paging, sorting, and the filters is_public and extra_specs.
 */
#pragma once

#include "api/request.h"

int type_list_all(struct request *request, struct error *err);
