/*
 * A delete taken over from another worker: its object leaves the name that earlier workers know.
 *
 * One of them may be suspended right before its effect for any time and cannot be stopped; but it
 * destroys by name, and names are never reused.  A crash may follow each step: the operation
 * records both names (`arguments`) before the backend renames, and the next worker completes that
 * first.  A late rename finds nothing, too.
 */
#include "common/assert.h"
#include "manager/runtime/job.h"
#include "model/volume/delete.h"

#include <string.h>

static int rename_object(struct job *job, const struct driver_fence *fence, const char *from,
                         const char *to, struct error *err) {
    struct driver_volume volume = job_driver_volume(job);

    volume.name_id = from;
    volume.fence = fence;
    return job->backend->driver->rename_volume(job->backend->handle, job->arena, &volume, to, err);
}

struct naming {
    struct job *job;
    const char *from, *to;
};

static int note_body(struct work *work, void *arg, struct error *err) {
    struct naming *naming = arg;
    struct job *job = naming->job;
    int noted;

    naming->from = job_driver_volume(job).name_id;
    naming->to = work_uuid(work);
    assert(strcmp(naming->from, naming->to) != 0);
    noted =
        volume_delete_rename(work, &job->operation, job_owner(job), naming->from, naming->to, err);
    return noted == 0 ? error_set(err, ERROR_CONFLICT, "The operation has another worker by now.")
                      : noted;
}

/* The names recorded last, by any worker; this worker itself may not know whether its commit
 * succeeded. */
static int noted_body(struct work *work, void *arg, struct error *err) {
    struct naming *naming = arg;
    struct job *job = naming->job;
    struct operation operation;
    int found = operation_get(work, job->operation.id, &operation, err);

    if (found < 0 || volume_details(work, job->operation.volume_id, &job->volume, err) < 0)
        return -1;
    return found > 0 && volume_delete_renamed(work->arena, &operation, &naming->from, &naming->to);
}

int job_rename(struct job *job, const struct driver_fence *fence, struct error *err) {
    struct naming naming = { .job = job };
    int noted;

    /* without a location it was never created, and cannot be in use */
    if (!job->volume.provider_location || job->renamed)
        return 0;
    noted = job_read(job, noted_body, &naming, err);
    if (noted < 0 || (noted > 0 && rename_object(job, fence, naming.from, naming.to, err) < 0))
        return -1;
    /* Nothing is recorded for an object that cannot be reached. */
    if (job_find_object(job, err) < 0)
        return 1;
    if (job_transaction(job, note_body, &naming, err) < 0)
        return -1;
    job->volume.name_id = naming.to;
    if (rename_object(job, fence, naming.from, naming.to, err) < 0)
        return -1;
    job->renamed = true;
    log_info(&job->context.log, "object renamed: its delete was started before", "volume_id",
             job->volume.id, "from", naming.from, "to", naming.to, NULL);
    return 0;
}
