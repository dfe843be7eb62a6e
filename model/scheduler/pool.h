/*
 * Pools: the capacity that backends report, and the part provisioned to volumes.
 */
#pragma once

#include "drivers/driver.h"
#include "model/volume/volume.h"
#include "operation/service.h"

#include <jansson.h>

struct pool {
    const char *name;         /* node@backend#pool */
    const char *host;         /* node@backend */
    const char *capabilities; /* JSON object */
    double total_gb, free_gb; /* < 0: unknown */
    bool infinite;
    int64_t allocated_gb; /* sizes of its volumes */
    int64_t snapshots_gb; /* provisioned to its snapshots */
    int64_t reported_at;

    /* Filled by pool_list() and pool_find(), from the pool's volume service; NULL without one. */
    const char *service_id, *availability_zone;
    bool active; /* takes new volumes: the service is up, enabled and not frozen */
};

/* SQL: the id of the volume service that the pool `name` belongs to; NULL without a pool. */
#define POOL_SERVICE_ID(name)                                           \
    "(SELECT s.id FROM pools p JOIN services s ON s.host = p.host AND " \
    "s.binary_name = '" SERVICE_VOLUME "' WHERE p.name = " name ")"

/* Writes the row; allocated_gb and snapshots_gb of a known pool stay, a new one gets the sums of
 * its volumes and snapshots. */
int pool_report(struct work *work, const struct pool *pool, struct error *err);
/* In order of names; returns how many. */
int pool_list(struct work *work, struct pool **ret, struct error *err);
/* 1 found, 0 none. */
int pool_find(struct work *work, const char *name, struct pool *ret, struct error *err);
/* Adds to allocated_gb (negative: releases, not below 0). */
int pool_allocate(struct work *work, const char *name, int64_t delta_gb, struct error *err);
/* Add the snapshot's promised_gb to snapshots_gb, and remove it before the row is deleted. */
int pool_promise_snapshot(struct work *work, const char *snapshot_id, struct error *err);
int pool_release_snapshot(struct work *work, const char *snapshot_id, struct error *err);
/* Does snapshots_gb of a pool of that backend differ from the sum of its snapshots' rows, as when a
 * manager of the previous release has deleted some?  1, 0, or -1.  It reads the rows of all. */
int pool_promises_differ(struct work *work, const char *host, struct error *err);
/* Sets it to that sum. */
int pool_count_promises(struct work *work, const char *host, struct error *err);
/* Space in GiB provisioned to volumes and snapshots: the row's count or the report's
 * provisioned_capacity_gb, whichever is larger. */
double pool_provisioned_gb(const struct pool *pool, const json_t *report);
/* Before an operation begins that not every backend supports (driver_features): ERROR_BAD_REQUEST
 * with `refusal` when the pool reports that its driver has not the feature.  Unknown support is
 * accepted. */
int pool_demand(struct work *work, const char *name, enum driver_feature feature,
                const char *refusal, struct error *err);
/* Does the report state that its driver has not the feature? */
bool pool_lacks(struct work *work, const struct pool *pool, enum driver_feature feature);
/* 1 its report has this capability, 0, also without a pool, -1. */
int pool_has_capability(struct work *work, const char *name, const char *what, struct error *err);
/* The driver's report as a tree that lives as long as the arena; an unreadable one is empty. */
const json_t *pool_reported(struct work *work, const struct pool *pool);
/* A copy of the report completed with newer values of the row (capacities, allocated space, time)
 * and with every key that clients need: those matched by extra specs, and those that the API
 * shows. */
json_t *pool_capabilities(struct work *work, const struct pool *pool);
