#include "volume/create.h"

#include "common/cleanup.h"
#include "ledger/message.h"
#include "ledger/pairs.h"
#include "ledger/service.h"
#include "volume/conflict.h"
#include "volume/notification.h"
#include "volume/operations.h"
#include "volume/placement.h"
#include "volume/type.h"
#include "volume/volume_quota.h"

#include <string.h>

/* ---- what the request asks for, made definite ---- */

static int check_sources(struct work *work, const struct volume_new *request, struct error *err) {
    const char *const sources[] = { request->snapshot_id, request->source_volid, request->backup_id,
                                    request->image_ref };
    struct volume source;
    unsigned given = 0;

    for (unsigned i = 0; i < LENGTH(sources); i++)
        given += sources[i] != NULL;
    if (given > 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: At most one of snapshot_id, source_volid, "
                         "imageRef and backup_id can be given.");
    if (request->snapshot_id)
        return error_set(err, ERROR_NOT_FOUND, "Snapshot %s could not be found.",
                         request->snapshot_id);
    if (request->backup_id)
        return error_set(err, ERROR_NOT_FOUND, "Backup %s could not be found.", request->backup_id);
    if (request->group_id)
        return error_set(err, ERROR_NOT_FOUND, "Group %s could not be found.", request->group_id);
    if (request->image_ref)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid image identifier or unable to access requested image: no image "
                         "service is configured.");
    if (request->source_volid) {
        if (volume_get(work, request->source_volid, &source, err) < 0)
            return -1;
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: source_volid: no backend of this service can "
                         "clone a volume.");
    }
    return 0;
}

static bool zone_known(const struct zone *zones, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(zones[i].name, name) == 0)
            return true;
    return false;
}

/* *ret is NULL when the type lists zones and the request names none: any of them will do. */
static int choose_zone(struct work *work, const struct volume_new *request,
                       const struct volume_type *type, const char **ret, struct error *err) {
    const struct settings *settings = work->settings;
    const char *fallback = settings->default_availability_zone
                               ? settings->default_availability_zone
                               : settings->storage_availability_zone;
    struct zone *zones;
    int count;

    if (!request->availability_zone) {
        *ret = pairs_get(&type->extra_specs, TYPE_SPEC_ZONES) ? NULL : fallback;
        return 0;
    }
    count = service_zones(work, &zones, err);
    if (count < 0)
        return -1;
    if (zone_known(zones, count, request->availability_zone))
        *ret = request->availability_zone;
    else if (settings->allow_availability_zone_fallback)
        *ret = fallback;
    else
        return error_set(err, ERROR_BAD_REQUEST, "Availability zone '%s' is invalid.",
                         request->availability_zone);
    return 0;
}

static int choose_type(struct work *work, const struct volume_new *request, struct volume_type *ret,
                       struct error *err) {
    if ((request->type ? volume_type_find(work, request->type, ret, err)
                       : volume_type_default(work, ret, err)) < 0)
        return -1;
    if (ret->is_encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume type %s is encrypted: this service has no key manager to encrypt "
                         "a volume with.",
                         ret->name);
    return volume_type_check_size(ret, request->size_gb, err);
}

/* ---- rows ---- */

static int insert_row(struct work *work, const struct volume *volume, struct error *err) {
    return db_change(
        work->tx, err,
        "INSERT INTO volumes (id, project_id, user_id, host, availability_zone, "
        "display_name, display_description, size_gb, largest_gb, status, status_by_reset, "
        "attach_status, volume_type_id, bootable, multiattach, use_quota, shared_targets, "
        "created_at) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, 0, 'detached', $10, 0, $11, 1, 1, "
        "$12)",
        DB_TEXT(volume->id), DB_TEXT(volume->project_id), DB_TEXT(volume->user_id),
        DB_TEXT(volume->host), DB_TEXT(volume->availability_zone), DB_TEXT(volume->name),
        DB_TEXT(volume->description), DB_INT(volume->size_gb), DB_TEXT(status_text(volume->status)),
        DB_TEXT(volume->type_id), DB_BOOL(volume->multiattach), DB_INT(volume->created_at));
}

static int start(struct work *work, const struct volume *volume, struct error *err) {
    struct operation fields = {
        .volume_id = volume->id,
        .host = volume->host,
        .project_id = volume->project_id,
    };

    if (!volume->host)
        return message_put(work, volume->project_id, work->context->request_id, volume->id, "001",
                           "003", err);
    if (pool_allocate(work, volume->host, volume->size_gb, err) < 0 ||
        operation_insert(work, &kind_create, &fields, NULL, err) < 0)
        return -1;
    return notification_put(work, "volume.create.start", volume, err);
}

