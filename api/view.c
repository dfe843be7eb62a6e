#include "api/view.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "volume/extend.h"

#include <string.h>

/* An encryption key id that stands for "no key". */
#define NO_KEY "00000000-0000-0000-0000-000000000000"

bool view_shows_admin_key(const char *key) {
    static const char *const keys[] = { "readonly", "attached_mode", EXTEND_KEY_SIZE };

    return words_have(keys, LENGTH(keys), key);
}

bool view_reserves_key(const char *key) {
    static const char *const keys[] = { EXTEND_KEY_SIZE, EXTEND_KEY_RESERVATIONS };

    return words_have(keys, LENGTH(keys), key);
}

void view_pairs(struct json_out *out, const struct pairs *pairs) {
    out_begin_object(out);
    for (unsigned i = 0; i < pairs->count; i++) {
        out_key_text(out, pairs->items[i].key);
        out_text(out, pairs->items[i].value);
    }
    out_end_object(out);
}

/* ---- volumes ---- */

static bool has_role(const struct context *context, const char *role) {
    for (const char *const *at = context->roles; at && *at; at++)
        if (strcmp(*at, role) == 0)
            return true;
    return false;
}

bool view_shows_hosts(const struct context *context) {
    return context->is_admin || context->from_service || has_role(context, "service");
}

void view_open(struct request *request, bool with_attributes, struct volume_view *ret) {
    *ret = (struct volume_view){
        .request = request,
        .with_attributes = with_attributes,
        .with_hosts = view_shows_hosts(&request->context),
    };
}

static void ask_policy(struct volume_view *view, const struct volume *volume) {
    const struct policy_target owner = { volume->project_id, volume->user_id };
    struct request *request = view->request;

    if (view->project_id && strcmp(view->project_id, volume->project_id) == 0 &&
        strcmp(view->user_id, volume->user_id) == 0)
        return;
    view->project_id = volume->project_id;
    view->user_id = volume->user_id;
    view->tenant = request_allows(request, "volume_extension:volume_tenant_attribute", &owner);
    view->migration =
        request_allows(request, "volume_extension:volume_mig_status_attribute", &owner);
    view->host = request_allows(request, "volume_extension:volume_host_attribute", &owner);
    view->image_metadata =
        request_allows(request, "volume_extension:volume_image_metadata:show", &owner);
}

static void put_metadata(struct json_out *out, const struct volume *volume) {
    const struct pairs *user = &volume->metadata, *admin = &volume->admin_metadata;

    out_key(out, "metadata");
    out_begin_object(out);
    for (unsigned i = 0; i < user->count; i++) {
        const char *key = user->items[i].key;

        if (view_reserves_key(key) || (view_shows_admin_key(key) && pairs_get(admin, key)))
            continue;
        out_key_text(out, key);
        out_text(out, user->items[i].value);
    }
    for (unsigned i = 0; i < admin->count; i++) {
        if (!view_shows_admin_key(admin->items[i].key))
            continue;
        out_key_text(out, admin->items[i].key);
        out_text(out, admin->items[i].value);
    }
    out_end_object(out);
}

static void put_attachments(const struct volume_view *view, const struct volume *volume) {
    struct json_out *out = &view->request->out;

    out_key(out, "attachments");
    out_begin_array(out);
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];

        if (strcmp(attachment->attach_status, "attached") != 0)
            continue;
        out_begin_object(out);
        out_put_text(out, "id", volume->id);
        out_put_text(out, "attachment_id", attachment->id);
        out_put_text(out, "volume_id", volume->id);
        out_put_text(out, "server_id", attachment->instance_uuid);
        out_put_text(out, "host_name", view->with_hosts ? attachment->attached_host : NULL);
        out_put_text(out, "device", attachment->mountpoint);
        out_put_time(out, "attached_at", attachment->attached_at);
        out_end_object(out);
    }
    out_end_array(out);
}

/* What a later microversion brought. */
static void put_newer_keys(struct request *request, const struct volume *volume) {
    struct json_out *out = &request->out;
    unsigned minor = request->minor;
    bool admin = request->context.is_admin;

    if (minor >= MV_GROUPS)
        out_put_text(out, "group_id", volume->group_id);
    if (minor >= MV_PROVIDER_ID && admin)
        out_put_text(out, "provider_id", volume->provider_id);
    if (minor >= MV_SHARED_TARGETS) {
        out_key(out, "shared_targets");
        if (volume->shared_targets < 0 && minor >= MV_SHARED_TARGETS_NULL)
            out_null(out);
        else
            out_bool(out, volume->shared_targets != 0);
        out_put_text(out, "service_uuid", volume->service_uuid);
    }
    if (minor >= MV_CLUSTER_NAME && admin)
        out_put_text(out, "cluster_name", volume->cluster_name);
    if (minor >= MV_VOLUME_TYPE_ID)
        out_put_text(out, "volume_type_id", volume->type_id);
    if (minor >= MV_ENCRYPTION_KEY_ID && volume->encryption_key_id &&
        strcmp(volume->encryption_key_id, NO_KEY) != 0)
        out_put_text(out, "encryption_key_id", volume->encryption_key_id);
    if (minor >= MV_CONSUMES_QUOTA)
        out_put_bool(out, "consumes_quota", volume->use_quota);
}

