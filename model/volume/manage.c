#include "model/volume/manage.h"

#include "common/assert.h"
#include "model/conflict.h"
#include "model/manage_reference.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/placement.h"
#include "model/scheduler/pool.h"
#include "model/type/type.h"
#include "model/volume/insert.h"
#include "model/volume/quota.h"
#include "operation/message.h"
#include "operation/quota.h"
#include "json/field.h"
#include "json/json.h"

#include <string.h>

/* ---- begin ---- */

int volume_manage_pool(struct work *work, const char *host, enum driver_feature feature,
                       struct pool *ret, struct error *err) {
    struct pool *pools;
    int count = pool_list(work, &pools, err), matches = 0;

    if (count < 0)
        return -1;
    /* For a backend with one pool its name is enough. */
    for (int i = 0; i < count; i++)
        if (strcmp(pools[i].name, host) == 0 || strcmp(pools[i].host, host) == 0) {
            *ret = pools[i];
            matches++;
        }
    if (matches != 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         matches ? "Host '%.255s' has several pools: say node@backend#pool."
                                 : "Host '%.255s' is no pool of a volume service.",
                         host);
    if (!ret->active)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The volume service of host '%.255s' is down, disabled or frozen.", host);
    return pool_demand(work, ret->name, feature,
                       "Invalid input received: The backend of this host takes over no existing "
                       "storage.",
                       err);
}

static int choose_type(struct work *work, const struct volume_existing *existing,
                       const struct pool *pool, struct volume_type *ret, struct error *err) {
    if ((existing->type ? volume_type_find(work, existing->type, ret, err)
                        : volume_type_default(work, ret, err)) < 0)
        return existing->type && err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_BAD_REQUEST,
                               "Invalid input received: Invalid volume_type %.255s provided.",
                               existing->type)
                   : -1;
    if (ret->is_encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume type %s is encrypted, and what is taken over is not.", ret->name);
    if (!placement_matches(work, pool, ret))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Volume type %s does not fit host '%s'.",
                         ret->name, pool->name);
    return 0;
}

static int start(struct work *work, const struct volume *volume, const char *source_name,
                 struct error *err) {
    json_t *arguments = json_keep(work->arena, json_pack("{s:s}", "source", source_name));
    const struct operation fields = {
        .volume_id = volume->id,
        .host = volume->host,
        .project_id = volume->project_id,
        .arguments = json_text(work->arena, arguments),
    };

    assert(volume->status == VOLUME_MANAGING);
    if (operation_insert(work, &kind_manage, &fields, NULL, err) < 0)
        return -1;
    return notification_put(work, "volume.manage_existing.start", volume, err);
}

static int check_existing(struct work *work, const struct volume_existing *existing,
                          const char **source_name, struct pool *ret_pool,
                          struct volume_type *ret_type, struct error *err) {
    const char *asked = existing->availability_zone, *zone;

    *source_name = existing->source_name;
    if (work_check_project(work, "A volume", err) < 0 ||
        pair_rows_check(work, &metadata_rows, "to be made", &existing->metadata, err) < 0 ||
        manage_reference(work, MANAGE_VOLUME, source_name, err) < 0 ||
        volume_manage_pool(work, existing->host, DRIVER_MANAGE, ret_pool, err) < 0 ||
        choose_type(work, existing, ret_pool, ret_type, err) < 0 ||
        (asked && zone_choose(work, asked, &zone, err) < 0))
        return -1;
    if (asked && strcmp(zone, ret_pool->availability_zone) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Invalid availability zone '%s': host '%s' is "
                         "in %s.",
                         asked, ret_pool->name, ret_pool->availability_zone);
    return 0;
}

int volume_manage_check(struct work *work, const struct volume_existing *existing,
                        struct manageable_one *ret, struct pool *ret_pool, struct error *err) {
    struct volume_type type;

    *ret = (struct manageable_one){ 0 };
    if (check_existing(work, existing, &ret->source_name, ret_pool, &type, err) < 0)
        return -1;
    ret->multiattach = volume_type_is(&type, "multiattach");
    return 0;
}

int volume_manage(struct work *work, const struct volume_existing *existing, struct volume *ret,
                  struct error *err) {
    const char *source_name;
    struct volume_type type;
    struct pool pool;
    struct volume volume = {
        .project_id = work->context->project_id,
        .user_id = work->context->user_id,
        .name = existing->name,
        .description = existing->description,
        .metadata = existing->metadata,
        .bootable = existing->bootable,
        .status = VOLUME_MANAGING,
        .attach_status = "detached",
        .use_quota = true,
        .shared_targets = 1,
        .created_at = work->now_us,
    };

    if (check_existing(work, existing, &source_name, &pool, &type, err) < 0 ||
        volume_quota_take(work, volume.project_id, type.name, 0, err) < 0)
        return -1;
    volume.id = work_uuid(work);
    volume.host = pool.name;
    volume.service_uuid = pool.service_id;
    volume.availability_zone = pool.availability_zone;
    volume.type_id = type.id;
    volume.type_name = type.name;
    volume.multiattach = volume_type_is(&type, "multiattach");
    if (volume_insert(work, &volume, err) < 0 || start(work, &volume, source_name, err) < 0)
        return -1;
    volume.service_uuid = NULL; /* visible in a show */
    *ret = volume;
    return 0;
}

