#include "model/attachment/attachment.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <string.h>

#define ATTACHMENT_COLUMNS                                                              \
    "a.id, a.volume_id, a.project_id, a.instance_uuid, a.attached_host, a.mountpoint, " \
    "a.attach_status, a.attach_mode, a.connector, a.connection_info, a.attached_at, "   \
    "a.detached_at, a.created_at, a.updated_at"

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
        list[count++] = (struct attachment){
            .id = db_copy(rows, 0, work->arena),
            .volume_id = db_copy(rows, 1, work->arena),
            .project_id = db_copy(rows, 2, work->arena),
            .instance_uuid = db_copy(rows, 3, work->arena),
            .attached_host = db_copy(rows, 4, work->arena),
            .mountpoint = db_copy(rows, 5, work->arena),
            .attach_status = db_copy(rows, 6, work->arena),
            .attach_mode = db_copy(rows, 7, work->arena),
            .connector = db_copy(rows, 8, work->arena),
            .connection_info = db_copy(rows, 9, work->arena),
            .attached_at = db_int(rows, 10),
            .detached_at = db_int(rows, 11),
            .created_at = db_int(rows, 12),
            .updated_at = db_int(rows, 13),
        };
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

bool attachment_in_use(const struct attachment *attachment) {
    return strcmp(attachment->attach_status, "attached") == 0 ||
           strcmp(attachment->attach_status, "attaching") == 0 ||
           strcmp(attachment->attach_status, "detaching") == 0;
}

/* ---- a server's disk ---- */

static bool is_confirmed(const struct confirmation *confirmation,
                         const struct attachment *attachment) {
    const struct attachment *asked = confirmation->subject;

    return confirmation->granted && confirmation->kind == CONFIRM_RELEASE &&
           strcmp(asked->id, attachment->id) == 0 &&
           strcmp(asked->instance_uuid, attachment->instance_uuid) == 0 &&
           asked->updated_at == attachment->updated_at &&
           strcmp(asked->connection_info, attachment->connection_info) == 0;
}

int attachment_check_release(const struct work *work, const struct attachment *attachment,
                             struct error *err) {
    struct confirmation *confirmation = work->confirmation;
    /* A disk that is detached behind a server's back leaves a device that shows another volume's
     * data later (CVE-2023-2088).  So only callers that act for servers may do it: the compute
     * service, by its service token; without a compute service with one, administrators. */
    bool for_servers = work->context->from_service ||
                       (work->context->is_admin && !work->settings->only_services_detach);

    if (!attachment->instance_uuid || !attachment->connection_info || for_servers ||
        (confirmation && is_confirmed(confirmation, attachment)))
        return 0;
    if (confirmation && !confirmation->granted)
        *confirmation = (struct confirmation){ .kind = CONFIRM_RELEASE,
                                               .wanted = true,
                                               .project_id = attachment->project_id,
                                               .subject = arena_copy(work->arena, attachment,
                                                                     sizeof(*attachment)) };
    return error_set(err, ERROR_CONFLICT,
                     "ConflictNovaUsingAttachment: Detach volume from instance %s using the "
                     "Compute API",
                     attachment->instance_uuid);
}

/* ---- the limit of a host ---- */

int attachment_check_volume_limit(struct work *work, const struct attachment *attachment,
                                  int64_t published, int64_t most, struct error *err) {
    int64_t others = 0;

    assert(attachment->attached_host && most >= 0);
    if (db_query_int(work->tx, &others, err,
                     "SELECT COUNT(DISTINCT volume_id) FROM attachments WHERE project_id = $1 AND "
                     "attached_host = $2 AND volume_id <> $3 AND instance_uuid IS NULL AND "
                     "attach_status = 'attached'",
                     DB_TEXT(attachment->project_id), DB_TEXT(attachment->attached_host),
                     DB_TEXT(attachment->volume_id)) < 0)
        return -1;
    others += published;
    if (others >= most)
        return error_set(err, ERROR_OVER_QUOTA, "Host %s has %jd volumes and takes no more.",
                         attachment->attached_host, (intmax_t)others);
    return 0;
}

/* ---- a new row ---- */

int attachment_insert(struct work *work, const struct attachment *attachment, struct error *err) {
    int64_t most = work->settings->per_volume_attachments, count = 0;

    assert(attachment->id && attachment->volume_id && attachment->attach_status);
    if (db_query_int(work->tx, &count, err, "SELECT COUNT(*) FROM attachments WHERE volume_id = $1",
                     DB_TEXT(attachment->volume_id)) < 0)
        return -1;
    if (count >= most) /* each response that shows the volume shows them all */
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s has %jd attachments already, at most %jd are "
                         "allowed.",
                         attachment->volume_id, (intmax_t)count, (intmax_t)most);
    if (db_run(work->tx, err,
               "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, attached_host, "
               "mountpoint, attach_status, attach_mode, attached_at, created_at) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
               DB_TEXT(attachment->id), DB_TEXT(attachment->volume_id),
               DB_TEXT(attachment->project_id), DB_TEXT(attachment->instance_uuid),
               DB_TEXT(attachment->attached_host), DB_TEXT(attachment->mountpoint),
               DB_TEXT(attachment->attach_status), DB_TEXT(attachment->attach_mode),
               DB_TIME(attachment->attached_at), DB_INT(work->now_us)) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE volumes SET attach_status = 'reserved' "
                     "WHERE id = $1 AND attach_status = 'detached'",
                     DB_TEXT(attachment->volume_id));
}
