#include "replication/node/replicas.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/quantity.h"
#include "replication/engine/write_log.h"
#include "replication/node/reclaim.h"
#include "replication/node/replica_snapshots.h"
#include "replication/node/sessions.h"
#include "replication/node/snapshot_copier.h"
#include "json/json.h"

#include <string.h>
#include <sys/queue.h>

#define COPY_MS 100  /* during a copy or a reclaim */
#define SOON_MS 1000 /* between two checks of an unhealthy replica */
#define SCRAP   4096 /* most bytes allocated for a file without data */

struct file {
    LIST_ENTRY(file) next;
    struct assignment *assignment;
    bool named;   /* by the last assignments */
    bool created; /* existed before, according to its document or its file */
    const char *phase;
    json_t *snapshots;      /* their status; NULL: unknown */
    bool copying;           /* a copy to it is running */
    bool waits;             /* a snapshot is not as assigned */
    struct reclaim reclaim; /* assigned reclaim */
    bool reclaiming;        /* the reclaim is not finished */
    int64_t due_us;
};

struct replicas {
    struct replicas_settings settings;
    LIST_HEAD(file_list, file) files;
    struct snapshot_copier *copier;
    struct reclaim_jobs *jobs;
    unsigned unknown; /* number of unknown directories that was logged */
};

/* ---- reports ---- */

static const char *status_text(struct arena *arena, const struct replicas *replicas,
                               const struct file *file, const struct replica_probe *probe,
                               const char *message, bool counters) {
    const char *uid = file->assignment->uid;
    struct snapshot_copy_progress copy;
    json_t *copying =
        snapshot_copier_progress(replicas->copier, uid, &copy)
            ? json_pack("{s:s, s:b, s:I, s:I}", "snapshotId", copy.snapshot, "clone", copy.is_clone,
                        "doneBytes", (json_int_t)(counters ? copy.done_bytes : 0), "totalBytes",
                        (json_int_t)(counters ? copy.total_bytes : 0))
            : NULL;
    json_t *capacity = probe ? json_pack("{s:s, s:s}", "used",
                                         quantity_text(arena, counters ? probe->used_bytes : 0),
                                         "total", quantity_text(arena, probe->bytes))
                             : NULL;
    json_t *status = json_pack(
        "{s:s, s:o, s:I, s:o*, s:o*, s:o*, s:O*}", "phase", file->phase, "message",
        assignment_message(message), "observedGeneration", (json_int_t)file->assignment->generation,
        "reclaim", reclaim_json(&file->reclaim, replicas->jobs, file->assignment, counters),
        "copying", copying, "capacity", capacity, "snapshots", file->snapshots);

    return json_text(arena, json_keep(arena, status));
}

static void report(struct replicas *replicas, struct file *file, const char *phase,
                   const struct replica_probe *probe, const struct error *why) {
    autoarena struct arena *arena = arena_new();
    const char *message = why ? why->message : "";

    assert(phase);
    if (why && (!file->phase || strcmp(file->phase, phase) != 0))
        log_warning(NULL, "replica unhealthy", "replica_id", file->assignment->uid, "pool",
                    replicas->settings.pool, "phase", phase, "reason", message, NULL);
    file->phase = phase;
    reports_put(replicas->settings.reports, ASSIGNMENT_REPLICA, file->assignment->uid,
                status_text(arena, replicas, file, probe, message, true),
                status_text(arena, replicas, file, probe, message, false),
                file->reclaiming || file->copying);
}

/* ---- work ---- */

static struct replica replica_of(const struct replicas *replicas, const struct file *file) {
    return (struct replica){ .pool = replicas->settings.path, .uid = file->assignment->uid };
}

/* On this node its pool is where its document has it. */
static bool is_in_path(const struct replicas *replicas, const struct file *file) {
    return strcmp(file->assignment->replica.path, replicas->settings.path) == 0;
}

static bool is_same_pool(const struct replicas *replicas, const struct pool_status *before) {
    struct pool_status now;

    pool_status_read(replicas->settings.path, replicas->settings.pool, &now);
    return pool_is_marked(&now) && now.device == before->device && now.inode == before->inode;
}

