/*
 * Shared by the tests of targets: a volume of three replicas in three pools of a temporary
 * directory, and a checker that writes to it.
 */
#pragma once

#include "common/cleanup.h"
#include "replication/engine/daemon.h"
#include "replication/engine/target.h"
#include "tests/lib/check_main.h"
#include "tests/lib/checker.h"
#include "tests/lib/daemons.h"
#include "tests/lib/reasons.h"
#include "tests/lib/small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLUME   "00000000-0000-4000-8000-00000000f000"
#define BLOCKS   96
#define STRIDE   (INT64_C(512) << 10) /* a rebuild with a limit copies 16 MiB at first */
#define SIZE     (BLOCKS * STRIDE)
#define MAXIMUM  (INT64_C(1) << 32)
#define REPLICAS 3

/* Of a busy machine, which may also have been paused: a start is not repeated here, as a node's
 * controller repeats it. */
#define LIMIT_MS 60000

static const char *const uids[] = {
    "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b",
    "00000000-0000-4000-8000-00000000000c", "00000000-0000-4000-8000-00000000000d",
    "00000000-0000-4000-8000-00000000000e", "00000000-0000-4000-8000-00000000000f",
    "00000000-0000-4000-8000-000000000010", "00000000-0000-4000-8000-000000000011",
    "00000000-0000-4000-8000-000000000012",
};

static char top[] = "/tmp/test-target-XXXXXX";
static char run[64], pools[LENGTH(uids)][64];
static struct target_settings settings;
static struct target *target;
static struct target_status status;
static struct checker checker;
static struct error err;

static inline void assert_done(int outcome) {
    ck_assert_msg(outcome >= 0, "%s", err.message);
}

static inline void open_target(void) {
    assert_done(target_open(&settings, &target, &err));
}

/* The files of all replicas, with the first generation, of a new volume. */
static inline void create_replicas(void) {
    const char *names[MEMBERS_MOST];
    struct generation first;

    for (unsigned i = 0; i < settings.count; i++)
        names[i] = settings.replicas[i].uid;
    generation_first(settings.volume, settings.size_bytes, names, settings.count, &first);
    for (unsigned i = 0; i < settings.count; i++)
        assert_done(replica_create(&settings.replicas[i], settings.volume, settings.maximum_bytes,
                                   &first, &err));
}

