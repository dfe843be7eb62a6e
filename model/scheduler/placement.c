#include "model/scheduler/placement.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "model/scheduler/capability.h"
#include "model/scheduler/placement_hint.private.h"
#include "operation/service.h"

#include <stdlib.h>
#include <string.h>

/* ---- type and zone ---- */

int zone_choose(struct work *work, const char *asked, const char **ret, struct error *err) {
    const struct settings *settings = work->settings;
    const char *standard = settings->default_availability_zone
                               ? settings->default_availability_zone
                               : settings->storage_availability_zone;
    struct zone *zones;
    int count;

    if (!asked) {
        *ret = standard;
        return 0;
    }
    count = service_zones(work, &zones, err);
    for (int i = 0; i < count; i++)
        if (strcmp(zones[i].name, asked) == 0) {
            *ret = asked;
            return 0;
        }
    if (count < 0)
        return -1;
    if (!settings->allow_availability_zone_fallback)
        return error_set(err, ERROR_BAD_REQUEST, "Availability zone '%s' is invalid.", asked);
    *ret = standard;
    return 0;
}

/* Is `zone` one of the blank- and comma-separated words of `list`? */
static bool list_has(const char *list, const char *zone) {
    static const char separators[] = ", \t";
    size_t length;

    for (; *(list += strspn(list, separators)); list += length) {
        length = strcspn(list, separators);
        if (strlen(zone) == length && strncmp(list, zone, length) == 0)
            return true;
    }
    return false;
}

bool placement_matches(struct work *work, const struct pool *pool, const struct volume_type *type) {
    return !capability_needed(&type->extra_specs) ||
           capability_matches(pool_capabilities(work, pool), &type->extra_specs);
}

bool placement_may_have(struct work *work, const struct pool *pool,
                        const struct volume_type *type) {
    const char *zones = pairs_get(&type->extra_specs, TYPE_SPEC_ZONES);

    return (!zones || list_has(zones, pool->availability_zone)) &&
           placement_matches(work, pool, type);
}

/* ---- filters ---- */

/* In the order of the checks. */
enum filter {
    FILTER_PASSES,
    FILTER_UP,
    FILTER_BACKEND,
    FILTER_ZONE,
    FILTER_IMAGE,
    FILTER_TYPE,
    FILTER_HINTS,
    FILTER_SIZE,
    FILTER_SPACE,
    FILTERS
};

static const struct {
    const char *log, *user; /* "Each backend …, or …." */
} filters[FILTERS] = {
    [FILTER_UP] = { "service down, disabled or frozen", "is down or disabled" },
    [FILTER_BACKEND] = { "another backend is required", "is not the one of its group" },
    [FILTER_ZONE] = { "availability zone", "is in another availability zone" },
    [FILTER_IMAGE] = { "no volumes of images", "makes no volumes of images" },
    [FILTER_TYPE] = { "capabilities or zones of the volume type",
                      "lacks what the volume type asks for" },
    [FILTER_HINTS] = { "scheduler hints", "does not match the scheduler hints" },
    [FILTER_SIZE] = { "size limit of a volume", "has no volumes as large as this" },
    [FILTER_SPACE] = { "space", "has too little space" },
};

/* ---- space ---- */

struct room {
    bool known;
    double total_gb, free_gb;
    double kept_back_gb;   /* of the free space, never used */
    double provisioned_gb; /* provisioned to volumes and snapshots */
    bool thin;
    double ratio; /* thin: the over-subscription ratio */
};

/* A number, or the text of one (as drivers report the over-subscription ratio). */
static double number_of(const json_t *value, double otherwise) {
    double number;
    char *end;

    if (json_is_number(value))
        return json_number_value(value);
    if (!json_is_string(value))
        return otherwise;
    number = strtod(json_string_value(value), &end);
    return end != json_string_value(value) && *end == '\0' ? number : otherwise;
}

