/*
 * NodeReclaimSpace: free blocks of a staged volume are deallocated.
 */
#include "csi/node/volume.private.h"

#include "csi/node/backing.h"
#include "csi/node/filesystem.h"
#include "csi/node/wipe.h"

#include <fcntl.h>
#include <stdio.h>

/* The state of a call. */
struct job {
    const struct node_reclaim *reclaim;
    struct volume_lock lock;
    struct loop loop;
    int image, mount;
    bool wipes; /* discards do not reach the backend */
};

static void job_end(struct job *job) {
    cleanup_close(&job->mount);
    cleanup_close(&job->image);
    cleanup_loop(&job->loop);
    volume_lock_release(&job->lock);
}

/* Any other call on the volume takes precedence. */
static bool may_continue(void *arg) {
    const struct job *job = arg;

    return !volume_lock_is_requested(&job->lock) && job->reclaim->may_continue(job->reclaim->arg);
}

static int refuse_incomplete(struct error *err) {
    return error_set(err, ERROR_CONFLICT,
                     "More blocks remain to be deallocated; the next call continues.");
}

static struct wipe wipe_of(struct job *job) {
    return (struct wipe){
        .directory = job->mount, .image = job->image, .may_continue = may_continue, .arg = job
    };
}

static int measure(struct job *job, int64_t *ret, struct error *err) {
    const struct wipe wipe = wipe_of(job);
    struct stat status;
    int result = 1;

    /* Data that is not written yet is not counted. */
    if (fsync(job->image) < 0 || fstat(job->image, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "measuring the volume's image");
    *ret = (int64_t)status.st_blocks * 512;
    if (job->wipes)
        result = wipe_measure(&wipe, ret, err);
    return result == 0 ? refuse_incomplete(err) : result < 0 ? -1 : 0;
}

static int deallocate(struct job *job, struct error *err) {
    const struct wipe wipe = wipe_of(job);
    int64_t bytes;
    int result;

    if (loop_size(&job->loop, &bytes, err) < 0)
        return -1;
    result = job->wipes ? wipe_free(&wipe, err)
                        : filesystem_trim(job->mount, bytes, may_continue, job, err);
    return result == 0 ? refuse_incomplete(err) : result < 0 ? -1 : 0;
}

/* The path may be the staging directory of a block volume. */
static int find_reclaimed(const struct node *node, const struct node_reclaim *reclaim,
                          struct kubelet_path *ret_path, struct kubelet_place *ret_place,
                          struct loop *ret, struct error *err) {
    char device[PATH_MAX];

    if (node_find(node, reclaim->volume_id, reclaim->path, ret_path, ret_place, ret, err) == 0)
        return 0;
    cleanup_kubelet_path(ret_path);
    cleanup_loop(ret);
    *ret_path = (struct kubelet_path)PATH_NONE;
    *ret = (struct loop)LOOP_NONE;
    snprintf(device, sizeof(device), "%.4000s/" NODE_DEVICE, reclaim->path);
    return node_find(node, reclaim->volume_id, device, ret_path, ret_place, ret, err);
}

int node_reclaim(const struct node *node, const struct node_reclaim *reclaim, int64_t *ret_before,
                 int64_t *ret_after, struct error *err) {
    __attribute__((cleanup(job_end))) struct job job = {
        .reclaim = reclaim, .loop = LOOP_NONE, .image = -1, .mount = -1
    };
    autopath struct kubelet_path at = PATH_NONE;
    autoclose int mount = -1;
    autolock struct volume_lock slot = { 0 };
    struct kubelet_place place;
    const char *reason;
    static const char *const slots[NODE_SLOTS] = { "reclaim 1", "reclaim 2", "reclaim 3",
                                                   "reclaim 4" };

    if (node_check_id(reclaim->volume_id, err) < 0 ||
        node_lock_idle_volume(&job.lock, reclaim->volume_id, err) < 0 ||
        find_reclaimed(node, reclaim, &at, &place, &job.loop, err) < 0)
        return -1;
    reason = S_ISBLK(place.mode)             ? "The free blocks of a block volume are unknown."
             : job.loop.read_only            ? "The volume is read-only here."
             : node_is_shared(reclaim->mode) ? "Other nodes may use the volume."
                                             : NULL;
    if (reason)
        return error_set(err, ERROR_BAD_METHOD, "%s", reason);
    /* Jobs for all volumes may start at one time: the slots leave workers to pods that start and
     * stop. */
    if (!node_take_slot(&slot, slots))
        return error_set(err, ERROR_CONFLICT,
                         "Too many other volumes are being reclaimed on this node.");
    /* A quorum ignores discards: zeros are written there. */
    job.image = node_backing_open_target(&node->places, &job.loop);
    job.wipes = job.image >= 0;
    if (!job.wipes)
        job.image = node_backing_open(&node->places, &job.loop, err);
    if (job.image < 0)
        return -1;
    mount = node_open_device(&at, job.loop.number, err);
    if (mount < 0)
        return -1;
    job.mount = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (job.mount < 0)
        return error_errno(err, ERROR_BACKEND, "opening the file system");
    if (measure(&job, ret_before, err) < 0 || deallocate(&job, err) < 0)
        return -1;
    return measure(&job, ret_after, err);
}