static inline void begin(void) {
    begin_log("TARGET_LOG");
    strcpy(top, "/tmp/test-target-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(run, sizeof(run), "%s/run", top);
    settings = (struct target_settings){ .run = run,
                                         .volume = VOLUME,
                                         .size_bytes = SIZE,
                                         .maximum_bytes = MAXIMUM,
                                         .timeout_ms = LIMIT_MS,
                                         .silence_ms = 7500,
                                         .count = REPLICAS };
    for (unsigned i = 0; i < LENGTH(uids); i++) {
        snprintf(pools[i], sizeof(pools[i]), "%s/pool%u", top, i);
        ck_assert_int_eq(mkdir(pools[i], 0700), 0);
        if (i < REPLICAS)
            settings.replicas[i] = (struct replica){ .pool = pools[i], .uid = uids[i] };
    }
    checker_init(&checker, BLOCKS, STRIDE, 1);
    open_target();
    create_replicas();
}

static inline int remove_one(const char *path, const struct stat *facts, int kind,
                             struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

/* No daemon remains, whatever the outcome of the test. */
static inline void end(void) {
    target_close(target);
    target = NULL;
    daemon_kill(run, LIMIT_MS, &err);
    checker_free(&checker);
    umount2(pools[REPLICAS], MNT_DETACH); /* if a test has one there */
    nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_reasons();
}

static inline const char *file_of(unsigned i, const char *name) {
    static char text[1024];

    snprintf(text, sizeof(text), "%s/%s/%s", pools[i], uids[i], name);
    return text;
}

/* The last output of the daemon and of this program. */
static inline const char *last_output(void) {
    static char text[1024];
    char path[80];
    autofile FILE *file = NULL;
    size_t size;

    snprintf(path, sizeof(path), "%s/log", run);
    file = fopen(path, "r");
    size = file ? fread(text, 1, 512, file) : 0;
    snprintf(text + size, sizeof(text) - size, " %s; %s; %jd failures, state %d",
             daemon_runs(run) ? "runs" : "ended", err.message, (intmax_t)status.failures,
             status.state);
    return text;
}

static inline void watch(void) {
    (void)target_watch(target, &err);
    target_status(target, &status);
}

/* Starts; 1 if the replicas are to be resynchronized afterwards. */
static inline int start(void) {
    int outcome = target_start(target, &err);

    target_status(target, &status);
    return outcome < 0 ? -1 : status.resynchronizing;
}

static inline bool connect_checker(void) {
    char path[80];

    snprintf(path, sizeof(path), "%s/nbd", run);
    return checker_connect(&checker, path);
}

static inline void serve(void) {
    assert_done(start());
    ck_assert(connect_checker());
}

static inline void write_some(unsigned count) {
    ck_assert(checker_write(&checker, count));
}

static inline void read_all(void) {
    ck_assert(checker_read(&checker));
}

static inline void kill_daemon(void) {
    assert_done(daemon_kill(run, LIMIT_MS, &err));
}

static inline void stop(void) {
    checker_disconnect(&checker);
    assert_done(target_stop(target, &err));
}

/* A joining one may wait for the resynchronization: a read that overtook a write of a client, when
 * a copy failed, causes one. */
static inline void await_job(void) {
    do {
        poll(NULL, 0, 2);
        watch();
    } while (status.job == TARGET_REBUILD && status.state != TARGET_DOWN);
}

static inline void rebuild(unsigned i) {
    const struct replica replica = { .pool = pools[i], .uid = uids[i] };

    assert_done(target_rebuild(target, &replica, NULL, 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
}

static inline void repair(unsigned i) {
    assert_done(target_repair(target, status.replicas[i].replica.uid, 0, &err));
    do {
        poll(NULL, 0, 2);
        watch();
    } while (status.job == TARGET_REPAIR);
    ck_assert_msg(status.job == TARGET_REPAIRED, "%s", status.job_error.message);
}

/* Compares all, and repairs outvoted replicas, as a controller does: true if all is equal then. */
static inline bool resynchronize(void) {
    struct target_scrub scrub = { 0 };
    int outcome;

    do {
        outcome = target_scrub(target, &scrub, SIZE, &err);
        assert_done(outcome);
    } while (outcome > 0);
    watch();
    for (unsigned i = 0; i < status.count && scrub.undecided == 0; i++) {
        if (status.replicas[i].mismatches > 0)
            repair(i);
    }
    target_status(target, &status);
    return !status.resynchronizing;
}

/* After a resynchronization and a stop. A stop a moment after a replica was outvoted is unclean, as
 * the daemon may have had more to report; a start without such a report has a clean stop. */
static inline void start_clean(void) {
    if (start() == 0)
        return;
    ck_assert_msg(status.state == TARGET_SERVING, "%s", err.message);
    ck_assert(resynchronize());
    stop();
    ck_assert_int_eq(start(), 0);
}

static inline void assert_voters(unsigned count) {
    target_status(target, &status);
    ck_assert_uint_eq(status.voters, count);
}

/* From now on each query and each comparison has that limit, of a serving volume: more where this
 * machine is too slow for it. */
static inline void limit_queries(int64_t timeout_ms) {
    checker_disconnect(&checker);
    target_close(target);
    settings.timeout_ms = timeout_ms;
    open_target(); /* adopts the daemon */
    target_status(target, &status);
    while (status.state != TARGET_SERVING && settings.timeout_ms < LIMIT_MS) {
        target_close(target);
        settings.timeout_ms *= 2;
        open_target();
        start();
    }
    ck_assert_int_eq(status.state, TARGET_SERVING);
    ck_assert(connect_checker());
}

/* Its pool has no more space. */
static inline void fill(unsigned i) {
    static const char zeros[4096];
    char path[80];
    autoclose int fd = -1;

    snprintf(path, sizeof(path), "%s/filler", pools[i]);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, zeros, sizeof(zeros)) > 0)
        ;
    ck_assert_int_eq(errno, ENOSPC);
}

/* Overwrites a part of a block, behind the daemon's back. */
static inline void damage(unsigned i, unsigned block) {
    autoclose int fd = open(file_of(i, "data"), O_WRONLY);
    char junk[700];

    memset(junk, (int)('A' + i), sizeof(junk));
    ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), block * STRIDE + 100), sizeof(junk));
}

static inline void assert_equal(unsigned a, unsigned b) {
    autoclose int one = open(file_of(a, "data"), O_RDONLY);
    autoclose int two = open(file_of(b, "data"), O_RDONLY);
    static char first[STRIDE], second[STRIDE];

    for (int64_t at = 0; at < SIZE; at += STRIDE) {
        ck_assert_int_eq(pread(one, first, STRIDE, at), STRIDE);
        ck_assert_int_eq(pread(two, second, STRIDE, at), STRIDE);
        ck_assert_mem_eq(first, second, STRIDE);
    }
}