/* 1 with host and zone, 0 when no backend fits. */
static int place(struct work *work, const struct placement *wish, struct volume *volume,
                 struct error *err) {
    struct pool pool;
    int placed = placement_pick(work, wish, &volume->host, err);

    if (placed < 0)
        return -1;
    if (volume->availability_zone)
        return placed;
    volume->availability_zone = work->settings->storage_availability_zone;
    if (placed) {
        if (pool_find(work, volume->host, &pool, err) < 0)
            return -1;
        volume->availability_zone = pool.availability_zone;
    }
    return placed;
}

int volume_create(struct work *work, const struct volume_new *request, struct volume *ret,
                  struct error *err) {
    struct volume_type type;
    struct placement wish = { .type = &type, .size_gb = request->size_gb, .hints = request->hints };
    struct volume volume = {
        .project_id = work->context->project_id,
        .user_id = work->context->user_id,
        .name = request->name,
        .description = request->description,
        .size_gb = request->size_gb,
        .largest_gb = request->size_gb,
        .attach_status = "detached",
        .use_quota = true,
        .shared_targets = 1, /* as long as no backend has said otherwise */
        .metadata = request->metadata,
        .created_at = work->now_us,
    };
    int placed;

    if (!volume.project_id)
        return error_set(err, ERROR_BAD_REQUEST,
                         "A volume belongs to a project, and the token is for none.");
    if (pair_rows_check(work, &metadata_rows, "to be made", &request->metadata, err) < 0 ||
        check_sources(work, request, err) < 0)
        return -1;
    if (request->size_gb == 0)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid input received: size is required.");
    if (choose_type(work, request, &type, err) < 0 ||
        choose_zone(work, request, &type, &volume.availability_zone, err) < 0 ||
        volume_quota_take(work, volume.project_id, type.name, volume.size_gb, err) < 0)
        return -1;
    wish.availability_zone = volume.availability_zone;
    placed = place(work, &wish, &volume, err);
    if (placed < 0)
        return -1;
    volume.id = work_uuid(work);
    volume.type_id = type.id;
    volume.type_name = type.name;
    volume.multiattach = volume_type_is(&type, "multiattach");
    volume.status = placed ? VOLUME_CREATING : VOLUME_ERROR;
    if (insert_row(work, &volume, err) < 0 ||
        pair_rows_put(work, &metadata_rows, volume.id, &volume.metadata, true, err) < 0 ||
        start(work, &volume, err) < 0)
        return -1;
    volume.status = VOLUME_CREATING;
    *ret = volume;
    return 0;
}

/* ---- finish ---- */

/* Whatever an operator has called it meanwhile: it has no object. */
static int call_broken(struct work *work, const char *volume_id, struct error *err) {
    static const struct status_change broken = { .from = STATUS_ANY, .to = VOLUME_ERROR };

    return status_write(work, &volume_objects, volume_id, &broken, err) < 0 ? -1 : 0;
}

static int create_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct create_ending *ending = arg;
    const struct error *failure = ending->failure;
    int finished;

    if (operation_end(work, held->id, err) < 0)
        return -1;
    finished = operation_leave(work, held->volume_id, held->kind,
                               failure ? VOLUME_ERROR : VOLUME_AVAILABLE, err);
    if (finished < 0 || (failure && finished > 0 && call_broken(work, held->volume_id, err) < 0))
        return -1;
    if (failure)
        return message_put(work, held->project_id, held->request_id, held->volume_id,
                           held->kind->message_action, "012", err);
    if (db_run(work->tx, err,
               "UPDATE volumes SET provider_location = $1, format = $2, launched_at = $3, "
               "shared_targets = 0 WHERE id = $4",
               DB_TEXT(ending->location), DB_TEXT(ending->format), DB_INT(work->now_us),
               DB_TEXT(held->volume_id)) < 0)
        return -1;
    return notification_of(work, "volume.create.end", held->volume_id, err);
}

const struct operation_kind kind_create = {
    .name = "create",
    .method = "create_volume",
    .message_action = "008",
    .object = &volume_objects,
    .meanwhile = VOLUME_CREATING,
    .on_failure = VOLUME_ERROR,
    .finish = create_finish,
    .is = { [PHASE_QUEUED] = WORK_MAKES, [PHASE_RUNNING] = WORK_MAKES },
};
