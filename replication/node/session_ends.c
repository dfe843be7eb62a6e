#include "replication/node/session_ends.h"

#include "client/documents.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "common/thread.h"
#include "replication/node/connections.h"
#include "replication/node/reports.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define DEFAULT_PERIOD_MS 120000
#define DEFAULT_IDLE_MS   600000

/* One to which nobody was connected at the last look. */
struct idle {
    LIST_ENTRY(idle) next;
    char name[SESSION_NAME_SIZE];
    int64_t since_us;
    bool seen; /* at this look */
};

struct session_ends {
    struct session_ends_settings settings;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool ends;
    /* Of who looks: */
    LIST_HEAD(idle_list, idle) idle;
};

/* ---- nobody is connected ---- */

static struct idle *find_idle(struct session_ends *ends, const char *name) {
    struct idle *idle = LIST_FIRST(&ends->idle);

    while (idle && strcmp(idle->name, name) != 0)
        idle = LIST_NEXT(idle, next);
    if (idle)
        return idle;
    idle = heap_new(sizeof(*idle));
    *idle = (struct idle){ .since_us = clock_monotonic_us() };
    strcpy(idle->name, name);
    LIST_INSERT_HEAD(&ends->idle, idle, next);
    return idle;
}

static bool is_left(struct session_ends *ends, const struct replica_session *session) {
    struct connections connections;
    struct idle *idle;

    connections_look(&connections);
    if (connections_at(&connections, session->port))
        return false;
    idle = find_idle(ends, session->name);
    idle->seen = true;
    return clock_monotonic_us() - idle->since_us >= ends->settings.idle_ms * 1000;
}

static void forget(struct idle *idle) {
    LIST_REMOVE(idle, next);
    free(idle);
}

static void forget_unseen(struct session_ends *ends) {
    struct idle *idle, *next;

    for (idle = LIST_FIRST(&ends->idle); idle; idle = next) {
        next = LIST_NEXT(idle, next);
        if (!idle->seen)
            forget(idle);
        else
            idle->seen = false;
    }
}

/* ---- its target is over ---- */

static bool is_served(const struct assignment_volume *volume) {
    return volume->has_target && volume->phase &&
           (strcmp(volume->phase, "Healthy") == 0 || strcmp(volume->phase, "Degraded") == 0);
}

static bool is_over(const struct assignment *assignment, int64_t epoch) {
    const struct assignment_volume *volume = &assignment->volume;

    if (volume->epoch > epoch)
        return !*volume->node || is_served(volume);
    return volume->epoch == epoch && !*volume->node && !volume->has_target &&
           volume->observed >= assignment->generation;
}

/* What the API does not know, or does not say, is left alone. */
static bool is_ended(const struct session_ends *ends, const struct replica_session *session) {
    autoarena struct arena *arena = arena_new();
    const json_t *document;
    struct assignment *assignment;
    struct error err;
    bool over;

    document = document_fetch(&ends->settings.api, arena, reports_kind(ASSIGNMENT_VOLUME),
                              session->volume, &err);
    if (!document || assignment_read(ASSIGNMENT_VOLUME, document, &assignment, &err) < 0)
        return false;
    over = strcmp(assignment->uid, session->volume) == 0 && is_over(assignment, session->epoch);
    assignment_release(assignment);
    return over;
}

/* ---- a look ---- */

static void look_at(struct session_ends *ends, struct arena *arena, const char *uid) {
    struct sessions *sessions = ends->settings.sessions;
    struct replica_session session;
    static struct log_limit ended = LOG_LIMIT;
    struct error err;
    unsigned others;
    bool left;

    if (!sessions_find(sessions, arena, uid, &session))
        return;
    left = is_left(ends, &session);
    if (!left && !is_ended(ends, &session))
        return;
    if (sessions_end_one(sessions, uid, &session, &err) < 0)
        log_warning(NULL, "session of another node does not end", "replica_id", uid, "reason",
                    err.message, NULL);
    else if (log_limit_allows(&ended, uid, clock_monotonic_us(), &others))
        log_info(NULL, "session of another node ends", "replica_id", uid, "volume_id",
                 session.volume, "epoch", LOG_INT(session.epoch), "reason",
                 left ? "no client is connected" : "its target is over", "others", LOG_INT(others),
                 NULL);
}

static bool is_told_to_end(struct session_ends *ends) {
    bool told;

    pthread_mutex_lock(&ends->lock);
    told = ends->ends;
    pthread_mutex_unlock(&ends->lock);
    return told;
}

void session_ends_look(struct session_ends *ends) {
    autoarena struct arena *arena = arena_new();

    for (const char **uid = sessions_all(ends->settings.sessions, arena); *uid; uid++) {
        if (is_told_to_end(ends))
            return;
        look_at(ends, arena, *uid);
    }
    forget_unseen(ends);
}

/* ---- the thread ---- */

static void *run(void *arg) {
    struct session_ends *ends = arg;

    pthread_mutex_lock(&ends->lock);
    while (!ends->ends) {
        int64_t next_us = clock_monotonic_us() + ends->settings.period_ms * 1000;

        while (!ends->ends && thread_cond_wait(&ends->changed, &ends->lock, next_us))
            ;
        pthread_mutex_unlock(&ends->lock);
        session_ends_look(ends);
        pthread_mutex_lock(&ends->lock);
    }
    pthread_mutex_unlock(&ends->lock);
    return NULL;
}

struct session_ends *session_ends_new(const struct session_ends_settings *settings) {
    struct session_ends *ends = heap_new(sizeof(*ends));

    ends->settings = *settings;
    if (settings->period_ms <= 0)
        ends->settings.period_ms = DEFAULT_PERIOD_MS;
    if (settings->idle_ms <= 0)
        ends->settings.idle_ms = DEFAULT_IDLE_MS;
    pthread_mutex_init(&ends->lock, NULL);
    thread_cond_init(&ends->changed);
    LIST_INIT(&ends->idle);
    return ends;
}

int session_ends_start(struct session_ends *ends, struct error *err) {
    int code = thread_start(&ends->thread, "sessions", run, ends);

    ends->started = code == 0;
    return code == 0 ? 0
                     : error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
}

bool session_ends_stop(struct session_ends *ends, int64_t ms) {
    if (!ends)
        return true;
    pthread_mutex_lock(&ends->lock);
    ends->ends = true;
    pthread_cond_signal(&ends->changed);
    pthread_mutex_unlock(&ends->lock);
    if (ends->started && !thread_join_within(ends->thread, ms))
        return false;
    while (!LIST_EMPTY(&ends->idle))
        forget(LIST_FIRST(&ends->idle));
    pthread_mutex_destroy(&ends->lock);
    pthread_cond_destroy(&ends->changed);
    free(ends);
    return true;
}
