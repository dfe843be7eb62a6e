/*
 * Attachment rows and the attachments API.
 */
#include "volume/attachment.h"

#include "ledger/message.h"
#include "ledger/query.h"
#include "volume/attach_status.private.h"
#include "volume/conflict.h"
#include "volume/connector.private.h"
#include "volume/notification.h"
#include "volume/operations.h"

#include <string.h>

#define ATTACHMENT_COLUMNS                                                              \
    "a.id, a.volume_id, a.project_id, a.instance_uuid, a.attached_host, a.mountpoint, " \
    "a.attach_status, a.attach_mode, a.connector, a.connection_info, a.attached_at, "   \
    "a.detached_at, a.created_at, a.updated_at"

static void attachment_read(const struct db_rows *rows, struct arena *arena,
                            struct attachment *ret) {
    *ret = (struct attachment){
        .id = db_copy(rows, 0, arena),
        .volume_id = db_copy(rows, 1, arena),
        .project_id = db_copy(rows, 2, arena),
        .instance_uuid = db_copy(rows, 3, arena),
        .attached_host = db_copy(rows, 4, arena),
        .mountpoint = db_copy(rows, 5, arena),
        .attach_status = db_copy(rows, 6, arena),
        .attach_mode = db_copy(rows, 7, arena),
        .connector = db_copy(rows, 8, arena),
        .connection_info = db_copy(rows, 9, arena),
        .attached_at = db_int(rows, 10),
        .detached_at = db_int(rows, 11),
        .created_at = db_int(rows, 12),
        .updated_at = db_int(rows, 13),
    };
}

int attachment_list(struct work *work, const struct query *query, struct attachment **ret,
                    struct error *err) {
    autorows struct db_rows *rows =
        query_page(work, "SELECT " ATTACHMENT_COLUMNS " FROM attachments a", query, err);
    struct attachment *list = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        list = query_grow(work->arena, list, count, sizeof *list);
        attachment_read(rows, work->arena, &list[count++]);
        if (query->bytes_most > 0 && arena_bytes(work->arena) > query->bytes_most)
            break;
    }
    if (more < 0)
        return -1;
    *ret = list;
    return (int)count;
}

int attachment_get(struct work *work, const char *id, struct attachment *ret, struct error *err) {
    const struct db_value values[] = { DB_TEXT(id), DB_BOOL(work->context->is_admin),
                                       DB_TEXT(work->context->project_id) };
    const struct query query = {
        .where = "a.id = $1 AND ($2 = 1 OR a.project_id = $3)",
        .values = values,
        .value_count = LENGTH(values),
        .order = "a.id",
        .limit = 1,
    };
    struct attachment *found;

    if (error_if_none(attachment_list(work, &query, &found, err), err, ERROR_NOT_FOUND,
                      "Volume attachment could not be found with filter: attachment_id = %s.",
                      id) < 0)
        return -1;
    *ret = *found;
    return 0;
}

/* ---- a server's disk ---- */

/* A disk that is taken from a server without the server's knowledge leaves a device that shows
 * another volume's data later (CVE-2023-2088).  So only those who speak for servers take it away:
 * the compute service, by its service token; where there is none that could, administrators. */
static bool speaks_for_servers(const struct work *work) {
    const struct context *context = work->context;

    return context->from_service || (context->is_admin && !work->settings->only_services_detach);
}

int attachment_check_release(const struct work *work, const struct attachment *attachment,
                             struct error *err) {
    if (!attachment->instance_uuid || !attachment->connection_info || speaks_for_servers(work))
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "ConflictNovaUsingAttachment: Detach volume from instance %s using the "
                     "Compute API",
                     attachment->instance_uuid);
}

/* ---- create ---- */

static bool has_instance(const struct volume *volume, const char *instance_uuid) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *instance = volume->attachments[i].instance_uuid;

        if (instance && instance_uuid && strcmp(instance, instance_uuid) == 0)
            return true;
    }
    return false;
}

/* Reserves the volume, or finds it in use by the same instance: a server that moves to another
 * host. */
static int reserve(struct work *work, const struct volume *volume, const char *instance_uuid,
                   struct error *err) {
    uint64_t allowed = ST(AVAILABLE) | ST(DOWNLOADING) | (volume->multiattach ? ST(IN_USE) : 0);

    if (strstr(status_text(volume->status), "error"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: status of volume %s is %s and cannot be attached.",
                         volume->id, status_shown(volume->status));
    if (allowed & ((uint64_t)1 << volume->status))
        return attach_status_write(work, volume, VOLUME_RESERVED, err);
    if ((volume->status == VOLUME_IN_USE || volume->status == VOLUME_RESERVED) &&
        has_instance(volume, instance_uuid))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s status must be available%s or downloading to "
                     "reserve, but the current status is %s.",
                     volume->id, volume->multiattach ? ", in-use" : "",
                     status_shown(volume->status));
}

