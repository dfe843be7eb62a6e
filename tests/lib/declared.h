/*
 * Common to tests of the controller: pools, configs as clients declare them, and reports of nodes.
 * All helpers assert that they worked.
 */
#pragma once

#include "common/cleanup.h"
#include "declared/condition.h"
#include "declared/document_edit.h"
#include "declared/document_own.h"
#include "declared/reconcile.h"
#include "declared/replica_pool.h"
#include "tests/lib/work_test.h"
#include "json/json.h"

#define GIB ((int64_t)1 << 30)

/* A config of `replicas`, with more members of its spec: ",\"policy\":{}". */
#define DECLARED(name, size, replicas, more)                                            \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"capacity\":{\"storage\":\"" size \
    "\"},\"provision\":{\"replicaCount\":" #replicas "}" more "}}"
#define POOL(name)  "{\"poolName\":\"" name "\"}"
#define POOLS(list) ",\"policy\":{\"replicaPoolInfo\":[" list "]}"

static inline json_t *tree(struct work *work, const char *text) {
    struct error err = { 0 };
    json_t *parsed = json_parse(work->arena, text, strlen(text), &err);

    ck_assert_msg(parsed != NULL, "%s: %s", text, err.message);
    return parsed;
}

static inline void put_pool(struct work *work, const char *name, const char *node,
                            int64_t free_bytes) {
    struct replica_pool reported = { .id = name,
                                     .node = node,
                                     .path = "/pool",
                                     .labels = json_keep(work->arena, json_object()),
                                     .total_bytes = 1000 * GIB,
                                     .free_bytes = free_bytes,
                                     .state = "Online" };
    struct replica_pool pool;
    struct error err = { 0 };

    ck_assert_msg(replica_pool_report(work, &reported, &pool, &err) == 0, "%s", err.message);
}

/* pool-a … on host-a …, with less space each. */
static inline void put_pools(struct work *work, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        put_pool(work, arena_format(work->arena, "pool-%c", 'a' + i),
                 arena_format(work->arena, "host-%c", 'a' + i), (900 - 10 * i) * GIB);
}

/* Its uid. */
static inline const char *declare(struct work *work, const struct document_kind *kind,
                                  const char *text) {
    struct error err = { 0 };
    struct document document;

    ck_assert_msg(document_create(work, kind, tree(work, text), false, &document, &err) == 0, "%s",
                  err.message);
    return document.id;
}

static inline struct document document_of(struct work *work, const struct document_kind *kind,
                                          const char *id) {
    struct error err = { 0 };
    struct document document;

    ck_assert_msg(document_find(work, kind, id, &document, &err) == 0, "%s", err.message);
    return document;
}

static inline struct document config_of(struct work *work, const char *id) {
    return document_of(work, &kind_volume_config, id);
}

static inline int edit(struct work *work, const char *id, const char *patch, struct error *err) {
    struct document before = config_of(work, id), after;

    return document_patch(work, &before, tree(work, patch), false, &after, err);
}

static inline unsigned owned_by(struct work *work, const char *id, const struct document_kind *kind,
                                struct document **ret) {
    struct error err = { 0 };
    int count = document_owned(work, id, kind, ret, &err);

    ck_assert_msg(count >= 0, "%s", err.message);
    return (unsigned)count;
}

static inline struct document volume_of(struct work *work, const char *config) {
    struct document *volumes = NULL;

    ck_assert_uint_eq(owned_by(work, config, &kind_replicated_volume, &volumes), 1);
    return volumes[0];
}

static inline unsigned replicas_of(struct work *work, const char *config, struct document **ret) {
    return owned_by(work, volume_of(work, config).id, &kind_volume_replica, ret);
}

/* The status that the node reports of a document. */
static inline void report(struct work *work, const struct document *document, const char *status) {
    struct error err = { 0 };
    struct document after;

    ck_assert_msg(
        document_status_put(work, document, document->node, tree(work, status), &after, &err) == 0,
        "%s: %s", status, err.message);
}

/* Every node has made its replica. */
static inline void report_made(struct work *work, const char *config) {
    struct document *replicas = NULL;
    unsigned count = replicas_of(work, config, &replicas);

    for (unsigned i = 0; i < count; i++)
        report(work, &replicas[i], "{\"phase\":\"Healthy\"}");
}

/* The volume's node has applied the spec: it serves the volume, and all replicas are healthy but
 * one whose mode is `mode`, or that is gone when that is NULL. */
