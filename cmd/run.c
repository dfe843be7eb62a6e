/*
 * A running service: starts the parts of its role in the order of their dependencies, and stops
 * them in reverse.
 */
#include "client/compute_events.h"
#include "cmd/notify.h"
#include "cmd/part.h"
#include "cmd/parts.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/resident.h"
#include "common/version.h"
#include "db/db.h"
#include "manager/runtime/manager.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* After which the start is over, with that of the agent: it loads libvirt. */
#define STARTED_S   2
#define TRIM_EACH_S 60

/* Limit of the shutdown after a failed start. */
#define FAILED_START_S 5

/* ---- parts ---- */

/* clang-format off */
static const struct {
    unsigned of; /* any of these parts */
    int (*start)(struct parts *parts, struct error *err);
} starts[] = {
    { PARTS_LISTENING, part_listener_check },
    /* before the database: a second manager with this state directory must not migrate that of the
     * first */
    { PART_MANAGER, part_lock_take },
    { PARTS_STORING, part_store_start },
    { PARTS_LISTENING, part_gate_start },
    { PART_API, part_api_start },
    { PARTS_STORING, part_messages_start },
    { PART_MANAGER, part_manager_start },
    { PARTS_LISTENING, part_listener_start },
    { PART_MANAGER, part_manager_look },
    { PART_API, part_controller_start },
    { PART_AGENT, part_agent_start },
    /* messages last: an interrupted extend sends its event at once, and the agent must be ready for
     * it */
    { PARTS_STORING, part_messages_flow },
    { PART_CSI, part_csi_start },
    { PART_KUBERNETES, part_kubernetes_start },
    { PART_STORAGE, part_storage_start },
};

/* Each does nothing for a part that never started. */
static void (*const stops[])(struct parts *parts) = {
    part_kubernetes_stop,
    part_csi_stop,
    part_storage_stop,
    part_gate_set_deadline,
    part_listener_stop,
    part_manager_drain,
    part_gate_close,
    part_agent_stop,
    part_messages_stop,
    part_end_forget,
    part_controller_stop,
    part_manager_stop,
    part_api_stop,
    part_gate_stop,
    part_store_stop,
    part_lock_release,
};
/* clang-format on */

static int start(struct parts *parts, struct error *err) {
    for (unsigned i = 0; i < LENGTH(starts); i++)
        if (starts[i].of & parts->there && starts[i].start(parts, err) < 0)
            return -1;
    return 0;
}

/* ---- limits of the shutdown ---- */

static void wait_detached(intptr_t limit_s) {
    struct timespec until = { .tv_sec = limit_s };

    pthread_detach(pthread_self());
    while (nanosleep(&until, &until) < 0)
        ;
}

/* A job that does not end in time ends with the process; its lease expires and another manager, or
 * the next start, takes over. */
static void *stop_at_last(void *arg) {
    intptr_t limit_s = (intptr_t)arg; /* no pointer: nothing may outlive the rest of the process */

    wait_detached(limit_s);
    log_warning(NULL, "shutdown timeout: operations in progress are left to other managers",
                "graceful_shutdown_timeout", LOG_INT(limit_s), NULL);
    _exit(EXIT_SUCCESS);
}

/* An unresponsive backend must not delay the exit. */
static void *fail_at_last(void *arg) {
    wait_detached((intptr_t)arg);
    _exit(EXIT_FAILURE);
}

static void limit_end(int64_t limit_s, void *(*end)(void *limit)) {
    pthread_t thread;

    if (limit_s > 0 && pthread_create(&thread, NULL, end, (void *)(intptr_t)limit_s) != 0)
        log_error(NULL, "cannot arm the shutdown timeout", NULL);
}

/* ---- the process ---- */

static int look(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_query_any(tx, err, "SELECT 1");
}

/* A database that refuses is alive; one that hangs blocks this thread. */
static bool is_alive(void *arg) {
    const struct parts *parts = arg;
    struct error err;

    if (parts->db)
        db_read(parts->db, look, NULL, &err);
    return !parts->manager || manager_alive(parts->manager);
}

