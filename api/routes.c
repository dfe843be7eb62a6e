#include "api/routes.h"

const struct route *const api_routes[] = {
#define ROUTES(name) name,
#include "api/routes.def"
#undef ROUTES
    NULL,
};
