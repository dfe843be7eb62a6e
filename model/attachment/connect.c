#include "model/attachment/connect.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "model/attachment/attach.h"
#include "model/attachment/attach_status.h"
#include "model/attachment/connection.h"
#include "model/attachment/disconnect.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/volume/reclaim.h"
#include "operation/message.h"
#include "json/json.h"

#include <string.h>

#define CONNECTOR_BYTES 8192 /* a host with sixteen ports of Fibre Channel needs 2,000 */
#define TEXT_CHARACTERS 255  /* of those that are shown again */

/* Of a client, and stored with the attachment; only the driver interprets it. */
static int connector_check(const json_t *connector, struct error *err) {
    static const char *const shown[] = { "host", "mountpoint", "mode" };

    for (size_t i = 0; i < LENGTH(shown); i++) {
        const char *text = json_string_value(json_object_get(connector, shown[i]));

        if (text && utf8_count(text, strlen(text)) > TEXT_CHARACTERS)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid input for field/attribute connector: %s must be at most %d "
                             "characters long.",
                             shown[i], TEXT_CHARACTERS);
    }
    if (json_dumpb(connector, NULL, 0, JSON_COMPACT) > CONNECTOR_BYTES)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute connector: it must be at most %d bytes "
                         "long.",
                         CONNECTOR_BYTES);
    return 0;
}

static const char *connector_text(struct arena *arena, const json_t *connector, const char *key) {
    return arena_text(arena, json_string_value(json_object_get(connector, key)));
}

static bool is_same_instance(const struct attachment *one, const struct attachment *other) {
    return one->instance_uuid && other->instance_uuid &&
           strcmp(one->instance_uuid, other->instance_uuid) == 0;
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
    if (attach_status_check(volume, err) < 0)
        return -1;
    if (volume->multiattach)
        return 0;
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *other = &volume->attachments[i];

        if (strcmp(other->id, attachment->id) != 0 && attachment_in_use(other) &&
            !is_same_instance(other, attachment))
            return error_set(
                err, ERROR_CONFLICT,
                "Volume %s is connected by attachment %s already and is not multiattach.",
                volume->id, other->id);
    }
    return 0;
}

/* One instance may move from host to host while it runs, where the backend allows it.  `attachment`
 * is NULL for a connection without one.  Hosts are visible to administrators only. */
static int check_host(struct work *work, const struct volume *volume,
                      const struct attachment *attachment, const char *host, struct error *err) {
    int one_host = host ? volume_disconnect_needed(work, volume->host, err) : 0;
    int moves = one_host > 0 ? volume_moves_instances(work, volume->host, err) : 0;

    for (unsigned i = 0; one_host > 0 && i < volume->attachment_count; i++) {
        const struct attachment *other = &volume->attachments[i];
        bool own = attachment && strcmp(other->id, attachment->id) == 0;

        /* Its own attachment may move elsewhere, as long as it is not complete. */
        if (!(own ? strcmp(other->attach_status, "attached") == 0 : attachment_in_use(other)) ||
            !other->attached_host || strcmp(other->attached_host, host) == 0 ||
            (moves > 0 && attachment && !own && is_same_instance(other, attachment)))
            continue;
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s is connected to another host, and its backend connects a "
                         "volume to one host at a time: it has to be detached there first.",
                         volume->id);
    }
    return one_host < 0 || moves < 0 ? -1 : 0;
}

/* A backend that does not answer must not accumulate requests without limit. */
static int check_questions(struct work *work, const struct operation_kind *kind,
                           const char *volume_id, struct error *err) {
    int64_t open = 0;

    assert(work->settings->per_volume_attachments > 0);
    if (operation_count(work, volume_id, kind, &open, err) < 0)
        return -1;
    if (open >= work->settings->per_volume_attachments)
        return error_set(err, ERROR_TRY_LATER,
                         "%jd connections of volume %s wait for its backend already.",
                         (intmax_t)open, volume_id);
    return 0;
}

/* The object to connect: an attachment, or a connection `given` without one. */
struct connect_to {
    const char *target_id, *connector /* JSON */, *mode;
    bool given;
};

