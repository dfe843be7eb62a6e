#include "model/notification.h"

#include "common/assert.h"
#include "db/outbox.h"
#include "model/attachment/attachment.h"
#include "model/group/group.h"
#include "model/group/snapshot.h"
#include "model/snapshot/snapshot.h"
#include "operation/host.h"
#include "json/out.h"

#include <string.h>

/* ---- attachments ---- */

static void put_row_times(struct json_out *out, int64_t created_at, int64_t updated_at) {
    out_put_time(out, "created_at", created_at);
    out_put_time(out, "updated_at", updated_at);
    out_put_null(out, "deleted_at");
    out_put_bool(out, "deleted", false);
}

/* The row of the volume as each of its attachments carries it. */
static void put_row(struct json_out *out, const struct volume *volume) {
    out_begin_object(out);
    out_put_text(out, "id", volume->id);
    out_put_text(out, "_name_id", volume->name_id);
    out_put_text(out, "user_id", volume->user_id);
    out_put_text(out, "project_id", volume->project_id);
    out_put_text(out, "snapshot_id", volume->snapshot_id);
    out_put_text(out, "cluster_name", volume->cluster_name);
    out_put_text(out, "host", volume->host);
    out_put_int(out, "size", volume->size_gb);
    out_put_text(out, "availability_zone", volume->availability_zone);
    out_put_text(out, "status", status_shown(volume->status));
    out_put_text(out, "attach_status", volume->attach_status);
    out_put_text(out, "migration_status", volume->migration_status);
    out_put_time(out, "launched_at", volume->launched_at);
    out_put_text(out, "display_name", volume->name);
    out_put_text(out, "display_description", volume->description);
    out_put_text(out, "provider_id", volume->provider_id);
    out_put_text(out, "provider_location", volume->provider_location);
    out_put_null(out, "provider_auth"); /* a secret, where there is one */
    out_put_text(out, "volume_type_id", volume->type_id);
    out_put_text(out, "source_volid", volume->source_volid);
    out_put_text(out, "encryption_key_id", volume->encryption_key_id);
    out_put_text(out, "group_id", volume->group_id);
    out_put_bool(out, "bootable", volume->bootable);
    out_put_bool(out, "multiattach", volume->multiattach);
    out_put_text(out, "replication_status", volume->replication_status);
    out_put_text(out, "service_uuid", volume->service_uuid);
    out_put_bool(out, "use_quota", volume->use_quota);
    put_row_times(out, volume->created_at, volume->updated_at);
    out_end_object(out);
}

/* Without connection_info: it may hold secrets. */
static void put_attachment(struct json_out *out, const struct attachment *attachment,
                           const struct volume *volume) {
    out_begin_object(out);
    out_put_text(out, "id", attachment->id);
    out_put_text(out, "volume_id", attachment->volume_id);
    out_put_text(out, "instance_uuid", attachment->instance_uuid);
    out_put_text(out, "attached_host", attachment->attached_host);
    out_put_text(out, "mountpoint", attachment->mountpoint);
    out_put_time(out, "attach_time", attachment->attached_at);
    out_put_time(out, "detach_time", attachment->detached_at);
    out_put_text(out, "attach_status", attachment->attach_status);
    out_put_text(out, "attach_mode", attachment->attach_mode);
    out_put_text(out, "connector", attachment->connector);
    put_row_times(out, attachment->created_at, attachment->updated_at);
    out_key(out, "volume");
    put_row(out, volume);
    out_end_object(out);
}

/* ---- the payload ---- */

static const char *created_text(struct arena *arena, int64_t created_at) {
    char text[CLOCK_TEXT_SIZE];

    return arena_format(arena, "%s+00:00", clock_text(created_at, text));
}

