/*
 * PUT /os-services/set-log and get-log: log levels of the services, by binary, host and prefix of
 * the logger's name.
 */
#pragma once

#include "rest/route.h"

struct service_log_body {
    const char *binary, *server, *prefix, *level;
};

extern const struct field service_log_set_fields[], service_log_get_fields[];

int service_log_set(struct request *request, struct error *err);
int service_log_get(struct request *request, struct error *err);
extern const struct shape service_log_shape;
