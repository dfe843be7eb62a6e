#include "api/watchers.h"

#include "api/seats.h"
#include "api/watcher.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

TAILQ_HEAD(watcher_list, watcher);

#define KINDS_MOST 16
#define PARTS_MOST 20
#define SEATS_MS   100

struct watchers {
    struct db *db;
    const struct settings *settings;
    struct seats *projects, *peers;
    pthread_t thread;
    bool threaded;

    struct arena *arena; /* the thread's, as all down to the lock */
    struct watcher_list all;
    int64_t heads[KINDS_MOST]; /* of each kind, how far who has heard all has come */
    int64_t last;              /* version of all */
    bool sure;                 /* that is what the database has told just now */
    bool again;                /* somebody can go on at once */
    unsigned parts;            /* read in this look for who is behind */
    struct watcher *left_out;  /* the first for whom there was none any more */
    int64_t seats_us;          /* when it was asked last who has to go for others */
    bool asks_seats;           /* in this look */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct watcher_list arrived;
    bool look, stop;
};

static void leave_seats(struct watchers *watchers, const char *project, const char *peer) {
    seats_leave(watchers->projects, project, project);
    seats_leave(watchers->peers, peer, project);
}

static bool seats_are_wanted(struct watchers *watchers, const struct watcher *watcher) {
    return seats_too_many(watchers->projects, watcher->project, watcher->project) ||
           seats_too_many(watchers->peers, watcher->peer, watcher->project);
}

