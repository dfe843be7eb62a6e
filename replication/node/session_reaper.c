#include "replication/node/session_reaper.h"

#include "client/documents.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "common/thread.h"
#include "replication/node/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define DEFAULT_PERIOD_MS 120000
#define DEFAULT_IDLE_MS   600000
#define ESTABLISHED       0x01 /* a state in the kernel's tables */

/* A session without a connection at the last check. */
struct idle {
    LIST_ENTRY(idle) next;
    char name[SESSION_NAME_SIZE];
    int64_t since_us;
    bool seen; /* at this check */
};

struct session_reaper {
    struct session_reaper_settings settings;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t changed;
    bool ends;
    /* Of the checking thread: */
    LIST_HEAD(idle_list, idle) idle;
};

/* ---- connections ---- */

/* TCP ports of this host with established connections.  A port counts as connected when the
 * kernel's table cannot be read. */
struct connections {
    bool known;
    uint8_t ports[(UINT16_MAX + 1) / 8];
};

/* "  0: 0100007F:1F90 0100007F:C350 01 …", after a heading */
static bool read_table(const char *path, struct connections *connections) {
    autofile FILE *file = fopen(path, "re");
    char line[512];

    while (file && fgets(line, sizeof(line), file)) {
        unsigned port, state;

        if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &port, &state) == 2 &&
            port <= UINT16_MAX && state == ESTABLISHED)
            connections->ports[port / 8] |= (uint8_t)(1u << port % 8);
    }
    return file && !ferror(file);
}

/* ---- idle sessions ---- */

static bool is_idle(struct session_reaper *reaper, const struct replica_session *session) {
    struct connections connections = { 0 };
    unsigned port = session->port;
    struct idle *idle;

    connections.known = read_table("/proc/self/net/tcp", &connections);
    if (access("/proc/self/net/tcp6", F_OK) == 0) /* a kernel without IPv6 has no such table */
        connections.known = read_table("/proc/self/net/tcp6", &connections) && connections.known;
    if (!connections.known || port > UINT16_MAX || (connections.ports[port / 8] & 1u << port % 8))
        return false;
    LIST_FOREACH(idle, &reaper->idle, next) {
        if (strcmp(idle->name, session->name) == 0)
            break;
    }
    if (!idle) {
        idle = heap_new(sizeof(*idle));
        idle->since_us = clock_monotonic_us();
        strcpy(idle->name, session->name);
        LIST_INSERT_HEAD(&reaper->idle, idle, next);
    }
    idle->seen = true;
    return clock_monotonic_us() - idle->since_us >= reaper->settings.idle_ms * 1000;
}

static void forget(struct idle *idle) {
    LIST_REMOVE(idle, next);
    free(idle);
}

/* ---- targets ---- */

static bool is_superseded(const struct assignment *assignment, int64_t epoch) {
    const struct assignment_volume *volume = &assignment->volume;
    bool served = volume->has_target && volume->phase &&
                  (strcmp(volume->phase, "Healthy") == 0 || strcmp(volume->phase, "Degraded") == 0);

    if (volume->epoch > epoch)
        return !*volume->node || served;
    return volume->epoch == epoch && !*volume->node && !volume->has_target &&
           volume->observed >= assignment->generation;
}

/* Without a document of the API: false. */
static bool target_has_ended(const struct session_reaper *reaper,
                             const struct replica_session *session) {
    autoarena struct arena *arena = arena_new();
    const json_t *document;
    struct assignment *assignment;
    struct error err;
    bool superseded;

    document = document_fetch(&reaper->settings.api, arena, reports_kind(ASSIGNMENT_VOLUME),
                              session->volume, &err);
    if (!document || assignment_read(ASSIGNMENT_VOLUME, document, &assignment, &err) < 0)
        return false;
    superseded =
        strcmp(assignment->uid, session->volume) == 0 && is_superseded(assignment, session->epoch);
    assignment_release(assignment);
    return superseded;
}

/* ---- checks ---- */

static void check_session(struct session_reaper *reaper, struct arena *arena, const char *uid) {
    struct sessions *sessions = reaper->settings.sessions;
    struct replica_session session;
    static struct log_limit ended = LOG_LIMIT;
    struct error err;
    unsigned others;
    bool idle;

    if (!sessions_find(sessions, arena, uid, &session))
        return;
    idle = is_idle(reaper, &session);
    if (!idle && !target_has_ended(reaper, &session))
        return;
    if (sessions_end_one(sessions, uid, &session, &err) < 0)
        log_warning(NULL, "cannot end the session of another node", "replica_id", uid, "reason",
                    err.message, NULL);
    else if (log_limit_allows(&ended, uid, clock_monotonic_us(), &others))
        log_info(NULL, "session of another node ended", "replica_id", uid, "volume_id",
                 session.volume, "epoch", LOG_INT(session.epoch), "reason",
                 idle ? "no client is connected" : "its target has ended", "others",
                 LOG_INT(others), NULL);
}

void session_reaper_scan(struct session_reaper *reaper) {
    autoarena struct arena *arena = arena_new();
    struct idle *idle, *next;

    for (const char **uid = sessions_all(reaper->settings.sessions, arena); *uid; uid++) {
        bool ending;

        pthread_mutex_lock(&reaper->lock);
        ending = reaper->ends;
        pthread_mutex_unlock(&reaper->lock);
        if (ending)
            return;
        check_session(reaper, arena, *uid);
    }
    for (idle = LIST_FIRST(&reaper->idle); idle; idle = next) {
        next = LIST_NEXT(idle, next);
        if (!idle->seen)
            forget(idle);
        else
            idle->seen = false;
    }
}

/* ---- the thread ---- */

static void *run(void *arg) {
    struct session_reaper *reaper = arg;

    pthread_mutex_lock(&reaper->lock);
    while (!reaper->ends) {
        int64_t next_us = clock_monotonic_us() + reaper->settings.period_ms * 1000;

        while (!reaper->ends && thread_cond_wait(&reaper->changed, &reaper->lock, next_us))
            ;
        pthread_mutex_unlock(&reaper->lock);
        session_reaper_scan(reaper);
        pthread_mutex_lock(&reaper->lock);
    }
    pthread_mutex_unlock(&reaper->lock);
    return NULL;
}

struct session_reaper *session_reaper_new(const struct session_reaper_settings *settings) {
    struct session_reaper *reaper = heap_new(sizeof(*reaper));

    reaper->settings = *settings;
    if (settings->period_ms <= 0)
        reaper->settings.period_ms = DEFAULT_PERIOD_MS;
    if (settings->idle_ms <= 0)
        reaper->settings.idle_ms = DEFAULT_IDLE_MS;
    pthread_mutex_init(&reaper->lock, NULL);
    thread_cond_init(&reaper->changed);
    LIST_INIT(&reaper->idle);
    return reaper;
}

int session_reaper_start(struct session_reaper *reaper, struct error *err) {
    int code = thread_start(&reaper->thread, "sessions", run, reaper);

    reaper->started = code == 0;
    return code == 0 ? 0
                     : error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
}

bool session_reaper_stop(struct session_reaper *reaper, int64_t ms) {
    if (!reaper)
        return true;
    pthread_mutex_lock(&reaper->lock);
    reaper->ends = true;
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
    if (reaper->started && !thread_join_within(reaper->thread, ms))
        return false;
    while (!LIST_EMPTY(&reaper->idle))
        forget(LIST_FIRST(&reaper->idle));
    pthread_mutex_destroy(&reaper->lock);
    pthread_cond_destroy(&reaper->changed);
    free(reaper);
    return true;
}
