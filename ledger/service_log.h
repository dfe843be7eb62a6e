/*
 * Log levels of services, read and set from afar.  A process of the API sets its own at once; a
 * service elsewhere finds what was asked of it at its next heartbeat, takes it up, and says which
 * levels it has now.
 */
#pragma once

#include "common/log.h"
#include "ledger/service.h"

#define SERVICE_LOGGERS_MOST  32
#define SERVICE_LEVEL_UNNAMED (-1)

struct service_levels {
    int of[SERVICE_LOGGERS_MOST]; /* by number of the logger: enum log_level, or unnamed */
};

/* Of this process. */
struct service_levels service_levels_now(void);
/* `level` for the loggers whose names begin with `prefix`, the others unnamed. */
struct service_levels service_levels_of(const char *prefix, enum log_level level);
/* Sets those of this process that are named. */
void service_levels_apply(const struct service_levels *levels);

/* What the service has said of itself; 0 when it has never done so. */
int service_levels_said(struct work *work, const struct service *service,
                        struct service_levels *ret, struct error *err);
/* Adds to what is asked of the service. */
int service_levels_ask(struct work *work, const struct service *service,
                       const struct service_levels *wanted, struct error *err);
/*
 * Part of a heartbeat: moves what is asked of the service into *ret.  The row already tells these
 * levels as the service's own, so the caller applies them once the transaction has committed.
 */
int service_levels_take(struct work *work, const char *binary, const char *host,
                        struct service_levels *ret, struct error *err);
