#include "model/volume/image_cache.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/placement.h"
#include "model/scheduler/pool.h"
#include "model/volume/image.h"
#include "model/volume/insert.h"
#include "operation/host.h"

#include <string.h>

#define FORMER_NAME "former-"

static const char *name_of(const struct work *work, const struct volume_image *image) {
    return arena_join(work->arena, IMAGE_CACHE_NAME, image->id, NULL);
}

static int notify(struct work *work, const char *event, const struct volume *entry,
                  struct error *err) {
    return notification_put_image_cache(work, event, entry->name + strlen(IMAGE_CACHE_NAME),
                                        entry->host, err);
}

int image_cache_release(struct work *work, const struct volume *volume, struct error *err) {
    if (!image_cache_is_named(volume))
        return 0;
    return db_change(work->tx, err, "UPDATE volumes SET display_name = $1 WHERE id = $2",
                     DB_TEXT(arena_join(work->arena, FORMER_NAME, volume->name, NULL)),
                     DB_TEXT(volume->id));
}

/* ---- limits ---- */

/* Of entries, with a new one. */
struct used {
    int64_t count, gb;
};

static void add(struct used *used, int64_t gb) {
    used->count++;
    used->gb += gb;
}

static bool is_within(const struct image_cache_limits *limits, const struct used *used) {
    return (!limits->entries_most || used->count <= limits->entries_most) &&
           (!limits->gb_most || used->gb <= limits->gb_most);
}

/* 1: one more entry is within the limits; 0: entries that cannot be evicted now prevent it, and
 * none is. */
static int make_space(struct work *work, const struct image_cache_search *search, int64_t size_gb,
                      struct error *err) {
    struct volume *entries;
    const char *backend = host_backend(work->arena, search->volume->host);
    int count = image_cache_list(work, backend, &entries, err);
    struct used used = { 1, size_gb }, kept = used;

    for (int i = 0; i < count; i++) {
        add(&used, entries[i].size_gb);
        if (!image_cache_may_evict(&entries[i]))
            add(&kept, entries[i].size_gb);
    }
    if (count < 0 || !is_within(search->limits, &kept))
        return count < 0 ? -1 : 0;
    for (int i = 0; i < count && !is_within(search->limits, &used); i++) {
        if (!image_cache_may_evict(&entries[i]))
            continue;
        if (image_cache_evict(work, &entries[i], err) < 0)
            return -1;
        used.count--;
        used.gb -= entries[i].size_gb;
    }
    return 1;
}

/* ---- a new entry ---- */

/* Its operation is before that of the volume in the queue of the entry, and work of the project of
 * that: workers are shared among projects. */
static int insert(struct work *work, const struct operation *held, const struct volume *entry,
                  struct error *err) {
    const struct operation fields = { .volume_id = entry->id,
                                      .turn_of = entry->id,
                                      .host = entry->host,
                                      .project_id = held->project_id,
                                      .arguments = held->arguments,
                                      .created_at = held->created_at - 1 };

    assert(!entry->use_quota);
    if (volume_insert(work, entry, err) < 0 ||
        pool_allocate(work, entry->host, entry->size_gb, err) < 0 ||
        operation_insert(work, &kind_create_from_image, &fields, NULL, err) < 0 ||
        notification_put(work, "volume.create.start", entry, err) < 0 ||
        notify(work, "image_volume_cache.miss", entry, err) < 0)
        return -1;
    return operation_follow(work, held, entry->id, true, err);
}

static int begin(struct work *work, const struct operation *held, const struct volume_image *image,
                 struct image_cache_search *search, struct error *err) {
    const struct volume *volume = search->volume;
    int64_t known_gb = volume_image_gb(image), size_gb = known_gb ? known_gb : volume->size_gb;
    const struct volume entry = {
        .id = work_uuid(work),
        .project_id = work->settings->internal_project_id,
        .user_id = work->settings->internal_user_id,
        .host = volume->host,
        .service_uuid = volume->service_uuid,
        .availability_zone = volume->availability_zone,
        .name = name_of(work, image),
        .description = image->version,
        .size_gb = size_gb,
        .largest_gb = size_gb,
        .status = VOLUME_DOWNLOADING,
        .shared_targets = 1,
        .created_at = work->now_us,
    };
    int fits;

    if (size_gb > volume->size_gb || (search->limits->gb_most && size_gb > search->limits->gb_most))
        return 0;
    fits = make_space(work, search, size_gb, err);
    if (fits > 0)
        fits = placement_fits(work, volume->host, size_gb, err);
    if (fits <= 0)
        return fits;
    search->outcome = IMAGE_CACHE_WAITS;
    return insert(work, held, &entry, err);
}

