/*
 * A connector's question to the backend: how does this host reach the volume?
 */
#include "manager/job.h"
#include "volume/connect.h"
#include "json/json.h"

/* What every backend's answer gets beside its own data. */
static const char *complete(struct job *job, json_t *info, const char *mode) {
    json_t *data = json_object_get(info, "data");

    json_object_set_new(data, "access_mode", json_string(mode));
    json_object_set_new(data, "encrypted", json_boolean(job->volume.encryption_key_id != NULL));
    json_object_set_new(data, "qos_specs", json_null());
    json_object_set_new(data, "cacheable", json_false());
    json_object_set_new(data, "enforce_multipath", json_false());
    json_object_set_new(info, "enforce_multipath", json_false());
    return json_text(job->arena, info);
}

static const char *connect(struct job *job, struct error *failure) {
    const struct driver_volume volume = job_driver_volume(job);
    const json_t *arguments = operation_arguments(job->arena, &job->operation);
    const char *mode = json_string_value(json_object_get(arguments, "mode"));
    json_t *info = NULL;

    if (job->backend->driver->connect(job->backend->handle, job->arena, &volume,
                                      json_object_get(arguments, "connector"), &info, failure) < 0)
        return NULL;
    return complete(job, json_keep(job->arena, info), mode ? mode : "rw");
}

int job_connect(struct job *job, struct error *err) {
    struct error failure = { 0 };
    struct connect_ending ending = { 0 };

    if (!job->has_volume)
        return job_end(job, err);
    ending.connection_info = connect(job, &failure);
    if (!ending.connection_info) {
        ending.failure = &failure;
        log_error(&job->context.log, "connect failed", "volume_id", job->volume.id, "reason",
                  failure.message, NULL);
    }
    return job_finish(job, &ending, err) < 0 ? -1 : 0;
}
