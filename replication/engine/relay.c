#include "replication/engine/relay.h"

#include "common/assert.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "replication/engine/target.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BUFFER_SIZE ((size_t)256 * 1024)
#define PROBES      3

/* ---- the process: no more than async-signal-safe calls ---- */

enum { NULL_FD, OUT_FD, ERR_FD, LISTENER_FD, PEER_FD, RELAY_FDS };

struct relay {
    int fds[RELAY_FDS];
    int64_t silence_us;
    struct sockaddr_un volume;
    int query_fd; /* connection of the last query; -1: none */
};

/* From one side to the other: read bytes are written before more are read. */
struct flow {
    int from, to;
    char *bytes;
    size_t begin, end;
};

static bool is_later(int code) {
    return code == EAGAIN || code == EINTR;
}

/* Number of bytes read, or written; -1: that side has closed. */
static ssize_t take_bytes(struct flow *flow) {
    ssize_t got = recv(flow->from, flow->bytes, BUFFER_SIZE, MSG_DONTWAIT);

    if (got < 0 && is_later(errno))
        return 0;
    if (got <= 0)
        return -1;
    flow->begin = 0;
    flow->end = (size_t)got;
    return got;
}

static ssize_t give_bytes(struct flow *flow) {
    ssize_t sent = send(flow->to, flow->bytes + flow->begin, flow->end - flow->begin,
                        MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0)
        return is_later(errno) ? 0 : -1;
    flow->begin += (size_t)sent;
    return sent;
}

static bool is_full(const struct flow *flow) {
    return flow->begin < flow->end;
}

/* Waits for one side of each flow. 0: timed out, as far as poll() knows. */
static int await_sides(const struct flow *up, const struct flow *down, int64_t until_us) {
    struct pollfd sides[] = {
        { .fd = is_full(up) ? up->to : up->from, .events = is_full(up) ? POLLOUT : POLLIN },
        { .fd = is_full(down) ? down->to : down->from, .events = is_full(down) ? POLLOUT : POLLIN },
    };
    int64_t left_us = until_us - clock_monotonic_us();
    int wait_ms = is_full(down) ? -1 : left_us > 0 ? (int)(left_us / 1000) + 1 : 0;

    return poll(sides, LENGTH(sides), wait_ms);
}

/* All that a client of NBD sends to read a sector; its responses are discarded. */
static const char query[] = "\0\0\0\3" /* fixed newstyle, no zeroes behind the answer */
                            "IHAVEOPT"
                            "\0\0\0\1" /* the export's name; what follows are commands */
                            "\0\0\0\6" TARGET_EXPORT "\x25\x60\x95\x13"
                            "\0\0\0\0"         /* read */
                            "\0\0\0\0\0\0\0\0" /* its number, */
                            "\0\0\0\0\0\0\0\0" /* from where, */
                            "\0\0\2\0";        /* and how much */

_Static_assert(sizeof(TARGET_EXPORT) == 6 + 1, "the query has the length of the name");