/* ---- the present entry ---- */

/* 1 found, 0 none. */
static int find_entry(struct work *work, const char *name, const char *host, struct volume **ret,
                      struct error *err) {
    const struct db_value values[] = { DB_TEXT(work->settings->internal_project_id), DB_TEXT(name),
                                       DB_TEXT(host) };
    const struct query query = {
        .where = "v.project_id = $1 AND v.use_quota = 0 AND v.display_name = $2 AND v.host = $3 "
                 "AND v.status IN ('maintenance', 'downloading')",
        .values = values,
        .value_count = LENGTH(values),
        .order = "v.created_at DESC, v.id",
        .limit = 1,
    };

    return volume_list(work, &query, ret, err);
}

/* Of the image's content and the entry's, which is later?  0: they are the same; > 0: the image's.
 * A complete entry that was not verified is as an earlier one for an image that is to be. */
static int compare(const struct work *work, const struct volume_image *image,
                   const struct volume *entry) {
    const char *version = entry->description ? entry->description : "";
    const char *verified = arena_join(work->arena, image->version, IMAGE_CACHE_VERIFIED, NULL);
    int order = strcmp(image->version, version);

    if (strcmp(version, verified) == 0)
        return 0;
    return order == 0 && entry->status == VOLUME_MAINTENANCE
               ? volume_image_is_to_be_verified(work->settings, image)
               : order;
}

/* It has the least recent place among the entries no longer. */
static int hit(struct work *work, const struct operation *held, const struct volume *entry,
               struct image_cache_search *search, struct error *err) {
    if (entry->size_gb > search->volume->size_gb)
        return 0;
    if (db_change(work->tx, err, "UPDATE volumes SET updated_at = $1 WHERE id = $2",
                  DB_INT(work->now_us), DB_TEXT(entry->id)) < 0)
        return -1;
    search->outcome = IMAGE_CACHE_HIT;
    search->entry = *entry;
    if (operation_follow(work, held, entry->id, false, err) < 0)
        return -1;
    /* one that has waited was a hit or a miss then */
    return held->turn_of ? 0 : notify(work, "image_volume_cache.hit", entry, err);
}

/* Behind the create of the entry, unless the own operation is older: that would not wait. */
static int wait(struct work *work, const struct operation *held, const struct volume *entry,
                struct image_cache_search *search, struct error *err) {
    struct operation create;
    int found = operation_of(work, entry->id, &create, err);

    if (found <= 0 || !operation_is_older(&create, held))
        return found < 0 ? -1 : 0;
    search->outcome = IMAGE_CACHE_WAITS;
    return operation_follow(work, held, entry->id, true, err) < 0
               ? -1
               : notify(work, "image_volume_cache.hit", entry, err);
}

int image_cache_find(struct work *work, const struct operation *held, void *arg,
                     struct error *err) {
    struct image_cache_search *search = arg;
    struct volume_image image;
    struct volume *entry;
    int found, order;

    search->outcome = IMAGE_CACHE_UNUSED;
    if (!volume_image_of(work->arena, held, &image) || !image.version || image.without_source)
        return 0;
    found = find_entry(work, name_of(work, &image), search->volume->host, &entry, err);
    if (found < 0)
        return -1;
    order = found ? compare(work, &image, entry) : 1;
    if (found && order == 0) {
        if (held->turn_of && strcmp(held->turn_of, entry->id) != 0)
            return 0;
        return entry->status == VOLUME_MAINTENANCE ? hit(work, held, entry, search, err)
                                                   : wait(work, held, entry, search, err);
    }
    /* An older request changes nothing of a newer entry, and one whose entry failed makes no
     * other. */
    if (order < 0 || held->turn_of)
        return 0;
    if (found && image_cache_evict(work, entry, err) < 0)
        return -1;
    return begin(work, held, &image, search, err);
}
