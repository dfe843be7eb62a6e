#include "data/chain_io.h"

#include "common/assert.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/image_lock.h"
#include "data/nbd_io.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define EXPORT        "volume"
#define EXPORT_OPTION "--export-name=volume"

/* SOCKET_FD is the first one of socket activation. */
enum { NULL_FD, OUT_FD, ERRORS_FD, SOCKET_FD, REPORT_FD, CHILD_FDS };

/* ---- in the child ---- */

struct launch {
    char *const *arguments;
    char process_id[32]; /* LISTEN_PID, without its digits */
    int fds[CHILD_FDS];
    int negotiated; /* a socket: a byte when qemu-nbd ends with its client */
    int64_t untrusted_cpu_seconds;
};

/* Threads reserve more memory than they use. */
#define UNTRUSTED_MEMORY ((int64_t)4 << 30)

static int limit_untrusted(int64_t cpu_seconds) {
    return child_limit(RLIMIT_CPU, cpu_seconds) < 0 ||
                   child_limit(RLIMIT_AS, UNTRUSTED_MEMORY) < 0 ||
                   child_limit(RLIMIT_FSIZE, 0) < 0 || child_limit(RLIMIT_CORE, 0) < 0
               ? -1
               : 0;
}

static void add_digits(char *text, pid_t pid) {
    char digits[20];
    size_t first = sizeof(digits);

    text += strlen(text);
    for (; pid > 0; pid /= 10)
        digits[--first] = (char)('0' + pid % 10);
    memcpy(text, digits + first, sizeof(digits) - first);
}

/* Without a negotiated export qemu-nbd does not end with its client: it is killed when our end of
 * the socket closes without that byte, also where this process was killed. */
static void supervise(pid_t server, int negotiated) {
    ssize_t got = -1;
    char byte;

    if (child_place_fds(&negotiated, 1) == 0) {
        do {
            got = read(0, &byte, 1);
        } while (got < 0 && errno == EINTR);
    }
    if (got != 1)
        kill(server, SIGKILL);
    _exit(0);
}

/* A grandchild of a child: no process of ours has to wait for its end, which may take long where
 * its storage hangs. */
static void run_child(void *arg) {
    struct launch *launch = arg;
    char *environment[] = { (char[]){ "LC_ALL=C" }, (char[]){ "LISTEN_FDS=1" }, launch->process_id,
                            NULL };
    int report = launch->fds[REPORT_FD];
    pid_t pid;

    child_reset_signals();
    setsid();
    pid = fork();
    if (pid > 0)
        _exit(0);
    if (pid == 0)
        pid = fork();
    if (pid > 0)
        supervise(pid, launch->negotiated);
    if (pid == 0 && chdir("/") == 0 &&
        (!launch->untrusted_cpu_seconds || limit_untrusted(launch->untrusted_cpu_seconds) == 0) &&
        child_place_fds(launch->fds, CHILD_FDS) == 0) {
        report = REPORT_FD;
        umask(0077);
        add_digits(launch->process_id, getpid());
        execvpe(launch->arguments[0], launch->arguments, environment);
    }
    child_fail(report);
}

/* ---- start ---- */

/* *ret_errors: its stderr, which ends with it.  *ret_negotiated: receives a byte, or its end
 * kills the server. */
