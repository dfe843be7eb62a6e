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
    unsigned failures; /* in a row; the first is logged */
};

static int resume_volume(const struct reporter *reporter, const struct remote_volume *volume,
                         struct error *err) {
    const struct remote_attachment *own = NULL;
    char volume_id[UUID_SIZE], instance[UUID_SIZE];

    for (unsigned i = 0; i < volume->attachment_count && !own; i++)
        if (volume->attachments[i].host &&
            strcmp(volume->attachments[i].host, reporter->settings.host) == 0)
            own = &volume->attachments[i];
    if (!own || !volume->has_target || strcmp(volume->status, "extending") != 0 ||
        !uuid_parse(volume->id, volume_id))
        return 0;
    log_info(NULL, "resuming an extend", "volume_id", volume_id, NULL);
    return jobs_resume(
        reporter->settings.jobs, volume_id,
        own->instance_uuid && uuid_parse(own->instance_uuid, instance) ? instance : NULL, err);
}

static int resume_extends(const struct reporter *reporter, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *before, *marker = NULL;
    struct remote_volume *volumes;
    int count;

    do {
        before = marker;
        count = volumes_extending(&reporter->settings.api, arena, before, &volumes, err);
        for (int i = 0; i < count; i++)
            if (resume_volume(reporter, &volumes[i], err) < 0)
                return -1;
        if (count > 0)
            marker = volumes[count - 1].id;
        if (count > 0 && before && strcmp(before, marker) == 0)
            return error_set(err, ERROR_BACKEND, "the list of extending volumes has no end");
    } while (count > 0);
    return count;
}

/* -1 when the round has to be repeated soon. */
static int report_round(struct reporter *reporter, struct error *err) {
    const struct reporter_settings *settings = &reporter->settings;
    autoarena struct arena *arena = arena_new();
    struct error failure = { 0 };
    int reported =
        volumes_report(&settings->api, arena, settings->host, settings->endpoint, &failure);

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

static void run_report(void *arg) {
    struct reporter *reporter = arg;
    const struct reporter_settings *settings = &reporter->settings;
    const struct backoff_limits pauses = { .first_us = settings->retry_ms * 1000,
                                           .most_us = settings->heartbeat_ms * 1000,
                                           .jitter_percent = BACKOFF_JITTER };
    const char *url = settings->api.url ? settings->api.url : "of the catalog";
    int64_t pause_ms = settings->heartbeat_ms;
    struct error err = { 0 };
    int result = report_round(reporter, &err);

    if (result < 0 && reporter->failures == 0)
        log_warning(NULL, "the volume API does not accept this host's reports", "url", url,
                    "reason", err.message, NULL);
    if (result == 0 && reporter->failures > 0)
        log_info(NULL, "the volume API accepts this host's reports again", "url", url, NULL);
    reporter->failures = result < 0 ? reporter->failures + 1 : 0;
    if (reporter->failures > 0)
        pause_ms = backoff_pause_us(&pauses, reporter->failures) / 1000;
    worker_pool_put_later(settings->pool, &reporter->item, pause_ms);
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
