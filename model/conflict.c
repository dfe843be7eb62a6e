#include "model/conflict.h"

#include "common/assert.h"
#include "model/attachment/connection.h"
#include "model/group/snapshot.h"
#include "model/snapshot/snapshot.h"

#include <string.h>

#define P CONFLICT_PASSES
#define R CONFLICT_REFUSED
#define X CONFLICT_CANCELS

/* clang-format off */
static const struct {
    const char *words; /* "Volume … cannot …" */
    enum conflict with[OPEN_WORK];
} actions[VOLUME_ACTIONS] = {
    /*                                                             beside makes destroys grows awaits snapshots reverts reclaims yields reads uploads connected cancelled */
    [ACTION_EXTEND]                 = { "be extended",           { P,     R,    R,       R,    R,     P,        R,      R,       R,     P,     R,       R,        R } },
    [ACTION_COMPLETE_EXTEND]        = { "end an extend",         { P,     R,    R,       R,    P,     P,        R,      R,       P,     P,     P,       P,        P } },
    /* A volume that was reset during its creation need not be created first. */
    [ACTION_DELETE]                 = { "be deleted",            { P,     X,    R,       R,    R,     R,        R,      R,       R,     P,     R,       P,        R } },
    [ACTION_UNMANAGE]               = { "be unmanaged",          { P,     R,    R,       R,    R,     R,        R,      R,       R,     R,     R,       R,        R } },
    [ACTION_FORCE_DELETE]           = { "be deleted",            { P,     X,    X,       X,    X,     X,        X,      X,       P,     P,     X,       P,        P } },
    /* A create harms no reset: it continues, so that a volume set to available becomes so. */
    [ACTION_RESET_STATUS]           = { "be reset",              { P,     P,    X,       X,    X,     P,        X,      X,       P,     P,     X,       P,        P } },
    [ACTION_RESET_ATTACH_STATUS]    = { "be reset",              { P,     P,    R,       P,    P,     P,        R,      P,       P,     P,     P,       P,        P } },
    [ACTION_RESET_MIGRATION_STATUS] = { "be reset",              { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_RESERVE]                = { "be reserved",           { P,     R,    R,       R,    R,     R,        R,      X,       P,     R,     R,       P,        R } },
    [ACTION_UNRESERVE]              = { "be unreserved",         { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_BEGIN_DETACHING]        = { "begin to be detached",  { P,     R,    R,       R,    R,     P,        R,      R,       P,     P,     R,       P,        P } },
    [ACTION_ROLL_DETACHING]         = { "stay attached",         { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_ATTACH]                 = { "be attached",           { P,     R,    R,       R,    R,     R,        R,      X,       P,     R,     R,       P,        R } },
    /* X30: a detach is never refused; after the last one the extend is reevaluated. */
    [ACTION_DETACH]                 = { "be detached",           { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_INITIALIZE_CONNECTION]  = { "be connected",          { P,     R,    R,       P,    P,     R,        R,      X,       P,     R,     R,       P,        R } },
    [ACTION_TERMINATE_CONNECTION]   = { "be disconnected",       { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_ATTACHMENT_CREATE]      = { "be attached",           { P,     R,    R,       R,    R,     R,        R,      X,       P,     R,     R,       P,        R } },
    /* X45: attachments made before may go on while an extend is open. */
    [ACTION_ATTACHMENT_UPDATE]      = { "be connected",          { P,     R,    R,       P,    P,     R,        R,      X,       P,     R,     R,       P,        R } },
    [ACTION_ATTACHMENT_COMPLETE]    = { "be attached",           { P,     R,    R,       P,    P,     P,        R,      X,       P,     P,     P,       P,        P } },
    [ACTION_ATTACHMENT_DELETE]      = { "be detached",           { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_UPDATE]                 = { "be updated",            { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_METADATA]               = { "get metadata",          { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_IMAGE_METADATA]         = { "get image metadata",    { P,     P,    P,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_READONLY]               = { "get another access mode", { P,     R,    R,       R,    R,     P,        R,      P,       P,     P,     R,       P,        P } },
    /* Those of one queue wait for each other (struct operation). */
    [ACTION_SNAPSHOT]               = { "get a snapshot",        { P,     R,    R,       R,    R,     P,        R,      R,       R,     P,     R,       R,        R } },
    [ACTION_DROP_SNAPSHOT]          = { "lose a snapshot",       { P,     R,    R,       P,    P,     P,        R,      R,       P,     P,     R,       R,        P } },
    [ACTION_REVERT]                 = { "be reverted",           { P,     R,    R,       R,    R,     P,        R,      R,       R,     P,     R,       R,        R } },
    [ACTION_REIMAGE]                = { "be written anew",       { P,     R,    R,       R,    R,     P,        R,      R,       R,     P,     R,       R,        R } },
    [ACTION_RECLAIM]                = { "be reclaimed",          { P,     R,    R,       R,    R,     R,        R,      R,       R,     R,     R,       R,        R } },
    [ACTION_RETYPE]                 = { "get another type",      { P,     R,    R,       R,    R,     P,        R,      R,       P,     P,     R,       P,        R } },
    /* It reads the volume beside clones of it; a host with a connection might write. */
    [ACTION_UPLOAD]                 = { "become an image",       { P,     R,    R,       R,    R,     P,        R,      R,       R,     P,     R,       R,        R } },
    [ACTION_CLONE]                  = { "be cloned",             { P,     R,    R,       R,    R,     P,        R,      R,       R,     P,     R,       P,        R } },
    [ACTION_CLONE_SNAPSHOT]         = { "give a snapshot away",  { P,     P,    R,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    /* The row alone: volumes that are being created or deleted keep their group. */
    [ACTION_JOIN_GROUP]             = { "join a group",          { P,     R,    R,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    [ACTION_LEAVE_GROUP]            = { "leave its group",       { P,     R,    R,       P,    P,     P,        P,      P,       P,     P,     P,       P,        P } },
    /* What is being made of it counts for its own project. */
    [ACTION_TRANSFER]               = { "be transferred",        { P,     R,    R,       R,    R,     R,        R,      R,       P,     P,     R,       R,        R } },
};
/* clang-format on */

enum conflict conflict_between(enum volume_action action, enum open_work work) {
    assert(action < VOLUME_ACTIONS && work < OPEN_WORK);
    return actions[action].with[work];
}

/* As seen by its own object. */
static enum open_work work_of(const struct operation *operation) {
    enum open_work is =
        operation->phase < PHASES ? operation->kind->is[operation->phase] : WORK_BESIDE;

    return operation->phase == PHASE_CANCELLED && is == WORK_BESIDE ? WORK_CANCELLED : is;
}

enum open_work conflict_work(const struct operation *operation, const char *volume_id) {
    const struct object_kind *object = operation->kind->object;

    if (object != &group_snapshot_objects && strcmp(operation->volume_id, volume_id) != 0)
        return WORK_READS;
    if ((object == &snapshot_objects || object == &group_snapshot_objects) &&
        operation->phase != PHASE_CANCELLED)
        return WORK_SNAPSHOTS;
    return work_of(operation);
}

static bool passes_all(enum volume_action action) {
    assert(action < VOLUME_ACTIONS);
    for (unsigned i = 0; i < OPEN_WORK; i++)
        if (actions[action].with[i] != CONFLICT_PASSES)
            return false;
    return true;
}

/* For objects that may be numerous. */
static bool passes_most(enum volume_action action) {
    return conflict_between(action, WORK_BESIDE) == CONFLICT_PASSES &&
           conflict_between(action, WORK_SNAPSHOTS) == CONFLICT_PASSES &&
           conflict_between(action, WORK_READS) == CONFLICT_PASSES;
}

/* `place`: a volume, or the group of a group snapshot; `what` and `id` an object there. */
static int meet(struct work *work, const char *place, const char *what, const char *id,
                enum volume_action action, struct error *err) {
    struct operation *open;
    enum open_work *works;
    int count = id != place || passes_most(action) ? operation_about(work, place, id, &open, err)
                                                   : operation_on(work, place, &open, err);

    if (count <= 0)
        return count;
    works = arena_alloc(work->arena, (size_t)count * sizeof *works);
    for (int i = 0; i < count; i++)
        works[i] = id == place                          ? conflict_work(&open[i], place)
                   : strcmp(open[i].object_id, id) == 0 ? work_of(&open[i])
                                                        : WORK_BESIDE;
    /* Checked for all before the first is cancelled: a refusal changes nothing. */
    for (int i = 0; i < count; i++)
        if (conflict_between(action, works[i]) == CONFLICT_REFUSED)
            return error_set(
                err, ERROR_BAD_REQUEST, "Invalid %s: %c%s %s cannot %s before %s%s has ended.",
                what, what[0] - 'a' + 'A', what + 1, id, actions[action].words,
                open[i].phase == PHASE_CANCELLED ? "its former " : "its ", open[i].kind->name);
    for (int i = 0; i < count; i++)
        if (conflict_between(action, works[i]) == CONFLICT_CANCELS &&
            operation_cancel(work, &open[i], err) < 0)
            return -1;
    return 0;
}

int conflict_resolve(struct work *work, const char *volume_id, enum volume_action action,
                     struct error *err) {
    if (passes_all(action))
        return 0;
    if (meet(work, volume_id, "volume", volume_id, action, err) < 0)
        return -1;
    if (conflict_between(action, WORK_CONNECTED) != CONFLICT_REFUSED)
        return 0;
    /* The host is visible to administrators only. */
    return error_if_any(connection_is_given(work, volume_id, err), err, ERROR_BAD_REQUEST,
                        "Invalid volume: Volume %s cannot %s while a host has a connection to it "
                        "without being attached: attach the volume there, or end the connection "
                        "with os-terminate_connection.",
                        volume_id, actions[action].words);
}

int conflict_resolve_snapshot(struct work *work, const struct snapshot *snapshot,
                              enum volume_action action, struct error *err) {
    return meet(work, snapshot->volume_id, "snapshot", snapshot->id, action, err);
}

int conflict_settle_group_snapshot(struct work *work, const struct group_snapshot *group_snapshot,
                                   enum volume_action action, struct error *err) {
    return meet(work, group_snapshot->group_id, "group snapshot", group_snapshot->id, action, err);
}
