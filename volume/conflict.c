#include "volume/conflict.h"

#include "common/cleanup.h"
#include "volume/operations.h"

#include <string.h>

#define P CONFLICT_PASSES
#define R CONFLICT_REFUSED
#define X CONFLICT_CANCELS

/* clang-format off */
static const struct {
    const char *words; /* "Volume … cannot …" */
    enum conflict with[OPEN_WORK];
} actions[VOLUME_ACTIONS] = {
    /*                                                             create  delete  extend         beside cancelled */
    /*                                                             q  r    q  r    q  r  s  w  c                   */
    [ACTION_EXTEND]                 = { "be extended",           { R, R,   R, R,   R, R, R, R, R,   P,     R } },
    [ACTION_COMPLETE_EXTEND]        = { "end an extend",         { R, R,   R, R,   R, R, P, P, R,   P,     P } },
    /* A volume that was reset while it was made need not be made first. */
    [ACTION_DELETE]                 = { "be deleted",            { X, X,   R, R,   R, R, R, R, R,   P,     R } },
    [ACTION_FORCE_DELETE]           = { "be deleted",            { X, X,   X, X,   X, X, X, X, X,   P,     P } },
    /* A create harms nobody: it goes on, so that what an operator calls available becomes so. */
    [ACTION_RESET_STATUS]           = { "be reset",              { P, P,   X, X,   X, X, X, X, X,   P,     P } },
    [ACTION_RESET_ATTACH_STATUS]    = { "be reset",              { P, P,   R, R,   P, P, P, P, P,   P,     P } },
    [ACTION_RESET_MIGRATION_STATUS] = { "be reset",              { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_RESERVE]                = { "be reserved",           { R, R,   R, R,   R, R, R, R, R,   P,     R } },
    [ACTION_UNRESERVE]              = { "be unreserved",         { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_BEGIN_DETACHING]        = { "begin to be detached",  { R, R,   R, R,   R, R, R, R, R,   P,     P } },
    [ACTION_ROLL_DETACHING]         = { "stay attached",         { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_ATTACH]                 = { "be attached",           { R, R,   R, R,   R, R, R, R, R,   P,     R } },
    /* X30: who leaves is never kept; the extend is settled when nobody is left. */
    [ACTION_DETACH]                 = { "be detached",           { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_INITIALIZE_CONNECTION]  = { "be connected",          { R, R,   R, R,   P, P, P, P, P,   P,     R } },
    [ACTION_TERMINATE_CONNECTION]   = { "be disconnected",       { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_ATTACHMENT_CREATE]      = { "be attached",           { R, R,   R, R,   R, R, R, R, R,   P,     R } },
    /* X45: attachments made before may go on while an extend is open. */
    [ACTION_ATTACHMENT_UPDATE]      = { "be connected",          { R, R,   R, R,   P, P, P, P, P,   P,     R } },
    [ACTION_ATTACHMENT_COMPLETE]    = { "be attached",           { R, R,   R, R,   P, P, P, P, P,   P,     P } },
    [ACTION_ATTACHMENT_DELETE]      = { "be detached",           { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_UPDATE]                 = { "be updated",            { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_METADATA]               = { "get metadata",          { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_IMAGE_METADATA]         = { "get image metadata",    { P, P,   P, P,   P, P, P, P, P,   P,     P } },
    [ACTION_READONLY]               = { "get another access mode", { R, R, R, R,   R, R, R, R, R,   P,     P } },
};
/* clang-format on */

/* Each phase of the kinds that change a volume; what is not here is beside it. */
static const struct {
    const char *kind, *phase;
    enum open_work work;
} places[] = {
    { "create", PHASE_QUEUED, CREATE_QUEUED },         { "create", PHASE_RUNNING, CREATE_RUNNING },
    { "delete", PHASE_QUEUED, DELETE_QUEUED },         { "delete", PHASE_RUNNING, DELETE_RUNNING },
    { "extend", PHASE_QUEUED, EXTEND_QUEUED },         { "extend", PHASE_RUNNING, EXTEND_RUNNING },
    { "extend", PHASE_SENDING, EXTEND_SENDING },       { "extend", PHASE_WAITING, EXTEND_WAITING },
    { "extend", PHASE_COMPLETING, EXTEND_COMPLETING },
};

enum conflict conflict_between(enum volume_action action, enum open_work work) {
    return actions[action].with[work];
}

enum open_work conflict_work(const struct operation *operation) {
    if (strcmp(operation->phase, PHASE_CANCELLED) == 0)
        return WORK_CANCELLED;
    for (unsigned i = 0; i < LENGTH(places); i++)
        if (strcmp(places[i].kind, operation->kind) == 0 &&
            strcmp(places[i].phase, operation->phase) == 0)
            return places[i].work;
    return WORK_BESIDE;
}

static int refuse(enum volume_action action, const struct operation *operation, struct error *err) {
    bool cancelled = conflict_work(operation) == WORK_CANCELLED;

    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s cannot %s before %s%s has ended.",
                     operation->volume_id, actions[action].words,
                     cancelled ? "its former " : "its ", operation->kind);
}

static int cancel(struct work *work, const struct operation *operation, struct error *err) {
    if (strcmp(operation->kind, operation_kinds[OPERATION_EXTEND].name) == 0)
        return volume_extend_cancel(work, operation->volume_id, err);
    return operation_cancel(work, operation, err);
}

static bool passes_all(enum volume_action action) {
    for (unsigned i = 0; i < OPEN_WORK; i++)
        if (actions[action].with[i] != CONFLICT_PASSES)
            return false;
    return true;
}

/* Asked of all before the first is cancelled: a refusal changes nothing. */
int conflict_settle(struct work *work, const char *volume_id, enum volume_action action,
                    struct error *err) {
    struct operation *open;
    int count;

    if (passes_all(action))
        return 0;
    count = operation_on(work, volume_id, &open, err);
    for (int i = 0; i < count; i++)
        if (conflict_between(action, conflict_work(&open[i])) == CONFLICT_REFUSED)
            return refuse(action, &open[i], err);
    for (int i = 0; i < count; i++)
        if (conflict_between(action, conflict_work(&open[i])) == CONFLICT_CANCELS &&
            cancel(work, &open[i], err) < 0)
            return -1;
    return count < 0 ? -1 : 0;
}
