/*
 * Creates and deletes group snapshots: the driver's calls for its snapshots sequentially, in the
 * order of their volumes, between claim and finish.  Work of a guest's host is done last, as
 * separate parts.
 *
 * If it fails half-way the snapshots already created stay on the backend until it is deleted: each
 * has its row, and is unavailable to clients.
 */
#include "common/assert.h"
#include "manager/runtime/job.h"
#include "model/group/snapshot_create.h"
#include "model/group/snapshot_delete.h"
#include "model/group/snapshot_part.h"

struct members {
    struct job *job;
    struct snapshot *snapshots;
    struct volume *volumes; /* each with its attachments */
    bool *is_part;          /* is each left to the host of a guest? */
    int count, part_count;
};

static int read_members(struct work *work, void *arg, struct error *err) {
    struct members *members = arg;

    members->count =
        snapshot_of_group(work, members->job->operation.object_id, &members->snapshots, err);
    if (members->count < 0)
        return -1;
    members->volumes =
        arena_alloc(work->arena, (size_t)members->count * sizeof *members->volumes + 1);
    members->is_part = arena_alloc(work->arena, (size_t)members->count + 1);
    for (int i = 0; i < members->count; i++)
        if (volume_attached(work, members->snapshots[i].volume_id, &members->volumes[i], err) < 0)
            return -1;
    return 0;
}

/* Makes this snapshot the current one for the functions of a single one. */
static struct job *turn_to(struct members *members, int i) {
    struct job *job = members->job;

    assert(i >= 0 && i < members->count);
    job->volume = members->volumes[i];
    job->snapshot = members->snapshots[i];
    return job;
}

static void leave_to_host(struct members *members, int i) {
    assert(i >= 0 && i < members->count && !members->is_part[i]);
    members->is_part[i] = true;
    members->part_count++;
}

static void log_end(const struct members *members, const struct error *failure) {
    const struct job *job = members->job;
    const char *id = job->operation.object_id;
    const char *end = failure ? "failed" : members->part_count > 0 ? "is up to hosts" : "done";
    const char *line = arena_format(job->arena, "%s %s", job->operation.kind->name, end);

    if (failure)
        log_error(&job->context.log, line, "id", id, "reason", failure->message, NULL);
    else
        log_info(&job->context.log, line, "id", id, "left_to_hosts", LOG_INT(members->part_count),
                 NULL);
}

/* ---- create ---- */

/* This create has another worker by now, or was cancelled.  As job_clean_up(). */
static int clean_up(struct members *members, bool continued, struct error *err) {
    bool failed = false;
    int others = 0;

    for (int i = 0; i < members->count; i++) {
        int kept = job_clean_up(turn_to(members, i), &clean_up_snapshot, continued, err);

        failed |= kept < 0;
        others |= kept > 0;
    }
    return failed ? -1 : others;
}

static int make_all(struct members *members, struct create_ending *each, struct error *failure) {
    for (int i = 0; i < members->count; i++) {
        const struct job *job = members->job;
        struct driver_created created = { 0 };
        /* A volume in use is left to its host for an atomic set, regardless of its storage: a
         * snapshot of the storage alone was taken at another moment, and stays unchanged. */
        bool together =
            volume_in_use(&members->volumes[i]) &&
            group_snapshot_is_together(job->arena, &job->operation, members->snapshots[i].id);
        int left = together ? 1 : job_make_snapshot(turn_to(members, i), &created, failure);

        if (left < 0)
            return error_context(failure, "volume %s", members->volumes[i].id);
        if (left > 0)
            leave_to_host(members, i);
        assert(left > 0 || created.provider_location);
        each[i] = (struct create_ending){ .location = created.provider_location,
                                          .format = created.format };
    }
    return 0;
}

int job_group_snapshot_create(struct job *job, struct error *err) {
    struct members members = { .job = job };
    struct group_snapshot_ending ending = { 0 };
    struct error failure = { 0 };
    struct create_ending *each;
    int ended;

    if (job_read(job, read_members, &members, err) < 0)
        return -1;
    each = arena_alloc(job->arena, (size_t)members.count * sizeof *each + 1);
    if (make_all(&members, each, &failure) < 0) {
        if (job_check_lease(job, &failure) < 0) {
            ended = clean_up(&members, false, err);
            return ended > 0 ? error_pass(err, &failure) : ended;
        }
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        ending.failure = &failure;
    }
    ending.each = each;
    ending.is_part = members.is_part;
    ending.count = members.count;
    ended = !ending.failure && members.part_count > 0
                ? job_held(job, group_snapshot_create_share, &ending, err)
                : job_finish(job, &ending, err);
    if (ended > 0)
        return clean_up(&members, false, err) < 0 ? -1 : 0;
    if (ended < 0) /* it may have another worker all the same */
        clean_up(&members, true, &(struct error){ 0 });
    if (ended == 0 && ending.later)
        return job_later(job, err);
    if (ended == 0)
        log_end(&members, ending.failure);
    return ended;
}

/* ---- delete ---- */

/* As job_drop_snapshot(), of all; never 2. */
static int drop_all(struct members *members, struct error *failure, struct error *err) {
    for (int i = 0; i < members->count; i++) {
        int left = job_drop_snapshot(turn_to(members, i), failure, err);

        if (left == 1)
            error_context(failure, "snapshot %s", members->snapshots[i].id);
        if (left == 1 || left < 0)
            return left;
        if (left > 0)
            leave_to_host(members, i);
    }
    return 0;
}

int job_group_snapshot_delete(struct job *job, struct error *err) {
    struct members members = { .job = job };
    struct group_snapshot_delete_ending ending = { 0 };
    struct error failure = { 0 };
    int left;

    if (job_read(job, read_members, &members, err) < 0)
        return -1;
    left = drop_all(&members, &failure, err);
    if (left < 0)
        return -1;
    if (left > 0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        ending.failure = &failure;
    }
    ending.is_part = members.is_part;
    ending.count = members.count;
    left = !ending.failure && members.part_count > 0
               ? job_held(job, group_snapshot_delete_share, &ending, err)
               : job_finish(job, &ending, err);
    if (left == 0)
        log_end(&members, ending.failure);
    return left < 0 ? -1 : 0;
}
