#include "kubernetes/bridge.h"

#include "client/volumes.h"
#include "client/watch.h"
#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "kubernetes/queue.h"
#include "kubernetes/sync.h"
#include "kubernetes/translate.h"
#include "json/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECTION          "kubernetes"
#define KINDS            3
#define FIRST_PAUSE_MS   500
#define LONGEST_PAUSE_MS 60000
#define LASTING_US       (5 * SECOND_US) /* shortest lifetime of a working watch */
#define TOLD_EACH        8               /* log interval in failures of an object */
#define WATCH_MOST_S     60              /* bounds the detection of a lost server */
#define STEP_US          100000          /* granularity in which a pause notices the shutdown */

struct bridge;

/* Of one kind: events of its objects, and of its documents. */
struct watcher {
    struct bridge *bridge;
    unsigned kind;
    pthread_t theirs, ours;
    bool has_theirs, has_ours;
};

struct bridge {
    struct arena *arena;
    struct cluster cluster;
    struct client api;
    const char *namespace;
    int64_t resync_s;
    int64_t until_us; /* atomic; not 0: shutdown deadline */
    struct queue *queue;
    struct watcher watchers[KINDS];
    pthread_t worker;
    bool has_worker;
    bool fails; /* the worker's: the last one failed; of a failing service one line is enough */
};

/* ---- waiting ---- */

static bool is_over(const struct bridge *bridge) {
    return __atomic_load_n(&bridge->until_us, __ATOMIC_RELAXED) != 0;
}

/*
 * The pause between two watches.  A failure is logged once, until another kind of end; a watch that
 * ends at once is repeated with growing pauses, whatever the reason.
 */
static void pause_after_watch(const struct bridge *bridge, const char *event, const char *kind,
                              int outcome, int64_t began_us, unsigned *ends,
                              const struct error *err) {
    static const struct backoff_limits pauses = { .first_us = FIRST_PAUSE_MS * 1000,
                                                  .most_us = LONGEST_PAUSE_MS * 1000,
                                                  .jitter_percent = BACKOFF_JITTER };

    if (clock_monotonic_us() - began_us > LASTING_US)
        *ends = 0;
    if (outcome < 0 && *ends == 0 && !is_over(bridge))
        log_warning(NULL, event, "kind", kind, "error", err->message, NULL);
    for (int64_t pause_us = backoff_pause_us(&pauses, ++*ends); pause_us > 0 && !is_over(bridge);
         pause_us -= STEP_US) {
        struct timespec step = clock_timespec(STEP_US);

        nanosleep(&step, NULL);
    }
}

/* ---- events ---- */

static void call_for_object(void *arg, const json_t *object) {
    const struct watcher *watcher = arg;
    const char *namespace = object_text(object, "namespace"), *name = object_text(object, "name");

    if (*namespace && *name)
        queue_call(watcher->bridge->queue, watcher->kind, namespace, name);
}

/* Lists all objects periodically, and watches in between. */
static int watch_theirs(const struct watcher *watcher, const char *path,
                        struct cluster_version *version, int64_t *resync_us, struct error *err) {
    const struct bridge *bridge = watcher->bridge;
    int64_t left_s = (*resync_us - clock_monotonic_us()) / SECOND_US;
    int outcome;

    if (!*version->text || left_s <= 0) {
        if (cluster_list(&bridge->cluster, path, call_for_object, (void *)(uintptr_t)watcher,
                         version, err) < 0)
            return -1;
        *resync_us = clock_monotonic_us() + bridge->resync_s * SECOND_US;
        left_s = bridge->resync_s;
    }
    if (left_s > WATCH_MOST_S)
        left_s = WATCH_MOST_S;
    outcome = cluster_watch(&bridge->cluster, path, left_s, call_for_object,
                            (void *)(uintptr_t)watcher, version, err);
    if (outcome == 1)
        *version = (struct cluster_version){ "" };
    return outcome;
}

static void *run_theirs(void *arg) {
    struct watcher *watcher = arg;
    struct bridge *bridge = watcher->bridge;
    const struct sync_kind *kind = &sync_kinds[watcher->kind];
    autoarena struct arena *arena = arena_new();
    const char *path = sync_path(arena, kind, bridge->namespace, NULL);
    struct cluster_version version = { "" };
    int64_t resync_us = 0;
    unsigned ends = 0;

    while (!is_over(bridge)) {
        struct error err = { 0 };
        int64_t began_us = clock_monotonic_us();
        int outcome = watch_theirs(watcher, path, &version, &resync_us, &err);

        pause_after_watch(bridge, "objects of Kubernetes are not watched", kind->name, outcome,
                          began_us, &ends, &err);
    }
    return NULL;
}

/* Documents with foreign names have no object, which is detected quickly. */
static int call_for_document(void *arg, const char *type, const json_t *document,
                             struct error *err) {
    const struct watcher *watcher = arg;
    autoarena struct arena *arena = arena_new();
    char *name = arena_text(arena, object_text(document, "name"));
    char *dot = strchr(name, '.');

    (void)err;
    if (strcmp(type, "BOOKMARK") == 0 || !dot)
        return 0;
    *dot = '\0';
    if (!watcher->bridge->namespace || strcmp(watcher->bridge->namespace, name) == 0)
        queue_call(watcher->bridge->queue, watcher->kind, name, dot + 1);
    return 0;
}

