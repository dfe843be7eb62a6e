#include "replication/node/targets.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/node/client_exports.h"
#include "replication/node/device_export.h"
#include "replication/node/manifest.h"
#include "json/json.h"

#include <string.h>
#include <sys/queue.h>

#define ENDED_MS 5000 /* most time for the thread of an ended controller */
#define SWEEP_MS 10000

struct entry {
    LIST_ENTRY(entry) next;
    struct volume_controller *controller;
};

/* Belongs to the thread of the informer. */
struct targets {
    struct volume_controller_settings settings;
    LIST_HEAD(entry_list, entry) entries;
};

static void target_begin(struct targets *targets, struct assignment *assignment) {
    struct entry *entry = heap_new(sizeof(*entry));
    struct error err;

    if (volume_controller_start(&targets->settings, assignment, &entry->controller, &err) == 0) {
        LIST_INSERT_HEAD(&targets->entries, entry, next);
        return;
    }
    log_error(NULL, "cannot start a volume controller", "volume_id", assignment->uid, "reason",
              err.message, NULL);
    free(entry);
}

static void reap(struct targets *targets) {
    struct entry *entry, *next;
    bool running; /* false for an ended one */

    for (entry = LIST_FIRST(&targets->entries); entry; entry = next) {
        next = LIST_NEXT(entry, next);
        if (!volume_controller_ended(entry->controller) ||
            !volume_controller_join(entry->controller, ENDED_MS, &running))
            continue;
        LIST_REMOVE(entry, next);
        free(entry);
    }
}

static bool is_assigned(const struct targets *targets, const struct assignment *assignment) {
    return !assignment->deleting && strcmp(assignment->volume.node, targets->settings.node) == 0;
}

/* Also for an assignment withdrawn before it was seen: the API waits for the report that the volume
 * is not here. */
static void take_assignment(struct targets *targets, struct assignment *assignment) {
    struct entry *entry;

    LIST_FOREACH(entry, &targets->entries, next) {
        if (strcmp(volume_controller_uid(entry->controller), assignment->uid) == 0)
            break;
    }
    if (entry && volume_controller_assign(entry->controller, assignment))
        return;
    if (entry)
        reap(targets);
    if (is_assigned(targets, assignment) ||
        volume_controller_finds(&targets->settings, assignment->uid))
        target_begin(targets, assignment);
    else if (assignment->volume.has_target || assignment->volume.observed < assignment->generation)
        volume_controller_report_none(&targets->settings, assignment);
}

static bool is_named(const char *uid, struct assignment *const *assignments, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(assignments[i]->uid, uid) == 0)
            return true;
    return false;
}

void targets_set(struct targets *targets, struct assignment *const *assignments, unsigned count) {
    struct entry *entry;

    reap(targets);
    for (unsigned i = 0; i < count; i++)
        take_assignment(targets, assignments[i]);
    LIST_FOREACH(entry, &targets->entries, next) {
        if (!is_named(volume_controller_uid(entry->controller), assignments, count))
            volume_controller_unlist(entry->controller);
    }
}

unsigned targets_count(const struct targets *targets) {
    const struct entry *entry;
    unsigned count = 0;

    LIST_FOREACH(entry, &targets->entries, next) {
        count++;
    }
    return count;
}

/* ---- adoption ---- */

static void adopt(struct targets *targets, const char *uid, const char *run) {
    autoarena struct arena *arena = arena_new();
    const char *manifest = manifest_read(arena, run);
    struct assignment *assignment = NULL;
    struct error err;

    if (!manifest ||
        assignment_read(ASSIGNMENT_VOLUME, json_parse(arena, manifest, strlen(manifest), &err),
                        &assignment, &err) < 0)
        return;
    if (strcmp(assignment->uid, uid) == 0 && is_assigned(targets, assignment))
        target_begin(targets, assignment);
    assignment_release(assignment);
}

const char **targets_local_volumes(struct targets *targets, struct arena *arena) {
    return manifest_uids(arena, targets->settings.run_directory, "");
}

void targets_adopt(struct targets *targets) {
    autoarena struct arena *arena = arena_new();
    struct error ignored;

    for (const char **uid = targets_local_volumes(targets, arena); *uid; uid++) {
        const char *run = arena_join(arena, targets->settings.run_directory, "/", *uid, NULL);

        if (daemon_runs(run)) {
            adopt(targets, *uid, run);
            continue;
        }
        /* Remains of a crash of the machine. */
        client_exports_end(run, SWEEP_MS, &ignored);
        manifest_remove(run);
        target_sweep(run);
        if (device_export_exists(*uid))
            device_export_end(*uid, &ignored);
    }
}

/* ---- begin and end ---- */

struct targets *targets_new(const struct volume_controller_settings *settings) {
    struct targets *targets = heap_new(sizeof(*targets));

    targets->settings = *settings;
    if (targets->settings.watch_ms <= 0)
        targets->settings.watch_ms = 1000;
    if (targets->settings.retry_ms <= 0)
        targets->settings.retry_ms = 1000;
    if (targets->settings.hang_ms <= 0)
        targets->settings.hang_ms = 6000;
    LIST_INIT(&targets->entries);
    return targets;
}

bool targets_stop(struct targets *targets, int64_t ms) {
    int64_t until_us = clock_monotonic_us() + ms * 1000;
    struct entry *entry, *next;
    bool all = true, any_running = false;

    if (!targets)
        return true;
    LIST_FOREACH(entry, &targets->entries, next) {
        volume_controller_end(entry->controller);
    }
    for (entry = LIST_FIRST(&targets->entries); entry; entry = next) {
        bool running;

        next = LIST_NEXT(entry, next);
        if (!volume_controller_join(entry->controller, (until_us - clock_monotonic_us()) / 1000,
                                    &running)) {
            all = false;
            continue;
        }
        any_running |= running;
        LIST_REMOVE(entry, next);
        free(entry);
    }
    if (all)
        free(targets);
    return all && !any_running;
}