static void send_query(struct relay *relay) {
    const struct sockaddr *address = (const struct sockaddr *)&relay->volume;

    if (relay->query_fd >= 0)
        close(relay->query_fd);
    relay->query_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (relay->query_fd >= 0 && connect(relay->query_fd, address, sizeof(relay->volume)) == 0)
        send(relay->query_fd, query, sizeof(query) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * `since`: the time of the first byte sent without any response since; 0: none. The server speaks
 * first. After a suspension of this process the received bytes are read before the timeout counts.
 */
static void carry(struct relay *relay, int daemon) {
    static char bytes[2][BUFFER_SIZE];
    struct flow up = { .from = daemon, .to = PEER_FD, .bytes = bytes[0] };
    struct flow down = { .from = PEER_FD, .to = daemon, .bytes = bytes[1] };
    int64_t since = clock_monotonic_us(), query_us = since + relay->silence_us / 2;

    for (;;) {
        bool listens = !is_full(&down);
        ssize_t moved, come;

        await_sides(&up, &down, since ? since + relay->silence_us : query_us);
        come = listens ? take_bytes(&down) : 0;
        if (come < 0 || (is_full(&down) && give_bytes(&down) < 0))
            return;
        if (come > 0)
            since = 0;
        moved = is_full(&up) ? 0 : take_bytes(&up);
        if (moved < 0)
            return;
        if (is_full(&up) && since == 0)
            since = clock_monotonic_us();
        if (is_full(&up) && give_bytes(&up) < 0)
            return;
        if (since > 0 && listens && come == 0 && clock_monotonic_us() >= since + relay->silence_us)
            return;
        if (since == 0 && come == 0 && clock_monotonic_us() >= query_us)
            send_query(relay);
        else if (come == 0 && moved == 0)
            continue;
        query_us = clock_monotonic_us() + relay->silence_us / 2;
    }
}

static void run_relay(void *arg) {
    struct relay *relay = arg;
    struct pollfd client = { .fd = LISTENER_FD, .events = POLLIN };
    int daemon;

    child_reset_signals();
    setsid();
    if (fork() != 0)
        _exit(0);
    if (chdir("/") < 0 || child_place_fds(relay->fds, RELAY_FDS) < 0)
        _exit(1);
    child_spare_from_oom();
    prctl(PR_SET_NAME, "replica relay");
    if (poll(&client, 1, (int)(relay->silence_us / 1000)) <= 0)
        _exit(1);
    daemon = accept(LISTENER_FD, NULL, NULL);
    close(LISTENER_FD);
    if (daemon >= 0)
        carry(relay, daemon);
    _exit(0);
}

/* ---- start ---- */

static void set_number(int fd, int level, int name, int value) {
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* A descriptor, or -1 with errno. */
static int connect_one(const struct addrinfo *address, int64_t until_us) {
    autoclose int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd polled = { .fd = fd, .events = POLLOUT };
    int64_t left_us = until_us - clock_monotonic_us();
    socklen_t size = sizeof(errno);
    int code = 0;

    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return take_fd(fd);
    if (errno != EINPROGRESS)
        return -1;
    if (poll(&polled, 1, left_us > 0 ? (int)(left_us / 1000) : 0) <= 0)
        code = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
        code = errno;
    errno = code;
    return code ? -1 : take_fd(fd);
}

static int connect_peer(const char *host, const char *port, int64_t silence_ms, struct error *err) {
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    int64_t until_us = clock_monotonic_us() + silence_ms * 1000;
    const int part_s = (int)(silence_ms / 1000 / (PROBES + 1));
    struct addrinfo *list;
    int fd = -1, code = getaddrinfo(host, port, &hints, &list);

    if (code != 0)
        return error_set(err, ERROR_UNAVAILABLE, "Cannot resolve the host %.200s: %s", host,
                         gai_strerror(code));
    for (const struct addrinfo *one = list; one && fd < 0; one = one->ai_next)
        fd = connect_one(one, until_us);
    code = errno;
    freeaddrinfo(list);
    errno = code;
    if (fd < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "connecting to %.200s port %s", host, port);
    /* Keepalive detects a dead host before the timeout of silence. */
    set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)silence_ms);
    set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, part_s > 0 ? part_s : 1);
    set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, part_s > 0 ? part_s : 1);
    set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    return fd;
}

static int name_socket(const char *path, struct sockaddr_un *ret, struct error *err) {
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(ret->sun_path))
        return error_set(err, ERROR_BAD_REQUEST, "The path %s is too long for a socket.", path);
    strcpy(ret->sun_path, path);
    return 0;
}

static int listen_at(const char *path, struct error *err) {
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;

    if (name_socket(path, &address, err) < 0)
        return -1;
    if (fd < 0 || (unlink(path) < 0 && errno != ENOENT) ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
        listen(fd, 1) < 0)
        return error_errno(err, ERROR_BACKEND, "listening at %s", path);
    return take_fd(fd);
}

int relay_start(const struct relay_settings *settings, struct error *err) {
    autoclose int peer = connect_peer(settings->host, settings->port, settings->silence_ms, err);
    autoclose int listener = peer < 0 ? -1 : listen_at(settings->path, err);
    autoclose int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct relay relay = { .silence_us = settings->silence_ms * 1000, .query_fd = -1 };
    pid_t pid;

    if (peer < 0 || listener < 0 || name_socket(settings->volume, &relay.volume, err) < 0)
        return -1;
    for (int i = NULL_FD; i <= ERR_FD; i++)
        relay.fds[i] = null_fd;
    relay.fds[LISTENER_FD] = listener;
    relay.fds[PEER_FD] = peer;
    pid = null_fd < 0 ? -1 : child_fork(run_relay, &relay);
    if (pid < 0)
        return error_errno(err, ERROR_INTERNAL, "starting a relay");
    child_reap(pid);
    return 0;
}
