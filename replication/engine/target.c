#include "replication/engine/target.private.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "replication/engine/daemon.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_TIMEOUT_MS 10000
#define DEFAULT_PROGRAM    "qemu-storage-daemon"
#define SECTOR             512

/* ---- open and close ---- */

static int check_settings(const struct target_settings *settings, struct error *err) {
    if (settings->count == 0 || settings->count > MEMBERS_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "A target has 1 to %u replicas, not %u.",
                         MEMBERS_MOST, settings->count);
    if (settings->size_bytes <= 0 || settings->size_bytes % SECTOR != 0 ||
        settings->size_bytes > settings->maximum_bytes ||
        settings->maximum_bytes > VOLUME_BYTES_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The size of a volume is a multiple of 512 and at most its maximum, which "
                         "is at most 2^60.");
    if (settings->recovery < 0 || settings->recovery > RECOVERIES_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "A volume is force-recovered at most %jd times.",
                         (intmax_t)RECOVERIES_MOST);
    if (!uuid_is_canonical(settings->volume))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid volume ID %.64s.", settings->volume);
    for (unsigned i = 0; i < settings->count; i++) {
        const struct replica *replica = &settings->replicas[i];

        if (replica->pool[0] != '/' || !uuid_is_canonical(replica->uid))
            return error_set(err, ERROR_BAD_REQUEST, "Invalid replica %.64s in %.200s.",
                             replica->uid, replica->pool);
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(replica->uid, settings->replicas[j].uid) == 0)
                return error_set(err, ERROR_BAD_REQUEST, "The replica %s is named twice.",
                                 replica->uid);
        }
    }
    return 0;
}

static struct target *new_target(const struct target_settings *settings) {
    struct target *target = heap_new(sizeof(*target));

    target->arena = arena_new();
    target->run = arena_text(target->arena, settings->run);
    target->program =
        arena_text(target->arena, settings->program ? settings->program : DEFAULT_PROGRAM);
    snprintf(target->volume, UUID_SIZE, "%s", settings->volume);
    target->epoch = settings->epoch;
    if (settings->tls_directory)
        target->tls_directory = arena_text(target->arena, settings->tls_directory);
    target->size_bytes = settings->size_bytes;
    target->maximum_bytes = settings->maximum_bytes;
    target->timeout_ms = settings->timeout_ms > 0 ? settings->timeout_ms : DEFAULT_TIMEOUT_MS;
    target->silence_ms =
        settings->silence_ms > 0 ? settings->silence_ms : target->timeout_ms * 3 / 4;
    target->recovery = settings->recovery;
    snprintf(target->recover_from, UUID_SIZE, "%s",
             settings->recover_from ? settings->recover_from : "");
    target->dry_run = settings->dry_run;
    target->local = settings->local ? settings->local : &replica_local;
    target->qos = settings->qos;
    target->export = settings->export;
    target->sealed = settings->sealed;
    target->lock = -1;
    for (unsigned i = 0; i < settings->count; i++)
        member_add(target, &settings->replicas[i]);
    return target;
}

int target_open(const struct target_settings *settings, struct target **ret, struct error *err) {
    struct error reason;
    struct target *target;

    if (check_settings(settings, err) < 0)
        return -1;
    target = new_target(settings);
    if (daemon_lock(target->run, &target->lock, err) < 0) {
        target_close(target);
        return -1;
    }
    if (daemon_runs(target->run) && target_adopt(target, &reason) < 0) {
        log_warning(NULL, "incomplete storage daemon ended", "volume_id", target->volume, "reason",
                    reason.message, NULL);
        if (target_kill(target, err) < 0) {
            target_close(target);
            return -1;
        }
    }
    *ret = target;
    return 0;
}

void target_close(struct target *target) {
    if (!target)
        return;
    qmp_close(target->qmp);
    file_forget(target);
    target_unlock_replicas(target);
    cleanup_close(&target->lock);
    arena_free(target->arena);
    free(target);
}

/* ---- settings ---- */

void target_clear(struct target *target) {
    struct error ignored;

    if (!target_serves(target) && file_stop(target, &ignored) == 0)
        daemon_clear(target->run);
}

int target_resize(struct target *target, int64_t size_bytes, struct error *err) {
    if (size_bytes < target->size_bytes)
        return error_set(err, ERROR_BAD_REQUEST, "A volume does not shrink.");
    if (size_bytes > target->maximum_bytes || size_bytes % SECTOR != 0)
        return error_set(err, ERROR_BAD_REQUEST, "The volume grows to at most %jd bytes.",
                         (intmax_t)target->maximum_bytes);
    if (size_bytes == target->size_bytes && target_serves(target))
        return file_reconcile(target, err);
    /* Files that are too short for the new size would leave too few voters. */
    TARGET_FOREACH(member, target) {
        if (!member_votes(member) || !target_serves(target))
            continue;
        member_probe(target, member);
        if (member_check_probe(member, err) < 0)
            return -1;
        if (member_is_short(member, size_bytes))
            return error_set(err, ERROR_CONFLICT, "The replica %s in %s has space for %jd bytes.",
                             member->replica.uid, member->replica.pool,
                             (intmax_t)member->probe.bytes);
    }
    if (target_serves(target) && target_stop_serving(target, err) < 0)
        return -1;
    target->size_bytes = size_bytes;
    return target_start(target, err);
}

int target_set_export(struct target *target, enum target_export export, struct error *err) {
    target->export = export;
    return target_serves(target) ? file_reconcile(target, err) : 0;
}

int target_set_qos(struct target *target, const struct target_qos *qos, struct error *err) {
    target->qos = *qos;
    return target_serves(target) ? graph_set_qos(target, err) : 0;
}
