#include "operation/message.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/no_space.h"
#include "operation/operation.h"

#include <string.h>

#define MESSAGE_SELECT                                                                         \
    "SELECT m.id, m.project_id, m.request_id, m.resource_type, m.resource_uuid, m.action_id, " \
    "m.detail_id, m.message_level, m.created_at, m.expires_at, m.reason FROM messages m"

#define VOLUME "VOLUME"

struct numbered_text {
    const char *number;
    const char *text;
};

/* clang-format off */
static const struct numbered_text actions[] = {
    { "001", "schedule allocate volume" },
    { "002", "attach volume" },
    { "003", "copy volume to image" },
    { "004", "update attachment" },
    { "005", "copy image to volume" },
    { "006", "unmanage volume" },
    { "007", "extend volume" },
    { "008", "create volume from backend storage" },
    { "009", "create snapshot" },
    { "010", "delete snapshot" },
    { "011", "update snapshot" },
    { "012", "update snapshot metadata" },
    { "013", "create backup" },
    { "014", "delete backup" },
    { "015", "restore backup" },
    { "016", "reimage volume" },
    { "901", "delete volume" }, /* from 900 on: numbers of scoria */
    { "902", "revert volume" },
    { "903", "create group" },
    { "904", "create group snapshot" },
    { "905", "delete group snapshot" },
    { "906", "reclaim space of volume" },
};

static const struct numbered_text details[] = {
    { "001", "An unknown error occurred." },
    { "002", "The driver of the backend is not initialized." },
    { "003", "No backend has the room and the abilities that the resource needs." },
    { "004", "The upload of the volume to an image failed." },
    { "005", "The attach mode is not valid for this volume." },
    { "006", "Not enough quota is left for the request." },
    { "007", "The image is larger than the space for it." },
    { "008", "An encrypted volume cannot be unmanaged." },
    { "009", "The compute service failed to extend the volume." },
    { "010", "The driver failed to extend the volume." },
    { "011", "The signature of the image could not be verified." },
    { "012", "The driver failed to create the volume." },
    { "013", "The snapshot could not be created." },
    { "014", "The snapshot's metadata could not be updated." },
    { "015", "The snapshot is in use." },
    { "016", "The driver failed to delete the snapshot." },
    { "017", "No backup service is available." },
    { "018", "The backup driver failed to create the backup." },
    { "019", "The backup driver failed to delete the backup." },
    { "020", "The backup driver failed to restore the backup." },
    { "021", "The driver failed to attach the volume." },
    { "022", "The driver failed to detach the volume." },
    { "023", "The backup service is down." },
    { "024", "The volume of the backup has a wrong status." },
    { "025", "The backup has a wrong status." },
    { "026", "The backup could not be scheduled." },
    { "027", "The volume is not in a state that allows this." },
    { "028", "The volume could not be written anew from the image." },
    { "029", "The format of the image is not acceptable." },
    { "030", "The incremental backup was made as a full one." },
    { "901", "The driver failed to delete the volume." },
    { "902", "The driver failed to revert the volume to its snapshot." },
    { "903", "The snapshot of a member could not be created." },
    { "904", "The driver failed to delete the snapshot of a member." },
    { "905", "The snapshot of a member is in use." },
    { "906", "The driver failed to let go of the volume." },
    { "907", "The driver failed to let go of the snapshot." },
    { "908", "The driver failed to give back room of the volume." },
    { "909", "The storage of the volume gives back no room." },
    { "910", "The volume is in use, and its storage takes no snapshot of it meanwhile." },
    { "911", "The storage takes the snapshots of the members one after the other." },
    { "912", "The guest has left before the snapshots of the members were taken together." },
    { "913", "What the volume's type or its source asks for the backend does not have." },
};
/* clang-format on */

static const char *find_text(const struct numbered_text *texts, size_t count, const char *number,
                             const char *otherwise) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(texts[i].number, number) == 0)
            return texts[i].text;
    return otherwise;
}

const char *message_action_text(const char *action_id) {
    return find_text(actions, LENGTH(actions), action_id, "unknown action");
}

const char *message_detail_text(const char *detail_id) {
    return find_text(details, LENGTH(details), detail_id, details[0].text);
}

int message_insert(struct work *work, const struct message *message, struct error *err) {
    int64_t life_us = work->settings->message_ttl_s * SECOND_US;

    assert(message->project_id && strlen(message->action_id) == 3 &&
           strlen(message->detail_id) == 3);
    if (db_run(work->tx, err,
               "INSERT INTO messages (id, project_id, request_id, resource_type, resource_uuid, "
               "action_id, detail_id, message_level, created_at, expires_at, keep_until, reason) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7, 'ERROR', $8, $9, $10, $11)",
               DB_TEXT(work_uuid(work)), DB_TEXT(message->project_id), DB_TEXT(message->request_id),
               DB_TEXT(message->resource_type), DB_TEXT(message->resource_uuid),
               DB_TEXT(message->action_id), DB_TEXT(message->detail_id), DB_INT(work->now_us),
               DB_INT(work->now_us + life_us), DB_INT(work->clock_us + life_us),
               DB_TEXT(message->reason)) < 0)
        return -1;
    /* A project that fails repeatedly fills its own list, and not the table. */
    assert(work->settings->per_project_messages > 0);
    return db_change(
        work->tx, err,
        "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE project_id = $1 "
        "ORDER BY created_at DESC, id DESC LIMIT 100 OFFSET $2)",
        DB_TEXT(message->project_id), DB_INT(work->settings->per_project_messages));
}

