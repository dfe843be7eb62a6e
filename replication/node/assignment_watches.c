#include "replication/node/assignment_watches.h"

#include "client/documents.h"
#include "client/watch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "replication/node/reports.h"

#include <string.h>

#define DEFAULT_RETRY_MS 5000
#define KINDS            2

struct watch {
    struct assignment_watches *all;
    enum assignment_kind kind;
    pthread_t thread;
    bool started;
    bool on; /* guarded by the lock */
    int64_t version;
};

struct assignment_watches {
    struct assignment_watches_settings settings;
    int64_t until_us;     /* end of all calls; 0: not yet */
    pthread_mutex_t lock; /* guards `ends` and each `on` */
    pthread_cond_t changed;
    bool ends;
    struct watch watches[KINDS];
};

static void set_on(struct watch *watch, bool on) {
    pthread_mutex_lock(&watch->all->lock);
    watch->on = on;
    pthread_mutex_unlock(&watch->all->lock);
}

static int receive(void *arg, const char *type, const json_t *object, struct error *err) {
    struct watch *watch = arg;

    (void)object, (void)err;
    set_on(watch, true);
    if (strcmp(type, "BOOKMARK") != 0)
        watch->all->settings.notify(watch->all->settings.arg);
    return 0;
}

static bool pause_ms(struct assignment_watches *watches, int64_t ms) {
    int64_t until_us = clock_monotonic_us() + ms * 1000;
    bool ends;

    pthread_mutex_lock(&watches->lock);
    while (!watches->ends && thread_cond_wait(&watches->changed, &watches->lock, until_us))
        ;
    ends = watches->ends;
    pthread_mutex_unlock(&watches->lock);
    return !ends;
}

/* A watch is repeated for any reason; changes meanwhile are found by its list. */
static void *run(void *arg) {
    struct watch *watch = arg;
    const struct assignment_watches_settings *settings = &watch->all->settings;
    int outcome;

    do {
        autoarena struct arena *arena = arena_new();
        const char *path = arena_join(arena, "/", reports_kind(watch->kind)->collection,
                                      "?node=", http_encode(arena, settings->node), NULL);
        struct error err;

        outcome = client_watch(&settings->api, arena, path, &watch->version, receive, watch,
                               &watch->all->until_us, &err);
        if (outcome > 0)
            watch->version = WATCH_FROM_THE_BEGINNING;
        if (outcome != 0)
            set_on(watch, false);
    } while (pause_ms(watch->all, outcome < 0 ? settings->retry_ms : 1));
    return NULL;
}

bool assignment_watches_connected(struct assignment_watches *watches) {
    bool on;

    pthread_mutex_lock(&watches->lock);
    on = watches->watches[0].on && watches->watches[1].on;
    pthread_mutex_unlock(&watches->lock);
    return on;
}

int assignment_watches_start(const struct assignment_watches_settings *settings,
                             struct assignment_watches **ret, struct error *err) {
    static const enum assignment_kind kinds[KINDS] = { ASSIGNMENT_REPLICA, ASSIGNMENT_VOLUME };
    struct assignment_watches *watches = heap_new(sizeof(*watches));
    int code = 0;

    watches->settings = *settings;
    if (watches->settings.retry_ms <= 0)
        watches->settings.retry_ms = DEFAULT_RETRY_MS;
    pthread_mutex_init(&watches->lock, NULL);
    thread_cond_init(&watches->changed);
    for (unsigned i = 0; i < KINDS && code == 0; i++) {
        struct watch *watch = &watches->watches[i];

        *watch =
            (struct watch){ .all = watches, .kind = kinds[i], .version = WATCH_FROM_THE_BEGINNING };
        code = thread_start(&watch->thread, "watch", run, watch);
        watch->started = code == 0;
    }
    *ret = watches;
    if (code == 0)
        return 0;
    assignment_watches_stop(watches, INT64_MAX / 1000000);
    return error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
}

bool assignment_watches_stop(struct assignment_watches *watches, int64_t ms) {
    bool all = true;

    if (!watches)
        return true;
    __atomic_store_n(&watches->until_us, clock_monotonic_us(), __ATOMIC_RELEASE);
    pthread_mutex_lock(&watches->lock);
    watches->ends = true;
    pthread_cond_broadcast(&watches->changed);
    pthread_mutex_unlock(&watches->lock);
    for (unsigned i = 0; i < KINDS; i++) {
        if (watches->watches[i].started && !thread_join_within(watches->watches[i].thread, ms))
            all = false;
    }
    if (!all)
        return false;
    pthread_mutex_destroy(&watches->lock);
    pthread_cond_destroy(&watches->changed);
    free(watches);
    return true;
}
