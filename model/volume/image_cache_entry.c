#include "model/volume/image_cache_entry.h"

#include "common/cleanup.h"
#include "common/log_limit.h"
#include "model/notification.h"
#include "model/scheduler/placement.h"
#include "model/volume/delete.h"
#include "model/volume/image.h"

#include <string.h>

bool image_cache_is_named(const struct volume *volume) {
    return !volume->use_quota && volume->name &&
           strncmp(volume->name, IMAGE_CACHE_NAME, strlen(IMAGE_CACHE_NAME)) == 0;
}

int image_cache_made(struct work *work, const char *entry_id, const char *verified,
                     struct error *err) {
    if (!verified || strcmp(verified, VOLUME_IMAGE_VERIFIED) != 0)
        return 0;
    return db_change(work->tx, err,
                     "UPDATE volumes SET display_description = display_description || $1 "
                     "WHERE id = $2",
                     DB_TEXT(IMAGE_CACHE_VERIFIED), DB_TEXT(entry_id));
}

static bool has_status_of_entry(const struct volume *volume) {
    return volume->status == VOLUME_MAINTENANCE || volume->status == VOLUME_DOWNLOADING ||
           volume->status == VOLUME_ERROR || volume->status == VOLUME_ERROR_DELETING;
}

bool image_cache_may_evict(const struct volume *entry) {
    return has_status_of_entry(entry) && entry->status != VOLUME_DOWNLOADING;
}

int image_cache_evict(struct work *work, void *arg, struct error *err) {
    const struct volume *entry = arg;
    struct volume now;

    if (volume_attached(work, entry->id, &now, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (!image_cache_is_named(&now) || !has_status_of_entry(&now))
        return 0;
    return volume_delete(work, &now, DELETE_FORCE, err) < 0
               ? -1
               : notification_put_image_cache(work, "image_volume_cache.evict",
                                              entry->name + strlen(IMAGE_CACHE_NAME), entry->host,
                                              err);
}

#define IS_ENTRY "v.project_id = $1 AND v.use_quota = 0 AND v.display_name LIKE 'image-%' AND "

int image_cache_list(struct work *work, const char *host, struct volume **ret, struct error *err) {
    const struct db_value values[] = { DB_TEXT(work->settings->internal_project_id), DB_TEXT(host),
                                       DB_TEXT(arena_join(work->arena, host, "#", NULL)),
                                       DB_INT(strlen(host) + 1) };
    const struct query query = {
        .where = IS_ENTRY "v.status IN ('maintenance', 'downloading', 'error', 'error_deleting') "
                          "AND (v.host = $2 OR substr(v.host, 1, CAST($4 AS INTEGER)) = $3)",
        .values = values,
        .value_count = LENGTH(values),
        .order = "COALESCE(v.updated_at, v.created_at), v.id",
        .limit = -1,
    };

    return volume_list(work, &query, ret, err);
}

/* ---- space for other objects ---- */

/* volume_delete() refuses the others; a reset by an administrator makes them. */
#define MAY_GO                                                                         \
    "v.status IN ('maintenance', 'error') AND v.attach_status <> 'attached' AND "      \
    "COALESCE(v.migration_status, 'success') IN ('deleting', 'error', 'success') AND " \
    "NOT EXISTS (SELECT 1 FROM attachments a WHERE a.volume_id = v.id)"

static int sum_of(struct work *work, const char *pool, bool with_all, int64_t *ret_gb,
                  struct error *err) {
    *ret_gb = 0;
    if (!work->settings->internal_project_id)
        return 0;
    return db_query_int(
               work->tx, ret_gb, err,
               "SELECT COALESCE(CAST(SUM(v.size_gb) AS BIGINT), 0) FROM volumes v WHERE " IS_ENTRY
               "v.host = $2 AND (v.status = 'deleting' OR ($3 = 1 AND " MAY_GO "))",
               DB_TEXT(work->settings->internal_project_id), DB_TEXT(pool), DB_INT(with_all)) < 0
               ? -1
               : 0;
}

int image_cache_evictable(struct work *work, const char *pool, int64_t *ret_gb, struct error *err) {
    return sum_of(work, pool, true, ret_gb, err);
}

/* A transaction that runs again logs it again. */
static void log_full(const struct work *work, const char *pool, int64_t delta_gb) {
    static struct log_limit full = LOG_LIMIT;
    const char *project = work->context->project_id;
    unsigned others;

    if (log_limit_allows(&full, arena_join(work->arena, project ? project : "-", " ", pool, NULL),
                         clock_monotonic_us(), &others))
        log_warning(&work->context->log, "pool has too little space", "pool", pool, "size_gb",
                    LOG_INT(delta_gb), "others", LOG_INT(others), NULL);
}

static int make_space(struct work *work, const char *pool, const struct volume_type *type,
                      int64_t delta_gb, struct error *err) {
    int fits = placement_fits_without(work, pool, type, delta_gb, 0, err), count = 0;
    int64_t freed_gb, all_gb;
    struct volume *entries;

    if (fits != 0 || !pool)
        return fits;
    if (sum_of(work, pool, false, &freed_gb, err) < 0 || sum_of(work, pool, true, &all_gb, err) < 0)
        return -1;
    fits = all_gb > 0 ? placement_fits_without(work, pool, type, delta_gb, all_gb, err) : 0;
    if (fits > 0)
        count = image_cache_list(work, pool, &entries, err);
    if (fits <= 0 || count < 0)
        return fits <= 0 ? fits : -1;
    fits = placement_fits_without(work, pool, type, delta_gb, freed_gb, err);
    for (int i = 0; i < count && fits == 0; i++) {
        if (entries[i].status != VOLUME_MAINTENANCE && entries[i].status != VOLUME_ERROR)
            continue;
        if (image_cache_evict(work, &entries[i], err) < 0) {
            if (err->kind != ERROR_BAD_REQUEST)
                return -1;
            continue; /* one of a frozen backend stays */
        }
        freed_gb += entries[i].size_gb;
        fits = placement_fits_without(work, pool, type, delta_gb, freed_gb, err);
    }
    return fits;
}

int image_cache_yield(struct work *work, const char *pool, const struct volume_type *type,
                      int64_t delta_gb, struct error *err) {
    int fits = make_space(work, pool, type, delta_gb, err);

    if (fits == 0)
        log_full(work, pool, delta_gb);
    return fits;
}
