/*
 * Common to tests of the storage agent: a temporary directory with pools, an API that answers by a
 * script, and documents.
 */
#pragma once

#include "client/volumes.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "replication/node/reports.h"
#include "tests/lib/check_main.h"
#include "tests/lib/reasons.h"
#include "tests/lib/script_server.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE   "host-a"
#define VOLUME "00000000-0000-4000-8000-00000000f000"
#define SIZE   (INT64_C(64) << 20)
#define POOLS  3

static const char *const uids[POOLS] = {
    "00000000-0000-4000-8000-00000000000a",
    "00000000-0000-4000-8000-00000000000b",
    "00000000-0000-4000-8000-00000000000c",
};
static const char *const names[POOLS] = { "pool-a", "pool-b", "pool-c" };

static char top[64], paths[POOLS][96];
static struct arena *arena;
static struct script_server *server;
static struct client api;
static struct reports *reports;
static struct error err;

static inline void begin_storage(void) {
    begin_log("STORAGE_LOG");
    strcpy(top, "/tmp/test-storage-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    for (unsigned i = 0; i < POOLS; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", top, names[i]);
        ck_assert_int_eq(mkdir(paths[i], 0700), 0);
    }
    arena = arena_new();
    server = script_server_new();
    api = volumes_client(arena_join(arena, script_server_url(server), "/v3", NULL), NULL, NULL);
}

static inline void begin_reports(int64_t counters_ms) {
    const struct reports_settings settings = {
        .api = api, .node = NODE, .counters_ms = counters_ms, .running_ms = 10, .retry_ms = 10
    };

    reports = reports_new(&settings, &err);
    ck_assert_ptr_nonnull(reports);
}

static inline int remove_one(const char *path, const struct stat *facts, int kind,
                             struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static inline void end_storage(void) {
    reports_free(reports);
    reports = NULL;
    script_server_free(server);
    arena_free(arena);
    nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_reasons();
}

static inline void answer(const char *method, const char *path, int status, const char *body) {
    script_server_add(server, &(struct script_rule){
                                  .method = method, .path = path, .status = status, .body = body });
}

/* ---- documents ---- */

static inline json_t *metadata_of(const char *uid, int version) {
    return json_pack("{s:s, s:s, s:s, s:i}", "name", uid, "uid", uid, "resourceVersion",
                     arena_format(arena, "%d", version), "generation", version);
}

static inline json_t *replica_document(unsigned i, int version) {
    return json_keep(arena,
                     json_pack("{s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:[s, s, s]}}", "metadata",
                               metadata_of(uids[i], version), "spec", "volumeId", VOLUME,
                               "poolName", names[i], "nodeId", NODE, "path", paths[i], "capacity",
                               "64Mi", "maximum", "1Gi", "members", uids[0], uids[1], uids[2]));
}

static inline json_t *volume_document(const char *node, const char *capacity, int version) {
    json_t *replicas = json_array();

    for (unsigned i = 0; i < POOLS; i++)
        json_array_append_new(replicas,
                              json_pack("{s:s, s:s, s:s, s:s}", "uid", uids[i], "poolName",
                                        names[i], "nodeId", NODE, "path", paths[i]));
    return json_keep(arena, json_pack("{s:o, s:{s:s, s:s, s:s, s:i, s:o}}", "metadata",
                                      metadata_of(VOLUME, version), "spec", "capacity", capacity,
                                      "maximum", "1Gi", "nodeId", node, "replicationFactor", 3,
                                      "replicas", replicas));
}

static inline void set_phase(json_t *document, const char *phase) {
    json_object_set_new(document, "status", json_pack("{s:s}", "phase", phase));
}

static inline void set_deleting(json_t *document) {
    json_object_set_new(json_object_get(document, "metadata"), "deletionTimestamp",
                        json_string("2026-11-23T00:00:00Z"));
}

static inline struct assignment *assignment_of(enum assignment_kind kind, const json_t *document) {
    struct assignment *assignment = NULL;

    ck_assert_msg(assignment_read(kind, document, &assignment, &err) == 0, "%s", err.message);
    return assignment;
}

/* ---- reports ---- */

/* The last status that was sent for this document; NULL: none. */
static inline const json_t *reported(const char *uid) {
    const char *path = arena_join(arena, "/v3/*", NULL), *body = NULL;
    unsigned count = script_server_count(server, "PUT", path);

    for (unsigned i = 0; i < count; i++) {
        const struct script_request *request = script_server_request(server, "PUT", path, i);

        if (strstr(request->path, uid))
            body = request->body;
    }
    return body ? json_object_get(json_parse(arena, body, strlen(body), NULL), "status") : NULL;
}

static inline const char *reported_phase(const char *uid) {
    const char *phase = json_text_of(reported(uid), "phase");

    return phase ? phase : "";
}

static inline void await_phase(const char *uid, const char *phase) {
    int64_t until_us = clock_monotonic_us() + 60 * SECOND_US;

    while (strcmp(reported_phase(uid), phase) != 0) {
        ck_assert_msg(clock_monotonic_us() < until_us, "%s is %s, not %s", uid, reported_phase(uid),
                      phase);
        poll(NULL, 0, 5);
    }
}