static struct room read_room(struct work *work, const struct pool *pool, const json_t *report,
                             const struct volume_type *type) {
    const char *provisioning = type ? pairs_get(&type->extra_specs, "provisioning:type") : NULL;
    double percentage = number_of(json_object_get(report, "reserved_percentage"), 0);

    return (struct room){
        .known = !pool->infinite && pool->free_gb >= 0,
        .total_gb = pool->total_gb,
        .free_gb = pool->free_gb,
        .kept_back_gb = pool->total_gb * percentage / 100,
        .provisioned_gb = pool_provisioned_gb(pool, report),
        .thin = json_is_true(json_object_get(report, "thin_provisioning_support")) &&
                !(provisioning && strcmp(provisioning, "thick") == 0),
        .ratio = number_of(json_object_get(report, "max_over_subscription_ratio"),
                           work->settings->max_over_subscription_ratio),
    };
}

/* The space left for provisioning.  Thick: at most the space beside the other volumes, also when
 * the report is older than some of them. */
static double room_left(const struct room *room) {
    double beside = room->total_gb * (room->thin ? room->ratio : 1) - room->provisioned_gb;
    double least = room->thin || beside < room->free_gb ? beside : room->free_gb;

    return least - room->kept_back_gb;
}

static bool has_room(const struct room *room, int64_t size_gb) {
    double size = (double)size_gb;

    if (!room->known)
        return true;
    if (room->total_gb <= 0 || size > room_left(room))
        return false;
    return !room->thin ||
           (room->ratio >= 1 && size <= (room->free_gb - room->kept_back_gb) * room->ratio);
}

static bool is_too_large(const json_t *report, int64_t size_gb, int64_t *ret_largest) {
    const json_t *largest = json_object_get(report, POOL_LARGEST_GB);

    *ret_largest = json_integer_value(largest);
    return json_is_integer(largest) && size_gb > *ret_largest;
}

int placement_check_size(struct work *work, const char *host, int64_t size_gb, struct error *err) {
    struct pool pool;
    int64_t largest;
    int found = host ? pool_find(work, host, &pool, err) : 0;

    if (found > 0 && is_too_large(pool_reported(work, &pool), size_gb, &largest))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: The backend of this volume has none that are "
                         "larger than %jd GiB.",
                         (intmax_t)largest);
    return found < 0 ? -1 : 0;
}

/* Blocks that others share stay in use: the next report tells. */
static void release_room(struct room *room, int64_t freed_gb) {
    room->provisioned_gb -= (double)freed_gb;
    room->free_gb += (double)freed_gb;
    if (room->free_gb > room->total_gb)
        room->free_gb = room->total_gb;
}

int placement_fits_without(struct work *work, const char *host, const struct volume_type *type,
                           int64_t delta_gb, int64_t freed_gb, struct error *err) {
    struct pool pool;
    struct room room;
    int found = host ? pool_find(work, host, &pool, err) : 0;

    if (found < 0)
        return -1;
    if (found == 0)
        return 1;
    room = read_room(work, &pool, pool_reported(work, &pool), type);
    release_room(&room, freed_gb);
    return has_room(&room, delta_gb);
}

int placement_fits(struct work *work, const char *host, int64_t delta_gb, struct error *err) {
    return placement_fits_without(work, host, NULL, delta_gb, 0, err);
}

/* ---- choice ---- */

static enum filter filter_pool(struct work *work, const struct placement *request,
                               const struct placement_hint *hint, const struct pool *pool,
                               struct room *ret_room) {
    const json_t *report;
    int64_t largest;

    if (!pool->active)
        return FILTER_UP;
    if (request->backend && strcmp(request->backend, pool->host) != 0)
        return FILTER_BACKEND;
    if (request->availability_zone &&
        strcmp(request->availability_zone, pool->availability_zone) != 0)
        return FILTER_ZONE;
    if (request->of_image && pool_lacks(work, pool, DRIVER_CONTENT))
        return FILTER_IMAGE;
    if (request->type && !placement_may_have(work, pool, request->type))
        return FILTER_TYPE;
    for (unsigned i = 0; i < request->other_type_count; i++)
        if (!placement_may_have(work, pool, &request->other_types[i]))
            return FILTER_TYPE;
    if (!placement_hint_allows(work, hint, pool))
        return FILTER_HINTS;
    report = pool_reported(work, pool);
    if (is_too_large(report, request->size_gb, &largest))
        return FILTER_SIZE;
    *ret_room = read_room(work, pool, report, request->type);
    return has_room(ret_room, request->size_gb) ? FILTER_PASSES : FILTER_SPACE;
}

#define POOLS_LOGGED 16

