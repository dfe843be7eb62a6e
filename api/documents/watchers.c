#include "api/documents/watchers.h"

#include "api/documents/watcher.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "rest/request.h"
#include "rest/request_slots.h"

#include <stdlib.h>
#include <sys/queue.h>

TAILQ_HEAD(watcher_list, watcher);

#define KINDS_MOST 16
#define PARTS_MOST 20
#define SEATS_MS   100

struct watchers {
    struct db *db;
    const struct settings *settings;
    struct request_slots *projects, *peers;
    pthread_t thread;
    bool threaded;

    struct arena *arena; /* the thread's, like all members down to the lock */
    struct watcher_list all;
    int64_t heads[KINDS_MOST]; /* of each kind, the position of watches that are up to date */
    int64_t last;              /* version of all */
    bool sure;                 /* just read from the database */
    bool again;                /* a watch can continue at once */
    unsigned parts;            /* read in this round for watches that are behind */
    struct watcher *left_out;  /* the first one left out in this round */
    int64_t slots_us;          /* time of the last check of slots */
    bool checks_slots;         /* in this round */

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct watcher_list arrived;
    bool look, stop;
};

static void watcher_end(struct watchers *watchers, struct watcher *watcher) {
    http_stream_end(watcher->stream);
    request_slots_leave(watchers->projects, watcher->project, watcher->project);
    request_slots_leave(watchers->peers, watcher->peer, watcher->project);
    free(watcher);
}

/* ---- changes ---- */

struct reading {
    const struct document_scope *scope;
    int64_t after;
    struct watch_part part;
};

static int read_part(struct work *work, void *arg, struct error *err) {
    struct reading *reading = arg;
    struct watch_part *part = &reading->part;
    int count =
        document_changes(work, reading->scope, reading->after, &part->changes, &part->version, err);

    if (count < 0)
        return -1;
    part->count = (unsigned)count;
    part->texts = arena_alloc(work->arena, (part->count + 1) * sizeof(*part->texts));
    return 0;
}

/* Into the thread's arena.  An unreachable database is retried soon. */
static int read_changes(struct watchers *watchers, const struct document_scope *scope,
                        int64_t after, struct watch_part *ret) {
    const struct work own = work_own(watchers->settings, watchers->arena);
    struct reading reading = { .scope = scope, .after = after };
    struct error err = { .kind = ERROR_NONE };

    if (work_read(watchers->db, &own, read_part, &reading, &err) < 0)
        return -1;
    *ret = reading.part;
    if (ret->version > watchers->last)
        watchers->last = ret->version;
    return 0;
}

static bool is_at(const struct watcher *watcher, const struct document_kind *kind, int64_t head) {
    return watcher->scope.kind == kind && !watcher->full && !watcher->over &&
           watcher->position.version >= head;
}

/* Reads changes once for all watches that are up to date. */
static void follow(struct watchers *watchers, const struct document_kind *kind, int64_t *head) {
    const struct document_scope scope = { .kind = kind };
    struct watcher *watcher;
    bool watched = false;
    struct watch_part part;

    TAILQ_FOREACH(watcher, &watchers->all, next)
    watched |= is_at(watcher, kind, *head);
    if (!watched) {
        *head = watchers->last;
        return;
    }
    if (read_changes(watchers, &scope, *head, &part) == 0) {
        TAILQ_FOREACH(watcher, &watchers->all, next) {
            if (is_at(watcher, kind, *head))
                watcher_tell(watcher, watchers->arena, &part);
        }
        *head = part.version;
        watchers->again |= *head < watchers->last;
    }
    arena_reset(watchers->arena);
}

static int64_t *head_of(struct watchers *watchers, const struct document_kind *kind) {
    size_t i = 0;

    while (document_kinds[i] != kind)
        i++;
    return &watchers->heads[i];
}