static int begin_connect(struct work *work, const struct volume *volume,
                         const struct connect_to *to, const char **ret_operation_id,
                         struct error *err) {
    const struct operation_turn turn = { .of = volume->id };
    int needed = volume_disconnect_needed(work, volume->host, err);
    const struct operation fields = {
        .volume_id = volume->id,
        .target_id = to->target_id,
        .turns = &turn,
        .turn_count = needed > 0 ? 1 : 0,
        .host = volume->host,
        .project_id = volume->project_id,
        .arguments =
            arena_format(work->arena, "{\"connector\": %s, \"mode\": \"%s\", \"given\": %s}",
                         to->connector, to->mode, to->given ? "true" : "false"),
    };

    assert(volume->host && to->target_id && to->connector);
    if (needed < 0 || check_questions(work, &kind_connect, volume->id, err) < 0)
        return -1;
    return operation_insert(work, &kind_connect, &fields, ret_operation_id, err);
}

int attachment_connect(struct work *work, const struct attachment *attachment,
                       const json_t *connector, const char **ret_operation_id, struct error *err) {
    const char *host = connector_text(work->arena, connector, "host");
    const char *mountpoint = connector_text(work->arena, connector, "mountpoint");
    const char *mode = connector_text(work->arena, connector, "mode");
    const char *text = json_text(work->arena, connector);
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
        check_host(work, &volume, attachment, host, err) < 0 ||
        volume_reclaim_yield(work, &volume, ACTION_ATTACHMENT_UPDATE, err) < 0 ||
        conflict_resolve(work, volume.id, ACTION_ATTACHMENT_UPDATE, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE attachments SET connector = $1, attached_host = $2, mountpoint = $3, "
               "attach_mode = $4, attached_at = $5, updated_at = $5, attach_status = "
               "CASE WHEN attach_status = 'attached' THEN 'attached' ELSE 'attaching' END "
               "WHERE id = $6",
               DB_TEXT(text), DB_TEXT(host), DB_TEXT(mountpoint ? mountpoint : "na"), DB_TEXT(mode),
               DB_INT(work->now_us), DB_TEXT(attachment->id)) < 0 ||
        attach_status_follow(work, volume.id, err) < 0 ||
        notification_of(work, "volume.attach.start", volume.id, err) < 0 ||
        operation_end_of(work, attachment->id, err) < 0)
        return -1;
    return begin_connect(work, &volume, &(struct connect_to){ attachment->id, text, mode, false },
                         ret_operation_id, err);
}

int volume_initialize_connection(struct work *work, const struct volume *volume,
                                 const json_t *connector, const char **ret_operation_id,
                                 struct error *err) {
    const char *host = connector_text(work->arena, connector, "host");
    const char *id = work_uuid(work);
    struct volume now = *volume;

    if (volume->status == VOLUME_MAINTENANCE || !volume->host)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s cannot be connected while its status is %s.",
                         volume->id, status_shown(volume->status));
    if (connector_check(connector, err) < 0 || check_host(work, volume, NULL, host, err) < 0 ||
        volume_reclaim_yield(work, &now, ACTION_INITIALIZE_CONNECTION, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_INITIALIZE_CONNECTION, err) < 0 ||
        attach_status_check(volume, err) < 0 ||
        connection_give(work, volume->id, id, host, work->settings->per_volume_attachments, err) <
            0)
        return -1;
    return begin_connect(work, volume,
                         &(struct connect_to){ .target_id = id,
                                               .connector = json_text(work->arena, connector),
                                               .mode = volume_is_readonly(volume) ? "ro" : "rw",
                                               .given = true },
                         ret_operation_id, err);
}

int volume_terminate_connection(struct work *work, const struct volume *volume,
                                const json_t *connector, struct error *err) {
    const char *host = connector_text(work->arena, connector, "host");

    if (volume->attachment_count > 1 && !work->context->from_service)
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s has several attachments: which connection ends is not said.",
                         volume->id);
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (attachment_check_release(work, &volume->attachments[i], err) < 0)
            return -1;
    if (conflict_resolve(work, volume->id, ACTION_TERMINATE_CONNECTION, err) < 0 ||
        check_questions(work, &kind_disconnect, volume->id, err) < 0 ||
        volume_disconnect(work, volume->id, err) < 0 ||
        connection_end(work, volume->id, host, err) < 0)
        return -1;
    return volume_unreserve(work, volume, err);
}

/* The attachment stores the backend's data in one level, with its own id beside it. */
static char *flatten(struct arena *arena, const char *connection_info, const char *attachment_id) {
    const json_t *info = json_parse(arena, connection_info, strlen(connection_info), NULL);
    json_t *flat = json_object_get(info, "data");

    json_object_set(flat, "driver_volume_type", json_object_get(info, "driver_volume_type"));
    json_object_set_new(flat, "attachment_id", json_string(attachment_id));
    return json_text(arena, flat);
}

