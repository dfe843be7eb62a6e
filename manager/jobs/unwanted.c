/*
 * Removes an object that no row wants, in place of the late worker that made it.
 */
#include "common/cleanup.h"
#include "manager/runtime/job.h"
#include "model/unwanted_object.h"

#include <string.h>

/* An unavailable backend comes back; another failure may stay for ever, and has a day of attempts
 * each ten minutes. */
#define ATTEMPTS_MOST 145
#define PAUSE_MOST_US (600 * SECOND_US)

static const struct job_clean_up *const clean_ups[] = { &clean_up_volume, &clean_up_snapshot,
                                                        &clean_up_assist, &clean_up_managed,
                                                        &clean_up_upload };

/* Its present users, under the name that the late worker knew. */
static int read_volume(struct work *work, void *arg, struct error *err) {
    struct job *late = arg;
    struct volume now;

    if (volume_attached(work, late->volume.id, &now, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    now.name_id = late->volume.name_id;
    now.provider_location = late->volume.provider_location;
    now.format = late->volume.format;
    late->volume = now;
    return 0;
}

/* `late` becomes the job of the late worker.  NULL: another version of the program has written the
 * record. */
static const struct job_clean_up *find_clean_up(struct job *late) {
    struct unwanted_object object;

    if (!unwanted_object_parse(late->arena, &late->operation, &object))
        return NULL;
    late->operation = object.made_by;
    late->volume = object.volume;
    late->has_volume = true;
    late->snapshot = object.snapshot;
    late->has_snapshot = object.snapshot.id != NULL;
    for (unsigned i = 0; i < LENGTH(clean_ups); i++)
        if (strcmp(clean_ups[i]->name, object.clean_up) == 0)
            return clean_ups[i];
    return NULL;
}

int job_remove_unwanted(struct job *job, struct error *err) {
    int64_t now_us = clock_shared_us(job->manager->settings.settings->clock);
    int64_t pause_us = operation_pause_us(&job->operation, now_us, PAUSE_MOST_US);
    struct error why = { 0 };
    struct job late = *job;
    const struct job_clean_up *clean_up = find_clean_up(&late);
    int unwanted = -1;

    if (!clean_up) {
        log_warning(&job->context.log, "clean-up not known to this version", "object_id",
                    job->operation.object_id, NULL);
        return job_put_back(job, pause_us, err);
    }
    if (job_read(&late, read_volume, &late, &why) == 0)
        unwanted = job_read(&late, clean_up->unwanted, &late, &why);
    if (unwanted == CLEAN_UP_WANTED)
        return job_end(job, err);
    if (unwanted == CLEAN_UP_UNWANTED && clean_up->take_away(&late, &why) == 0) {
        log_info(&job->context.log, "clean-up of a late worker done", "kind",
                 late.operation.kind->name, "volume_id", late.volume.id, "object_id",
                 job->operation.object_id, NULL);
        return job_end(job, err);
    }
    if (unwanted != CLEAN_UP_UNWANTED || why.kind == ERROR_UNAVAILABLE || why.kind == ERROR_BUSY ||
        job_may_try(job, job->operation.attempts, ATTEMPTS_MOST, PAUSE_MOST_US))
        return job_retry(job, pause_us, err);
    log_warning(&job->context.log, "unwanted object may be left on the backend", "kind",
                late.operation.kind->name, "volume_id", late.volume.id, "object_id",
                job->operation.object_id, "reason", why.message, NULL);
    return job_end(job, err);
}
