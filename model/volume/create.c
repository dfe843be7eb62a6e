#include "model/volume/create.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/conflict.h"
#include "model/group/end.h"
#include "model/group/member.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/placement.h"
#include "model/scheduler/pool.h"
#include "model/type/reserved_type.h"
#include "model/type/type.h"
#include "model/volume/delete.h"
#include "model/volume/image.h"
#include "model/volume/image_cache_entry.h"
#include "model/volume/insert.h"
#include "model/volume/quota.h"
#include "model/volume/source.h"
#include "operation/host.h"
#include "operation/message.h"
#include "operation/pairs.h"
#include "operation/query.h"

#include <string.h>

/* ---- the request, with defaults ---- */

static int check_sources(const struct volume_new *request, struct error *err) {
    const char *const sources[] = { request->snapshot_id, request->source_volid };
    unsigned given = request->image != NULL;

    if (request->backup_id)
        return error_set(err, ERROR_NOT_FOUND, "Backup %s could not be found.", request->backup_id);
    for (unsigned i = 0; i < LENGTH(sources); i++)
        given += sources[i] != NULL;
    if (given > 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: At most one of snapshot_id, source_volid, "
                         "imageRef and backup_id can be given.");
    return 0;
}

/* May a volume of the type be where the source is? */
static int check_type_fits(struct work *work, const struct volume_type *type,
                           const struct volume_source *source, struct error *err) {
    struct pool pool;
    int found;

    if (!source->given || (source->volume.type_id && strcmp(type->id, source->volume.type_id) == 0))
        return 0;
    found = pool_find(work, source->volume.host, &pool, err);
    if (found < 0 || (found > 0 && placement_matches(work, &pool, type)))
        return found < 0 ? -1 : 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input received: Invalid volume_type %s provided: it cannot be where "
                     "the source is.",
                     type->name);
}

/* The request's group, if any; else its host is NULL. */
static int find_group(struct work *work, const struct volume_new *request,
                      const struct volume_source *source, struct volume_group *ret,
                      struct error *err) {
    *ret = (struct volume_group){ .id = NULL };
    if (!request->group_id)
        return 0;
    if (group_for_new(work, request->group_id, ret, err) < 0)
        return -1;
    if (!request->type)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: volume_type must be provided when creating a "
                         "volume in a group.");
    if (source->given && !group_is_at(work, ret, source->volume.host))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: The source is on another backend than group %s.",
                         ret->id);
    return 0;
}

/* ---- rows ---- */

/* 1 with host, its service and zone, 0 when no backend fits. */
static int place(struct work *work, const struct placement *placement,
                 const struct volume_source *source, struct volume *volume, const char **ret_why,
                 struct error *err) {
    struct pool pool = { .name = NULL };
    int placed;

    assert(volume->size_gb > 0);
    if (source->given) { /* there, unless that accepts no new volumes or has no space */
        placed = pool_find(work, source->volume.host, &pool, err);
        *ret_why = "The pool of its source is down, disabled, or has too little space.";
        if (placed > 0)
            placed = pool.active
                         ? image_cache_yield(work, source->volume.host, NULL, volume->size_gb, err)
                         : 0;
        if (placed != 0)
            *ret_why = NULL;
    } else {
        placed = placement_pick_pool(work, placement, &pool, ret_why, err);
        if (placed > 1)
            placed = image_cache_yield(work, pool.name, placement->type, placement->size_gb, err);
    }
    if (placed < 0)
        return -1;
    if (placed) {
        volume->host = pool.name;
        volume->service_uuid = pool.service_id;
    }
    if (!volume->availability_zone)
        volume->availability_zone =
            placed ? pool.availability_zone : work->settings->storage_availability_zone;
    return placed;
}

