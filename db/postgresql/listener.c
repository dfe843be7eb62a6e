#include "db/postgresql/listener.h"

#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "db/postgresql/clock.h"
#include "db/postgresql/postgresql.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static const struct backoff_limits pauses = { .first_us = 100000,
                                              .most_us = 2 * SECOND_US,
                                              .jitter_percent = BACKOFF_JITTER };

static const struct {
    const char *channel, *tell;
} channels[] = {
    [DB_OUTBOX] = { "scoria_outbox", "NOTIFY scoria_outbox" },
    [DB_DOCUMENTS] = { "scoria_documents", "NOTIFY scoria_documents" },
    [DB_ENDED] = { "scoria_ended", "NOTIFY scoria_ended" },
};

struct listener {
    struct postgresql_db *db;
    pthread_t thread;
    int wake; /* eventfd */
    _Atomic bool stopping;
    _Atomic bool telling[DB_EVENTS];

    /* Of the thread. */
    struct session *session;
    unsigned failures; /* consecutive */
    bool failing;
    int64_t clock_us; /* of the next clock measurement; monotonic */
};

static void listener_wake(struct listener *listener) {
    uint64_t one = 1;

    if (write(listener->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
        abort();
}

/* Sleeps until woken, input of the server, or the timeout. */
static void listener_sleep(struct listener *listener, int timeout_ms) {
    struct pollfd fds[2] = {
        { .fd = listener->wake, .events = POLLIN },
        { .fd = listener->session ? PQsocket(listener->session->server.handle) : -1,
          .events = POLLIN },
    };
    uint64_t count;

    if (poll(fds, 2, timeout_ms > 0 ? timeout_ms : 0) > 0 && fds[0].revents &&
        read(listener->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
        abort();
}

static int clock_measure(struct listener *listener, struct error *err) {
    listener->clock_us = clock_monotonic_us() + POSTGRESQL_CLOCK_MS * 1000;
    return postgresql_clock_measure(listener->db, listener->session, err);
}

static int listener_connect(struct listener *listener, struct error *err) {
    if (session_open(&listener->db->readers.settings, &listener->session, err) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(channels); i++) {
        char sql[40];

        snprintf(sql, sizeof(sql), "LISTEN %s", channels[i].channel);
        if (session_run(listener->session, sql, err) < 0)
            return -1;
    }
    if (clock_measure(listener, err) < 0)
        return -1;
    if (listener->failing)
        log_info(NULL, "database reachable again", NULL);
    listener->failing = false;
    listener->failures = 0;
    /* Notifications before this moment may be lost. */
    for (unsigned i = 0; i < DB_EVENTS; i++)
        postgresql_hook(listener->db, (enum db_event)i);
    return 0;
}

static int told_hear(struct listener *listener, struct error *err) {
    PGconn *handle = listener->session->server.handle;
    bool received[DB_EVENTS] = { false };
    PGnotify *notify;

    if (!PQconsumeInput(handle) || PQstatus(handle) != CONNECTION_OK)
        return error_set(err, ERROR_UNAVAILABLE, "The connection to the database is lost.");
    while ((notify = PQnotifies(handle))) {
        for (size_t i = 0; i < LENGTH(channels); i++)
            received[i] |= notify->be_pid != PQbackendPID(handle) &&
                           strcmp(notify->relname, channels[i].channel) == 0;
        PQfreemem(notify);
    }
    for (size_t i = 0; i < LENGTH(channels); i++)
        if (received[i])
            postgresql_hook(listener->db, (enum db_event)i);
    return 0;
}

static int listener_step(struct listener *listener, struct error *err) {
    int64_t left_us;

    if (!listener->session && listener_connect(listener, err) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(channels); i++)
        if (atomic_exchange(&listener->telling[i], false) &&
            session_run(listener->session, channels[i].tell, err) < 0)
            return -1;
    if (told_hear(listener, err) < 0)
        return -1;
    left_us = listener->clock_us - clock_monotonic_us();
    if (left_us <= 0)
        return clock_measure(listener, err);
    listener_sleep(listener, (int)(left_us / 1000) + 1);
    return 0;
}

static void *listener_main(void *arg) {
    struct listener *listener = arg;
    struct error err;

    while (!atomic_load(&listener->stopping)) {
        if (listener_step(listener, &err) == 0)
            continue;
        if (listener->session)
            session_close(listener->session);
        listener->session = NULL;
        if (!listener->failing)
            log_warning(NULL, "database unreachable, retrying", "error", err.message, NULL);
        listener->failing = true;
        listener_sleep(listener, (int)(backoff_pause_us(&pauses, ++listener->failures) / 1000));
    }
    if (listener->session)
        session_close(listener->session);
    return NULL;
}

struct listener *listener_start(struct postgresql_db *db) {
    struct listener *listener = heap_new(sizeof(*listener));

    listener->db = db;
    listener->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (listener->wake < 0 || pthread_create(&listener->thread, NULL, listener_main, listener) != 0)
        abort();
    return listener;
}

void listener_stop(struct listener *listener) {
    atomic_store(&listener->stopping, true);
    listener_wake(listener);
    pthread_join(listener->thread, NULL);
    close(listener->wake);
    free(listener);
}

void listener_tell(struct listener *listener, enum db_event event) {
    if (!atomic_exchange(&listener->telling[event], true))
        listener_wake(listener);
}