/* Process-wide settings, before any thread: all of them inherit the signal mask. */
static void prepare_process(sigset_t *ends) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct rlimit limit;

    /* A page of 1000 volumes returns its memory to the system; one of 100, which clients request
     * repeatedly, reuses the memory of the previous one. */
    mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 512 * 1024);
    /* Each of the threads, most of which are idle, would keep what it has freed. */
    mallopt(M_ARENA_MAX, processors > 2 ? (int)processors : 2);
    signal(SIGPIPE, SIG_IGN);
    /* systemd's default limit is for programs that use select(); this one polls. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, ends, NULL);
}

static void load_settings(struct parts *parts) {
    struct settings *settings = &parts->settings;

    settings_load(parts->config, &clock_system, settings);
    settings->node = parts_node(parts->config);
    settings->asks_service = compute_snapshots_are_novas(parts->config);
    /* Nova has a service token of its own; agents do not detach. */
    settings->only_services_detach = part_knows_callers(parts) && settings->asks_service;
    settings->one_process = (parts->there & PARTS_STORING) == PARTS_STORING;
    settings->taker = settings->one_process ? &parts->taker : NULL;
}

/* The signal that ends the process; memory of its start, and after each peak, is released
 * meanwhile. */
static int await_end(const sigset_t *ends) {
    const struct timespec started = { .tv_sec = STARTED_S }, pause = { .tv_sec = TRIM_EACH_S };
    int sig = sigtimedwait(ends, NULL, &started);

    if (sig > 0)
        return sig;
    malloc_trim(0);
    resident_release();
    while ((sig = sigtimedwait(ends, NULL, &pause)) < 0)
        resident_trim();
    return sig;
}

static void serve(struct parts *parts, struct notify *notify, const sigset_t *ends) {
    const char *ready = "ready";
    int sig;

    if (parts->listener)
        ready =
            arena_format(parts->arena, "ready %s", part_listener_url(parts, parts->listener->told));
    else if (parts->csi)
        ready = arena_format(parts->arena, "ready %s", part_csi_endpoint(parts->config));
    puts(ready);
    fflush(stdout);
    notify_ready(notify, ready, is_alive, parts);
    sig = await_end(ends);
    log_info(NULL, "stopping", "signal", sig == SIGTERM ? "TERM" : "INT", NULL);
    part_end_watch(parts, ends);
    limit_end(config_int(parts->config, "DEFAULT", "graceful_shutdown_timeout"), stop_at_last);
    notify_stopping(notify);
    /* pending requests may still wait for a connection: with an API, after it */
    if (!parts->api)
        part_manager_drain(parts);
}

int role_run(const struct role *role, const struct config *config) {
    autoarena struct arena *arena = arena_new();
    struct parts parts = {
        .config = config,
        .there = role_parts(role, config),
        .taker = OPERATION_TAKER_INIT,
        .listener = role->listener,
        .arena = arena,
        .lock = -1,
    };
    bool json = strcmp(config_text(config, "DEFAULT", "log_format"), "json") == 0;
    enum log_level least = LOG_INFO;
    struct notify *notify = NULL;
    struct error err;
    sigset_t ends;
    int status = EXIT_SUCCESS;

    log_level_parse(config_text(config, "DEFAULT", "log_level"), &least);
    log_open(STDERR_FILENO, least, json ? LOG_JSON : LOG_TEXT);
    log_info(NULL, "starting", "version", version_text(), NULL);
    prepare_process(&ends);
    load_settings(&parts);
    if (notify_open(&notify, &err) < 0 || start(&parts, &err) < 0) {
        fprintf(stderr, "scoria: %s\n", err.message);
        status = EXIT_FAILURE;
        limit_end(FAILED_START_S, fail_at_last);
    } else
        serve(&parts, notify, &ends);
    for (unsigned i = 0; i < LENGTH(stops); i++)
        stops[i](&parts);
    notify_close(notify);
    return status;
}
