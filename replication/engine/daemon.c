#include "replication/engine/daemon.h"

#include "common/child.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/same_file.h"
#include "replication/engine/daemon_environment.h"
#include "replication/engine/daemon_release.h"
#include "replication/engine/deadline.h"
#include "replication/engine/qmp.h"
#include "replication/engine/write_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define LOG_MOST (64 * 1024)
/* A daemon has this time to release its files before it is killed. */
#define RELEASE_US (3 * SECOND_US)

/* LOCK_FD is checked in daemons of other versions, too. */
enum { NULL_FD, OUT_FD, ERR_FD, LOCK_FD, PRELOAD_FD, REPORT_FD, CHILD_FDS };
_Static_assert(LOCK_FD == DAEMON_LOCK_FD, "the preloaded object closes it last");

const char *daemon_path(struct arena *arena, const char *run, const char *name) {
    return arena_join(arena, run, "/", name, NULL);
}

/* ---- locks ---- */

static int open_in(const char *run, const char *name, int flags) {
    autoarena struct arena *arena = arena_new();

    return open(daemon_path(arena, run, name), flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* 1 another has it, 0 locked, -1. */
static int try_lock(int fd) {
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EINTR)
            return errno == EWOULDBLOCK ? 1 : -1;
    }
    return 0;
}

int daemon_lock(const char *run, int *ret, struct error *err) {
    const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof("/peer");
    autoclose int fd = -1;
    struct stat facts;
    int held;

    if (run[0] != '/' || strlen(run) > most)
        return error_set(err, ERROR_BAD_REQUEST,
                         "A run directory is an absolute path of at most %zu bytes: %s", most, run);
    if (mkdir(run, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making %s", run);
    fd = open_in(run, "lock", O_RDWR | O_CREAT);
    held = fd < 0 ? -1 : try_lock(fd);
    if (held < 0 || fstat(fd, &facts) < 0)
        return error_errno(err, ERROR_BACKEND, "locking %s", run);
    if (held > 0 || facts.st_nlink == 0) /* or it was removed between our two steps */
        return error_set(err, ERROR_CONFLICT, "Another process owns the volume in %s.", run);
    *ret = take_fd(fd);
    return 0;
}

/* A shared lock, so that two concurrent checks do not take each other for the daemon. */
bool daemon_runs(const char *run) {
    autoclose int fd = open_in(run, "daemon", O_RDONLY);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* ---- in the child ---- */

struct launch {
    char *const *arguments, *const *environment;
    int fds[CHILD_FDS];
};

static int write_pid(int fd) {
    char digits[20];
    size_t first = sizeof(digits);

    digits[--first] = '\n';
    for (pid_t pid = getpid(); pid > 0; pid /= 10)
        digits[--first] = (char)('0' + pid % 10);
    if (ftruncate(fd, 0) < 0)
        return -1;
    return pwrite(fd, digits + first, sizeof(digits) - first, 0) > 0 ? 0 : -1;
}

/* A child of a child: no process of ours has to wait for its end. */
static void run_child(void *arg) {
    struct launch *launch = arg;
    int report = launch->fds[REPORT_FD];
    pid_t pid;

    child_reset_signals();
    setsid();
    pid = fork();
    if (pid > 0)
        _exit(0);
    if (pid == 0 && chdir("/") == 0 && child_place_fds(launch->fds, CHILD_FDS) == 0) {
        report = REPORT_FD;
        umask(0077);
        child_spare_from_oom();
        if (write_pid(LOCK_FD) == 0)
            execvpe(launch->arguments[0], launch->arguments, launch->environment);
    }
    child_fail(report);
}

/* ---- start ---- */

/* The log has the output since the last start but one. */
static int open_log(const char *run, int flags) {
    autoclose int fd = open_in(run, "log", O_WRONLY | O_APPEND | flags);
    struct stat facts;

    if (fd < 0 || fstat(fd, &facts) < 0 || (facts.st_size > LOG_MOST && ftruncate(fd, 0) < 0))
        return -1;
    return take_fd(fd);
}

/* No log is created: the directory may be about to be removed. */
void daemon_trim_log(const char *run) {
    autoclose int fd = open_log(run, 0);

    (void)fd;
}

static int launch_daemon(const char *run, const char *const *arguments, struct error *err) {
    autoarena struct arena *arena = arena_new();
    autoclose int lock = open_in(run, "daemon", O_RDWR | O_CREAT);
    autoclose int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC), log = open_log(run, O_CREAT);
    autoclose int reader = -1, writer = -1, preload = daemon_preload_open();
    struct launch launch = { .arguments = (char *const *)(uintptr_t)arguments,
                             .environment = daemon_environment(arena, preload < 0 ? -1 : PRELOAD_FD,
                                                               write_log_directory(arena, run)) };
    int ends[2], held = lock < 0 ? -1 : try_lock(lock);
    pid_t pid;

    if (held > 0)
        return error_set(err, ERROR_CONFLICT, "A storage daemon runs in %s.", run);
    /* The former daemon's process id is invalid from here on. */
    if (held < 0 || ftruncate(lock, 0) < 0 || null_fd < 0 || log < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, ERROR_BACKEND, "preparing %s", run);
    if (preload < 0)
        log_warning(NULL, "storage daemon runs without the preloaded object", "directory", run,
                    "reason", "cannot make a file in memory", NULL);
    reader = ends[0];
    writer = ends[1];
    launch.fds[NULL_FD] = null_fd;
    launch.fds[OUT_FD] = launch.fds[ERR_FD] = log;
    launch.fds[LOCK_FD] = lock;
    launch.fds[PRELOAD_FD] = preload < 0 ? null_fd : preload;
    launch.fds[REPORT_FD] = writer;
    pid = child_fork(run_child, &launch);
    if (pid < 0)
        return error_errno(err, ERROR_INTERNAL, "fork");
    child_reap(pid);
    close(take_fd(writer));
    errno = child_report(reader);
    return errno ? error_errno(err, ERROR_INTERNAL, "cannot run %s in %s", arguments[0], run) : 0;
}

/* The end of its output, in one line. */
static const char *last_output(struct arena *arena, const char *run) {
    autoclose int fd = open_in(run, "log", O_RDONLY);
    char text[256] = "";
    struct stat facts;
    ssize_t got = -1;

    if (fd >= 0 && fstat(fd, &facts) == 0)
        got = pread(fd, text, sizeof(text) - 1, facts.st_size > 255 ? facts.st_size - 255 : 0);
    if (got <= 0)
        return "no output";
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] < ' ' || text[i] > '~')
            text[i] = ' ';
    }
    return arena_text(arena, text);
}