/* `before`: an operation that it precedes in the queue of the source; NULL: none. */
static int insert(struct work *work, const struct volume *volume,
                  const struct volume_source *source, const struct volume_image *image,
                  const struct operation *before, struct error *err) {
    struct operation fields = {
        .volume_id = volume->id,
        .host = volume->host,
        .project_id = before ? before->project_id : volume->project_id,
        .arguments = image ? volume_image_print(work, image) : NULL,
        .created_at = before ? before->created_at - 1 : 0,
        .at_once = !source->given && !image,
    };
    const struct operation_kind *kind = image ? &kind_create_from_image : &kind_create;
    const char *operation_id;

    assert(volume->id && volume->size_gb > 0 && volume->largest_gb >= volume->size_gb);
    if (volume_insert(work, volume, err) < 0)
        return -1;
    /* The image metadata of the source hold for its copy, too. */
    if (source->given &&
        db_run(work->tx, err,
               "INSERT INTO volume_glance_metadata (volume_id, key, value) "
               "SELECT $1, key, value FROM volume_glance_metadata WHERE volume_id = $2",
               DB_TEXT(volume->id), DB_TEXT(source->volume.id)) < 0)
        return -1;
    volume_source_note(source, &fields);
    if (!volume->host)
        return message_put(work, volume->project_id, work->context->request_id, volume->id, "001",
                           "003", err);
    if (pool_allocate(work, volume->host, volume->size_gb, err) < 0 ||
        operation_insert(work, kind, &fields, &operation_id, err) < 0 ||
        (source->given && operation_reads(work, operation_id, source->volume.id, err) < 0))
        return -1;
    return notification_put(work, "volume.create.start", volume, err);
}

struct creation {
    struct volume volume;
    struct volume_type type;
    struct volume_source source;
    struct volume_group group;
    const char *why; /* no backend fits; NULL: one does */
};

/* Its source, and its size. */
static int find_parts(struct work *work, const struct volume_new *request, struct creation *new,
                      struct error *err) {
    struct volume *volume = &new->volume;
    const struct volume *copied = &new->source.volume;

    if (pair_rows_check(work, &metadata_rows, "to be made", &request->metadata, err) < 0 ||
        check_sources(request, err) < 0 ||
        volume_source_find(work, request->snapshot_id, request->source_volid, request->size_gb,
                           &new->source, err) < 0 ||
        find_group(work, request, &new->source, &new->group, err) < 0)
        return -1;
    volume->group_id = new->group.id;
    if (new->group.id && group_type_is_reserved(new->group.group_type_name))
        volume->consistencygroup_id = new->group.id;
    volume->size_gb = request->size_gb > 0 ? request->size_gb : new->source.size_gb;
    if (volume->size_gb == 0)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid input received: size is required.");
    if (request->image && (volume_image_check(request->image, volume->size_gb, err) < 0 ||
                           pair_rows_check(work, &image_metadata_rows, "to be made",
                                           &request->image->metadata, err) < 0))
        return -1;
    /* The source's object may be larger than its record, and its copy has the same size. */
    volume->largest_gb =
        copied->largest_gb > volume->size_gb ? copied->largest_gb : volume->size_gb;
    volume->bootable = copied->bootable;
    return 0;
}

static int choose_type(struct work *work, const struct volume_new *request, struct creation *new,
                       struct error *err) {
    const char *of_source = new->source.given ? new->source.volume.type_id : NULL;
    const char *asked = request->type    ? request->type
                        : request->image ? request->image->type
                                         : NULL;
    struct volume_type *type = &new->type;

    if ((asked       ? volume_type_find(work, asked, type, err)
         : of_source ? volume_type_row(work, of_source, type, err)
                     : volume_type_default(work, type, err)) < 0 ||
        check_type_fits(work, type, &new->source, err) < 0)
        return -1;
    if (type->is_encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume type %s is encrypted: encrypted volumes are not supported.",
                         type->name);
    if (volume_type_check_size(type, new->volume.size_gb, err) < 0)
        return -1;
    if (new->group.id && !group_takes_type(&new->group, type->id))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Invalid volume_type %s provided: the type must "
                         "be supported by group %s.",
                         type->name, new->group.id);
    return 0;
}

