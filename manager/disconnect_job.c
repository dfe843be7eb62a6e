/*
 * The end of a connection: the backend is told, unless somebody is connected.
 */
#include "manager/job.h"
#include "volume/disconnect.h"

static int disconnected_body(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;

    return volume_is_disconnected(work, job->operation.volume_id, err);
}

int job_disconnect(struct job *job, struct error *err) {
    const struct driver *driver = job->backend->driver;
    struct driver_volume volume;
    struct error failure = { 0 };
    int wanted = job_read(job, disconnected_body, job, err);

    if (wanted < 0)
        return -1;
    if (wanted == 0 || !driver->disconnect)
        return job_end(job, err);
    volume = job_driver_volume(job);
    if (driver->disconnect(job->backend->handle, job->arena, &volume, &failure) == 0)
        return job_end(job, err);
    if (job_check_lease(job, err) < 0)
        return -1;
    return job_ask_again(job, &failure, err);
}
