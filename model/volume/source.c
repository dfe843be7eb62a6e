#include "model/volume/source.h"

#include "model/conflict.h"
#include "model/scheduler/pool.h"

static int find_snapshot(struct work *work, const char *id, struct volume_source *ret,
                         struct error *err) {
    const struct snapshot *snapshot = &ret->snapshot;

    ret->is_snapshot = true;
    if (snapshot_get(work, id, &ret->snapshot, err) < 0)
        return -1;
    ret->size_gb = snapshot->size_gb;
    if (snapshot->status != SNAPSHOT_AVAILABLE || !snapshot->provider_location ||
        snapshot->delete_begun)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid snapshot: Snapshot %s must be available to make a volume of it, "
                         "but it is %s.",
                         id, snapshot_status_shown(snapshot->status));
    if (volume_row(work, snapshot->volume_id, &ret->volume, err) < 0)
        return -1;
    return conflict_resolve(work, snapshot->volume_id, ACTION_CLONE_SNAPSHOT, err);
}

static int find_volume(struct work *work, const char *id, struct volume_source *ret,
                       struct error *err) {
    const struct volume *volume = &ret->volume;

    if (volume_get_row(work, id, &ret->volume, err) < 0)
        return -1;
    ret->size_gb = volume->size_gb;
    if ((volume->status != VOLUME_AVAILABLE && volume->status != VOLUME_IN_USE) || !volume->host ||
        !volume->provider_location)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s must be available or in-use to be the source "
                         "of another one, but it is %s.",
                         id, status_shown(volume->status));
    return conflict_resolve(work, id, ACTION_CLONE, err);
}

int volume_source_find(struct work *work, const char *snapshot_id, const char *volume_id,
                       int64_t new_gb, struct volume_source *ret, struct error *err) {
    *ret = (struct volume_source){ .given = snapshot_id || volume_id };
    if (!ret->given)
        return 0;
    if ((snapshot_id ? find_snapshot(work, snapshot_id, ret, err)
                     : find_volume(work, volume_id, ret, err)) < 0)
        return -1;
    if (new_gb > 0 && new_gb < ret->size_gb)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Volume size '%jd'GB cannot be smaller than the "
                         "%s size %jdGB. They must be >= original %s size.",
                         (intmax_t)new_gb, ret->is_snapshot ? "snapshot" : "original volume",
                         (intmax_t)ret->size_gb, ret->is_snapshot ? "snapshot" : "volume");
    return pool_demand(work, ret->volume.host, DRIVER_CLONE,
                       "Invalid input received: The backend of the source makes no volume of "
                       "another one or of a snapshot.",
                       err);
}

int volume_source_of(struct work *work, const struct volume *volume, struct volume_source *ret,
                     struct error *err) {
    *ret = (struct volume_source){ .given = volume->snapshot_id || volume->source_volid,
                                   .is_snapshot = volume->snapshot_id };
    if (!ret->given)
        return 0;
    if (!ret->is_snapshot)
        return volume_attached(work, volume->source_volid, &ret->volume, err);
    if (snapshot_row(work, volume->snapshot_id, &ret->snapshot, err) < 0)
        return -1;
    return volume_attached(work, ret->snapshot.volume_id, &ret->volume, err);
}

void volume_source_note(const struct volume_source *source, struct operation *fields) {
    if (!source->given)
        return;
    fields->turn_of = source->is_snapshot ? source->snapshot.id : source->volume.id;
}