static void put_payload(struct work *work, struct json_out *out, const struct volume *volume) {
    out_begin_object(out);
    out_put_text(out, "tenant_id", volume->project_id);
    out_put_text(out, "user_id", volume->user_id);
    out_put_text(out, "host", volume->host);
    out_put_text(out, "availability_zone", volume->availability_zone);
    out_put_text(out, "volume_id", volume->id);
    out_put_text(out, "volume_type", volume->type_id);
    out_put_text(out, "display_name", volume->name);
    out_put_time(out, "launched_at", volume->launched_at ? volume->launched_at : work->now_us);
    out_put_text(out, "created_at", created_text(work->arena, volume->created_at));
    out_put_text(out, "status", status_shown(volume->status));
    out_put_text(out, "snapshot_id", volume->snapshot_id);
    out_put_int(out, "size", volume->size_gb);
    out_put_text(out, "replication_status", volume->replication_status);
    out_put_null(out, "replication_extended_status");
    out_put_null(out, "replication_driver_data");
    out_open_array(out, "metadata");
    for (unsigned i = 0; i < volume->metadata.count; i++) {
        out_begin_object(out);
        out_put_text(out, "key", volume->metadata.items[i].key);
        out_put_text(out, "value", volume->metadata.items[i].value);
        out_end_object(out);
    }
    out_end_array(out);
    out_open_array(out, "volume_attachment");
    for (unsigned i = 0; i < volume->attachment_count; i++)
        put_attachment(out, &volume->attachments[i], volume);
    out_end_array(out);
    out_end_object(out);
}

/* The metadata are text here, as upstream has them. */
static void put_snapshot_payload(struct work *work, struct json_out *out,
                                 const struct snapshot *snapshot) {
    struct json_out metadata;

    json_out_init(&metadata, work->arena, 64);
    out_begin_object(&metadata);
    for (unsigned i = 0; i < snapshot->metadata.count; i++) {
        out_key_text(&metadata, snapshot->metadata.items[i].key);
        out_text(&metadata, snapshot->metadata.items[i].value);
    }
    out_end_object(&metadata);
    out_begin_object(out);
    out_put_text(out, "tenant_id", snapshot->project_id);
    out_put_text(out, "user_id", snapshot->user_id);
    out_put_text(out, "availability_zone", snapshot->availability_zone);
    out_put_text(out, "volume_id", snapshot->volume_id);
    out_put_int(out, "volume_size", snapshot->size_gb);
    out_put_text(out, "snapshot_id", snapshot->id);
    out_put_text(out, "display_name", snapshot->name);
    out_put_text(out, "created_at", created_text(work->arena, snapshot->created_at));
    out_put_text(out, "status", snapshot_status_shown(snapshot->status));
    out_put_text(out, "deleted", "");
    out_put_text(out, "metadata", json_out_text(&metadata));
    out_end_object(out);
}

/* ---- the envelope ---- */

/* An event and its object. */
struct news {
    const char *event, *id;
    const char *publisher; /* "volume", "snapshot", "group", before the host */
    const char *host, *project;
    const char *payload; /* JSON */
};

/* All values are fixed here, so a repeated delivery is recognizable. */
static void put_whole(struct work *work, struct json_out *out, const struct news *news) {
    const struct context *context = work->context;
    const char *host = host_backend(work->arena, news->host);
    unsigned char random[16];
    char unique_id[33], text[CLOCK_TEXT_SIZE];

    work->settings->clock->random(work->settings->clock->arg, random, sizeof random);
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(unique_id + i * 2, 3, "%02x", random[i]);
    out_begin_object(out);
    out_put_text(out, "message_id", work_uuid(work));
    out_put_text(out, "publisher_id",
                 host ? arena_format(work->arena, "%s.%s", news->publisher, host)
                      : news->publisher);
    out_put_text(out, "event_type", news->event);
    out_put_text(out, "priority", "INFO");
    out_key(out, "payload");
    out_raw(out, news->payload, strlen(news->payload));
    /* As Python writes it: a blank between date and time, no fraction when it is zero. */
    clock_text(work->now_us, text);
    text[10] = ' ';
    if (work->now_us % SECOND_US == 0)
        text[19] = '\0';
    out_put_text(out, "timestamp", text);
    out_put_text(out, "_unique_id", unique_id);
    /* The caller, without the token. */
    out_put_text(out, "_context_request_id", context->request_id);
    out_put_text(out, "_context_global_request_id", context->global_request_id);
    out_put_text(out, "_context_user", context->user_id);
    out_put_text(out, "_context_user_id", context->user_id);
    out_put_text(out, "_context_project", context->project_id);
    out_put_text(out, "_context_project_id", context->project_id);
    out_put_bool(out, "_context_is_admin", context->is_admin);
    out_open_array(out, "_context_roles");
    for (const char *const *role = context->roles; role && *role; role++)
        out_text(out, *role);
    out_end_array(out);
    out_end_object(out);
}