const char *volume_manage_source(struct arena *arena, const struct operation *operation) {
    const char *name =
        json_string_value(json_object_get(operation_arguments(arena, operation), "source"));

    return name ? name : "";
}

/* ---- its size ---- */

/* The reservation for the operation's size. */
static int give_back(struct work *work, const struct operation *operation,
                     const struct volume *volume, struct error *err) {
    assert(operation->new_size_gb >= 0);
    if (quota_rollback(work, operation->id, err) < 0)
        return -1;
    return pool_allocate(work, volume->host, -operation->new_size_gb, err);
}

int volume_manage_sized(struct work *work, const struct operation *held, void *arg,
                        struct error *err) {
    const int64_t size_gb = ((const struct manage_size *)arg)->gb;
    struct volume_type type;
    struct volume volume;

    assert(held->kind == &kind_manage);
    if (held->new_size_gb == size_gb)
        return 0;
    if (size_gb <= 0) /* emptied since an earlier attempt renamed it */
        return error_set(err, ERROR_BAD_REQUEST, "The object is empty.");
    if (size_gb > FIELD_MAX_SIZE_GB)
        return error_set(err, ERROR_BAD_REQUEST, "The object is larger than a volume can be.");
    if (volume_row(work, held->volume_id, &volume, err) < 0 ||
        volume_type_row(work, volume.type_id, &type, err) < 0 ||
        volume_type_check_size(&type, size_gb, err) < 0 ||
        give_back(work, held, &volume, err) < 0 ||
        operation_set_size(work, held->id, size_gb, err) < 0 ||
        volume_quota_reserve_growth(work, &volume, held->id, size_gb, err) < 0)
        return -1;
    return pool_allocate(work, volume.host, size_gb, err);
}

/* ---- finish ---- */

int volume_manage_release(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    const struct error *why = arg;
    json_t *arguments =
        json_keep(work->arena,
                  json_pack("{s:s, s:s, s:b}", "source", volume_manage_source(work->arena, held),
                            "given_up", why->message, "over_quota", why->kind == ERROR_OVER_QUOTA));

    return operation_note(work, held->id, held->owner, json_text(work->arena, arguments), err) < 0
               ? -1
               : 0;
}

bool volume_manage_released(struct arena *arena, const struct operation *operation,
                            struct error *ret_why) {
    const json_t *arguments = operation_arguments(arena, operation);
    const char *why = json_text_of(arguments, "given_up");
    bool over_quota = json_is_true(json_object_get(arguments, "over_quota"));

    if (why)
        error_set(ret_why, over_quota ? ERROR_OVER_QUOTA : ERROR_BACKEND, "%s", why);
    return why;
}

static int taken_over(struct work *work, const struct operation *held,
                      const struct manage_ending *ending, struct error *err) {
    int counted = quota_commit(work, held->id, err);

    if (counted < 0 || operation_end(work, held, err) < 0 ||
        operation_leave(work, held->volume_id, held->kind, VOLUME_AVAILABLE, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE volumes SET size_gb = $1, largest_gb = $1, provider_location = $2, "
               "format = $3, launched_at = $4, shared_targets = 0 WHERE id = $5",
               DB_INT(held->new_size_gb), DB_TEXT(ending->location), DB_TEXT(ending->format),
               DB_INT(work->now_us), DB_TEXT(held->volume_id)) < 0)
        return -1;
    /* X9: reservations that were removed from outside must not make it free. */
    if (counted == 0 && quota_recount_project(work, volume_quota_in_use, held->project_id, err) < 0)
        return -1;
    return notification_of(work, "volume.manage_existing.end", held->volume_id, err);
}

static int manage_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    /* Whatever status an operator has set meanwhile: it has no object. */
    static const struct status_change broken = { .from = STATUS_ANY, .to = VOLUME_ERROR_MANAGING };
    const struct manage_ending *ending = arg;
    const char *detail = held->kind->message_detail;
    struct volume volume;

    assert(held->kind == &kind_manage);
    if (!ending->failure)
        return taken_over(work, held, ending, err);
    if (volume_row(work, held->volume_id, &volume, err) < 0 ||
        give_back(work, held, &volume, err) < 0 || operation_end(work, held, err) < 0 ||
        status_write(work, &volume_objects, volume.id, &broken, err) < 0)
        return -1;
    if (ending->failure->kind == ERROR_OVER_QUOTA)
        detail = "006";
    return message_put_failed(work, held, detail, ending->failure, err);
}

static int manage_cancel(struct work *work, const struct operation *operation, struct error *err) {
    struct volume volume;

    assert(operation->kind == &kind_manage);
    if (volume_row(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return give_back(work, operation, &volume, err);
}

const struct operation_kind kind_manage = {
    .name = "manage",
    .method = "manage_existing",
    .message_action = "008",
    .message_detail = "012",
    .object = &volume_objects,
    .meanwhile = VOLUME_MANAGING,
    .on_failure = VOLUME_ERROR_MANAGING,
    .is = { [PHASE_QUEUED] = WORK_MAKES, [PHASE_RUNNING] = WORK_MAKES },
    .leaves_traces = true,
    .finish = manage_finish,
    .cancel = manage_cancel,
};