static bool read_only(const struct volume *volume) {
    const char *flag = pairs_get(&volume->admin_metadata, "readonly");

    return flag && strcmp(flag, "True") == 0;
}

int attachment_create(struct work *work, const struct volume *volume, const char *instance_uuid,
                      const char *mode, struct attachment *ret, struct error *err) {
    struct attachment attachment = {
        .id = work_uuid(work),
        .volume_id = volume->id,
        .project_id = volume->project_id,
        .instance_uuid = instance_uuid,
        .attach_status = "reserved",
        .attach_mode = read_only(volume) ? "ro"
                       : mode            ? mode
                                         : "null",
        .created_at = work->now_us,
    };

    if (reserve(work, volume, instance_uuid, err) < 0 ||
        conflict_settle(work, volume->id, ACTION_ATTACHMENT_CREATE, err) < 0 ||
        attachment_insert(work, &attachment, err) < 0)
        return -1;
    *ret = attachment;
    return 0;
}

/* ---- connect ---- */

static const char *connector_text(struct arena *arena, const json_t *connector, const char *key) {
    return arena_text(arena, json_string_value(json_object_get(connector, key)));
}

static int check_connect(const struct volume *volume, const struct attachment *attachment,
                         struct error *err) {
    if (strstr(status_text(volume->status), "error"))
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s is in status %s and its attachments cannot be updated.",
                         volume->id, status_shown(volume->status));
    if (!volume->host)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s is on no backend.",
                         volume->id);
    if (volume->multiattach)
        return 0;
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *other = &volume->attachments[i];

        if (strcmp(other->id, attachment->id) != 0 && attachment_in_use(other) &&
            !(other->instance_uuid && attachment->instance_uuid &&
              strcmp(other->instance_uuid, attachment->instance_uuid) == 0))
            return error_set(
                err, ERROR_CONFLICT,
                "Volume %s is connected by attachment %s already and is not multiattach.",
                volume->id, other->id);
    }
    return 0;
}

/* A backend that does not answer must not gather questions without end. */
static int check_questions(struct work *work, const char *volume_id, struct error *err) {
    int64_t open = 0;

    if (db_query_int(work->tx, &open, err,
                     "SELECT COUNT(*) FROM operations WHERE volume_id = $1 AND kind = 'connect' "
                     "AND phase <> 'answered'",
                     DB_TEXT(volume_id)) < 0)
        return -1;
    if (open >= work->settings->per_volume_attachments)
        return error_set(err, ERROR_TRY_LATER,
                         "%jd connections of volume %s wait for its backend already.",
                         (intmax_t)open, volume_id);
    return 0;
}

static int begin_connect(struct work *work, const struct volume *volume, const char *target_id,
                         const json_t *connector, const char *mode, const char **ret_operation_id,
                         struct error *err) {
    autofree_json char *text = json_dumps(connector, JSON_COMPACT);
    struct operation former, fields = {
        .volume_id = volume->id,
        .target_id = target_id,
        .host = volume->host,
        .project_id = volume->project_id,
        .arguments = arena_format(work->arena, "{\"connector\": %s, \"mode\": \"%s\"}", text, mode),
    };
    int found = operation_of(work, target_id, &former, err);

    if (found < 0 || (found > 0 && operation_end(work, former.id, err) < 0) ||
        check_questions(work, volume->id, err) < 0)
        return -1;
    return operation_insert(work, OPERATION_CONNECT, &fields, ret_operation_id, err);
}

int attachment_connect(struct work *work, const struct attachment *attachment,
                       const json_t *connector, const char **ret_operation_id, struct error *err) {
    const char *host = connector_text(work->arena, connector, "host");
    const char *mountpoint = connector_text(work->arena, connector, "mountpoint");
    const char *mode = connector_text(work->arena, connector, "mode");
    autofree_json char *text = json_dumps(connector, JSON_COMPACT);
    struct volume volume;

    if (!host || !*host)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid input received: connector: host is required and must be a string.");
    if (connector_check(connector, err) < 0)
        return -1;
    if (attachment->attach_mode && strcmp(attachment->attach_mode, "null") != 0)
        mode = attachment->attach_mode;
    if (!mode || (strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0))
        mode = "rw";
    if (strcmp(attachment->attach_status, "attached") == 0 &&
        attachment_check_release(work, attachment, err) < 0)
        return -1;
    if (volume_details(work, attachment->volume_id, &volume, err) < 0 ||
        check_connect(&volume, attachment, err) < 0 ||
        conflict_settle(work, volume.id, ACTION_ATTACHMENT_UPDATE, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE attachments SET connector = $1, attached_host = $2, mountpoint = $3, "
               "attach_mode = $4, attached_at = $5, updated_at = $5, attach_status = "
               "CASE WHEN attach_status = 'attached' THEN 'attached' ELSE 'attaching' END "
               "WHERE id = $6",
               DB_TEXT(text), DB_TEXT(host), DB_TEXT(mountpoint ? mountpoint : "na"), DB_TEXT(mode),
               DB_INT(work->now_us), DB_TEXT(attachment->id)) < 0 ||
        attach_status_follow(work, volume.id, err) < 0 ||
        notification_of(work, "volume.attach.start", volume.id, err) < 0)
        return -1;
    return begin_connect(work, &volume, attachment->id, connector, mode, ret_operation_id, err);
}

