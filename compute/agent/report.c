#include "compute/agent/report.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

/* Used only by its own work item, which never runs twice at a time. */
struct reporter {
    struct reporter_settings settings;
    struct work_item item;
    bool resumed;      /* the extending volumes were queried since the last outage */
    bool out_of_reach; /* the outage is logged */
    unsigned failures; /* in a row */
};

static bool is_resumable(const struct reporter *reporter, const struct remote_volume *volume,
                         const char **ret_instance) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct remote_attachment *attachment = &volume->attachments[i];

        if (attachment->host && strcmp(attachment->host, reporter->settings.host) == 0) {
            *ret_instance = attachment->instance_uuid;
            return volume->has_target && strcmp(volume->status, "extending") == 0;
        }
    }
    return false;
}

static int resume_volume(const struct reporter *reporter, const struct remote_volume *volume,
                         struct error *err) {
    char volume_id[UUID_SIZE], instance[UUID_SIZE];
    const char *instance_uuid = NULL;

    if (!is_resumable(reporter, volume, &instance_uuid) || !uuid_parse(volume->id, volume_id))
        return 0;
    if (instance_uuid && !uuid_parse(instance_uuid, instance))
        instance_uuid = NULL;
    log_info(NULL, "resuming an extend", "volume_id", volume_id, NULL);
    return jobs_resume(reporter->settings.jobs, volume_id, instance_uuid ? instance : NULL, err);
}

static int resume_page(const struct reporter *reporter, struct arena *arena, const char **marker,
                       struct error *err) {
    struct remote_volume *volumes;
    int count = volumes_extending(&reporter->settings.api, arena, *marker, &volumes, err);

    for (int i = 0; i < count; i++)
        if (resume_volume(reporter, &volumes[i], err) < 0)
            return -1;
    if (count > 0)
        *marker = volumes[count - 1].id;
    return count;
}

static int resume_extends(const struct reporter *reporter, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *marker = NULL;
    int count;

    do {
        const char *before = marker;

        count = resume_page(reporter, arena, &marker, err);
        if (count > 0 && before && strcmp(before, marker) == 0)
            return error_set(err, ERROR_BACKEND, "the list of extending volumes has no end");
    } while (count > 0);
    return count;
}

static int send_heartbeat(const struct reporter *reporter, struct error *err) {
    const struct reporter_settings *settings = &reporter->settings;
    autoarena struct arena *arena = arena_new();

    return volumes_report(&settings->api, arena, settings->host, settings->endpoint, err);
}

/* -1 when the round has to be repeated soon. */
static int report_round(struct reporter *reporter, struct error *err) {
    struct error failure = { 0 };
    int reported = send_heartbeat(reporter, &failure);

    if (reported < 0 && failure.kind == ERROR_UNAVAILABLE)
        reporter->resumed = false;
    else if (!reporter->resumed && resume_extends(reporter, err) == 0)
        reporter->resumed = true;
    else if (!reporter->resumed)
        return -1;
    if (reported < 0)
        *err = failure;
    return reported;
}

static void log_outage(struct reporter *reporter, int result, const struct error *err) {
    const char *url = reporter->settings.api.url ? reporter->settings.api.url : "of the catalog";

    if (result < 0 && !reporter->out_of_reach)
        log_warning(NULL, "the volume API does not accept this host's reports", "url", url,
                    "reason", err->message, NULL);
    if (result == 0 && reporter->out_of_reach)
        log_info(NULL, "the volume API accepts this host's reports again", "url", url, NULL);
    reporter->out_of_reach = result < 0;
}

static int64_t pause_before_next(const struct reporter *reporter) {
    const struct reporter_settings *settings = &reporter->settings;
    const struct backoff_limits pauses = { .first_us = settings->retry_ms * 1000,
                                           .most_us = settings->heartbeat_ms * 1000,
                                           .jitter_percent = BACKOFF_JITTER };

    if (reporter->failures == 0)
        return settings->heartbeat_ms;
    return backoff_pause_us(&pauses, reporter->failures) / 1000;
}

static void run_report(void *arg) {
    struct reporter *reporter = arg;
    struct error err = { 0 };
    int result = report_round(reporter, &err);

    log_outage(reporter, result, &err);
    reporter->failures = result < 0 ? reporter->failures + 1 : 0;
    worker_pool_put_later(reporter->settings.pool, &reporter->item, pause_before_next(reporter));
}

struct reporter *reporter_new(const struct reporter_settings *settings) {
    struct reporter *reporter = heap_new(sizeof(*reporter));

    reporter->settings = *settings;
    reporter->item = (struct work_item){ .key = "report", .run = run_report, .arg = reporter };
    worker_pool_put(settings->pool, &reporter->item);
    return reporter;
}

void reporter_free(struct reporter *reporter) {
    free(reporter);
}