/* Brings a watch up to date with the others; new changes are sent to the others in between. */
static void catch_up(struct watchers *watchers, struct watcher *watcher) {
    int64_t before = watcher->position.version;
    struct watch_part part;

    if (before >= *head_of(watchers, watcher->scope.kind))
        return;
    if (watchers->parts >= PARTS_MOST) {
        watchers->again = true;
        if (!watchers->left_out)
            watchers->left_out = watcher;
        return;
    }
    if (read_changes(watchers, &watcher->scope, before, &part) == 0)
        watcher_tell(watcher, watchers->arena, &part);
    arena_reset(watchers->arena);
    if (watcher->position.version > before)
        watchers->parts++;
    watchers->again |= watcher->position.version > before && !watcher->full;
}

/* ---- a round over all ---- */

static int read_last(struct work *work, void *arg, struct error *err) {
    return document_last_version(work, arg, err);
}

/* True: it must be ended. */
static bool look_at(struct watchers *watchers, struct watcher *watcher) {
    int64_t now_us = clock_monotonic_us();

    watcher_say(watcher, "");
    if (!watcher->full && !watcher->over)
        catch_up(watchers, watcher);
    if ((watcher->begins && watcher->position.version >= watcher->position.floor) ||
        now_us - watcher->spoken_us > (int64_t)WATCHERS_WORD_MS * 1000) {
        watcher_say_bookmark(watcher, watchers->arena);
        arena_reset(watchers->arena);
    }
    return watcher->over || now_us >= watcher->until_us ||
           (watchers->sure &&
            document_position_check(&watcher->position, watchers->last, NULL) < 0) ||
           (watchers->checks_slots &&
            (request_slots_too_many(watchers->projects, watcher->project, watcher->project) ||
             request_slots_too_many(watchers->peers, watcher->peer, watcher->project)));
}

static void look_around(struct watchers *watchers) {
    const struct work own = work_own(watchers->settings, watchers->arena);
    struct watcher *watcher, *next;
    struct error err = { .kind = ERROR_NONE };
    int64_t now_us = clock_monotonic_us();

    watchers->parts = 0;
    watchers->checks_slots = now_us - watchers->slots_us >= (int64_t)SEATS_MS * 1000;
    if (watchers->checks_slots)
        watchers->slots_us = now_us;
    watchers->sure = work_read(watchers->db, &own, read_last, &watchers->last, &err) == 0;
    for (size_t i = 0; watchers->sure && document_kinds[i]; i++)
        if (watchers->heads[i] != watchers->last)
            follow(watchers, document_kinds[i], &watchers->heads[i]);
    for (watcher = TAILQ_FIRST(&watchers->all); watcher; watcher = next) {
        next = TAILQ_NEXT(watcher, next);
        if (!look_at(watchers, watcher))
            continue;
        if (watchers->left_out == watcher)
            watchers->left_out = NULL;
        TAILQ_REMOVE(&watchers->all, watcher, next);
        watcher_end(watchers, watcher);
    }
    /* The next round starts with the first one left out: a watch that is far behind does not delay
     * others for all of it. */
    while (watchers->left_out && (next = TAILQ_FIRST(&watchers->all)) != watchers->left_out) {
        TAILQ_REMOVE(&watchers->all, next, next);
        TAILQ_INSERT_TAIL(&watchers->all, next, next);
    }
    watchers->left_out = NULL;
}

/* ---- the thread ---- */

/* False: there are no watches. */
static bool look(struct watchers *watchers) {
    watchers->again = false;
    pthread_mutex_lock(&watchers->lock);
    TAILQ_CONCAT(&watchers->all, &watchers->arrived, next);
    pthread_mutex_unlock(&watchers->lock);
    if (TAILQ_EMPTY(&watchers->all))
        return false;
    look_around(watchers);
    return !TAILQ_EMPTY(&watchers->all);
}

/* Until there is something to send; false: the end.  Called with the lock held. */
static bool rest(struct watchers *watchers, bool watched) {
    int64_t until_us = clock_monotonic_us() + (int64_t)WATCHERS_LOOK_MS * 1000;

    while (!watchers->look && !watchers->stop) {
        if (!watched)
            pthread_cond_wait(&watchers->wake, &watchers->lock);
        else if (!thread_cond_wait(&watchers->wake, &watchers->lock, until_us))
            break;
    }
    watchers->look = false;
    return !watchers->stop;
}