static void *run_ours(void *arg) {
    struct watcher *watcher = arg;
    struct bridge *bridge = watcher->bridge;
    const struct sync_kind *kind = &sync_kinds[watcher->kind];
    int64_t version = WATCH_FROM_THE_BEGINNING;
    unsigned ends = 0;

    while (!is_over(bridge)) {
        autoarena struct arena *arena = arena_new();
        struct error err = { 0 };
        int64_t began_us = clock_monotonic_us();
        int outcome =
            client_watch(&bridge->api, arena, arena_join(arena, "/", kind->ours.collection, NULL),
                         &version, call_for_document, watcher, &bridge->until_us, &err);

        if (outcome == 1)
            version = WATCH_FROM_THE_BEGINNING;
        pause_after_watch(bridge, "documents are not watched", kind->name, outcome, began_us, &ends,
                          &err);
    }
    return NULL;
}

/* ---- work ---- */

static void *run_worker(void *arg) {
    struct bridge *bridge = arg;
    const struct queue_item *item;

    while ((item = queue_take(bridge->queue))) {
        autoarena struct arena *arena = arena_new();
        const struct sync sync = { &bridge->cluster, &bridge->api, &sync_kinds[item->kind] };
        struct error err = { 0 };
        int outcome = sync_object(&sync, arena, item->namespace, item->name, &err);

        if (outcome < 0 && !bridge->fails && item->tries % TOLD_EACH == 0 && !is_over(bridge))
            log_warning(NULL, "object and document not reconciled yet", "kind", sync.kind->name,
                        "namespace", item->namespace, "name", item->name, "error", err.message,
                        NULL);
        bridge->fails = outcome < 0;
        if (outcome == 0)
            queue_settle(bridge->queue, item);
        else
            queue_retry(bridge->queue, item);
    }
    return NULL;
}

/* ---- start and stop ---- */

static int read_settings(struct bridge *bridge, const struct bridge_settings *settings,
                         struct error *err) {
    const struct config *config = settings->config;
    /* as Kubernetes passes them to every pod */
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    bool is_v6 = host && strchr(host, ':');

    bridge->cluster = (struct cluster){ .until_us = &bridge->until_us };
    config_fill(config, NULL, kubernetes_options, &bridge->cluster);
    if (!bridge->cluster.url && host && *host)
        bridge->cluster.url = arena_join(bridge->arena, "https://", is_v6 ? "[" : "", host,
                                         is_v6 ? "]" : "", ":", port && *port ? port : "443", NULL);
    if (!bridge->cluster.url)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[kubernetes] url is not given, and this is no pod of a cluster");
    bridge->namespace = config_text(config, SECTION, "namespace");
    bridge->resync_s = config_int(config, SECTION, "resync_interval");
    bridge->api = volumes_client(settings->volume_url, settings->volume_token, settings->user);
    bridge->api.until_us = &bridge->until_us;
    bridge->queue = queue_new(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    return 0;
}

static int start_thread(pthread_t *ret, bool *ret_has, const char *name, void *(*run)(void *arg),
                        void *arg, struct error *err) {
    errno = thread_start(ret, name, run, arg);
    *ret_has = errno == 0;
    return *ret_has ? 0 : error_errno(err, ERROR_INTERNAL, "no thread of Kubernetes");
}

static int start_threads(struct bridge *bridge, struct error *err) {
    for (unsigned i = 0; i < KINDS; i++) {
        struct watcher *watcher = &bridge->watchers[i];

        *watcher = (struct watcher){ .bridge = bridge, .kind = i };
        if (start_thread(&watcher->theirs, &watcher->has_theirs, "objects", run_theirs, watcher,
                         err) < 0 ||
            start_thread(&watcher->ours, &watcher->has_ours, "documents", run_ours, watcher, err) <
                0)
            return -1;
    }
    return start_thread(&bridge->worker, &bridge->has_worker, "bridge", run_worker, bridge, err);
}

int bridge_start(const struct bridge_settings *settings, struct bridge **ret, struct error *err) {
    struct bridge *bridge = heap_new(sizeof *bridge);

    bridge->arena = arena_new();
    if (read_settings(bridge, settings, err) < 0 || start_threads(bridge, err) < 0) {
        bridge_stop(bridge);
        return -1;
    }
    *ret = bridge;
    return 0;
}

void bridge_stop(struct bridge *bridge) {
    if (!bridge)
        return;
    __atomic_store_n(&bridge->until_us, clock_monotonic_us(), __ATOMIC_RELAXED);
    if (bridge->queue)
        queue_close(bridge->queue);
    if (bridge->has_worker)
        pthread_join(bridge->worker, NULL);
    for (unsigned i = 0; i < KINDS; i++) {
        if (bridge->watchers[i].has_theirs)
            pthread_join(bridge->watchers[i].theirs, NULL);
        if (bridge->watchers[i].has_ours)
            pthread_join(bridge->watchers[i].ours, NULL);
    }
    queue_free(bridge->queue);
    arena_free(bridge->arena);
    free(bridge);
}