static int tell(struct work *work, const struct news *news, struct error *err) {
    const char *const *topic = work->settings->notification_topics;
    struct outbox_message message = {
        .topic = NOTIFICATION_TOPIC,
        .method = news->event,
        .key = news->id,
        .project = news->project,
        .payload = news->payload,
        .created_at = work->clock_us,
    };
    struct json_out out;

    assert(news->event && news->id);
    if (!work->settings->notifications_whole)
        return outbox_put(work->tx, &message, err);
    json_out_init(&out, work->arena, 2048);
    put_whole(work, &out, news);
    message.payload = json_out_text(&out);
    for (; *topic; topic++) {
        message.topic = arena_format(work->arena, "%s.info", *topic);
        if (outbox_put(work->tx, &message, err) < 0)
            return -1;
    }
    return 0;
}

int notification_put(struct work *work, const char *event, const struct volume *volume,
                     struct error *err) {
    struct json_out out;

    if (!work->settings->notifications)
        return 0;
    json_out_init(&out, work->arena, 1024);
    put_payload(work, &out, volume);
    return tell(work,
                &(struct news){ event, volume->id, "volume", volume->host, volume->project_id,
                                json_out_text(&out) },
                err);
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

int notification_put_image_cache(struct work *work, const char *event, const char *image_id,
                                 const char *host, struct error *err) {
    struct json_out out;

    if (!work->settings->notifications)
        return 0;
    json_out_init(&out, work->arena, 256);
    out_begin_object(&out);
    out_put_text(&out, "image_id", image_id);
    out_put_text(&out, "host", host);
    out_end_object(&out);
    return tell(work, &(struct news){ event, image_id, "volume", host, NULL, json_out_text(&out) },
                err);
}

int notification_of_snapshot(struct work *work, const char *event, const char *snapshot_id,
                             struct error *err) {
    struct snapshot snapshot;
    struct json_out out;

    if (!work->settings->notifications)
        return 0;
    if (snapshot_row(work, snapshot_id, &snapshot, err) < 0 ||
        pair_rows_get(work, &snapshot_metadata_rows, snapshot_id, &snapshot.metadata, err) < 0)
        return -1;
    json_out_init(&out, work->arena, 512);
    put_snapshot_payload(work, &out, &snapshot);
    return tell(work,
                &(struct news){ event, snapshot_id, "snapshot", snapshot.host, snapshot.project_id,
                                json_out_text(&out) },
                err);
}

int notification_put_group(struct work *work, const char *event, const struct volume_group *group,
                           struct error *err) {
    struct json_out out;

    if (!work->settings->notifications)
        return 0;
    json_out_init(&out, work->arena, 512);
    out_begin_object(&out);
    out_put_text(&out, "tenant_id", group->project_id);
    out_put_text(&out, "user_id", group->user_id);
    out_put_text(&out, "availability_zone", group->availability_zone);
    out_put_text(&out, "group_id", group->id);
    out_put_text(&out, "group_type", group->group_type_id);
    out_put_text(&out, "name", group->name);
    out_put_text(&out, "group_snapshot_id", group->group_snapshot_id);
    out_put_text(&out, "source_group_id", group->source_group_id);
    out_put_text(&out, "created_at", created_text(work->arena, group->created_at));
    out_put_text(&out, "status", group_status_text(group->status));
    out_end_object(&out);
    return tell(work,
                &(struct news){ event, group->id, "group", group->host, group->project_id,
                                json_out_text(&out) },
                err);
}

int notification_of_group_snapshot(struct work *work, const char *event, const char *id,
                                   struct error *err) {
    struct group_snapshot row;
    struct volume_group group;
    struct json_out out;

    if (!work->settings->notifications)
        return 0;
    if (group_snapshot_row(work, id, &row, err) < 0 ||
        group_row(work, row.group_id, &group, err) < 0)
        return -1;
    json_out_init(&out, work->arena, 512);
    out_begin_object(&out);
    out_put_text(&out, "tenant_id", row.project_id);
    out_put_text(&out, "user_id", row.user_id);
    out_put_text(&out, "group_id", row.group_id);
    out_put_text(&out, "group_snapshot_id", row.id);
    out_put_text(&out, "name", row.name);
    out_put_text(&out, "group_type", row.group_type_id);
    out_put_text(&out, "created_at", created_text(work->arena, row.created_at));
    out_put_text(&out, "status", group_snapshot_status_text(row.status));
    out_end_object(&out);
    return tell(work,
                &(struct news){ event, id, "group_snapshot", group.host, row.project_id,
                                json_out_text(&out) },
                err);
}