static void put_attributes(struct volume_view *view, const struct volume *volume) {
    struct json_out *out = &view->request->out;

    ask_policy(view, volume);
    if (view->tenant)
        out_put_text(out, "os-vol-tenant-attr:tenant_id", volume->project_id);
    if (view->migration) {
        out_put_text(out, "os-vol-mig-status-attr:migstat", volume->migration_status);
        out_put_text(out, "os-vol-mig-status-attr:name_id", volume->name_id);
    }
    if (view->host)
        out_put_text(out, "os-vol-host-attr:host", volume->host);
    if (view->image_metadata && volume->image_metadata.count > 0) {
        out_key(out, "volume_image_metadata");
        view_pairs(out, &volume->image_metadata);
    }
}

void view_volume(struct volume_view *view, const struct volume *volume) {
    struct request *request = view->request;
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_put_text(out, "id", volume->id);
    out_put_text(out, "status", status_shown(volume->status));
    out_put_int(out, "size", volume->size_gb);
    out_put_text(out, "availability_zone", volume->availability_zone);
    out_put_time(out, "created_at", volume->created_at);
    out_put_time(out, "updated_at", volume->updated_at);
    out_put_text(out, "name", volume->name);
    out_put_text(out, "description", volume->description);
    out_put_text(out, "volume_type", volume->type_name);
    out_put_text(out, "snapshot_id", volume->snapshot_id);
    out_put_text(out, "source_volid", volume->source_volid);
    out_put_text(out, "user_id", volume->user_id);
    out_put_text(out, "bootable", volume->bootable ? "true" : "false");
    out_put_bool(out, "encrypted", volume->encryption_key_id != NULL);
    out_put_text(out, "replication_status", volume->replication_status);
    out_put_null(out, "consistencygroup_id");
    out_put_bool(out, "multiattach", volume->multiattach);
    if (request->context.is_admin)
        out_put_text(out, "migration_status", volume->migration_status);
    put_metadata(out, volume);
    put_attachments(view, volume);
    put_newer_keys(request, volume);
    if (view->with_attributes)
        put_attributes(view, volume);
    request_put_links(request, "volumes", volume->id);
    out_end_object(out);
}

void view_volume_short(struct request *request, const struct volume *volume) {
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_put_text(out, "id", volume->id);
    out_put_text(out, "name", volume->name);
    request_put_links(request, "volumes", volume->id);
    out_end_object(out);
}

/* ---- attachments ---- */

static void put_attachment_row(struct json_out *out, const struct attachment *attachment) {
    out_put_text(out, "id", attachment->id);
    out_put_text(out, "status", attachment->attach_status);
    out_put_text(out, "instance", attachment->instance_uuid);
    out_put_text(out, "volume_id", attachment->volume_id);
}

void view_attachment_short(struct json_out *out, const struct attachment *attachment) {
    out_begin_object(out);
    put_attachment_row(out, attachment);
    out_end_object(out);
}

static void put_time_or_empty(struct json_out *out, int64_t instant_us) {
    if (instant_us)
        out_time(out, instant_us);
    else
        out_text(out, "");
}

static void put_connection_info(struct request *request, const char *text, const char *format) {
    struct json_out *out = &request->out;
    json_t *info = NULL;

    out_key(out, "connection_info");
    if (!text)
        text = "{}";
    else if (format)
        info = json_parse(request->work.arena, text, strlen(text), NULL);
    if (!info) {
        out_raw(out, text, strlen(text));
        return;
    }
    json_object_set_new(info, "format", json_string(format));
    out_value(out, info);
}

void view_attachment(struct request *request, const struct attachment *attachment,
                     const char *format) {
    struct json_out *out = &request->out;

    out_begin_object(out);
    put_attachment_row(out, attachment);
    out_key(out, "attached_at");
    put_time_or_empty(out, attachment->attached_at);
    out_key(out, "detached_at");
    put_time_or_empty(out, attachment->detached_at);
    out_put_text(out, "attach_mode", attachment->attach_mode ? attachment->attach_mode : "null");
    put_connection_info(request, attachment->connection_info, format);
    out_end_object(out);
}