static void *watchers_main(void *arg) {
    struct watchers *watchers = arg;
    bool watched = false;

    pthread_mutex_lock(&watchers->lock);
    while (watchers->again ? !watchers->stop : rest(watchers, watched)) {
        pthread_mutex_unlock(&watchers->lock);
        watched = look(watchers);
        pthread_mutex_lock(&watchers->lock);
    }
    pthread_mutex_unlock(&watchers->lock);
    return NULL;
}

static void wake(struct watchers *watchers, struct watcher *arrived, bool stop) {
    scoped_lock(&watchers->lock);
    if (arrived)
        TAILQ_INSERT_TAIL(&watchers->arrived, arrived, next);
    watchers->look = true;
    watchers->stop |= stop;
    pthread_cond_signal(&watchers->wake);
}

static void watchers_free(struct watchers *watchers) {
    struct watcher *watcher;

    if (!watchers)
        return;
    wake(watchers, NULL, true);
    if (watchers->threaded)
        pthread_join(watchers->thread, NULL);
    TAILQ_CONCAT(&watchers->all, &watchers->arrived, next);
    while ((watcher = TAILQ_FIRST(&watchers->all))) {
        TAILQ_REMOVE(&watchers->all, watcher, next);
        watcher_end(watchers, watcher);
    }
    request_slots_free(watchers->projects);
    request_slots_free(watchers->peers);
    pthread_cond_destroy(&watchers->wake);
    pthread_mutex_destroy(&watchers->lock);
    arena_free(watchers->arena);
    free(watchers);
}

static struct watchers *watchers_new(struct db *db, const struct settings *settings, unsigned most,
                                     bool threaded) {
    struct watchers *watchers = heap_new(sizeof(*watchers));

    watchers->db = db;
    watchers->settings = settings;
    watchers->projects = request_slots_new(most);
    watchers->peers = request_slots_new(most);
    watchers->threaded = threaded;
    watchers->arena = arena_new();
    TAILQ_INIT(&watchers->all);
    TAILQ_INIT(&watchers->arrived);
    pthread_mutex_init(&watchers->lock, NULL);
    thread_cond_init(&watchers->wake);
    if (threaded && thread_start(&watchers->thread, "api-watch", watchers_main, watchers) != 0) {
        watchers->threaded = false;
        watchers_free(watchers);
        return NULL;
    }
    return watchers;
}

static void watchers_look(struct watchers *watchers) {
    if (watchers->threaded) {
        wake(watchers, NULL, false);
        return;
    }
    do
        look(watchers);
    while (watchers->again);
}

/* ---- arrivals ---- */

/* A stream has space again, or is over: called by a thread that must not block. */
static void heard_of(void *arg) {
    struct watchers *watchers = arg;

    if (watchers->threaded)
        wake(watchers, NULL, false);
}

static int watchers_put(struct watchers *watchers, struct request *request, struct error *err) {
    struct http_exchange *http = request->http;
    const char *project = request->context.project_id ? request->context.project_id : "";
    struct watcher *watcher;

    if (!request_slots_take(watchers->projects, project, project))
        return error_set(err, ERROR_TRY_LATER,
                         "The project watches in too many places; try again later.");
    if (!request_slots_take(watchers->peers, http->peer, project)) {
        request_slots_leave(watchers->projects, project, project);
        return error_set(err, ERROR_TRY_LATER,
                         "Too much is watched from this address; try again later.");
    }
    watcher = watcher_new(request->watch, project, http->peer);
    http_add_header(http, "Cache-Control", "no-cache");
    http_add_header(http, "X-Accel-Buffering", "no"); /* a buffering proxy would delay events */
    watcher->stream = http_stream_open(http, heard_of, watchers);
    wake(watchers, watcher, false);
    if (!watchers->threaded)
        watchers_look(watchers);
    return 0;
}

const struct watch_functions document_watchers = {
    .open = watchers_new,
    .close = watchers_free,
    .put = watchers_put,
    .look = watchers_look,
};