/* 1: a pool was found; 0: no backend takes it. */
static int find_place(struct work *work, const struct volume_new *request, struct creation *new,
                      struct error *err) {
    struct volume *volume = &new->volume;
    const char *zone =
        request->availability_zone ? request->availability_zone : new->group.availability_zone;
    const struct volume_source *source = &new->source;
    const char *of_source = source->given ? source->volume.availability_zone : NULL;
    struct placement placement = { .type = &new->type,
                                   .hints = request->hints,
                                   .size_gb = volume->size_gb,
                                   .of_image = request->image != NULL,
                                   .evictable = image_cache_evictable,
                                   .backend = host_backend(work->arena, new->group.host) };

    assert(volume->size_gb > 0);
    if (choose_type(work, request, new, err) < 0)
        return -1;
    volume->availability_zone = of_source;
    if (of_source && zone && strcmp(zone, of_source) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Invalid availability zone '%s': the source is in "
                         "%s.",
                         zone, of_source);
    /* without one in the request any that the type lists will do */
    if ((!source->given && (zone || !pairs_get(&new->type.extra_specs, TYPE_SPEC_ZONES)) &&
         zone_choose(work, zone, &volume->availability_zone, err) < 0) ||
        volume_quota_take(work, volume->project_id, new->type.name, volume->size_gb, err) < 0)
        return -1;
    placement.availability_zone = volume->availability_zone;
    volume->type_id = new->type.id;
    volume->type_name = new->type.name;
    volume->multiattach = volume_type_is(&new->type, "multiattach");
    return place(work, &placement, &new->source, volume, &new->why, err);
}

int volume_create(struct work *work, const struct volume_new *request, struct volume *ret,
                  struct error *err) {
    struct creation new = {
        .volume = {
            .project_id = work->context->project_id,
            .user_id = work->context->user_id,
            .name = request->name,
            .description = request->description,
            .attach_status = "detached",
            .snapshot_id = request->snapshot_id,
            .source_volid = request->source_volid,
            .use_quota = true,
            .shared_targets = 1, /* until the backend reports otherwise */
            .metadata = request->metadata,
            .created_at = work->now_us,
        },
    };
    int placed;

    if (work_check_project(work, "A volume", err) < 0 || find_parts(work, request, &new, err) < 0)
        return -1;
    placed = find_place(work, request, &new, err);
    if (placed < 0)
        return -1;
    new.volume.id = work_uuid(work);
    new.volume.status = !placed          ? VOLUME_ERROR
                        : request->image ? VOLUME_DOWNLOADING
                                         : VOLUME_CREATING;
    new.volume.updated_at = placed ? 0 : work->now_us;
    if (insert(work, &new.volume, &new.source, request->image, NULL, err) < 0 ||
        (new.why &&message_explain(work, new.volume.id, new.why, err) < 0))
        return -1;
    new.volume.status = VOLUME_CREATING; /* later changes are visible in a show */
    new.volume.updated_at = 0;
    new.volume.service_uuid = NULL;
    *ret = new.volume;
    return 0;
}

int volume_create_clone(struct work *work, const struct operation *held, const struct volume *from,
                        const struct volume *clone, struct error *err) {
    const struct volume_source source = { .given = true, .volume = *from };
    int fits = image_cache_yield(work, from->host, NULL, from->size_gb, err);

    assert(clone->use_quota && clone->source_volid && clone->status == VOLUME_CREATING);
    if (fits <= 0)
        return fits;
    return volume_quota_take(work, clone->project_id, from->type_name, from->size_gb, err) < 0 ||
                   insert(work, clone, &source, NULL, held, err) < 0
               ? -1
               : 1;
}

/* ---- finish ---- */

/* The object may be as large as its source was when it was read: an abandoned extend may have grown
 * that since the request. */