int attachment_refresh(struct work *work, const struct volume *volume, const char *connection_info,
                       struct error *err) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];
        const char *old = attachment->connection_info;
        json_t *kept = old ? json_parse(work->arena, old, strlen(old), NULL) : NULL;
        const char *flat = flatten(work->arena, connection_info, attachment->id);

        if (!kept)
            continue;
        json_object_update(kept, json_parse(work->arena, flat, strlen(flat), NULL));
        if (db_change(work->tx, err,
                      "UPDATE attachments SET connection_info = $1, updated_at = $2 WHERE id = $3",
                      DB_TEXT(json_text(work->arena, kept)), DB_INT(work->now_us),
                      DB_TEXT(attachment->id)) < 0)
            return -1;
    }
    return 0;
}

/* A refusal of the backend has a reason for the client; other failures do not show theirs. */
static bool is_refusal(const struct error *failure) {
    return failure->kind == ERROR_BAD_REQUEST || failure->kind == ERROR_CONFLICT;
}

static const char *tell_failure(struct arena *arena, const struct error *failure) {
    const char *text = "The backend cannot connect the volume.";

    if (!is_refusal(failure))
        return json_text(arena, json_keep(arena, json_pack("{s:s}", "error", text)));
    return json_text(arena,
                     json_keep(arena, json_pack("{s:s, s:b}", "error", failure->message, "conflict",
                                                failure->kind == ERROR_CONFLICT)));
}

static int connect_failed(struct work *work, const struct operation *operation,
                          const struct error *failure, struct error *err) {
    const char *text = tell_failure(work->arena, failure);

    assert(operation->kind == &kind_connect);
    if (db_run(work->tx, err,
               "UPDATE attachments SET attach_status = 'error_attaching', updated_at = $1 "
               "WHERE id = $2 AND attach_status = 'attaching'",
               DB_INT(work->now_us), DB_TEXT(operation->target_id)) < 0 ||
        connection_refused(work, operation->target_id, err) < 0 ||
        attach_status_follow(work, operation->volume_id, err) < 0 ||
        operation_answer(work, operation->id, text, err) < 0 ||
        (!is_refusal(failure) && volume_disconnect(work, operation->volume_id, err) < 0))
        return -1;
    return message_put_failed(work, operation, "021", failure, err);
}

/* An API before the table of connections has asked: nothing has kept the images below the volume
 * until now, so a change of them in progress has priority.  0: treated as ended. */
static int connection_found(struct work *work, const struct operation *held,
                            const json_t *arguments, struct error *err) {
    const json_t *connector = json_object_get(arguments, "connector");

    if (conflict_resolve(work, held->volume_id, ACTION_INITIALIZE_CONNECTION, err) < 0)
        return err->kind == ERROR_BAD_REQUEST ? 0 : -1;
    return connection_give(work, held->volume_id, held->target_id,
                           connector_text(work->arena, connector, "host"), INT64_MAX, err) < 0
               ? -1
               : 1;
}

/* For a host without an attachment.  A connection that was ended before its answer came is not
 * given out. */
static int connection_finish(struct work *work, const struct operation *held, const char *info,
                             struct error *err) {
    const json_t *arguments = operation_arguments(work->arena, held);
    const json_t *given = json_object_get(arguments, "given");
    struct error ended = { 0 };
    int stands = 1;

    if (!given)
        stands = connection_found(work, held, arguments, err);
    else if (json_is_true(given))
        stands = connection_confirm(work, held->volume_id, held->target_id, err);
    if (stands < 0)
        return -1;
    if (stands > 0)
        return operation_answer(work, held->id,
                                arena_format(work->arena, "{\"connection_info\": %s}", info), err);
    error_set(&ended, ERROR_CONFLICT, "The connection was ended before the backend had answered.");
    return operation_answer(work, held->id, tell_failure(work->arena, &ended), err);
}

static int connect_finish(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    const struct connect_ending *ending = arg;
    const char *info = ending->connection_info;
    int changed;

    if (ending->failure)
        return connect_failed(work, held, ending->failure, err);
    changed = db_run(work->tx, err,
                     "UPDATE attachments SET connection_info = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(flatten(work->arena, info, held->target_id)), DB_INT(work->now_us),
                     DB_TEXT(held->target_id));
    if (changed < 0)
        return -1;
    if (changed > 0)
        return operation_end(work, held, err);
    return connection_finish(work, held, info, err);
}

const struct operation_kind kind_connect = {
    .name = "connect",
    .method = "connect_volume",
    .message_action = "004",
    .awaited = true,
    .finish = connect_finish,
};
