/*
 * The effect of an action on a volume on its open operations: one table, applied by every action
 * before it changes anything.
 *
 * The status alone is not enough: an operator may reset it during an operation.  Nothing may
 * attach, grow or delete a volume that an open operation is about to change.
 */
#pragma once

#include "operation/operation.h"

struct group_snapshot;
struct snapshot;

enum volume_action {
    ACTION_EXTEND,
    ACTION_COMPLETE_EXTEND,
    ACTION_DELETE,
    ACTION_FORCE_DELETE,
    ACTION_UNMANAGE,
    ACTION_RESET_STATUS,
    ACTION_RESET_ATTACH_STATUS,
    ACTION_RESET_MIGRATION_STATUS,
    ACTION_RESERVE,
    ACTION_UNRESERVE,
    ACTION_BEGIN_DETACHING,
    ACTION_ROLL_DETACHING,
    ACTION_ATTACH,
    ACTION_DETACH,
    ACTION_INITIALIZE_CONNECTION,
    ACTION_TERMINATE_CONNECTION,
    ACTION_ATTACHMENT_CREATE,
    ACTION_ATTACHMENT_UPDATE,
    ACTION_ATTACHMENT_COMPLETE,
    ACTION_ATTACHMENT_DELETE,
    ACTION_UPDATE, /* name, description, bootable */
    ACTION_METADATA,
    ACTION_IMAGE_METADATA,
    ACTION_READONLY,
    ACTION_SNAPSHOT,
    ACTION_DROP_SNAPSHOT,
    ACTION_REVERT,
    ACTION_REIMAGE,
    ACTION_RECLAIM,
    ACTION_RETYPE,
    ACTION_UPLOAD, /* an image is made of it */
    ACTION_CLONE,
    ACTION_CLONE_SNAPSHOT, /* a volume is made of its snapshot */
    ACTION_JOIN_GROUP,
    ACTION_LEAVE_GROUP,
    ACTION_TRANSFER, /* to another project: offered, or accepted */
    VOLUME_ACTIONS
};

/* The class of an open operation for other actions: each kind defines it for its phases. */
enum open_work {
    WORK_BESIDE, /* it changes nothing of the volume */
    WORK_MAKES,
    WORK_DESTROYS,
    WORK_GROWS,
    WORK_AWAITS,    /* a guest's host grows it, and the report is pending */
    WORK_SNAPSHOTS, /* one of its snapshots is created or deleted */
    WORK_REVERTS,   /* all of its content is replaced, by that of a snapshot or an image */
    WORK_RECLAIMS,  /* unused space is reclaimed; the volume must not be written meanwhile */
    /* the same, or an upload, cancelled: it changes no byte and ends soon, and the backend's work
     * for a new attachment waits for that */
    WORK_YIELDS,
    WORK_READS,     /* another volume is created from it */
    WORK_UPLOADS,   /* an image is made of it; no byte of it changes */
    WORK_CONNECTED, /* no operation: a host has a connection without an attachment */
    /* of any other kind: its former worker may still be active, or its effects must be inspected */
    WORK_CANCELLED,
    OPEN_WORK
};

enum conflict {
    CONFLICT_PASSES,  /* both continue; other rules, such as the status, may still refuse */
    CONFLICT_REFUSED, /* ERROR_BAD_REQUEST */
    /* the operation is over, its reservations are released, and the next operation waits for its
     * worker */
    CONFLICT_CANCELS,
};

enum conflict conflict_between(enum volume_action action, enum open_work work);
/* The operation's class as seen from the given volume. */
enum open_work conflict_work(const struct operation *operation, const char *volume_id);

/* 0: the action may continue, and operations it cancels are cancelled.  -1: it is refused, or
 * failed. */
int conflict_resolve(struct work *work, const char *volume_id, enum volume_action action,
                     struct error *err);
/* The same for operations on a snapshot alone, for an action that volumes have, too. */
int conflict_resolve_snapshot(struct work *work, const struct snapshot *snapshot,
                              enum volume_action action, struct error *err);
int conflict_settle_group_snapshot(struct work *work, const struct group_snapshot *group_snapshot,
                                   enum volume_action action, struct error *err);