static int follow_source(struct work *work, const char *volume_id, struct error *err) {
    struct volume_source source;
    struct volume volume;

    assert(volume_id);
    if (volume_row(work, volume_id, &volume, err) < 0 ||
        volume_source_of(work, &volume, &source, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (!source.given)
        return 0;
    return db_run(work->tx, err,
                  "UPDATE volumes SET largest_gb = $1 WHERE id = $2 AND largest_gb < $1",
                  DB_INT(source.volume.largest_gb), DB_TEXT(volume_id)) < 0
               ? -1
               : 0;
}

static bool is_create(const struct operation *operation) {
    return operation->kind == &kind_create || operation->kind == &kind_create_from_image;
}

bool volume_create_makes_entry(const struct operation *operation) {
    return operation->turn_of && strcmp(operation->turn_of, operation->volume_id) == 0;
}

static int made(struct work *work, const struct operation *held, const struct create_ending *ending,
                const char **ret_group_id, struct error *err) {
    assert(is_create(held));
    if (operation_leave(work, held->volume_id, held->kind,
                        volume_create_makes_entry(held) ? VOLUME_MAINTENANCE : VOLUME_AVAILABLE,
                        err) < 0 ||
        query_one(work,
                  db_query(work->tx, err,
                           "UPDATE volumes SET provider_location = $1, format = $2, "
                           "launched_at = $3, shared_targets = 0 WHERE id = $4 RETURNING group_id",
                           DB_TEXT(ending->location), DB_TEXT(ending->format), DB_INT(work->now_us),
                           DB_TEXT(held->volume_id)),
                  query_text, ret_group_id, err) < 0 ||
        (held->turn_of && follow_source(work, held->volume_id, err) < 0) ||
        (volume_create_makes_entry(held) &&
         image_cache_made(work, held->volume_id, ending->signature_verified, err) < 0) ||
        (held->kind == &kind_create_from_image &&
         volume_image_describe(work, held, ending->signature_verified, err) < 0))
        return -1;
    return notification_of(work, "volume.create.end", held->volume_id, err);
}

static int read_group(struct work *work, const char *volume_id, const char **ret,
                      struct error *err) {
    return query_one(
        work,
        db_query(work->tx, err, "SELECT group_id FROM volumes WHERE id = $1", DB_TEXT(volume_id)),
        query_text, ret, err);
}

static int not_made(struct work *work, const struct operation *held,
                    const struct create_ending *ending, struct error *err) {
    /* Whatever status an operator has set meanwhile: it has no object. */
    static const struct status_change broken = { .from = STATUS_ANY, .to = VOLUME_ERROR };
    int left = operation_leave(work, held->volume_id, held->kind, held->kind->on_failure, err);
    const char *project_id = held->project_id; /* of an entry: the first that uses it */
    const char *detail = ending->detail                               ? ending->detail
                         : ending->failure->kind == ERROR_BAD_REQUEST ? "913"
                                                                      : "012";
    struct volume volume;
    struct operation users = *held;

    assert(is_create(held));
    if (left < 0 ||
        (left > 0 && status_write(work, &volume_objects, held->volume_id, &broken, err) < 0) ||
        (ending->tried && volume_admin_metadata_set(work, held->volume_id, CREATE_KEY_TRIED,
                                                    ending->tried, err) < 0))
        return -1;
    if (volume_create_makes_entry(held)) {
        if (volume_attached(work, held->volume_id, &volume, err) < 0)
            return -1;
        project_id = volume.project_id;
        /* Of a frozen backend it stays, in error. */
        if (volume_delete(work, &volume, DELETE_FORCE, err) < 0 && err->kind != ERROR_BAD_REQUEST)
            return -1;
    }
    users.project_id = project_id;
    return held->kind == &kind_create_from_image
               ? volume_image_failed(work, &users, ending->failure, ending->detail, detail, err)
               : message_put_failed(work, &users, detail, ending->failure, err);
}

static int create_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct create_ending *ending = arg;
    const char *group_id = NULL;
    int lost = operation_end_held(work, held, err);

    assert(is_create(held));
    if (lost != 0)
        return lost;
    if ((ending->failure ? not_made(work, held, ending, err) < 0 ||
                               read_group(work, held->volume_id, &group_id, err) < 0
                         : made(work, held, ending, &group_id, err) < 0))
        return -1;
    return group_id ? group_made(work, group_id, held->request_id, err) : 0;
}

const struct operation_kind kind_create = {
    .name = "create",
    .method = "create_volume",
    .message_action = "008",
    .object = &volume_objects,
    .meanwhile = VOLUME_CREATING,
    .on_failure = VOLUME_ERROR,
    .ends_as_claimed = true,
    .single_queue = true,
    .finish = create_finish,
    .is = { [PHASE_QUEUED] = WORK_MAKES, [PHASE_RUNNING] = WORK_MAKES },
};

/* Its arguments are a struct volume_image. */
const struct operation_kind kind_create_from_image = {
    .name = "create_from_image",
    .method = "create_volume",
    .message_action = "005",
    .object = &volume_objects,
    .meanwhile = VOLUME_DOWNLOADING,
    .on_failure = VOLUME_ERROR,
    .single_queue = true,
    .finish = create_finish,
    .is = { [PHASE_QUEUED] = WORK_MAKES, [PHASE_RUNNING] = WORK_MAKES },
};
