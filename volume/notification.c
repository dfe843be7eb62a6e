#include "volume/notification.h"

#include "common/json_out.h"
#include "db/outbox.h"
#include "volume/attachment.h"

static void put_pairs(struct json_out *out, const struct pairs *pairs) {
    out_begin_array(out);
    for (unsigned i = 0; i < pairs->count; i++) {
        out_begin_object(out);
        out_put_text(out, "key", pairs->items[i].key);
        out_put_text(out, "value", pairs->items[i].value);
        out_end_object(out);
    }
    out_end_array(out);
}

/* Without connection_info and connector: they may hold secrets. */
static void put_attachments(struct json_out *out, const struct volume *volume) {
    out_begin_array(out);
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];

        out_begin_object(out);
        out_put_text(out, "id", attachment->id);
        out_put_text(out, "volume_id", attachment->volume_id);
        out_put_text(out, "instance_uuid", attachment->instance_uuid);
        out_put_text(out, "attached_host", attachment->attached_host);
        out_put_text(out, "mountpoint", attachment->mountpoint);
        out_put_text(out, "attach_status", attachment->attach_status);
        out_put_text(out, "attach_mode", attachment->attach_mode);
        out_put_time(out, "attach_time", attachment->attached_at);
        out_put_time(out, "created_at", attachment->created_at);
        out_end_object(out);
    }
    out_end_array(out);
}

static const char *payload(struct work *work, const struct volume *volume) {
    char created_at[CLOCK_TEXT_SIZE];
    struct json_out out;

    json_out_init(&out, work->arena, 1024);
    out_begin_object(&out);
    out_put_text(&out, "tenant_id", volume->project_id);
    out_put_text(&out, "user_id", volume->user_id);
    out_put_text(&out, "host", volume->host);
    out_put_text(&out, "availability_zone", volume->availability_zone);
    out_put_text(&out, "volume_id", volume->id);
    out_put_text(&out, "volume_type", volume->type_id);
    out_put_text(&out, "display_name", volume->name);
    out_put_time(&out, "launched_at", volume->launched_at ? volume->launched_at : work->now_us);
    out_put_text(&out, "created_at",
                 arena_format(work->arena, "%s+00:00", clock_text(volume->created_at, created_at)));
    out_put_text(&out, "status", status_shown(volume->status));
    out_put_text(&out, "snapshot_id", volume->snapshot_id);
    out_put_int(&out, "size", volume->size_gb);
    out_put_text(&out, "replication_status", volume->replication_status);
    out_put_null(&out, "replication_extended_status");
    out_put_null(&out, "replication_driver_data");
    out_key(&out, "metadata");
    put_pairs(&out, &volume->metadata);
    out_key(&out, "volume_attachment");
    put_attachments(&out, volume);
    out_end_object(&out);
    return json_out_text(&out);
}

int notification_put(struct work *work, const char *event, const struct volume *volume,
                     struct error *err) {
    if (!work->settings->notifications)
        return 0;
    return outbox_put(work->tx, NOTIFICATION_TOPIC, event, volume->id, payload(work, volume),
                      work->now_us, err);
}

int notification_of(struct work *work, const char *event, const char *volume_id,
                    struct error *err) {
    struct volume volume;

    if (!work->settings->notifications)
        return 0;
    if (volume_details(work, volume_id, &volume, err) < 0)
        return -1;
    return notification_put(work, event, &volume, err);
}
