#include "manager/jobs/event.h"

#include "common/assert.h"
#include "common/words.h"
#include "model/attachment/attachment.h"
#include "model/group/snapshot_part.h"
#include "model/volume/extend.h"
#include "model/volume/notify.h"
#include "operation/service.h"

#include <string.h>

#define NOTIFY_ATTEMPTS 5
#define NOTIFY_PAUSE_US 5000000

/* An instance has attachments on two hosts while it migrates. */
#define HOSTS_MOST 4

struct receivers {
    struct compute_event event;
    struct compute_assist *assist; /* of a snapshot being created; NULL: another request */
    const struct snapshot *snapshot;
    const char *hosts[HOSTS_MOST], *endpoints[HOSTS_MOST]; /* of registered agents */
    unsigned count;
};

/* The agent of an attachment's host, if there is one and it is new. */
static int add_receiver(struct work *work, const struct attachment *attachment,
                        struct receivers *receivers, struct error *err) {
    const char *host = attachment->attached_host;
    struct service service;
    int found;

    assert(receivers->count <= HOSTS_MOST);
    if (!host || receivers->count == HOSTS_MOST ||
        words_have(receivers->hosts, receivers->count, host))
        return 0;
    found = service_find(work, SERVICE_COMPUTE, host, &service, err);
    if (found <= 0 || !service.up || service.disabled || !service.endpoint)
        return found < 0 ? -1 : 0;
    receivers->hosts[receivers->count] = host;
    receivers->endpoints[receivers->count++] = service.endpoint;
    return 0;
}

/* The connected attachment comes first. */
static int add_receivers(struct work *work, const struct volume *volume, bool attached,
                         struct receivers *receivers, struct error *err) {
    struct compute_event *event = &receivers->event;

    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];

        if (!attachment->instance_uuid ||
            strcmp(attachment->instance_uuid, event->instance_uuid) != 0 ||
            (strcmp(attachment->attach_status, "attached") == 0) != attached)
            continue;
        if (!event->host)
            event->host = attachment->attached_host;
        if (add_receiver(work, attachment, receivers, err) < 0)
            return -1;
    }
    return 0;
}

