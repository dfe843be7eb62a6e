#include "model/volume/retype.h"

#include "common/assert.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/scheduler/placement.h"
#include "model/scheduler/pool.h"
#include "model/type/qos_front_end.h"
#include "model/type/type.h"
#include "model/volume/quota.h"

#include <string.h>

static int retype_refuse(const struct volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s cannot be retyped: %s.",
                     volume->id, why);
}

static int check_type(struct work *work, const struct volume *volume,
                      const struct volume_type *type, struct error *err) {
    if (volume->type_id && strcmp(volume->type_id, type->id) == 0)
        return retype_refuse(volume, "it has that type already", err);
    if (type->is_encrypted)
        return retype_refuse(volume,
                             "the type is encrypted, and encrypted volumes are not supported", err);
    if (volume->status != VOLUME_AVAILABLE &&
        volume_type_is(type, "multiattach") != volume->multiattach)
        return retype_refuse(volume, "multiattach changes only while it is detached", err);
    if (volume->status != VOLUME_AVAILABLE &&
        qos_front_end_check_retype(work, volume, type, err) < 0)
        return -1;
    return volume_type_check_size(type, volume->size_gb, err);
}

static bool is_same(const char *one, const char *other) {
    return one == other || (one && other && strcmp(one, other) == 0);
}

static int check_place(struct work *work, const struct volume *volume,
                       const struct volume_type *type, struct error *err) {
    struct volume_type before = { .id = NULL };
    struct pool pool;
    int found = pool_find(work, volume->host, &pool, err);
    const json_t *own;

    if (found < 0)
        return -1;
    if (found == 0 || !placement_may_have(work, &pool, type))
        return retype_refuse(
            volume, "the new type does not fit where it is, and volumes are not moved", err);
    /* A driver reads the specs of a type when it creates the volume. */
    own = json_object_get(pool_reported(work, &pool), POOL_EXTRA_SPECS);
    if (json_array_size(own) > 0 && volume->type_id &&
        volume_type_row(work, volume->type_id, &before, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(own); i++) {
        const char *key = json_string_value(json_array_get(own, i));

        if (key &&
            !is_same(pairs_get(&before.extra_specs, key), pairs_get(&type->extra_specs, key)))
            return retype_refuse(
                volume, arena_format(work->arena, "what %s says counts when a volume is made", key),
                err);
    }
    return 0;
}

int volume_retype(struct work *work, const struct volume *volume, const char *wanted,
                  bool *ret_multiattach, struct error *err) {
    struct volume_type type;

    if (volume_is_migrating(volume))
        return retype_refuse(volume, "it is migrating", err);
    if (volume->status != VOLUME_AVAILABLE && volume->status != VOLUME_IN_USE)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s must be available or in-use to be retyped, but "
                         "current status is: %s.",
                         volume->id, status_shown(volume->status));
    if (volume->group_id)
        return retype_refuse(volume, "it is in a group", err);
    if (!volume->host)
        return retype_refuse(volume, "it is on no backend", err);
    if (volume_type_find(work, wanted, &type, err) < 0 ||
        check_type(work, volume, &type, err) < 0 || check_place(work, volume, &type, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_RETYPE, err) < 0 ||
        volume_quota_retype(work, volume, type.name, err) < 0)
        return -1;
    assert(type.id && !type.is_encrypted);
    if (db_change(work->tx, err,
                  "UPDATE volumes SET volume_type_id = $1, multiattach = $2, updated_at = $3 "
                  "WHERE id = $4",
                  DB_TEXT(type.id), DB_BOOL(volume_type_is(&type, "multiattach")),
                  DB_INT(work->now_us), DB_TEXT(volume->id)) < 0)
        return -1;
    *ret_multiattach = volume_type_is(&type, "multiattach");
    return notification_of(work, "volume.retype", volume->id, err);
}
