#include "volume/conflict.h"

#define P CONFLICT_PASSES
#define R CONFLICT_REFUSED
#define X CONFLICT_CANCELS

/* clang-format off */
static const struct {
    const char *words; /* "Volume … cannot …" */
    enum conflict with[OPEN_WORK];
} actions[VOLUME_ACTIONS] = {
    /*                                                             beside makes destroys grows awaits cancelled */
    [ACTION_EXTEND]                 = { "be extended",           { P,     R,    R,       R,    R,     R } },
    [ACTION_COMPLETE_EXTEND]        = { "end an extend",         { P,     R,    R,       R,    P,     P } },
    /* A volume that was reset while it was made need not be made first. */
    [ACTION_DELETE]                 = { "be deleted",            { P,     X,    R,       R,    R,     R } },
    [ACTION_FORCE_DELETE]           = { "be deleted",            { P,     X,    X,       X,    X,     P } },
    /* A create harms nobody: it goes on, so that what an operator calls available becomes so. */
    [ACTION_RESET_STATUS]           = { "be reset",              { P,     P,    X,       X,    X,     P } },
    [ACTION_RESET_ATTACH_STATUS]    = { "be reset",              { P,     P,    R,       P,    P,     P } },
    [ACTION_RESET_MIGRATION_STATUS] = { "be reset",              { P,     P,    P,       P,    P,     P } },
    [ACTION_RESERVE]                = { "be reserved",           { P,     R,    R,       R,    R,     R } },
    [ACTION_UNRESERVE]              = { "be unreserved",         { P,     P,    P,       P,    P,     P } },
    [ACTION_BEGIN_DETACHING]        = { "begin to be detached",  { P,     R,    R,       R,    R,     P } },
    [ACTION_ROLL_DETACHING]         = { "stay attached",         { P,     P,    P,       P,    P,     P } },
    [ACTION_ATTACH]                 = { "be attached",           { P,     R,    R,       R,    R,     R } },
    /* X30: who leaves is never kept; the extend is settled when nobody is left. */
    [ACTION_DETACH]                 = { "be detached",           { P,     P,    P,       P,    P,     P } },
    [ACTION_INITIALIZE_CONNECTION]  = { "be connected",          { P,     R,    R,       P,    P,     R } },
    [ACTION_TERMINATE_CONNECTION]   = { "be disconnected",       { P,     P,    P,       P,    P,     P } },
    [ACTION_ATTACHMENT_CREATE]      = { "be attached",           { P,     R,    R,       R,    R,     R } },
    /* X45: attachments made before may go on while an extend is open. */
    [ACTION_ATTACHMENT_UPDATE]      = { "be connected",          { P,     R,    R,       P,    P,     R } },
    [ACTION_ATTACHMENT_COMPLETE]    = { "be attached",           { P,     R,    R,       P,    P,     P } },
    [ACTION_ATTACHMENT_DELETE]      = { "be detached",           { P,     P,    P,       P,    P,     P } },
    [ACTION_UPDATE]                 = { "be updated",            { P,     P,    P,       P,    P,     P } },
    [ACTION_METADATA]               = { "get metadata",          { P,     P,    P,       P,    P,     P } },
    [ACTION_IMAGE_METADATA]         = { "get image metadata",    { P,     P,    P,       P,    P,     P } },
    [ACTION_READONLY]               = { "get another access mode", { P,     R,    R,       R,    R,     P } },
};
/* clang-format on */

enum conflict conflict_between(enum volume_action action, enum open_work work) {
    return actions[action].with[work];
}

enum open_work conflict_work(const struct operation *operation) {
    if (operation->phase == PHASE_CANCELLED)
        return WORK_CANCELLED;
    return operation->phase < PHASES ? operation->kind->is[operation->phase] : WORK_BESIDE;
}

static int refuse_action(enum volume_action action, const struct operation *operation,
                         struct error *err) {
    bool cancelled = conflict_work(operation) == WORK_CANCELLED;

    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s cannot %s before %s%s has ended.",
                     operation->volume_id, actions[action].words,
                     cancelled ? "its former " : "its ", operation->kind->name);
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
            return refuse_action(action, &open[i], err);
    for (int i = 0; i < count; i++)
        if (conflict_between(action, conflict_work(&open[i])) == CONFLICT_CANCELS &&
            operation_cancel(work, &open[i], err) < 0)
            return -1;
    return count < 0 ? -1 : 0;
}