/* A pause before it is queried again, unless it has ended or its time has. */
static int pause_start(const char *run, unsigned *pauses, int64_t *until_us, struct error *err) {
    if (!daemon_runs(run))
        return error_set(err, ERROR_BACKEND, "it ended");
    return deadline_pause_again(pauses, until_us)
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "it does not become ready");
}

/* A comma in the value of an option is written twice. */
static const char *escaped(struct arena *arena, const char *value) {
    char *text = arena_alloc(arena, strlen(value) * 2 + 1), *end = text;

    for (; *value; value++) {
        *end++ = *value;
        if (*value == ',')
            *end++ = ',';
    }
    return text;
}

/*
 * It waits for the first client of its monitor before it makes the monitor.  If it did not, the
 * first client might connect while the thread of the monitor takes the socket over: QEMU 7.2 then
 * uses objects of the connection in both threads, loses bytes of commands, and may crash.
 */
int daemon_begin(const char *run, const char *program, struct error *err) {
    static const char *const stale[] = { "qmp", "nbd", "pid" };
    autoarena struct arena *arena = arena_new();
    const char *path = escaped(arena, run);
    const char *const arguments[] = {
        program,
        "--chardev",
        arena_format(arena, "socket,path=%s/qmp,server=on,wait=on,id=monitor", path),
        "--monitor",
        "chardev=monitor",
        "--nbd-server",
        arena_format(arena, "addr.type=unix,addr.path=%s/nbd", path),
        "--pidfile",
        daemon_path(arena, run, "pid"),
        NULL,
    };

    if (daemon_runs(run))
        return error_set(err, ERROR_CONFLICT, "A storage daemon runs in %s.", run);
    for (size_t i = 0; i < LENGTH(stale); i++) {
        if (unlink(daemon_path(arena, run, stale[i])) < 0 && errno != ENOENT)
            return error_errno(err, ERROR_BACKEND, "removing %s/%s", run, stale[i]);
    }
    return launch_daemon(run, arguments, err);
}

