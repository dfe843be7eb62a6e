#include "api/volume/view.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "model/volume/extend.h"

#include <string.h>

/* An encryption key id that means "no key". */
#define NO_KEY "00000000-0000-0000-0000-000000000000"

bool view_shows_admin_key(const char *key) {
    static const char *const keys[] = { "readonly", "attached_mode", EXTEND_KEY_SIZE };

    return words_have(keys, LENGTH(keys), key);
}

bool view_reserves_key(const char *key) {
    static const char *const keys[] = { EXTEND_KEY_SIZE, EXTEND_KEY_RESERVATIONS };

    return words_have(keys, LENGTH(keys), key);
}

bool view_is_admin_key(const char *key) {
    return view_shows_admin_key(key) || view_reserves_key(key) || strcmp(key, "format") == 0;
}

/* ---- volumes ---- */

bool view_shows_hosts(const struct context *context) {
    return context->is_admin || context->from_service || words_list_has(context->roles, "service");
}

/* Visibility of a volume's parts: first those of a policy rule, bit N of rule N. */
enum {
    SEES_TENANT = 1 << 0,
    SEES_MIGRATION = 1 << 1,
    SEES_HOST = 1 << 2,
    SEES_IMAGE = 1 << 3,
    SEES_ADMIN = 1 << 4,
    SEES_HOSTS = 1 << 5, /* host_name of attachments */
};

static const char *const view_rules[] = {
    "volume_extension:volume_tenant_attribute",
    "volume_extension:volume_mig_status_attribute",
    "volume_extension:volume_host_attribute",
    "volume_extension:volume_image_metadata:show",
};

void view_open(struct request *request, bool with_attributes, struct volume_view *ret) {
    *ret = (struct volume_view){
        .request = request,
        .with_attributes = with_attributes,
        .rights = (request->context.is_admin ? SEES_ADMIN : 0U) |
                  (view_shows_hosts(&request->context) ? SEES_HOSTS : 0U),
    };
}

static void ask_policy(struct volume_view *view, const struct volume *volume) {
    const struct policy_target owner = { volume->project_id, volume->user_id };

    if (view->project_id && strcmp(view->project_id, volume->project_id) == 0 &&
        strcmp(view->user_id, volume->user_id) == 0)
        return;
    view->project_id = arena_text(view->request->work.arena, volume->project_id);
    view->user_id = arena_text(view->request->work.arena, volume->user_id);
    view->rights &= SEES_ADMIN | SEES_HOSTS;
    view->rights |= request_allows_each(view->request, view_rules, LENGTH(view_rules), &owner);
}

static void put_status(struct request *request, const void *row) {
    const struct volume *volume = row;

    out_text(&request->out, status_shown(volume->status));
}

static void put_bootable(struct request *request, const void *row) {
    const struct volume *volume = row;

    out_text(&request->out, volume->bootable ? "true" : "false");
}

static void put_encrypted(struct request *request, const void *row) {
    const struct volume *volume = row;

    out_bool(&request->out, volume->encryption_key_id != NULL);
}

