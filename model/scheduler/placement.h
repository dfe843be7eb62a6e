/*
 * Picks the pool for a new volume: filters (service up, enabled and not frozen, zone, volumes of
 * images, type's extra specs against capabilities, space, hints), then sorts by free space; of
 * equals the first by name.
 *
 * Hints: same_host and different_host take ids of volumes (one, or a list); local_to_instance takes
 * an instance and holds when one of its attachments has its host; query takes a term that is
 * evaluated for each pool (placement_query.private.h).  Others are ignored.
 */
#pragma once

#include "model/scheduler/pool.h"
#include "model/type/type.h"

#include <jansson.h>

struct placement {
    const struct volume_type *type; /* may be NULL */
    const char *availability_zone;  /* NULL: any that the type allows */
    int64_t size_gb;
    bool of_image;       /* filled with the content of an image */
    const json_t *hints; /* may be NULL */
    const char *backend; /* node@backend; NULL: any */
    /* GiB of a pool that would be released for the volume: where no pool has space otherwise.
     * NULL: none. */
    int (*evictable)(struct work *work, const char *pool, int64_t *ret_gb, struct error *err);
    /* Further types that the pool must accept. */
    const struct volume_type *other_types;
    unsigned other_type_count;
};

/* 1 with *ret in the arena, 2 the same and its evictable part must be released, 0 when nothing
 * fits, -1 failed: a malformed hint is ERROR_BAD_REQUEST.
 * When nothing fits, *ret_why (NULL: not wanted) is a sentence for the user, without names of
 * hosts; which filter refused each pool is logged. */
int placement_pick_pool(struct work *work, const struct placement *request, struct pool *ret,
                        const char **ret_why, struct error *err);
/* The same with *ret_host = node@backend#pool. */
int placement_pick(struct work *work, const struct placement *request, const char **ret_host,
                   const char **ret_why, struct error *err);

/* The sentence where an object must be in one pool. */
#define PLACEMENT_NO_SPACE "The pool of its volume has too little space."

/* Has the pool of `host` space to grow by delta_gb?  1 yes (also when unknown), 0 no, -1 failed. */
int placement_fits(struct work *work, const char *host, int64_t delta_gb, struct error *err);

/* The same for a new volume of that type (may be NULL), once freed_gb of the pool are released. */
int placement_fits_without(struct work *work, const char *host, const struct volume_type *type,
                           int64_t delta_gb, int64_t freed_gb, struct error *err);

/* ERROR_BAD_REQUEST: the pool of `host` reports a smaller largest volume. */
int placement_check_size(struct work *work, const char *host, int64_t size_gb, struct error *err);

/* The zone in a request (NULL: none), or the default one: ERROR_BAD_REQUEST when there is no such
 * zone. */
int zone_choose(struct work *work, const char *asked, const char **ret, struct error *err);

/* May volumes of the type be in the pool: do its extra specs match, whatever the space?  And the
 * zones that it lists? */
bool placement_matches(struct work *work, const struct pool *pool, const struct volume_type *type);
bool placement_may_have(struct work *work, const struct pool *pool, const struct volume_type *type);