static inline void report_served(struct work *work, const char *config, int64_t but,
                                 const char *mode) {
    struct document volume = volume_of(work, config);
    const json_t *spec = json_object_get(volume.body, "spec");
    const json_t *list = json_object_get(spec, "replicas");
    const char *rows = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *how = (int64_t)i == but ? mode : "Healthy";

        if (how)
            rows =
                arena_format(work->arena, "%s%s{\"replicaId\":\"%s\",\"mode\":\"%s\"}", rows,
                             *rows ? "," : "", json_text_of(json_array_get(list, i), "uid"), how);
    }
    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"%s\",\"observedGeneration\":%jd,"
                        "\"target\":{\"nodeId\":\"%s\",\"state\":\"Serving\",\"address\":\"x\"},"
                        "\"replicaStatuses\":[%s]}",
                        json_text_of(spec, "capacity"), (intmax_t)volume.generation, volume.node,
                        rows));
}

/* It serves it no more. */
static inline void report_stopped(struct work *work, const char *config) {
    struct document volume = volume_of(work, config);

    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"%s\",\"observedGeneration\":%jd}",
                        json_text_of(json_object_get(volume.body, "spec"), "capacity"),
                        (intmax_t)volume.generation));
}

static inline int64_t last_version(struct work *work) {
    struct error err = { 0 };
    int64_t version;

    ck_assert_int_eq(document_last_version(work, &version, &err), 0);
    return version;
}

/* Until the last call reports that nothing is left to do.  One more changes nothing. */
static inline int settle(struct work *work, const char *config) {
    struct error err = { 0 };
    int64_t version;
    int result, rounds = 0;

    do {
        version = last_version(work);
        result = reconcile_config(work, config, &err);
        ck_assert_msg(result >= 0, "%s", err.message);
        ck_assert_int_lt(rounds++, 5);
    } while (last_version(work) != version);
    if (result == RECONCILE_SETTLED)
        ck_assert_int_eq(reconcile_evaluate(work, config, NULL, &err), RECONCILE_SETTLED);
    return result;
}

/* The value at "status.capacity.storage", as compact JSON; "null". */
static inline const char *at(struct work *work, const struct document *document, const char *path) {
    const json_t *found = document_json(work->arena, document);
    char *rest = arena_text(work->arena, path), *part;

    while ((part = strsep(&rest, ".")))
        found = json_object_get(found, part);
    return found ? json_text(work->arena, found) : "null";
}

static inline const char *config_at(struct work *work, const char *id, const char *path) {
    struct document config = config_of(work, id);

    return at(work, &config, path);
}

static inline bool is_health(const char *type) {
    static const char *const types[] = { CONDITION_AVAILABLE, CONDITION_REDUNDANT,
                                         CONDITION_REBUILDING, CONDITION_NEAR_FULL };

    for (size_t i = 0; i < LENGTH(types); i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

/* Conditions of a config but those of its volume's health, which it has all the time; "null". */
static inline const char *conditions_at(struct work *work, const char *id) {
    struct document config = config_of(work, id);
    const json_t *all = json_object_get(config.status, "conditions");
    json_t *kept = json_keep(work->arena, json_array());

    for (size_t i = 0; i < json_array_size(all); i++)
        if (!is_health(json_text_of(json_array_get(all, i), "type")))
            json_array_append(kept, json_array_get(all, i));
    return json_array_size(kept) > 0 ? json_text(work->arena, kept) : "null";
}

/* "True Served", of a condition of a config; "": it has none. */
static inline const char *condition_at(struct work *work, const char *id, const char *type) {
    struct document config = config_of(work, id);
    const json_t *found = condition_find(json_object_get(config.status, "conditions"), type);

    return found ? arena_format(work->arena, "%s %s", json_text_of(found, "status"),
                                json_text_of(found, "reason"))
                 : "";
}

static inline const char *volume_at(struct work *work, const char *config, const char *path) {
    struct document volume = volume_of(work, config);

    return at(work, &volume, path);
}

/* Of its replicated volume; 0: none was given yet. */
static inline int64_t volume_epoch(struct work *work, const char *config) {
    return strtoll(volume_at(work, config, "spec.epoch"), NULL, 10);
}

/* "Normal Provisioned 1: …", the newest; "" when there is none. */
static inline const char *last_event(struct work *work, const char *config) {
    struct document_event *events = NULL;
    struct error err = { 0 };
    int count = document_events(work, config, &events, &err);

    ck_assert_int_ge(count, 0);
    return count ? arena_format(work->arena, "%s %s %jd: %s", events[count - 1].type,
                                events[count - 1].reason, (intmax_t)events[count - 1].times,
                                events[count - 1].message)
                 : "";
}

/* One of its events begins so: "Warning TakenOver 1: ". */
static inline bool has_event(struct work *work, const char *document, const char *begin) {
    struct document_event *events = NULL;
    struct error err = { 0 };
    int count = document_events(work, document, &events, &err);

    for (int i = 0; i < count; i++) {
        const char *text =
            arena_format(work->arena, "%s %s %jd: %s", events[i].type, events[i].reason,
                         (intmax_t)events[i].times, events[i].message);

        if (strncmp(text, begin, strlen(begin)) == 0)
            return true;
    }
    return false;
}