static int launch_server(const char *const *arguments, int64_t untrusted_cpu_seconds, int listener,
                         int *ret_errors, int *ret_negotiated, struct error *err) {
    autoclose int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    autoclose int errors = -1, errors_end = -1, reader = -1, writer = -1;
    autoclose int negotiated = -1, negotiated_end = -1;
    struct launch launch = { .arguments = (char *const *)(uintptr_t)arguments,
                             .process_id = "LISTEN_PID=",
                             .untrusted_cpu_seconds = untrusted_cpu_seconds };
    int report[2], output[2], ends[2];
    pid_t pid;

    if (null_fd < 0 || pipe2(report, O_CLOEXEC) < 0)
        return error_errno(err, ERROR_INTERNAL, "preparing %s", arguments[0]);
    reader = report[0];
    writer = report[1];
    if (pipe2(output, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_errno(err, ERROR_INTERNAL, "preparing %s", arguments[0]);
    errors = output[0];
    errors_end = output[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_errno(err, ERROR_INTERNAL, "preparing %s", arguments[0]);
    negotiated = ends[0];
    negotiated_end = launch.negotiated = ends[1];
    launch.fds[NULL_FD] = launch.fds[OUT_FD] = null_fd;
    launch.fds[ERRORS_FD] = errors_end;
    launch.fds[SOCKET_FD] = listener;
    launch.fds[REPORT_FD] = writer;
    pid = child_fork(run_child, &launch);
    if (pid < 0)
        return error_errno(err, ERROR_INTERNAL, "fork");
    child_reap(pid);
    close(take_fd(writer));
    errno = child_report(reader);
    if (errno)
        return error_errno(err, ERROR_INTERNAL, "cannot run %s", arguments[0]);
    *ret_errors = take_fd(errors);
    *ret_negotiated = take_fd(negotiated);
    return 0;
}

/* A listening socket with its only client, in a directory that is gone again. */
static int open_sockets(int *ret_listener, int *ret_client, struct error *err) {
    char directory[] = "/tmp/scoria-data-XXXXXX";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct sockaddr *place = (const struct sockaddr *)&address;
    autoclose int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    autoclose int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected;

    if (listener < 0 || client < 0 || !mkdtemp(directory)) /* mode 0700 */
        return error_errno(err, ERROR_INTERNAL, "making a socket in %s", directory);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/nbd", directory);
    connected = bind(listener, place, sizeof(address)) == 0 && listen(listener, 1) == 0 &&
                connect(client, place, sizeof(address)) == 0;
    if (!connected)
        error_errno(err, ERROR_INTERNAL, "making a socket in %s", directory);
    unlink(address.sun_path);
    rmdir(directory);
    if (!connected)
        return -1;
    *ret_listener = take_fd(listener);
    *ret_client = take_fd(client);
    return 0;
}

/* ---- its arguments ---- */

/* "json:{…}" with all files; a base has nothing below it, whatever its header says. */
static char *describe(const struct chain_io_file *files, size_t count) {
    json_t *node = NULL;
    char *text, *result;

    for (size_t i = count; i-- > 0;) {
        bool backed = strcmp(files[i].format, "qcow2") == 0 || strcmp(files[i].format, "vmdk") == 0;
        json_t *upper = json_pack("{s:s, s:{s:s, s:s}}", "driver", files[i].format, "file",
                                  "driver", "file", "filename", files[i].path);

        assert(upper && (i + 1 == count || backed));
        if (backed)
            json_object_set_new(upper, "backing", node ? node : json_null());
        node = upper;
    }
    text = json_dumps(node, JSON_COMPACT);
    json_decref(node);
    assert(text);
    result = heap_new(strlen(text) + sizeof("json:"));
    memcpy(result, "json:", strlen("json:"));
    memcpy(result + strlen("json:"), text, strlen(text));
    free(text);
    return result;
}

/* ---- the whole ---- */

/* Until its end, of which the server's name for the image may be long. */
static size_t read_errors(int errors, int64_t timeout_ms, char *text, size_t most,
                          bool *ret_ended) {
    int64_t until_us = clock_monotonic_us() + (timeout_ms < 1000 ? timeout_ms : 1000) * 1000;
    struct pollfd pollfd = { errors, POLLIN, 0 };
    size_t size = 0;
    int64_t left_us;
    ssize_t got;

    while ((left_us = until_us - clock_monotonic_us()) > 0 && size < most) {
        if (poll(&pollfd, 1, (int)(left_us / 1000) + 1) <= 0)
            continue;
        got = read(errors, text + size, most - size);
        *ret_ended = got == 0;
        if (got == 0)
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    return size;
}

/* Adds the reason in the server's words; those of one that has not ended may be a warning. */
static void explain(int errors, int64_t timeout_ms, struct error *err) {
    const size_t most = (size_t)1 << 16, shown = 200;
    autofree char *text = heap_new(most + 1);
    bool ended = false;
    size_t size = read_errors(errors, timeout_ms, text, most, &ended);
    bool in_use = image_lock_reported(text);
    const char *tail = size > shown ? text + size - shown : text;

    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] > '~')
            text[i] = ' ';
    }
    if (in_use)
        error_set(err, ERROR_CONFLICT, "The image is in use: %s", tail);
    else if (ended && size > 0)
        error_set(err, ERROR_BACKEND, "cannot serve the image: %s", tail);
}

struct volume_io *chain_io_open(const struct chain_io_settings *settings,
                                const struct chain_io_file *files, size_t count, bool writable,
                                struct error *err) {
    autofree char *image = describe(files, count);
    const char *const arguments[] = {
        settings->program, EXPORT_OPTION, "--shared=1", "--discard=unmap", "--", image, NULL
    };
    const char *const read_only[] = {
        settings->program, EXPORT_OPTION, "--shared=1", "--read-only", "--", image, NULL
    };
    autoclose int listener = -1, client = -1, errors = -1, negotiated = -1;
    struct volume_io *io;

    assert(count > 0 && !(writable && settings->untrusted_cpu_seconds));
    if (open_sockets(&listener, &client, err) < 0 ||
        launch_server(writable ? arguments : read_only, settings->untrusted_cpu_seconds, listener,
                      &errors, &negotiated, err) < 0)
        return NULL;
    close(take_fd(listener)); /* its end is noticed */
    io = nbd_io_open_socket(take_fd(client), EXPORT, writable, settings->timeout_ms, err);
    if (!io) {
        explain(errors, settings->timeout_ms, err);
        if (settings->untrusted_cpu_seconds && err->kind == ERROR_UNAVAILABLE)
            err->kind = ERROR_BACKEND;
        return NULL;
    }
    if (settings->untrusted_cpu_seconds)
        nbd_io_blame_image(io);
    (void)!send(negotiated, "", 1, MSG_NOSIGNAL);
    nbd_io_await_end(io, take_fd(errors));
    if (writable)
        nbd_io_drop_cache(io, open(files[0].path, O_RDONLY | O_CLOEXEC));
    return io;
}