/* Ends writes of other nodes, and their waits for an unresponsive pool. */
static int end_session(const struct replicas *replicas, const struct file *file,
                       struct error *err) {
    struct sessions *sessions = replicas->settings.sessions;

    return sessions ? sessions_end(sessions, file->assignment->uid, INT64_MAX, err) : 0;
}

static void remove_file(struct replicas *replicas, struct file *file,
                        const struct pool_status *pool) {
    const struct replica replica = replica_of(replicas, file);
    const char *run_directory = replicas->settings.run_directory;
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };

    assert(file->assignment->deleting); /* its data are lost */
    assert(pool_is_marked(pool) && is_in_path(replicas, file));
    snapshot_copier_stop(replicas->copier, file->assignment->uid, NULL);
    reclaim_jobs_stop(replicas->jobs, file->assignment->uid);
    if (end_session(replicas, file, &err) == 0 && replica_delete(&replica, &err) == 0 &&
        !is_same_pool(replicas, pool))
        error_set(&err, ERROR_UNAVAILABLE, "%s was replaced meanwhile", replicas->settings.path);
    if (err.kind != ERROR_NONE) {
        report(replicas, file, "DeletionFailed", NULL, &err);
        return;
    }
    if (run_directory)
        write_log_remove(write_log_directory(arena, arena_join(arena, run_directory, "/", NULL)),
                         file->assignment->uid);
    file->phase = "Deleted";
    log_info(NULL, "replica removed", "replica_id", file->assignment->uid, "volume_id",
             file->assignment->replica.volume, "pool", replicas->settings.pool, NULL);
    reports_put_last(replicas->settings.reports, ASSIGNMENT_REPLICA, file->assignment->uid,
                     status_text(arena, replicas, file, NULL, "", false));
}

/* 0: complete; 1: initial data of a clone, the snapshot of its source in this pool, are being
 * copied; -1. */
static int make_file(struct replicas *replicas, struct file *file, struct error *err) {
    const struct assignment_replica *assigned = &file->assignment->replica;
    const struct replica replica = replica_of(replicas, file);
    struct generation first;
    const struct copy copy = {
        .source = { .pool = replicas->settings.path, .uid = assigned->source },
        .snapshot = assigned->source_snapshot,
        .target = replica,
        .volume = assigned->volume,
        .maximum_bytes = assigned->maximum_bytes,
        .first = &first,
    };
    int outcome;

    assert(assigned->count <= REPLICAS_MOST && is_in_path(replicas, file));
    if (file->created || assigned->count == 0)
        return replica_create(&replica, assigned->volume, assigned->maximum_bytes, NULL, err);
    generation_first(assigned->volume, assigned->size_bytes, assigned->members, assigned->count,
                     &first);
    if (!assigned->source)
        return replica_create(&replica, assigned->volume, assigned->maximum_bytes, &first, err);
    outcome = snapshot_copier_run(replicas->copier, &copy, err);
    file->copying = outcome > 0;
    return outcome;
}

static const char *phase_of(const struct replica_probe *probe) {
    switch (probe->health) {
    case REPLICA_GONE:
        return "Recreate";
    case REPLICA_DAMAGED:
        return "Error";
    case REPLICA_FAILING:
        return "Offline";
    default:
        break;
    }
    if (probe->state.mark == REPLICA_EMPTY)
        return probe->held ? "Rebuilding" : "Recreate";
    return probe->health == REPLICA_READ_ONLY ? "Degraded" : "Healthy";
}

/* Of a clone whose copy did not finish: its data are incomplete. */
static bool is_half_made(const struct file *file) {
    return file->assignment->replica.source && !file->created;
}

