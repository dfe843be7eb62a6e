/*
 * resync DATABASE CONFIGS: declares so many volumes of three replicas in a database that is made
 * for it (sqlite:///absolute/path), has them bound, and prints the processor's time of a look at
 * all of them that finds nothing to do.
 */
#include "common/cleanup.h"
#include "declared/controller.h"
#include "declared/document_edit.h"
#include "declared/document_own.h"
#include "declared/replica_pool.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RESYNC_S 30
#define AT_ONCE  100 /* configs in a transaction */

static int64_t ahead_us;

static int64_t now_us(void *arg) {
    (void)arg;
    return clock_now_us(&clock_system);
}

static int64_t steady_us(void *arg) {
    (void)arg;
    return clock_steady_us(&clock_system) + ahead_us;
}

static void random_bytes(void *arg, void *bytes, size_t size) {
    clock_system.random(arg, bytes, size);
}

static const struct clock bench_clock = { now_us, steady_us, now_us, random_bytes, NULL };
static const struct settings settings = {
    .clock = &bench_clock,
    .replica_pool_down_s = 3600,
    .quota_volumes = -1,
    .quota_gigabytes = -1,
    .per_volume_size_limit = -1,
};
static const struct context caller = { .request_id = "-", .project_id = "bench" };

static _Noreturn void fail(const struct error *err) {
    fprintf(stderr, "resync: %s\n", err->message);
    exit(EXIT_FAILURE);
}

static void change(struct db *db, work_body *body, void *arg) {
    autoarena struct arena *arena = arena_new();
    const struct work base = { .arena = arena, .context = &caller, .settings = &settings };
    struct error err;

    if (work_transaction(db, &base, body, arg, &err) < 0)
        fail(&err);
}

static int pools_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    for (char letter = 'a'; letter < 'f'; letter++) {
        const char *name = arena_format(work->arena, "%c", letter);
        struct replica_pool pool, reported = { .id = name,
                                               .node = name,
                                               .path = "/pool",
                                               .labels = json_keep(work->arena, json_object()),
                                               .total_bytes = INT64_C(1) << 40,
                                               .free_bytes = INT64_C(1) << 40,
                                               .state = "Online" };

        if (replica_pool_report(work, &reported, &pool, err) < 0)
            return -1;
    }
    return 0;
}

static int declare_body(struct work *work, void *arg, struct error *err) {
    unsigned first = *(unsigned *)arg;

    for (unsigned i = first; i < first + AT_ONCE; i++) {
        json_t *given = json_keep(
            work->arena, json_pack("{s:{s:s}, s:{s:{s:s}, s:{s:i}}}", "metadata", "name",
                                   arena_format(work->arena, "volume-%u", i), "spec", "capacity",
                                   "storage", "10Gi", "provision", "replicaCount", 3));
        struct document made;

        if (document_create(work, &kind_volume_config, given, false, &made, err) < 0)
            return -1;
    }
    return 0;
}

/* The reports that their nodes would send. */
static int made_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return db_change(work->tx, err,
                     "UPDATE documents SET status = '{\"phase\":\"Healthy\"}' "
                     "WHERE kind = 'CStorVolumeReplica'");
}

static void look_at_all(struct controller *controller) {
    ahead_us += (RESYNC_S + 1) * SECOND_US;
    while (controller_tick(controller) == 0)
        ;
}

static double processor_s(void) {
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct db *fill(const char *url, unsigned count) {
    const struct db_settings database = { .url = url, .inline_writes = true };
    struct error err;
    struct db *db;

    if (db_open(&database, &db, &err) < 0)
        fail(&err);
    change(db, pools_body, NULL);
    for (unsigned i = 0; i < count; i += AT_ONCE)
        change(db, declare_body, &i);
    return db;
}

int main(int argc, char **argv) {
    unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    struct controller_settings of = { .settings = &settings, .resync_s = RESYNC_S };
    struct controller *controller;
    double begin_s, first_s;

    if (count == 0) {
        fputs("resync DATABASE CONFIGS\n", stderr);
        return EXIT_FAILURE;
    }
    of.db = fill(argv[1], count);
    controller = controller_new(&of);
    begin_s = processor_s();
    look_at_all(controller);
    first_s = processor_s() - begin_s;
    change(of.db, made_body, NULL);
    look_at_all(controller);
    begin_s = processor_s();
    look_at_all(controller);
    printf("%u configs: %.2f s for all of theirs, %.2f s for a look at all that finds nothing\n",
           count, first_s, processor_s() - begin_s);
    controller_free(controller);
    db_close(of.db);
    return 0;
}
