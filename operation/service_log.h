/*
 * Log levels of services, read and set remotely.  A process of the API sets its own at once; a
 * service elsewhere receives a request at its next heartbeat, applies it, and reports its levels.
 */
#pragma once

#include "common/log.h"
#include "operation/service.h"

#define SERVICE_LOGGERS_MOST  32
#define SERVICE_LEVEL_UNNAMED (-1)

struct service_levels {
    int of[SERVICE_LOGGERS_MOST]; /* by number of the logger: enum log_level, or unnamed */
};

/* Of this process. */
struct service_levels service_levels_now(void);
/* `level` for the loggers whose names begin with `prefix`, the others unnamed. */
struct service_levels service_levels_of(const char *prefix, enum log_level level);
/* Sets the named ones in this process. */
void service_levels_apply(const struct service_levels *levels);

/* The levels that the service has reported; 0 when it has reported none. */
int service_levels_reported(struct work *work, const struct service *service,
                            struct service_levels *ret, struct error *err);
/* Adds to the levels requested of the service. */
int service_levels_request(struct work *work, const struct service *service,
                           const struct service_levels *wanted, struct error *err);
/*
 * Part of a heartbeat: moves the requested levels into *ret.  The row already shows these levels as
 * the service's own, so the caller applies them once the transaction has committed.
 */
int service_levels_take(struct work *work, const char *binary, const char *host,
                        struct service_levels *ret, struct error *err);