static void put_metadata(struct request *request, const void *row) {
    const struct volume *volume = row;
    const struct pairs *user = &volume->metadata, *admin = &volume->admin_metadata;
    struct json_out *out = &request->out;

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

static void put_host_name(struct request *request, const void *row) {
    const struct attachment *attachment = row;

    out_text(&request->out, request->rights & SEES_HOSTS ? attachment->attached_host : NULL);
}

/* clang-format off */
static const struct shape_key attached_keys[] = {
    SHAPE(struct attachment, volume_id,     "id",            TEXT),
    SHAPE(struct attachment, id,            "attachment_id", TEXT),
    SHAPE(struct attachment, volume_id,     "volume_id",     TEXT),
    SHAPE(struct attachment, instance_uuid, "server_id",     TEXT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_host_name,                 "host_name",     TEXT, .flags = SHAPE_NULLABLE),
    SHAPE(struct attachment, mountpoint,    "device",        TEXT, .flags = SHAPE_NULLABLE),
    SHAPE(struct attachment, attached_at,   "attached_at",   TIME, .flags = SHAPE_NULLABLE),
    SHAPES_END,
};
/* clang-format on */
static const struct shape attached_shape = { NULL, attached_keys };

static void put_attachments(struct request *request, const void *row) {
    const struct volume *volume = row;

    out_begin_array(&request->out);
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (strcmp(volume->attachments[i].attach_status, "attached") == 0)
            shape_put(request, &attached_shape, &volume->attachments[i], request->rights);
    out_end_array(&request->out);
}

static void put_shared_targets(struct request *request, const void *row) {
    const struct volume *volume = row;

    if (volume->shared_targets < 0 && request->minor >= MV_SHARED_TARGETS_NULL)
        out_null(&request->out);
    else
        out_bool(&request->out, volume->shared_targets != 0);
}

static bool has_key_id(const void *row) {
    const struct volume *volume = row;

    return volume->encryption_key_id && strcmp(volume->encryption_key_id, NO_KEY) != 0;
}

static bool has_image_metadata(const void *row) {
    const struct volume *volume = row;

    return volume->image_metadata.count > 0;
}

static void put_links(struct request *request, const void *row) {
    const struct volume *volume = row;

    request_links(request, "volumes", volume->id);
}

/* clang-format off */
#define VOLUME(member, ...) SHAPE(struct volume, member, __VA_ARGS__)
#define NULLS .flags = SHAPE_NULLABLE

#define FIRST_KEYS \
    VOLUME(id,                   "id",                  TEXT), \
    SHAPE_BY(put_status,         "status",              TEXT), \
    VOLUME(size_gb,              "size",                INT), \
    VOLUME(availability_zone,    "availability_zone",   TEXT, NULLS), \
    VOLUME(created_at,           "created_at",          TIME), \
    VOLUME(updated_at,           "updated_at",          TIME, NULLS), \
    VOLUME(name,                 "name",                TEXT, NULLS), \
    VOLUME(description,          "description",         TEXT, NULLS), \
    VOLUME(type_name,            "volume_type",         TEXT, NULLS), \
    VOLUME(snapshot_id,          "snapshot_id",         TEXT, NULLS), \
    VOLUME(source_volid,         "source_volid",        TEXT, NULLS), \
    VOLUME(user_id,              "user_id",             TEXT), \
    SHAPE_BY(put_bootable,       "bootable",            TEXT), \
    SHAPE_BY(put_encrypted,      "encrypted",           BOOL), \
    VOLUME(replication_status,   "replication_status",  TEXT, NULLS), \
    VOLUME(consistencygroup_id,  "consistencygroup_id", TEXT, NULLS), \
    VOLUME(multiattach,          "multiattach",         BOOL), \
    SHAPE_BY(put_metadata,       "metadata",            PAIRS), \
    SHAPE_BY(put_attachments,    "attachments",         LIST, .of = &attached_shape)

/* As of 3.0, for responses unchanged since. */
static const struct shape_key volume_first_keys[] = {
    FIRST_KEYS,
    SHAPE_BY(put_links,          "links",               LIST, .of = &shape_link),
    SHAPES_END,
};
const struct shape volume_first_shape = { "volume_first", volume_first_keys };

static const struct shape_key volume_keys[] = {
    FIRST_KEYS,
    VOLUME(migration_status,     "migration_status",    TEXT, NULLS, .rights = SEES_ADMIN),
    VOLUME(group_id,             "group_id",            TEXT, NULLS, .since = MV_GROUPS),
    VOLUME(provider_id,          "provider_id",         TEXT, NULLS, .since = MV_PROVIDER_ID,
           .rights = SEES_ADMIN),
    SHAPE_BY(put_shared_targets, "shared_targets",      BOOL, NULLS, .since = MV_SHARED_TARGETS),
    VOLUME(service_uuid,         "service_uuid",        TEXT, NULLS, .since = MV_SHARED_TARGETS),
    VOLUME(cluster_name,         "cluster_name",        TEXT, NULLS, .since = MV_CLUSTER_NAME,
           .rights = SEES_ADMIN),
    VOLUME(type_id,              "volume_type_id",      TEXT, NULLS, .since = MV_VOLUME_TYPE_ID),
    VOLUME(encryption_key_id,    "encryption_key_id",   TEXT, .since = MV_ENCRYPTION_KEY_ID,
           .has = has_key_id),
    VOLUME(use_quota,            "consumes_quota",      BOOL, .since = MV_CONSUMES_QUOTA),
    VOLUME(project_id,           "os-vol-tenant-attr:tenant_id", TEXT, .rights = SEES_TENANT),
    VOLUME(migration_status,     "os-vol-mig-status-attr:migstat", TEXT, NULLS,
           .rights = SEES_MIGRATION),
    VOLUME(name_id,              "os-vol-mig-status-attr:name_id", TEXT, NULLS,
           .rights = SEES_MIGRATION),
    VOLUME(host,                 "os-vol-host-attr:host", TEXT, NULLS, .rights = SEES_HOST),
    VOLUME(image_metadata,       "volume_image_metadata", PAIRS, .rights = SEES_IMAGE,
           .has = has_image_metadata),
    SHAPE_BY(put_links,          "links",               LIST, .of = &shape_link),
    SHAPES_END,
};
const struct shape volume_shape = { "volume", volume_keys };

static const struct shape_key volume_short_keys[] = {
    VOLUME(id,          "id",    TEXT),
    VOLUME(name,        "name",  TEXT, NULLS),
    SHAPE_BY(put_links, "links", LIST, .of = &shape_link),
    SHAPES_END,
};
const struct shape volume_short_shape = { "volume_short", volume_short_keys };
/* clang-format on */

void view_volume(struct volume_view *view, const struct volume *volume) {
    if (view->with_attributes)
        ask_policy(view, volume);
    shape_put(view->request, &volume_shape, volume, view->rights);
}

/* ---- attachments ---- */

static void put_time_or_empty(struct json_out *out, int64_t instant_us) {
    if (instant_us)
        out_time(out, instant_us);
    else
        out_text(out, "");
}

/* A row of attachments, and the other data of the whole response. */
struct shown {
    struct attachment attachment; /* first: the row alone is enough for the short response */
    const char *format;
};

static void put_attached_at(struct request *request, const void *row) {
    const struct shown *shown = row;

    put_time_or_empty(&request->out, shown->attachment.attached_at);
}

static void put_detached_at(struct request *request, const void *row) {
    const struct shown *shown = row;

    put_time_or_empty(&request->out, shown->attachment.detached_at);
}

static void put_mode(struct request *request, const void *row) {
    const struct shown *shown = row;

    out_text(&request->out, shown->attachment.attach_mode ? shown->attachment.attach_mode : "null");
}

static void put_connection_info(struct request *request, const void *row) {
    const struct shown *shown = row;
    const char *text = shown->attachment.connection_info;
    json_t *info = NULL;

    if (!text)
        text = "{}";
    else if (shown->format)
        info = json_parse(request->work.arena, text, strlen(text), NULL);
    if (!info) {
        out_raw(&request->out, text, strlen(text));
        return;
    }
    json_object_set_new(info, "format", json_string(shown->format));
    out_value(&request->out, info);
}

/* clang-format off */
#define ATTACHMENT_KEYS \
    SHAPE(struct shown, attachment.id,            "id",        TEXT), \
    SHAPE(struct shown, attachment.attach_status, "status",    TEXT), \
    SHAPE(struct shown, attachment.instance_uuid, "instance",  TEXT, NULLS), \
    SHAPE(struct shown, attachment.volume_id,     "volume_id", TEXT)

static const struct shape_key attachment_keys[] = {
    ATTACHMENT_KEYS,
    SHAPE_BY(put_attached_at,     "attached_at",     TEXT),
    SHAPE_BY(put_detached_at,     "detached_at",     TEXT),
    SHAPE_BY(put_mode,            "attach_mode",     TEXT),
    SHAPE_BY(put_connection_info, "connection_info", ANY),
    SHAPES_END,
};
const struct shape attachment_shape = { "attachment", attachment_keys };

static const struct shape_key attachment_short_keys[] = { ATTACHMENT_KEYS, SHAPES_END };
const struct shape attachment_short_shape = { "attachment_short", attachment_short_keys };
/* clang-format on */

void view_attachment(struct request *request, const struct attachment *attachment,
                     const char *format) {
    shape_put(request, &attachment_shape, &(struct shown){ *attachment, format }, 0);
}