static int receivers_body(struct work *work, void *arg, struct error *err) {
    struct receivers *receivers = arg;
    struct volume volume;

    receivers->event.host = receivers->event.endpoint = NULL;
    receivers->count = 0;
    if (receivers->assist) {
        int count =
            group_snapshot_together(work, receivers->snapshot, &receivers->assist->together, err);

        if (count < 0)
            return -1;
        receivers->assist->together_count = (unsigned)count;
    }
    if (volume_details(work, receivers->event.volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (add_receivers(work, &volume, true, receivers, err) < 0)
        return -1;
    return add_receivers(work, &volume, false, receivers, err);
}

/* While the instance migrates both hosts get the event, as with a compute service: only the one
 * with the guest accepts it, and this service does not know which that is (X21). */
static enum event_verdict send_to_all(struct job *job, struct receivers *receivers,
                                      struct error *answer) {
    struct compute_sender *compute = job->manager->settings.compute;
    struct compute_event *event = &receivers->event;
    enum event_verdict best = EVENT_REFUSED;

    for (unsigned i = 0; i < receivers->count; i++) {
        struct error said = { 0 };
        enum event_verdict verdict;

        event->host = receivers->hosts[i];
        event->endpoint = receivers->endpoints[i];
        verdict = compute->send(compute, job->arena, event, &said);
        if (i == 0 || (best == EVENT_REFUSED && verdict == EVENT_UNKNOWN))
            *answer = said;
        if (best != EVENT_ACCEPTED && verdict != EVENT_REFUSED)
            best = verdict;
    }
    return best;
}

int event_send(struct job *job, const char *instance_uuid, bool completion, enum event_verdict *ret,
               struct error *answer, struct error *err) {
    struct compute_sender *compute = job->manager->settings.compute;
    struct receivers receivers = {
        .event = {
            .volume_id = job->volume.id,
            .instance_uuid = instance_uuid,
            .request_id = job->operation.request_id,
            .wants_completion = completion,
        },
    };

    if (job_read(job, receivers_body, &receivers, err) < 0)
        return -1;
    *ret = receivers.count > 0 ? send_to_all(job, &receivers, answer)
                               : compute->send(compute, job->arena, &receivers.event, answer);
    return 0;
}

int event_assist(struct job *job, const char *instance_uuid, struct compute_assist *assist,
                 enum event_verdict *ret, struct error *answer, struct error *err) {
    struct compute_sender *compute = job->manager->settings.compute;
    struct receivers receivers = {
        .event = { .volume_id = job->volume.id, .instance_uuid = instance_uuid },
        .assist = assist->new_file ? assist : NULL,
        .snapshot = &job->snapshot,
    };

    if (job_read(job, receivers_body, &receivers, err) < 0)
        return -1;
    *ret = EVENT_REFUSED;
    if (assist->together_count > 0 && !compute_assists_again(compute)) {
        error_set(answer, ERROR_BAD_REQUEST, "a compute service takes one volume at a time");
        return 0;
    }
    assist->volume_id = job->volume.id;
    assist->snapshot_id = job->snapshot.id;
    assist->request_id = job->operation.request_id;
    assist->host = receivers.event.host;
    assist->endpoint = receivers.count > 0 ? receivers.endpoints[0] : NULL;
    *ret = compute->assist(compute, job->arena, assist, answer);
    return 0;
}

int event_trim(struct job *job, const char *instance_uuid, bool again, enum event_verdict *ret,
               struct error *answer, struct error *err) {
    struct compute_sender *compute = job->manager->settings.compute;
    struct receivers receivers = {
        .event = { .volume_id = job->volume.id, .instance_uuid = instance_uuid },
    };
    struct compute_trim trim = {
        .id = job->operation.id,
        .volume_id = job->volume.id,
        .instance_uuid = instance_uuid,
        .request_id = job->operation.request_id,
        .again = again,
    };

    if (job_read(job, receivers_body, &receivers, err) < 0)
        return -1;
    trim.host = receivers.event.host;
    trim.endpoint = receivers.count > 0 ? receivers.endpoints[0] : NULL;
    *ret = compute->trim(compute, job->arena, &trim, answer);
    return 0;
}

bool event_is_certain(enum event_verdict verdict, const struct error *answer) {
    return verdict == EVENT_REFUSED && answer->kind == ERROR_BAD_REQUEST;
}

/* ---- events that nothing waits for ---- */

static int end_notify(struct job *job, const struct notification_event *event, bool delivered,
                      const char *failure, const struct error *answer, struct error *err) {
    if (!delivered && job_may_try(job, job->operation.attempts, NOTIFY_ATTEMPTS, NOTIFY_PAUSE_US))
        return job_retry(job, NOTIFY_PAUSE_US, err);
    if (!delivered)
        log_warning(&job->context.log, failure, "volume_id", job->volume.id, "instance_uuid",
                    event->instance_uuid, "reason", answer->message, NULL);
    return job_end(job, err);
}

/* A disk has grown, or will, where the guest has migrated meanwhile. */
int job_notify(struct job *job, struct error *err) {
    enum event_verdict verdict;
    struct notification_event event;
    struct error answer = { 0 };

    if (!job->has_volume || !volume_notify_event(job->arena, &job->operation, &event))
        return job_end(job, err);
    if (event_send(job, event.instance_uuid, volume_extend_pending(&job->volume), &verdict, &answer,
                   err) < 0)
        return -1;
    return end_notify(job, &event, verdict != EVENT_REFUSED,
                      "resize event not delivered to an instance", &answer, err);
}

/* The compute service alone waits for a new content, and its hosts have no part in it. */
int job_notify_reimaged(struct job *job, struct error *err) {
    struct compute_sender *compute = job->manager->settings.compute;
    struct compute_event sent = { .volume_id = job->volume.id,
                                  .request_id = job->operation.request_id,
                                  .name = "volume-reimaged" };
    struct notification_event event;
    struct error answer = { 0 };
    enum event_verdict verdict;

    if (!job->has_volume || !volume_notify_event(job->arena, &job->operation, &event))
        return job_end(job, err);
    sent.instance_uuid = event.instance_uuid;
    sent.failed = event.failed;
    verdict = compute->send(compute, job->arena, &sent, &answer);
    return end_notify(job, &event, verdict == EVENT_ACCEPTED, "event not delivered to an instance",
                      &answer, err);
}