static void reconcile_file(struct replicas *replicas, struct file *file) {
    const struct replica replica = replica_of(replicas, file);
    const char *volume = file->assignment->replica.volume;
    struct replica_probe probe;
    struct error err = { 0 };

    assert(!file->assignment->deleting && is_in_path(replicas, file));
    /* The files of a finished copy look complete before its thread has ended. */
    if (is_half_made(file) && snapshot_copier_clones(replicas->copier, file->assignment->uid)) {
        file->copying = true;
        report(replicas, file, "Init", NULL, NULL);
        return;
    }
    replica_probe(&replica, volume, &probe);
    /* Data without a state may be the last copy; only a rebuild, which has others, discards
     * them. */
    if (probe.health == REPLICA_GONE && probe.used_bytes > SCRAP && !is_half_made(file)) {
        file->created = true;
        report(replicas, file, "Error", &probe, &probe.why);
        return;
    }
    if (probe.health == REPLICA_GONE && make_file(replicas, file, &err) == 0)
        replica_probe(&replica, volume, &probe);
    if (err.kind == ERROR_NONE && probe.health != REPLICA_GOOD)
        err = probe.why;
    if (probe.health == REPLICA_GONE && !file->created) {
        report(replicas, file, "Init", NULL, file->copying ? NULL : &err);
        return;
    }
    file->created = true;
    report(replicas, file, phase_of(&probe), probe.bytes > 0 ? &probe : NULL,
           err.kind == ERROR_NONE ? NULL : &err);
}

/* ---- snapshots ---- */

static void forget_snapshots(struct file *file) {
    json_decref(file->snapshots);
    file->snapshots = NULL;
    file->copying = file->waits = false;
}

/* Reports nothing of a pool that was replaced meanwhile. */
static void reconcile_snapshots(struct replicas *replicas, struct file *file,
                                const struct pool_status *pool) {
    const struct replica replica = replica_of(replicas, file);
    struct replica_snapshots_status seen;

    assert(!file->assignment->deleting && is_in_path(replicas, file));
    if (file->assignment->replica.snapshot_count == 0)
        return;
    replica_snapshots_reconcile(replicas->copier, &replica, file->assignment, &seen);
    file->snapshots = seen.list;
    file->copying = seen.copying;
    file->waits = seen.waits;
    if (!is_same_pool(replicas, pool))
        forget_snapshots(file);
}

/* ---- reclaim ---- */

static void reconcile_reclaim(struct replicas *replicas, struct file *file) {
    const struct replica replica = replica_of(replicas, file);

    assert(!file->assignment->deleting && is_in_path(replicas, file));
    file->reclaiming = reclaim_reconcile(&file->reclaim, replicas->jobs, &replica, file->assignment,
                                         file->created);
}

static bool is_healthy(const struct file *file) {
    return strcmp(file->phase, "Deleted") == 0 ||
           (strcmp(file->phase, "Healthy") == 0 && !file->waits && !file->reclaiming);
}

static void reconcile_replica(struct replicas *replicas, struct file *file,
                              const struct pool_status *pool, bool accepted) {
    const char *away = file->created ? "Offline" : "Init";
    struct error err = pool->why, ended;
    int64_t pause_ms;
    bool here;

    if (pool_is_marked(pool) && !accepted)
        error_set(&err, ERROR_UNAVAILABLE,
                  "The volume API has not accepted the pool %s of this node.",
                  replicas->settings.pool);
    forget_snapshots(file);
    if (replicas->settings.sessions)
        sessions_trim_log(replicas->settings.sessions, file->assignment->uid);
    if (pool->hangs)
        (void)end_session(replicas, file, &ended);
    here = is_in_path(replicas, file);
    if (!here) {
        error_set(&err, ERROR_CONFLICT, "The pool %s is in %s on this node, not in %s.",
                  replicas->settings.pool, replicas->settings.path, file->assignment->replica.path);
        reclaim_jobs_cancel(replicas->jobs, file->assignment->uid);
    }
    if (!here || !pool_is_marked(pool) || !accepted)
        report(replicas, file, away, NULL, &err);
    else if (file->assignment->deleting)
        remove_file(replicas, file, pool);
    else {
        reconcile_snapshots(replicas, file, pool);
        reconcile_reclaim(replicas, file);
        reconcile_file(replicas, file);
    }
    pause_ms = is_healthy(file) ? replicas->settings.check_ms : SOON_MS;
    if (file->copying || reclaim_jobs_have(replicas->jobs, file->assignment->uid))
        pause_ms = COPY_MS;
    file->due_us = clock_monotonic_us() + pause_ms * 1000;
}

