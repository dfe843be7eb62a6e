#include "manager/event.h"

#include "common/json.h"
#include "volume/attachment.h"
#include "volume/service.h"

#include <string.h>

#define NOTIFY_ATTEMPTS 5
#define NOTIFY_PAUSE_US 5000000

/* Of several attachments of one instance (it moves to another host) the connected one counts. */
static const char *host_of(const struct volume *volume, const char *instance_uuid) {
    const char *host = NULL;

    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];

        if (!attachment->instance_uuid || strcmp(attachment->instance_uuid, instance_uuid) != 0)
            continue;
        if (!host || strcmp(attachment->attach_status, "attached") == 0)
            host = attachment->attached_host;
    }
    return host;
}

static int receiver_body(struct work *work, void *arg, struct error *err) {
    struct compute_event *event = arg;
    struct service service;
    struct volume volume;
    int found = 0;

    event->host = event->endpoint = NULL;
    if (volume_details(work, event->volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    event->host = host_of(&volume, event->instance_uuid);
    if (event->host)
        found = service_find(work, SERVICE_COMPUTE, event->host, &service, err);
    if (found > 0 && service.up && !service.disabled)
        event->endpoint = service.endpoint;
    return found < 0 ? -1 : 0;
}

int event_send(struct job *job, const char *instance_uuid, bool completion, enum event_verdict *ret,
               struct error *answer, struct error *err) {
    struct compute_sender *compute = job->manager->settings.compute;
    struct compute_event event = {
        .volume_id = job->volume.id,
        .instance_uuid = instance_uuid,
        .request_id = job->operation.request_id,
        .wants_completion = completion,
    };

    if (work_read(job->manager->settings.db, &job->base, receiver_body, &event, err) < 0)
        return -1;
    *ret = compute->send(compute, job->arena, &event, answer);
    return 0;
}

/* ---- the news that a disk has grown already ---- */

static const char *instance_of(struct job *job) {
    struct error ignored;
    const char *text = job->operation.arguments ? job->operation.arguments : "{}";
    const json_t *arguments = json_parse(job->arena, text, strlen(text), &ignored);

    return json_string_value(json_object_get(arguments, "instance_uuid"));
}

int job_notify(struct job *job, struct error *err) {
    const char *instance_uuid = instance_of(job);
    enum event_verdict verdict = EVENT_ACCEPTED;
    struct error answer = { 0 };

    if (!job->has_volume || !instance_uuid)
        return job_end(job, err);
    if (event_send(job, instance_uuid, false, &verdict, &answer, err) < 0)
        return -1;
    if (verdict != EVENT_REFUSED)
        return job_end(job, err);
    if (job->operation.attempts < NOTIFY_ATTEMPTS)
        return job_retry(job, NOTIFY_PAUSE_US, err);
    log_warning(&job->context.log, "an instance did not hear that its disk has grown", "volume_id",
                job->volume.id, "instance_uuid", instance_uuid, "reason", answer.message, NULL);
    return job_end(job, err);
}