int volume_initialize_connection(struct work *work, const struct volume *volume,
                                 const json_t *connector, const char **ret_operation_id,
                                 struct error *err) {
    if (volume->status == VOLUME_MAINTENANCE || !volume->host)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s cannot be connected while its status is %s.",
                         volume->id, status_shown(volume->status));
    if (connector_check(connector, err) < 0 ||
        conflict_settle(work, volume->id, ACTION_INITIALIZE_CONNECTION, err) < 0)
        return -1;
    return begin_connect(work, volume, work_uuid(work), connector, read_only(volume) ? "ro" : "rw",
                         ret_operation_id, err);
}

int volume_terminate_connection(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->attachment_count > 1 && !work->context->from_service)
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s has several attachments: which connection ends is not said.",
                         volume->id);
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (attachment_check_release(work, &volume->attachments[i], err) < 0)
            return -1;
    if (conflict_settle(work, volume->id, ACTION_TERMINATE_CONNECTION, err) < 0)
        return -1;
    return volume_unreserve(work, volume, err);
}

/* The attachment keeps the backend's data in one level, with its own id beside it. */
static char *flatten(struct arena *arena, const char *connection_info, const char *attachment_id) {
    autofree_tree json_t *info = json_loads(connection_info, 0, NULL);
    autofree_tree json_t *flat = json_copy(json_object_get(info, "data"));
    autofree_json char *text = NULL;

    json_object_set(flat, "driver_volume_type", json_object_get(info, "driver_volume_type"));
    json_object_set_new(flat, "attachment_id", json_string(attachment_id));
    text = json_dumps(flat, JSON_COMPACT);
    return arena_text(arena, text);
}

/* Why, the manager's log says: once, and no client reads it. */
static int connect_failed(struct work *work, const struct operation *operation, struct error *err) {
    static const char text[] = "{\"error\": \"The backend cannot connect the volume.\"}";

    if (db_run(work->tx, err,
               "UPDATE attachments SET attach_status = 'error_attaching', updated_at = $1 "
               "WHERE id = $2 AND attach_status = 'attaching'",
               DB_INT(work->now_us), DB_TEXT(operation->target_id)) < 0 ||
        attach_status_follow(work, operation->volume_id, err) < 0 ||
        operation_answer(work, operation->id, text, err) < 0)
        return -1;
    return message_put(work, operation->project_id, operation->request_id, operation->volume_id,
                       operation_kinds[OPERATION_CONNECT].message_action, "021", err);
}

int attachment_connected(struct work *work, const struct operation *operation,
                         const char *connection_info, const struct error *failure,
                         struct error *err) {
    int changed;

    if (failure)
        return connect_failed(work, operation, err);
    changed = db_run(work->tx, err,
                     "UPDATE attachments SET connection_info = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(flatten(work->arena, connection_info, operation->target_id)),
                     DB_INT(work->now_us), DB_TEXT(operation->target_id));
    if (changed < 0)
        return -1;
    if (changed > 0)
        return operation_end(work, operation->id, err);
    return operation_answer(work, operation->id,
                            arena_format(work->arena, "{\"connection_info\": %s}", connection_info),
                            err);
}

/* ---- complete and delete ---- */

int attachment_complete(struct work *work, const struct attachment *attachment, struct error *err) {
    if (conflict_settle(work, attachment->volume_id, ACTION_ATTACHMENT_COMPLETE, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE attachments SET attach_status = 'attached', updated_at = $1, "
               "attached_at = COALESCE(attached_at, $1) WHERE id = $2",
               DB_INT(work->now_us), DB_TEXT(attachment->id)) < 0 ||
        attach_status_follow(work, attachment->volume_id, err) < 0)
        return -1;
    return notification_of(work, "volume.attach.end", attachment->volume_id, err);
}

int attachment_delete(struct work *work, const struct attachment *attachment, struct error *err) {
    struct operation operation;
    int found;

    if (attachment_check_release(work, attachment, err) < 0)
        return -1;
    found = operation_of(work, attachment->id, &operation, err);
    if (found < 0 || (found > 0 && operation_end(work, operation.id, err) < 0))
        return -1;
    if (conflict_settle(work, attachment->volume_id, ACTION_ATTACHMENT_DELETE, err) < 0 ||
        notification_of(work, "volume.detach.start", attachment->volume_id, err) < 0 ||
        db_run(work->tx, err, "DELETE FROM attachments WHERE id = $1", DB_TEXT(attachment->id)) <
            0 ||
        attach_status_follow(work, attachment->volume_id, err) < 0)
        return -1;
    return notification_of(work, "volume.detach.end", attachment->volume_id, err);
}