void replicas_check_soon(struct replicas *replicas) {
    struct file *file;

    LIST_FOREACH(file, &replicas->files, next) {
        file->due_us = 0;
    }
}

int64_t replicas_work(struct replicas *replicas, const struct pool_status *pool, bool accepted) {
    int64_t first_us = INT64_MAX;
    struct file *file;

    LIST_FOREACH(file, &replicas->files, next) {
        if (file->due_us <= clock_monotonic_us())
            reconcile_replica(replicas, file, pool, accepted);
        if (file->due_us < first_us)
            first_us = file->due_us;
    }
    return first_us;
}

/* ---- assignments ---- */

static struct file *file_find(const struct replicas *replicas, const char *uid) {
    struct file *file;

    LIST_FOREACH(file, &replicas->files, next) {
        if (strcmp(file->assignment->uid, uid) == 0)
            return file;
    }
    return NULL;
}

static void drop(const struct replicas *replicas, struct file *file) {
    assert(file->assignment);
    reclaim_jobs_cancel(replicas->jobs, file->assignment->uid);
    forget_snapshots(file);
    LIST_REMOVE(file, next);
    assignment_release(file->assignment);
    free(file);
}

/* Reports of this agent create new versions of documents, too; only a new generation is due at
 * once. */
static void take_assignment(struct replicas *replicas, struct assignment *assignment) {
    struct file *file = file_find(replicas, assignment->uid);

    assert(assignment->kind == ASSIGNMENT_REPLICA);
    if (!file) {
        file = heap_new(sizeof(*file));
        LIST_INSERT_HEAD(&replicas->files, file, next);
    } else if (file->assignment->generation != assignment->generation ||
               file->assignment->deleting != assignment->deleting) {
        file->due_us = 0;
    }
    assignment_hold(assignment);
    assignment_release(file->assignment);
    file->assignment = assignment;
    file->named = true;
    file->created |= assignment->replica.created;
    reports_differs(replicas->settings.reports, ASSIGNMENT_REPLICA, assignment->uid,
                    file->phase && (!assignment->replica.phase ||
                                    strcmp(file->phase, assignment->replica.phase) != 0));
}

void replicas_set(struct replicas *replicas, struct assignment *const *assignments,
                  unsigned count) {
    struct file *file, *next;

    LIST_FOREACH(file, &replicas->files, next) {
        file->named = false;
    }
    for (unsigned i = 0; i < count; i++)
        take_assignment(replicas, assignments[i]);
    for (file = LIST_FIRST(&replicas->files); file; file = next) {
        next = LIST_NEXT(file, next);
        if (!file->named)
            drop(replicas, file);
    }
}

void replicas_log_unknown(struct replicas *replicas) {
    autodirectory DIR *directory = opendir(replicas->settings.path);
    const struct dirent *entry;
    char uid[UUID_SIZE], last[UUID_SIZE] = "";
    unsigned count = 0;

    while (directory && (entry = readdir(directory))) {
        if (!uuid_parse(entry->d_name, uid) || file_find(replicas, entry->d_name))
            continue;
        strcpy(last, uid);
        count++;
    }
    if (count > replicas->unknown)
        log_warning(NULL, "unknown directories in the pool", "pool", replicas->settings.pool,
                    "directories", LOG_INT(count), "one", last, NULL);
    replicas->unknown = count;
}

void replicas_end(struct replicas *replicas) {
    snapshot_copier_end(replicas->copier);
    reclaim_jobs_end(replicas->jobs);
}

struct replicas *replicas_new(const struct replicas_settings *settings) {
    struct replicas *replicas = heap_new(sizeof(*replicas));

    replicas->settings = *settings;
    replicas->copier = snapshot_copier_new();
    replicas->jobs = reclaim_jobs_new();
    LIST_INIT(&replicas->files);
    return replicas;
}

void replicas_free(struct replicas *replicas) {
    while (!LIST_EMPTY(&replicas->files))
        drop(replicas, LIST_FIRST(&replicas->files));
    snapshot_copier_free(replicas->copier);
    reclaim_jobs_free(replicas->jobs);
    free(replicas);
}