/* For operators: each pool by its name.  A transaction that runs again logs it again. */
static void log_refusals(struct work *work, const struct placement *request,
                         const struct pool *pools, const enum filter *refused, int count) {
    static struct log_limit unplaced = LOG_LIMIT;
    const char *list = count ? "" : "there is no pool";
    const char *project = work->context->project_id, *key;
    unsigned others;

    for (int i = 0; i < count && i < POOLS_LOGGED; i++)
        list = arena_format(work->arena, "%s%s%s: %s", list, i ? "; " : "", pools[i].name,
                            filters[refused[i]].log);
    if (count > POOLS_LOGGED)
        list = arena_format(work->arena, "%s; and %d more", list, count - POOLS_LOGGED);
    key = arena_join(work->arena, project ? project : "-", " ", list, NULL);
    if (!log_limit_allows(&unplaced, key, clock_monotonic_us(), &others))
        return;
    log_warning(&work->context->log, "no backend fits", "size_gb", LOG_INT(request->size_gb),
                "type", request->type ? request->type->name : NULL, "availability_zone",
                request->availability_zone, "refused", list, "others", LOG_INT(others), NULL);
}

/* For users, without names and number of backends. */
static const char *describe_refusals(struct work *work, const enum filter *refused, int count) {
    bool by[FILTERS] = { false };
    const char *text = "";

    if (count == 0)
        return "There is no backend.";
    for (int i = 0; i < count; i++)
        by[refused[i]] = true;
    for (int i = FILTER_UP; i < FILTERS; i++)
        if (by[i])
            text = arena_format(work->arena, "%s%s%s", text, *text ? ", or " : "", filters[i].user);
    return arena_format(work->arena, "Each backend %s.", text);
}

/* Of the pools that have no space, that with most once the evictable part is released: 2, or 0. */
static int pick_evictable(struct work *work, const struct placement *request,
                          const struct pool *pools, const enum filter *refused, int count,
                          struct pool *ret, struct error *err) {
    double best_weight = 0;
    int picked = 0;

    for (int i = 0; i < count && request->evictable; i++) {
        struct room room;
        int64_t freed_gb;

        if (refused[i] != FILTER_SPACE)
            continue;
        if (request->evictable(work, pools[i].name, &freed_gb, err) < 0)
            return -1;
        room = read_room(work, &pools[i], pool_reported(work, &pools[i]), request->type);
        release_room(&room, freed_gb);
        if (!has_room(&room, request->size_gb) || (picked && room_left(&room) <= best_weight))
            continue;
        *ret = pools[i];
        best_weight = room_left(&room);
        picked = 2;
    }
    return picked;
}

int placement_pick_pool(struct work *work, const struct placement *request, struct pool *ret,
                        const char **ret_why, struct error *err) {
    struct placement_hint hint;
    struct pool *pools;
    enum filter *refused;
    const struct pool *best = NULL;
    double best_weight = 0;
    int count, picked;

    if (placement_hint_read(work, request->hints, &hint, err) < 0)
        return -1;
    count = pool_list(work, &pools, err);
    if (count < 0)
        return -1;
    refused = arena_alloc(work->arena, ((size_t)count + 1) * sizeof(*refused));
    for (int i = 0; i < count; i++) {
        struct room room;
        double weight;

        refused[i] = filter_pool(work, request, &hint, &pools[i], &room);
        if (refused[i] != FILTER_PASSES)
            continue;
        /* A pool of unknown space comes last, as upstream. */
        weight = room.known ? room_left(&room) : -1;
        if (!best || weight > best_weight) {
            best = &pools[i];
            best_weight = weight;
        }
    }
    if (best) {
        *ret = *best;
        return 1;
    }
    picked = pick_evictable(work, request, pools, refused, count, ret, err);
    if (picked != 0)
        return picked;
    log_refusals(work, request, pools, refused, count);
    if (ret_why)
        *ret_why = describe_refusals(work, refused, count);
    return 0;
}

int placement_pick(struct work *work, const struct placement *request, const char **ret_host,
                   const char **ret_why, struct error *err) {
    struct pool pool;
    int picked = placement_pick_pool(work, request, &pool, ret_why, err);

    if (picked > 0)
        *ret_host = pool.name;
    return picked;
}
