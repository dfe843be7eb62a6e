#include "model/group/snapshot_create.h"

#include "common/assert.h"
#include "model/assist.h"
#include "model/attachment/attachment.h"
#include "model/conflict.h"
#include "model/group/snapshot_part.h"
#include "model/group/snapshot_turn.h"
#include "model/notification.h"
#include "model/scheduler/pool.h"
#include "model/snapshot/create.h"
#include "model/type/group_type.h"
#include "model/type/type.h"
#include "model/volume/image_cache_entry.h"
#include "operation/message.h"
#include "json/json.h"

#include <string.h>

/* ---- conditions ---- */

/* Is it certain that its storage never needs the host of a guest for a snapshot?  1, 0. */
static int takes_alone(struct work *work, const struct volume *volume, struct error *err) {
    struct pool pool;
    int found = pool_find(work, volume->host, &pool, err);

    return found > 0
               ? json_is_false(json_object_get(pool_reported(work, &pool), POOL_SNAPSHOT_OVERLAYS))
               : found;
}

/* The reason why the host of a guest cannot take both at one moment: 1 and *ret; 0 it can. */
static int is_apart(struct work *work, const struct volume *one, const struct volume *other,
                    const char **ret, struct error *err) {
    const struct attachment *guest = assist_guest(one);
    const struct attachment *other_guest = assist_guest(other);
    int alone = takes_alone(work, one, err);

    if (alone == 0)
        alone = takes_alone(work, other, err);
    *ret = work->settings->asks_service ? "the compute service takes one volume at a time"
           : !guest || !other_guest     ? "not each of them has one attachment, to an instance"
           : strcmp(guest->instance_uuid, other_guest->instance_uuid) != 0
               ? "they are attached to different instances"
           : alone > 0 ? "their backend takes snapshots one after the other"
                       : NULL;
    return alone < 0 ? -1 : *ret != NULL;
}

/* No volume is attached meanwhile, so detached ones stay unchanged, and a single attached one has a
 * moment of its own.  Several attached ones are written meanwhile: only the host of one guest that
 * has them all can take these at one moment.  Their number; 0: each has its own moment. */
static int check_moment(struct work *work, const struct volume_group *group,
                        const struct volume *volumes, int count, struct error *err) {
    const struct volume *first = NULL;
    struct group_type type;
    int used = 0, apart;
    const char *why;

    if (group_type_row(work, group->group_type_id, &type, err) < 0)
        return -1;
    if (!spec_is_true(&type.specs, "consistent_group_snapshot_enabled"))
        return 0;
    for (int i = 0; i < count; i++) {
        if (!volume_in_use(&volumes[i]))
            continue;
        apart = used++ > 0 ? is_apart(work, first, &volumes[i], &why, err) : 0;
        if (apart < 0)
            return -1;
        if (apart > 0)
            return error_set(
                err, ERROR_BAD_REQUEST,
                "Invalid volume: The type of group %s promises snapshots of one moment "
                "(consistent_group_snapshot_enabled), but its volumes %s and %s are both attached, "
                "and %s. Detach all but one, or use a group type without that spec.",
                group->id, first->id, volumes[i].id, why);
        if (!first)
            first = &volumes[i];
    }
    return used > 1 ? used : 0;
}

/* ---- rows ---- */

static int insert_row(struct work *work, const struct group_snapshot *row, struct error *err) {
    assert(row->id && row->group_id);
    return db_change(work->tx, err,
                     "INSERT INTO group_snapshots (id, project_id, user_id, group_id, "
                     "group_type_id, display_name, display_description, status, status_by_reset, "
                     "created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9)",
                     DB_TEXT(row->id), DB_TEXT(row->project_id), DB_TEXT(row->user_id),
                     DB_TEXT(row->group_id), DB_TEXT(row->group_type_id), DB_TEXT(row->name),
                     DB_TEXT(row->description), DB_TEXT(group_snapshot_status_text(row->status)),
                     DB_INT(row->created_at));
}

/* Has the pool of the group space for a snapshot of each? 1, 0, -1. */
static int members_fit(struct work *work, const struct volume *volumes, int count,
                       struct error *err) {
    int64_t size_gb = 0;

    assert(count > 0);
    for (int i = 0; i < count; i++)
        size_gb += volumes[i].size_gb;
    return image_cache_yield(work, volumes[0].host, NULL, size_gb, err);
}

