/*
 * Ends a connection: the backend gets the remaining ones.
 */
#include "model/attachment/disconnect.h"
#include "manager/runtime/job.h"

struct left {
    const struct job *job;
    const char *const *hosts;
};

static int read_left(struct work *work, void *arg, struct error *err) {
    struct left *left = arg;

    return volume_connected_hosts(work, left->job->operation.volume_id, "", &left->hosts, err);
}

int job_disconnect(struct job *job, struct error *err) {
    const struct driver *driver = job->backend->driver;
    struct driver_volume volume;
    struct error failure = { 0 };
    struct left left = { .job = job };

    if (!job->has_volume || !driver->disconnect)
        return job_end(job, err);
    if (job_read(job, read_left, &left, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? job_end(job, err) : -1;
    volume = job_driver_volume(job);
    volume.hosts = left.hosts;
    if (driver->disconnect(job->backend->handle, job->arena, &volume, &failure) == 0)
        return job_end(job, err);
    if (job_check_lease(job, err) < 0)
        return -1;
    return job_ask_again(job, &failure, err);
}
