#include "model/volume/insert.h"

#include "operation/pairs.h"

int volume_insert(struct work *work, const struct volume *volume, struct error *err) {
    if (db_change(
            work->tx, err,
            "INSERT INTO volumes (id, project_id, user_id, host, availability_zone, "
            "display_name, display_description, size_gb, status, status_by_reset, "
            "attach_status, volume_type_id, bootable, multiattach, use_quota, shared_targets, "
            "created_at, largest_gb, snapshot_id, source_volid, group_id, updated_at, service_uuid) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 'detached', $10, $11, $12, $20, 1, "
            "$13, $14, $15, $16, $17, $18, $19)",
            DB_TEXT(volume->id), DB_TEXT(volume->project_id), DB_TEXT(volume->user_id),
            DB_TEXT(volume->host), DB_TEXT(volume->availability_zone), DB_TEXT(volume->name),
            DB_TEXT(volume->description), DB_INT(volume->size_gb),
            DB_TEXT(status_text(volume->status)), DB_TEXT(volume->type_id),
            DB_BOOL(volume->bootable), DB_BOOL(volume->multiattach), DB_INT(volume->created_at),
            DB_INT(volume->largest_gb), DB_TEXT(volume->snapshot_id), DB_TEXT(volume->source_volid),
            DB_TEXT(volume->group_id), DB_TIME(volume->updated_at), DB_TEXT(volume->service_uuid),
            DB_BOOL(volume->use_quota)) < 0)
        return -1;
    return pair_rows_put(work, &metadata_rows, PAIR_OWNER(volume), &volume->metadata, true, err);
}