/* *ret: the snapshots of those that are attached. */
static int add_members(struct work *work, const struct group_snapshot *row,
                       const struct volume *volumes, int count, json_t **ret, struct error *err) {
    const struct snapshot_new wanted = {
        .name = row->name,
        .description = row->description,
        .in_use_allowed = true,
        .group_snapshot_id = row->id,
        .no_space = row->status == GROUP_SNAPSHOT_ERROR,
    };
    struct snapshot snapshot;

    *ret = json_keep(work->arena, json_array());
    for (int i = 0; i < count; i++) {
        if (snapshot_add(work, &volumes[i], &wanted, &snapshot, err) < 0)
            return -1;
        if (volume_in_use(&volumes[i]))
            json_array_append_new(*ret, json_string(snapshot.id));
    }
    return 0;
}

/* `together`: NULL, each at its own moment. */
static int start(struct work *work, const struct group_snapshot *row, const struct volume *volumes,
                 int count, json_t *together, struct error *err) {
    struct operation_turn *turns = arena_alloc(work->arena, (size_t)count * sizeof *turns);
    const struct operation fields = {
        .target_id = row->id,
        .volume_id = row->group_id,
        .turns = turns,
        .turn_count = (unsigned)count,
        .host = volumes[0].host,
        .project_id = row->project_id,
        .arguments = group_snapshot_arguments(work->arena, together),
    };

    assert(count > 0 && row->status == GROUP_SNAPSHOT_CREATING);
    for (int i = 0; i < count; i++)
        turns[i] = (struct operation_turn){ volumes[i].id, true };
    return operation_insert(work, &kind_group_snapshot_create, &fields, NULL, err);
}

static int give_up_for_space(struct work *work, const struct group_snapshot *row,
                             struct error *err) {
    const struct message message = { .project_id = row->project_id,
                                     .request_id = work->context->request_id,
                                     .resource_type = "GROUP_SNAPSHOT",
                                     .resource_uuid = row->id,
                                     .action_id = kind_group_snapshot_create.message_action,
                                     .detail_id = "003",
                                     .reason = "The pool of its volumes has too little space." };

    return message_insert(work, &message, err);
}

int group_snapshot_create(struct work *work, const struct volume_group *group,
                          const struct group_snapshot_new *request, struct group_snapshot *ret,
                          struct error *err) {
    struct group_snapshot row = {
        .id = work_uuid(work),
        .project_id = work->context->project_id ? work->context->project_id : group->project_id,
        .user_id = work->context->user_id,
        .group_id = group->id,
        .group_type_id = group->group_type_id,
        .name = request->name,
        .description = request->description,
        .status = GROUP_SNAPSHOT_CREATING,
        .created_at = work->now_us,
    };
    struct volume *volumes;
    json_t *attached;
    int count = group_members(work, group->id, &volumes, err), together, fits;

    if (count <= 0)
        return count < 0 ? -1
                         : error_set(err, ERROR_BAD_REQUEST,
                                     "Invalid Group: Group %s has no volumes. No group snapshot "
                                     "will be created.",
                                     group->id);
    together = check_moment(work, group, volumes, count, err);
    fits = together < 0 ? -1 : members_fit(work, volumes, count, err);
    if (fits == 0)
        row.status = GROUP_SNAPSHOT_ERROR;
    if (fits < 0 || insert_row(work, &row, err) < 0 ||
        notification_of_group_snapshot(work, "group_snapshot.create.start", row.id, err) < 0 ||
        add_members(work, &row, volumes, count, &attached, err) < 0)
        return -1;
    *ret = row;
    if (fits == 0)
        return give_up_for_space(work, &row, err);
    return start(work, &row, volumes, count, together > 0 ? attached : NULL, err);
}

/* ---- finish ---- */

/* The snapshots of a group snapshot: as many as were made. */
static int find_made(struct work *work, const char *id, const struct group_snapshot_ending *made,
                     struct snapshot **ret, struct error *err) {
    int count = snapshot_of_group(work, id, ret, err);

    if (count >= 0 && !made->failure && count != made->count)
        return error_set(err, ERROR_INTERNAL,
                         "Group snapshot %s has %d snapshots, and %d are made.", id, count,
                         made->count);
    return count;
}

