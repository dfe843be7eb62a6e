/*
 * Changes of a snapshot by a user without the backend: name, description, metadata.
 */
#include "model/notification.h"
#include "model/snapshot/snapshot.h"

static int touch(struct work *work, const char *id, struct error *err) {
    return db_change(work->tx, err, "UPDATE snapshots SET updated_at = $1 WHERE id = $2",
                     DB_INT(work->now_us), DB_TEXT(id));
}

int snapshot_update(struct work *work, const struct snapshot *snapshot,
                    const struct snapshot_changes *changes, struct error *err) {
    if (notification_of_snapshot(work, "snapshot.update.start", snapshot->id, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE snapshots SET display_name = $1, display_description = $2, updated_at = $3 "
               "WHERE id = $4",
               DB_TEXT(changes->set_name ? changes->name : snapshot->name),
               DB_TEXT(changes->set_description ? changes->description : snapshot->description),
               DB_INT(work->now_us), DB_TEXT(snapshot->id)) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.update.end", snapshot->id, err);
}

int snapshot_metadata_set(struct work *work, const struct snapshot *snapshot,
                          const struct pairs *pairs, bool merge, struct error *err) {
    if (pair_rows_put(work, &snapshot_metadata_rows, PAIR_OWNER(snapshot), pairs, merge, err) < 0)
        return -1;
    return touch(work, snapshot->id, err);
}

int snapshot_metadata_delete(struct work *work, const struct snapshot *snapshot, const char *key,
                             struct error *err) {
    int deleted =
        db_run(work->tx, err, "DELETE FROM snapshot_metadata WHERE snapshot_id = $1 AND key = $2",
               DB_TEXT(snapshot->id), DB_TEXT(key));

    if (error_if_none(deleted, err, ERROR_NOT_FOUND, "Snapshot %s has no metadata with key %s.",
                      snapshot->id, key) < 0)
        return -1;
    return touch(work, snapshot->id, err);
}
