#include "common/process.h"

#include "common/child.h"
#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_MS 60000
#define DEFAULT_OUTPUT     ((size_t)64 * 1024)
#define LONGEST_WAIT_MS    1000000
#define LOOK_AGAIN_MS      10
#define ASK_AGAIN_MS       500
#define LONGEST_LOOK_US    1000000
#define DEFAULT_PATH       "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

enum { READ_END, WRITE_END };
enum {
    NULL_FD,
    OUT_FD,
    ERR_FD,
    REPORT_FD,
    CHILD_FDS
}; /* descriptors 0, 1, 2 of the child, and its
                                                         * report */

/* The output of one stream. */
struct capture {
    char *text;
    size_t size, room;
    bool keeps_end, ended, overflow;
};

/* Everything the child needs, prepared before fork(). */
struct launch {
    const char *path;
    char *const *arguments;
    char *const *environment;
    const struct process_limits *limits;
    int fds[CHILD_FDS];
    pid_t parent;
};

/* ---- in the child ---- */

static int lower_limit(int resource, int64_t value) {
    return value <= 0 ? 0 : child_limit(resource, value);
}

/* A child that survived a crash of this process would run beside the one that takes over. */
static int die_with_parent(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -1;
    if (getppid() != parent)
        _exit(127);
    return 0;
}

static void run_child(void *arg) {
    struct launch *launch = arg;
    const struct process_limits *limits = launch->limits;
    int report = launch->fds[REPORT_FD];

    child_reset_signals();
    if (setpgid(0, 0) == 0 && die_with_parent(launch->parent) == 0 &&
        lower_limit(RLIMIT_CPU, limits->cpu_seconds) == 0 &&
        lower_limit(RLIMIT_AS, limits->memory_bytes) == 0 &&
        lower_limit(RLIMIT_FSIZE, limits->file_bytes) == 0 &&
        child_place_fds(launch->fds, CHILD_FDS) == 0) {
        report = REPORT_FD;
        execve(launch->path, launch->arguments, launch->environment);
    }
    child_fail(report);
}

/* ---- start ---- */

static const char *find_program(struct arena *arena, const char *name) {
    const char *directories = getenv("PATH");

    if (strchr(name, '/'))
        return name;
    if (!directories)
        directories = DEFAULT_PATH;
    while (*directories) {
        size_t length = strcspn(directories, ":");
        const char *path = arena_format(arena, "%.*s/%s", (int)length, directories, name);

        if (length > 0 && access(path, X_OK) == 0)
            return path;
        directories += length + (directories[length] == ':');
    }
    return NULL;
}

/* The environment of this process with LC_ALL=C: drivers parse the messages. */
static char **make_environment(struct arena *arena) {
    size_t count = 0, kept = 0;
    char **environment;

    while (environ[count])
        count++;
    environment = arena_alloc(arena, (count + 2) * sizeof(*environment));
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            environment[kept++] = environ[i];
    }
    environment[kept] = arena_text(arena, "LC_ALL=C");
    return environment;
}

struct pipe {
    int ends[2];
};

static void cleanup_pipe(struct pipe *pipe) {
    cleanup_close(&pipe->ends[READ_END]);
    cleanup_close(&pipe->ends[WRITE_END]);
}
#define autopipe __attribute__((cleanup(cleanup_pipe)))

static int open_pipe(struct pipe *pipe) {
    return pipe2(pipe->ends, O_CLOEXEC);
}

static void close_end(struct pipe *pipe, int end) {
    close(pipe->ends[end]);
    pipe->ends[end] = -1;
}

/* Returns the child and the read ends of its output; or -1 with errno. */
static pid_t start_child(struct launch *launch, struct pipe *out, struct pipe *errors) {
    autopipe struct pipe report = { { -1, -1 } };
    autoclose int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t pid;
    int code;

    if (!launch->path) {
        errno = ENOENT;
        return -1;
    }
    if (null_fd < 0 || open_pipe(out) < 0 || open_pipe(errors) < 0 || open_pipe(&report) < 0)
        return -1;
    launch->fds[NULL_FD] = null_fd;
    launch->fds[OUT_FD] = out->ends[WRITE_END];
    launch->fds[ERR_FD] = errors->ends[WRITE_END];
    launch->fds[REPORT_FD] = report.ends[WRITE_END];
    /* posix_spawn() cannot set limits, and prlimit() would come after the program has started. */
    launch->parent = getpid();
    pid = child_fork(run_child, launch);
    if (pid < 0)
        return -1;
    close_end(out, WRITE_END);
    close_end(errors, WRITE_END);
    close_end(&report, WRITE_END);
    code = child_report(report.ends[READ_END]);
    if (code == 0)
        return pid;
    child_reap(pid);
    errno = code;
    return -1;
}

/* ---- output ---- */

/* Room for one byte more than the limit detects excess output. */
static void make_room(struct arena *arena, struct capture *capture, size_t most) {
    size_t room = capture->room ? capture->room * 2 : 4096;
    char *text;

    if (capture->text && capture->size + 1 < capture->room)
        return;
    if (room > most + 2)
        room = most + 2;
    text = arena_alloc(arena, room);
    if (capture->text)
        memcpy(text, capture->text, capture->size);
    capture->text = text;
    capture->room = room;
}

static void read_output(struct arena *arena, int fd, struct capture *capture, size_t most) {
    ssize_t got;

    make_room(arena, capture, most);
    got = read(fd, capture->text + capture->size, capture->room - 1 - capture->size);
    if (got > 0)
        capture->size += (size_t)got;
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        capture->ended = true;
    capture->overflow = capture->size > most;
    if (capture->overflow && capture->keeps_end) {
        size_t kept = most / 2;

        memmove(capture->text, capture->text + capture->size - kept, kept);
        capture->size = kept;
        capture->overflow = false;
    }
}