static int create_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    assert(held->kind == &kind_group_snapshot_create);
    /* Whatever status an operator has set meanwhile: its snapshots are unusable. */
    static const struct status_change broken = { .from = STATUS_ANY, .to = GROUP_SNAPSHOT_ERROR };
    const struct group_snapshot_ending *ending = arg;
    const struct create_ending failed = { .failure = ending->failure };
    const char *id = held->object_id;
    struct snapshot *snapshots;
    int count;

    if (operation_end(work, held, err) < 0)
        return -1;
    count = find_made(work, id, ending, &snapshots, err);
    for (int i = 0; i < count; i++)
        if (snapshot_create_ended(work, snapshots[i].id,
                                  ending->failure ? &failed : &ending->each[i], err) < 0)
            return -1;
    if (count < 0)
        return -1;
    if (ending->failure)
        return status_write(work, held->kind->object, id, &broken, err) < 0
                   ? -1
                   : message_put_failed_of(work, held, "GROUP_SNAPSHOT", "903", ending->failure,
                                           err);
    if (operation_leave(work, id, held->kind, GROUP_SNAPSHOT_AVAILABLE, err) < 0)
        return -1;
    return notification_of_group_snapshot(work, "group_snapshot.create.end", id, err);
}

/* ---- work of guests' hosts ---- */

int group_snapshot_create_share(struct work *work, const struct operation *held, void *arg,
                                struct error *err) {
    struct group_snapshot_ending *made = arg;
    struct snapshot *snapshots;
    int count = find_made(work, held->object_id, made, &snapshots, err);
    const struct group_snapshot_parts parts = { &kind_snapshot_create, snapshots, made->is_part,
                                                count };
    int later = 0;

    assert(held->kind == &kind_group_snapshot_create);
    if (count < 0)
        return -1;
    /* 1: to be retried later; 0: the host's part begins now */
    if (group_snapshot_is_of_moment(work->arena, held)) {
        later = group_snapshot_has_left(work, &parts, err);
        if (later == 0)
            later = group_snapshot_turn_awaits(work, held, &parts, err);
        if (later == 0)
            later = group_snapshot_narrow(work, held, &parts, err);
    }
    made->later = later > 0;
    if (later != 0)
        return later < 0 ? -1 : 0;
    for (int i = 0; i < count; i++)
        if (!made->is_part[i] &&
            snapshot_create_note(work, snapshots[i].id, &made->each[i], err) < 0)
            return -1;
    return group_snapshot_hand_over(work, held, &parts, err);
}

static int create_reevaluate(struct work *work, const struct operation *operation,
                             struct error *err) {
    struct error failure = { 0 };
    struct group_snapshot_ending ending = { .failure = operation->failed ? &failure : NULL };
    struct create_ending *each;
    struct snapshot *snapshots;

    assert(operation->kind == &kind_group_snapshot_create);
    ending.count = group_snapshot_parts_ended(work, operation, &snapshots, err);
    if (ending.count == 0 && operation->failed)
        return group_snapshot_end_deadlines(work, operation, err);
    if (ending.count <= 0)
        return ending.count;
    operation_read_failure(work->arena, operation, &failure);
    ending.each = each = arena_alloc(work->arena, (size_t)ending.count * sizeof *each);
    for (int i = 0; i < ending.count; i++)
        each[i] = (struct create_ending){ .location = snapshots[i].provider_location,
                                          .format = snapshots[i].format };
    return create_finish(work, operation, &ending, err);
}

const struct operation_kind kind_group_snapshot_create = {
    .name = "group_snapshot_create",
    .method = "create_group_snapshot",
    .message_action = "904",
    .object = &group_snapshot_objects,
    .meanwhile = GROUP_SNAPSHOT_CREATING,
    .on_failure = GROUP_SNAPSHOT_ERROR,
    .finish = create_finish,
    .cancel = group_snapshot_cancel_parts,
    .reevaluate = create_reevaluate,
    .is = { [PHASE_QUEUED] = WORK_MAKES,
            [PHASE_RUNNING] = WORK_MAKES,
            [PHASE_WAITING] = WORK_MAKES },
};
