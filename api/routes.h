/*
 * The tables of routes: each resource's file has its own (rest/route.h); routes.def has all.
 */
#pragma once

#include "rest/route.h"

#define ROUTES(name) extern const struct route name[];
#include "api/routes.def"
#undef ROUTES