/* The child has ended: reads the remaining output, without waiting for other holders of the
 * pipe. */
static void read_rest(struct arena *arena, int fd, struct capture *capture, size_t most) {
    struct pollfd pipe = { .fd = fd, .events = POLLIN };

    while (!capture->ended && !capture->overflow && poll(&pipe, 1, 0) > 0)
        read_output(arena, fd, capture, most);
    make_room(arena, capture, most);
    capture->text[capture->size] = '\0';
}

/* Does not reap the child: its process id stays reserved. */
static bool has_ended(pid_t pid) {
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

struct idleness {
    clockid_t clock; /* the child's processor time */
    struct timespec used;
    int64_t looked_us, idle_us;
};

/* Time during which this process was suspended, the child perhaps with it, does not count.  A child
 * that has just ended has no clock. */
static bool is_idle(struct idleness *idleness, int64_t idle_ms) {
    int64_t now_us = clock_monotonic_us(), passed_us = now_us - idleness->looked_us;
    struct timespec used;

    if (idle_ms <= 0 || clock_gettime(idleness->clock, &used) < 0)
        return false;
    idleness->looked_us = now_us;
    if (used.tv_sec != idleness->used.tv_sec || used.tv_nsec != idleness->used.tv_nsec) {
        idleness->used = used;
        idleness->idle_us = 0;
        return false;
    }
    idleness->idle_us += passed_us < LONGEST_LOOK_US ? passed_us : LONGEST_LOOK_US;
    return idleness->idle_us >= idle_ms * 1000;
}

/*
 * 0: the child has ended; 1: excess output; 2: cancelled; 3: idle; -1: timed out.  A kernel without
 * pidfd_open() does not signal the end of the child: it is polled.
 */
static int watch(struct arena *arena, pid_t pid, const int fds[2], struct capture captures[2],
                 size_t most, const struct process_limits *limits, int64_t end_us) {
    autoclose int child = (int)syscall(SYS_pidfd_open, pid, 0);
    int64_t longest_ms = child < 0                                ? LOOK_AGAIN_MS
                         : limits->goes_on || limits->idle_ms > 0 ? ASK_AGAIN_MS
                                                                  : LONGEST_WAIT_MS;
    struct idleness idleness = { .looked_us = clock_monotonic_us() };
    bool has_clock = clock_getcpuclockid(pid, &idleness.clock) == 0;

    while (!has_ended(pid)) {
        int64_t left_ms = (end_us - clock_monotonic_us() + 999) / 1000;
        struct pollfd polled[] = {
            { .fd = captures[0].ended ? -1 : fds[0], .events = POLLIN },
            { .fd = captures[1].ended ? -1 : fds[1], .events = POLLIN },
            { .fd = child, .events = POLLIN },
        };

        if (left_ms <= 0)
            return -1;
        if (limits->goes_on && !limits->goes_on(limits->arg, captures[0].text, captures[0].size))
            return 2;
        if (has_clock && is_idle(&idleness, limits->idle_ms))
            return 3;
        if (poll(polled, LENGTH(polled), (int)(left_ms < longest_ms ? left_ms : longest_ms)) <= 0)
            continue;
        for (int i = 0; i < 2; i++) {
            if (polled[i].revents)
                read_output(arena, fds[i], &captures[i], most);
            if (captures[i].overflow)
                return 1;
        }
    }
    return 0;
}

int process_run(struct arena *arena, const char *const *arguments,
                const struct process_limits *limits, struct process_result *ret,
                struct error *err) {
    int64_t timeout_ms = limits->timeout_ms > 0 ? limits->timeout_ms : DEFAULT_TIMEOUT_MS;
    int64_t end_us = clock_monotonic_us() + timeout_ms * 1000;
    size_t most = limits->output_bytes ? limits->output_bytes : DEFAULT_OUTPUT;
    autopipe struct pipe out = { { -1, -1 } }, errors = { { -1, -1 } };
    struct capture captures[2] = { { .keeps_end = limits->keeps_end },
                                   { .keeps_end = limits->keeps_end } };
    struct launch launch = {
        .path = find_program(arena, arguments[0]),
        .arguments = (char *const *)(uintptr_t)arguments,
        .environment = make_environment(arena),
        .limits = limits,
    };
    int fds[2], outcome, status;
    pid_t pid = start_child(&launch, &out, &errors);

    if (pid < 0)
        return error_errno(err, ERROR_INTERNAL, "cannot run %s", arguments[0]);
    fds[0] = out.ends[READ_END];
    fds[1] = errors.ends[READ_END];
    outcome = watch(arena, pid, fds, captures, most, limits, end_us);
    if (outcome == 0) {
        read_rest(arena, fds[0], &captures[0], most);
        read_rest(arena, fds[1], &captures[1], most);
    }
    kill(-pid, SIGKILL); /* not reaped yet: the process group still exists */
    status = child_reap(pid);
    if (outcome < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s did not end within %lld ms", arguments[0],
                         (long long)timeout_ms);
    if (outcome > 2)
        return error_set(err, ERROR_BACKEND, "%s hangs: idle for %lld ms", arguments[0],
                         (long long)limits->idle_ms);
    if (outcome > 1)
        return error_set(err, ERROR_CONFLICT, "%s was cancelled", arguments[0]);
    if (outcome > 0 || captures[0].overflow || captures[1].overflow)
        return error_set(err, ERROR_BACKEND, "%s printed more than %zu bytes", arguments[0], most);
    *ret = (struct process_result){ .exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                                                       : WEXITSTATUS(status),
                                    .output = captures[0].text,
                                    .errors = captures[1].text };
    return 0;
}