static void watcher_end(struct watchers *watchers, struct watcher *watcher) {
    http_stream_end(watcher->stream);
    leave_seats(watchers, watcher->project, watcher->peer);
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

/* Into the thread's arena. A database that is away is asked again soon. */
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

/* What has changed is read once for all who have heard the rest. */
static void follow(struct watchers *watchers, const struct document_kind *kind, int64_t *head) {
    const struct document_scope scope = { .kind = kind };
    struct watcher *watcher;
    bool somebody = false;
    struct watch_part part;

    TAILQ_FOREACH(watcher, &watchers->all, next)
    somebody |= is_at(watcher, kind, *head);
    if (!somebody) {
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

/* Who is behind the others is brought up to them, and what happens meanwhile is told to the others
 * in between. */
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

/* ---- a look at all ---- */

static int read_last(struct work *work, void *arg, struct error *err) {
    return document_last_version(work, arg, err);
}

static bool has_to_go(struct watchers *watchers, const struct watcher *watcher, int64_t now_us) {
    return watcher->over || now_us >= watcher->until_us ||
           (watchers->sure &&
            document_position_check(&watcher->position, watchers->last, NULL) < 0) ||
           (watchers->asks_seats && seats_are_wanted(watchers, watcher));
}

/* True: it has to be ended. */
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
    return has_to_go(watchers, watcher, now_us);
}

static void remove_watcher(struct watchers *watchers, struct watcher *watcher) {
    if (watchers->left_out == watcher)
        watchers->left_out = NULL;
    TAILQ_REMOVE(&watchers->all, watcher, next);
    watcher_end(watchers, watcher);
}

/* The next look begins with who was left out: who has much to hear keeps nobody waiting for all of
 * it. */
static void turn_list(struct watchers *watchers) {
    struct watcher *first;

    while (watchers->left_out && (first = TAILQ_FIRST(&watchers->all)) != watchers->left_out) {
        TAILQ_REMOVE(&watchers->all, first, next);
        TAILQ_INSERT_TAIL(&watchers->all, first, next);
    }
    watchers->left_out = NULL;
}

static void look_around(struct watchers *watchers) {
    const struct work own = work_own(watchers->settings, watchers->arena);
    struct watcher *watcher, *next;
    struct error err = { .kind = ERROR_NONE };
    int64_t now_us = clock_monotonic_us();

    watchers->parts = 0;
    watchers->asks_seats = now_us - watchers->seats_us >= (int64_t)SEATS_MS * 1000;
    if (watchers->asks_seats)
        watchers->seats_us = now_us;
    watchers->sure = work_read(watchers->db, &own, read_last, &watchers->last, &err) == 0;
    for (size_t i = 0; watchers->sure && document_kinds[i]; i++)
        if (watchers->heads[i] != watchers->last)
            follow(watchers, document_kinds[i], &watchers->heads[i]);
    for (watcher = TAILQ_FIRST(&watchers->all); watcher; watcher = next) {
        next = TAILQ_NEXT(watcher, next);
        if (look_at(watchers, watcher))
            remove_watcher(watchers, watcher);
    }
    turn_list(watchers);
}

/* ---- the thread ---- */

/* False: nobody is there. */
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

/* Until somebody has to be told something; false: the end.  Called with the lock held. */
static bool rest(struct watchers *watchers, bool somebody) {
    int64_t until_us = clock_monotonic_us() + (int64_t)WATCHERS_LOOK_MS * 1000;

    while (!watchers->look && !watchers->stop) {
        if (!somebody)
            pthread_cond_wait(&watchers->wake, &watchers->lock);
        else if (!thread_cond_wait(&watchers->wake, &watchers->lock, until_us))
            break;
    }
    watchers->look = false;
    return !watchers->stop;
}

static void *watchers_main(void *arg) {
    struct watchers *watchers = arg;
    bool somebody = false;

    pthread_mutex_lock(&watchers->lock);
    while (watchers->again ? !watchers->stop : rest(watchers, somebody)) {
        pthread_mutex_unlock(&watchers->lock);
        somebody = look(watchers);
        pthread_mutex_lock(&watchers->lock);
    }
    pthread_mutex_unlock(&watchers->lock);
    return NULL;
}

static void wake(struct watchers *watchers, struct watcher *arrived, bool stop) {
    pthread_mutex_lock(&watchers->lock);
    if (arrived)
        TAILQ_INSERT_TAIL(&watchers->arrived, arrived, next);
    watchers->look = true;
    watchers->stop |= stop;
    pthread_cond_signal(&watchers->wake);
    pthread_mutex_unlock(&watchers->lock);
}

struct watchers *watchers_new(struct db *db, const struct settings *settings, unsigned most,
                              bool threaded) {
    struct watchers *watchers = heap_new(sizeof(*watchers));

    watchers->db = db;
    watchers->settings = settings;
    watchers->projects = seats_new(most);
    watchers->peers = seats_new(most);
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

void watchers_free(struct watchers *watchers) {
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
    seats_free(watchers->projects);
    seats_free(watchers->peers);
    pthread_cond_destroy(&watchers->wake);
    pthread_mutex_destroy(&watchers->lock);
    arena_free(watchers->arena);
    free(watchers);
}

void watchers_look(struct watchers *watchers) {
    if (watchers->threaded) {
        wake(watchers, NULL, false);
        return;
    }
    do
        look(watchers);
    while (watchers->again);
}

/* ---- arrivals ---- */

/* A stream has room again, or is over: its thread may be one that must not be held up. */
static void heard_of(void *arg) {
    struct watchers *watchers = arg;

    if (watchers->threaded)
        wake(watchers, NULL, false);
}

static int take_seats(struct watchers *watchers, const char *project, const char *peer,
                      struct error *err) {
    if (!seats_take(watchers->projects, project, project))
        return error_set(err, ERROR_TRY_LATER,
                         "The project watches in too many places; try again later.");
    if (seats_take(watchers->peers, peer, project))
        return 0;
    seats_leave(watchers->projects, project, project);
    return error_set(err, ERROR_TRY_LATER,
                     "Too much is watched from this address; try again later.");
}

int watchers_put(struct watchers *watchers, struct request *request, struct error *err) {
    struct http_exchange *http = request->http;
    const char *project = request->context.project_id ? request->context.project_id : "";
    struct watcher *watcher;

    if (take_seats(watchers, project, http->peer, err) < 0)
        return -1;
    watcher = watcher_new(request->watch, project, http->peer);
    http_add_header(http, "Cache-Control", "no-cache");
    http_add_header(http, "X-Accel-Buffering", "no"); /* a proxy that gathers would tell late */
    watcher->stream = http_stream_open(http, heard_of, watchers);
    wake(watchers, watcher, false);
    if (!watchers->threaded)
        watchers_look(watchers);
    return 0;
}
