/*
 * Connects a volume to a host: the backend returns the connection information for the connector.
 */
#include "model/attachment/connect.h"
#include "manager/runtime/job.h"
#include "model/attachment/disconnect.h"
#include "model/type/qos_front_end.h"
#include "json/json.h"

struct others {
    const struct job *job;
    const char *const *hosts;
};

static int read_others(struct work *work, void *arg, struct error *err) {
    struct others *others = arg;
    const struct operation *operation = &others->job->operation;

    return volume_connected_hosts(work, operation->volume_id, operation->target_id, &others->hosts,
                                  err);
}

static json_t *ask(struct job *job, const json_t *connector, struct error *failure) {
    struct driver_volume volume = job_driver_volume(job);
    struct others others = { .job = job };
    json_t *info = NULL;

    if (connector && job_read(job, read_others, &others, failure) < 0)
        return NULL;
    volume.hosts = others.hosts;
    return job->backend->driver->connect(job->backend->handle, job->arena, &volume, connector,
                                         &info, failure) < 0
               ? NULL
               : json_keep(job->arena, info);
}

const char *job_connection_info(struct job *job, struct error *err) {
    const json_t *info = ask(job, NULL, err);

    return info ? json_text(job->arena, info) : NULL;
}

struct told {
    const struct volume *volume;
    json_t *qos;
};

static int read_told(struct work *work, void *arg, struct error *err) {
    struct told *told = arg;

    return qos_front_end(work, told->volume, &told->qos, err);
}

static const char *connect(struct job *job, struct error *failure) {
    const json_t *arguments = operation_arguments(job->arena, &job->operation);
    const char *mode = json_string_value(json_object_get(arguments, "mode"));
    struct told told = { .volume = &job->volume };
    json_t *info = ask(job, json_object_get(arguments, "connector"), failure);
    json_t *data = json_object_get(info, "data");

    if (!info || job_read(job, read_told, &told, failure) < 0)
        return NULL;
    /* added to the data of every backend */
    json_object_set_new(data, "access_mode", json_string(mode ? mode : "rw"));
    json_object_set_new(data, "encrypted", json_boolean(job->volume.encryption_key_id != NULL));
    json_object_set(data, "qos_specs", told.qos);
    json_object_set_new(data, "cacheable", json_false());
    if (job->backend->reports_discard && !json_object_get(data, "discard"))
        json_object_set_new(data, "discard", json_true());
    json_object_set_new(data, "enforce_multipath", json_false());
    json_object_set_new(info, "enforce_multipath", json_false());
    return json_text(job->arena, info);
}

int job_connect(struct job *job, struct error *err) {
    struct error failure = { 0 };
    struct connect_ending ending = { 0 };

    if (!job->has_volume)
        return job_end(job, err);
    ending.connection_info = connect(job, &failure);
    if (!ending.connection_info) {
        if (job_check_lease(job, err) < 0)
            return -1;
        ending.failure = &failure;
        log_error(&job->context.log, "connect failed", "volume_id", job->volume.id, "reason",
                  failure.message, NULL);
    }
    return job_finish(job, &ending, err) < 0 ? -1 : 0;
}