int daemon_await_ready(const char *run, int64_t timeout_ms, struct qmp **ret, struct error *err) {
    int64_t until_us = deadline_after_us(timeout_ms);
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp = NULL;
    struct error ignored;
    unsigned pauses = 0;
    int result = 0;

    while (result == 0 && qmp_open(daemon_path(arena, run, "qmp"), &qmp, err) < 0)
        result = pause_start(run, &pauses, &until_us, err);
    if (result == 0)
        result = qmp_negotiate(qmp, timeout_ms, err);
    /* It writes its pid file when all sockets listen. */
    pauses = 0;
    while (result == 0 && access(daemon_path(arena, run, "pid"), F_OK) < 0)
        result = pause_start(run, &pauses, &until_us, err);
    if (result == 0) {
        *ret = qmp;
        return 0;
    }
    qmp_close(qmp);
    daemon_kill(run, timeout_ms, &ignored);
    return error_context(err, "starting a storage daemon (its last output: %s)",
                         last_output(arena, run));
}

int daemon_start(const char *run, const char *program, int64_t timeout_ms, struct qmp **ret,
                 struct error *err) {
    return daemon_begin(run, program, err) < 0 ? -1 : daemon_await_ready(run, timeout_ms, ret, err);
}

/* ---- end ---- */

int daemon_await_end(const char *run, int64_t timeout_ms, struct error *err) {
    int64_t until_us = deadline_after_us(timeout_ms);
    unsigned pauses = 0;

    while (daemon_runs(run)) {
        if (!deadline_pause_again(&pauses, &until_us))
            return error_set(err, ERROR_UNAVAILABLE, "the storage daemon in %s does not end", run);
    }
    return 0;
}

/* The process of the daemon that holds the lock, and its id; -1: unknown. No other one starts: we
 * hold RUN/lock. */
static int open_process(const char *run, pid_t *ret) {
    autoclose int file = open_in(run, "daemon", O_RDONLY), process = -1;
    char text[32] = "", path[64];
    struct stat ours, its;
    pid_t pid = 0;

    if (file >= 0 && read(file, text, sizeof(text) - 1) > 0)
        pid = (pid_t)strtol(text, NULL, 10);
    if (pid > 1)
        process = (int)syscall(SYS_pidfd_open, pid, 0);
    /* It runs now, and did when its id was resolved. */
    if (process < 0 || !daemon_runs(run))
        return -1;
    /* Has it the locked file open? The number may be of another namespace. */
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, LOCK_FD);
    if (fstat(file, &ours) < 0 || stat(path, &its) < 0 || !is_same_file(&ours, &its))
        return -1;
    *ret = pid;
    return take_fd(process);
}

static void send_signal(int process, int number) {
    syscall(SYS_pidfd_send_signal, process, number, NULL, 0);
}

int daemon_kill(const char *run, int64_t timeout_ms, struct error *err) {
    int64_t until_us = deadline_after_us(timeout_ms), half_us = timeout_ms * 1000 / 2;
    int64_t reserve_us = timeout_ms * 1000 - (RELEASE_US < half_us ? RELEASE_US : half_us);
    pid_t released = 0;
    unsigned pauses = 0;

    /* A new process may not have written its id yet: it is read again. */
    while (daemon_runs(run)) {
        pid_t pid = 0;
        autoclose int process = open_process(run, &pid);

        if (process >= 0 && released != pid) {
            send_signal(process, DAEMON_RELEASE_SIGNAL);
            send_signal(process, SIGCONT); /* a stopped process continues for that */
            released = pid;
        } else if (process >= 0 && clock_boottime_us() >= until_us - reserve_us) {
            send_signal(process, SIGKILL);
        }
        if (!deadline_pause_again(&pauses, &until_us))
            return error_set(err, ERROR_UNAVAILABLE, "the storage daemon in %s cannot be ended",
                             run);
    }
    return 0;
}

void daemon_clear(const char *run) {
    static const char *const names[] = { "qmp", "nbd", "pid", "peer", "log", "daemon", "lock" };
    autoarena struct arena *arena = arena_new();

    if (daemon_runs(run))
        return;
    for (size_t i = 0; i < LENGTH(names); i++)
        unlink(daemon_path(arena, run, names[i]));
    rmdir(run);
}