int message_put_of(struct work *work, const char *project_id, const char *request_id,
                   const char *type, const char *id, const char *action_id, const char *detail_id,
                   struct error *err) {
    const struct message message = { .project_id = project_id,
                                     .request_id = request_id,
                                     .resource_type = type,
                                     .resource_uuid = id,
                                     .action_id = action_id,
                                     .detail_id = detail_id };

    return message_insert(work, &message, err);
}

int message_put(struct work *work, const char *project_id, const char *request_id,
                const char *volume_id, const char *action_id, const char *detail_id,
                struct error *err) {
    return message_put_of(work, project_id, request_id, volume_id ? VOLUME : NULL, volume_id,
                          action_id, detail_id, err);
}

static int put_failed(struct work *work, const struct operation *held, const char *type,
                      const char *detail_id, const char *reason, struct error *err) {
    const struct message message = {
        .project_id = held->project_id,
        .request_id = held->request_id,
        .resource_type = type,
        .resource_uuid = strcmp(type, VOLUME) == 0 ? held->volume_id : held->object_id,
        .action_id = held->kind->message_action,
        .detail_id = detail_id,
        .reason = reason,
    };

    return message_insert(work, &message, err);
}

int message_put_failed_of(struct work *work, const struct operation *held, const char *type,
                          const char *detail_id, const struct error *failure, struct error *err) {
    return put_failed(work, held, type, detail_id,
                      failure && error_is_no_space(failure)
                          ? "No space is left on the storage of the backend."
                          : NULL,
                      err);
}

int message_put_failed(struct work *work, const struct operation *held, const char *detail_id,
                       const struct error *failure, struct error *err) {
    return message_put_failed_of(work, held, VOLUME, detail_id, failure, err);
}

int message_put_reason(struct work *work, const struct operation *held, const char *detail_id,
                       const char *reason, struct error *err) {
    return put_failed(work, held, VOLUME, detail_id, reason, err);
}

int message_explain(struct work *work, const char *resource_id, const char *reason,
                    struct error *err) {
    assert(resource_id);
    return db_run(work->tx, err,
                  "UPDATE messages SET reason = $1 WHERE resource_uuid = $2 AND project_id = $3 "
                  "AND created_at = $4",
                  DB_TEXT(reason), DB_TEXT(resource_id), DB_TEXT(work->context->project_id),
                  DB_INT(work->now_us)) < 0
               ? -1
               : 0;
}

static int read_message(struct work *work, const struct db_rows *rows, void *ret,
                        struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct message *)ret = (struct message){
        .id = db_copy(rows, 0, arena),
        .project_id = db_copy(rows, 1, arena),
        .request_id = db_copy(rows, 2, arena),
        .resource_type = db_copy(rows, 3, arena),
        .resource_uuid = db_copy(rows, 4, arena),
        .action_id = db_copy(rows, 5, arena),
        .detail_id = db_copy(rows, 6, arena),
        .level = db_copy(rows, 7, arena),
        .created_at = db_int(rows, 8),
        .expires_at = db_int(rows, 9),
        .reason = db_copy(rows, 10, arena),
    };
    return 0;
}

int message_list(struct work *work, const struct query *query, struct message **ret,
                 struct error *err) {
    return query_all(work, query_page(work, MESSAGE_SELECT, query, err), read_message, ret, err);
}

int message_get(struct work *work, const char *id, struct message *ret, struct error *err) {
    struct db_rows *rows =
        db_query(work->tx, err, MESSAGE_SELECT " WHERE m.id = $1 AND ($2 = 1 OR m.project_id = $3)",
                 DB_TEXT(id), DB_BOOL(work->context->is_admin), DB_TEXT(work->context->project_id));

    return error_if_none(query_one(work, rows, read_message, ret, err), err, ERROR_NOT_FOUND,
                         "Message %s could not be found.", id);
}

int message_delete(struct work *work, const char *id, struct error *err) {
    int deleted =
        db_run(work->tx, err, "DELETE FROM messages WHERE id = $1 AND ($2 = 1 OR project_id = $3)",
               DB_TEXT(id), DB_BOOL(work->context->is_admin), DB_TEXT(work->context->project_id));

    return error_if_none(deleted, err, ERROR_NOT_FOUND, "Message %s could not be found.", id);
}

int message_expire(struct work *work, struct error *err) {
    return db_run(work->tx, err, "DELETE FROM messages WHERE keep_until <= $1",
                  DB_INT(work->over_us));
}
