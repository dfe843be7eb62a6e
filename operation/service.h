/*
 * Services: their hosts, whether they are alive, and whether an operator has disabled them.
 */
#pragma once

#include "operation/work.h"

#define SERVICE_API       "cinder-api" /* has no row: it reports its own state */
#define SERVICE_VOLUME    "cinder-volume"
#define SERVICE_SCHEDULER "cinder-scheduler"
#define SERVICE_COMPUTE   "scoria-compute"

struct service {
    const char *id, *binary, *host, *availability_zone;
    bool disabled, frozen, up;
    const char *disabled_reason, *endpoint;
    int64_t reported_at, created_at, updated_at;
};

/* Heartbeat: makes or updates the row. `endpoint` NULL: none. */
int service_report(struct work *work, const char *binary, const char *host, const char *zone,
                   const char *endpoint, struct error *err);
/* 1 found, 0 none. */
int service_find(struct work *work, const char *binary, const char *host, struct service *ret,
                 struct error *err);
/* Of a volume's host (node@backend#pool): 1 its service is frozen, 0, or -1. */
int service_is_frozen(struct work *work, const char *host, struct error *err);
/* Each filter may be NULL; `host` also matches node@backend of node. Returns how many. */
int service_list(struct work *work, const char *binary, const char *host, struct service **ret,
                 struct error *err);
int service_set_disabled(struct work *work, const struct service *service, bool disabled,
                         const char *reason, struct error *err);
int service_set_frozen(struct work *work, const struct service *service, bool frozen,
                       struct error *err);
/* Zones of the volume services plus the configured one; available when an enabled service is up. */
struct zone {
    const char *name;
    bool available;
};
int service_zones(struct work *work, struct zone **ret, struct error *err);
