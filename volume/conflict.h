/*
 * What an action on a volume does to the operations that are open on it: one table, asked by every
 * action before it changes anything.
 *
 * The status alone does not say it: an operator may reset it while an operation goes on.  Nothing
 * may attach, grow or delete what an open operation is about to change.
 */
#pragma once

#include "ledger/operation.h"

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
    ACTION_RECLAIM,
    ACTION_RETYPE,
    ACTION_CLONE,
    ACTION_CLONE_SNAPSHOT, /* a volume is made of its snapshot */
    ACTION_JOIN_GROUP,
    ACTION_LEAVE_GROUP,
    VOLUME_ACTIONS
};

/* What an open operation is to whoever meets it: each kind says it of its phases. */
enum open_work {
    WORK_BESIDE, /* it changes nothing of the volume */
    WORK_MAKES,
    WORK_DESTROYS,
    WORK_GROWS,
    WORK_AWAITS,    /* a guest's host grows it, and the report is to come */
    WORK_SNAPSHOTS, /* one of its snapshots is made or goes */
    WORK_REVERTS,
    WORK_RECLAIMS, /* room that holds nothing goes; nobody may write meanwhile */
    WORK_YIELDS,   /* the same, cancelled: it changes no byte and ends soon, and what a backend does
                    * for whoever attaches waits for that */
    WORK_READS,    /* another volume is made of it */
    WORK_CONNECTED, /* no operation: a host was given a connection that no attachment stands for */
    /* of any other kind: its former worker may still be at it, or has to be looked after */
    WORK_CANCELLED,
    OPEN_WORK
};

enum conflict {
    CONFLICT_PASSES,  /* both go on; other rules, such as the status, may still refuse */
    CONFLICT_REFUSED, /* ERROR_BAD_REQUEST */
    CONFLICT_CANCELS, /* the operation is over, what it had reserved is given back, and whatever
                       * begins next waits for its worker */
};

enum conflict conflict_between(enum volume_action action, enum open_work work);
/* To who looks from the volume. */
enum open_work conflict_work(const struct operation *operation, const char *volume_id);

/* 0: the action may go on, and what it cancels is cancelled.  -1: it is refused, or failed. */
int conflict_settle(struct work *work, const char *volume_id, enum volume_action action,
                    struct error *err);
/* The same of what is open on a snapshot alone, for an action on it that volumes have, too. */
int conflict_settle_snapshot(struct work *work, const struct snapshot *snapshot,
                             enum volume_action action, struct error *err);
int conflict_settle_group_snapshot(struct work *work, const struct group_snapshot *group_snapshot,
                                   enum volume_action action, struct error *err);
