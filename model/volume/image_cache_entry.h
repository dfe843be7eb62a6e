/*
 * Entries of image caches as volumes (image_cache.h): their names and statuses, their eviction, and
 * that of unused ones for other objects of their pool.
 */
#pragma once

#include "model/volume/volume.h"

struct volume_type;

#define IMAGE_CACHE_NAME     "image-"    /* of an entry, followed by the id of its image */
#define IMAGE_CACHE_VERIFIED " verified" /* behind its description, unless it is unsigned */

/* Is it, or was it before it was deleted, by its name? */
bool image_cache_is_named(const struct volume *volume);
/* It has been made of an image with this result, as in volume_image_describe(): it is marked if its
 * bytes are those that were signed. */
int image_cache_made(struct work *work, const char *entry_id, const char *verified,
                     struct error *err);
/* May it be deleted now? */
bool image_cache_may_evict(const struct volume *entry);
/* A work_body with a struct volume: an entry of which no clone can be made is deleted, unless it is
 * an entry no longer. */
int image_cache_evict(struct work *work, void *entry, struct error *err);
/* Entries with a status, of a whole backend (node@backend) or of a pool, also those that could not
 * be created or deleted; the least recently used first.  How many, or -1. */
int image_cache_list(struct work *work, const char *host, struct volume **ret, struct error *err);

/* GiB of the pool that its entries would release, or release already. */
int image_cache_evictable(struct work *work, const char *pool, int64_t *ret_gb, struct error *err);
/* placement_fits() for anything but an entry: where that is so without entries of the cache, the
 * least recently used are evicted until it is. `type`: of a new volume; may be NULL. */
int image_cache_yield(struct work *work, const char *pool, const struct volume_type *type,
                      int64_t delta_gb, struct error *err);
