#include "replication/engine/qmp.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "replication/engine/deadline.h"
#include "json/json.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_MOST   ((size_t)4 * 1024 * 1024)
#define READ_SIZE   ((size_t)16 * 1024)
#define EVENTS_MOST 256
#define WAIT_MS     1000 /* of one wait, at most */
#define LATE_MOST   256  /* reads past the deadline */

struct qmp {
    int fd; /* -1: broken */
    struct error why;
    char *text; /* read and not taken yet */
    size_t size, capacity;
    int64_t first_id, next_id;
    json_t *events[EVENTS_MOST]; /* a ring */
    size_t first, waiting;
    bool lost;
};

/* ---- the connection ---- */

/* The first reason stays. */
static int fail(struct qmp *qmp, struct error *err) {
    if (qmp->fd >= 0)
        close(qmp->fd);
    qmp->fd = -1;
    if (err)
        *err = qmp->why;
    return -1;
}
#define FAIL(qmp, err, ...) (error_set(&(qmp)->why, ERROR_UNAVAILABLE, __VA_ARGS__), fail(qmp, err))

/* 1 ready, 0 timed out. */
static int wait_ready(int fd, short events, int64_t *until_us) {
    int64_t left_ms;

    do {
        int64_t wait_ms;

        left_ms = (*until_us - clock_boottime_us() + 999) / 1000;
        wait_ms = left_ms <= 0 ? 0 : left_ms < WAIT_MS ? left_ms : WAIT_MS;
        if (deadline_poll(fd, events, wait_ms, until_us) > 0)
            return 1;
    } while (left_ms > 0 || clock_boottime_us() < *until_us);
    return 0;
}

static int send_text(struct qmp *qmp, const char *text, size_t size, int64_t *until_us,
                     struct error *err) {
    while (size > 0) {
        ssize_t sent = send(qmp->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0) {
            text += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN) {
            if (!wait_ready(qmp->fd, POLLOUT, until_us))
                return FAIL(qmp, err, "the storage daemon takes no command");
        } else if (errno != EINTR) {
            return FAIL(qmp, err, "the storage daemon has ended: %s", strerror(errno));
        }
    }
    return 0;
}

/* 1 there is more than before, 0 nothing now, -1 broken. */
static int read_some(struct qmp *qmp, struct error *err) {
    ssize_t got;

    if (qmp->capacity - qmp->size < READ_SIZE) {
        qmp->capacity = qmp->capacity * 2 + READ_SIZE;
        qmp->text = heap_grow(qmp->text, qmp->size, qmp->capacity);
    }
    assert(qmp->capacity - qmp->size >= READ_SIZE);
    got = recv(qmp->fd, qmp->text + qmp->size, READ_SIZE, MSG_DONTWAIT);
    if (got > 0) {
        qmp->size += (size_t)got;
        return 1;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return FAIL(qmp, err, "the storage daemon has closed its monitor");
}

/* ---- lines ---- */

/* 1 and *ret, a new reference; 0 no whole line is here; -1 broken. */
static int take_line(struct qmp *qmp, json_t **ret, struct error *err) {
    const char *end = qmp->size > 0 ? memchr(qmp->text, '\n', qmp->size) : NULL;
    size_t length = end ? (size_t)(end - qmp->text) : qmp->size;
    autoarena struct arena *arena = NULL;
    struct error reason;
    json_t *line;

    if (length > LINE_MOST)
        return FAIL(qmp, err, "the storage daemon has sent a line of more than %zu bytes",
                    LINE_MOST);
    if (!end)
        return 0;
    arena = arena_new();
    line = json_parse(arena, qmp->text, length, &reason);
    if (!json_is_object(line))
        return FAIL(qmp, err, "the storage daemon has sent a line that is not a JSON object");
    assert(length + 1 <= qmp->size);
    qmp->size -= length + 1;
    memmove(qmp->text, end + 1, qmp->size);
    *ret = json_incref(line);
    return 1;
}

/* The oldest event: the reference is the caller's. */
static json_t *pop_event(struct qmp *qmp) {
    json_t *event;

    assert(qmp->waiting > 0 && qmp->first < EVENTS_MOST);
    event = qmp->events[qmp->first];
    qmp->first = (qmp->first + 1) % EVENTS_MOST;
    qmp->waiting--;
    return event;
}

/* The next line that is no event: 1, 0 none now, -1. */
static int take_answer(struct qmp *qmp, json_t **ret, struct error *err) {
    json_t *line;
    int taken;

    while ((taken = take_line(qmp, &line, err)) > 0) {
        if (!json_has(line, "event")) {
            *ret = line;
            return 1;
        }
        if (qmp->waiting == EVENTS_MOST) {
            json_decref(pop_event(qmp));
            qmp->lost = true;
        }
        assert(qmp->waiting < EVENTS_MOST);
        qmp->events[(qmp->first + qmp->waiting++) % EVENTS_MOST] = line;
    }
    return taken;
}

/* After a suspension the received lines are read before the deadline counts, up to a limit. */
static int await_answer(struct qmp *qmp, int64_t *until_us, json_t **ret, struct error *err) {
    for (unsigned late = 0;;) {
        int taken = take_answer(qmp, ret, err);

        if (taken != 0)
            return taken < 0 ? -1 : 0;
        late += clock_boottime_us() >= *until_us;
        taken = read_some(qmp, err);
        if (taken < 0)
            return -1;
        if (late > LATE_MOST || (taken == 0 && !wait_ready(qmp->fd, POLLIN, until_us)))
            return FAIL(qmp, err, "the storage daemon does not respond");
    }
}

/* A response to the former client may arrive here. */
static bool is_older(const struct qmp *qmp, const json_t *answer) {
    const json_t *id = json_object_get(answer, "id");

    assert(qmp->next_id > qmp->first_id);
    return qmp->next_id == qmp->first_id + 1 && json_is_integer(id) &&
           json_integer_value(id) != qmp->next_id;
}

static int broken(const struct qmp *qmp, struct error *err) {
    return error_pass(err, &qmp->why);
}

int qmp_execute(struct qmp *qmp, struct arena *arena, const char *command, json_t *arguments,
                int64_t timeout_ms, json_t **ret, struct error *err) {
    int64_t until_us = deadline_after_us(timeout_ms), id = ++qmp->next_id;
    json_t *request = json_pack("{s:s, s:o, s:I}", "execute", command, "arguments",
                                arguments ? arguments : json_object(), "id", (json_int_t)id);
    json_t *answer, *returned;
    const json_t *refusal;
    const char *text, *reason;

    json_keep(arena, request);
    if (qmp->fd < 0)
        return broken(qmp, err);
    text = arena_join(arena, json_text(arena, request), "\n", NULL);
    if (send_text(qmp, text, strlen(text), &until_us, err) < 0)
        return error_context(err, "%s", command);
    do {
        if (await_answer(qmp, &until_us, &answer, err) < 0)
            return error_context(err, "%s", command);
        json_keep(arena, answer);
    } while (is_older(qmp, answer));
    returned = json_object_get(answer, "return");
    refusal = json_object_get(answer, "error");
    reason = refusal ? json_text_of(refusal, "desc") : NULL;
    if (json_integer_value(json_object_get(answer, "id")) != id || (!returned && !reason))
        return FAIL(qmp, err, "unexpected response of the storage daemon to %s", command);
    if (reason)
        return error_set(err, ERROR_BACKEND, "%s: %.300s", command, reason);
    if (ret)
        *ret = returned;
    return 0;
}

/* ---- events ---- */

/* Reads all received lines; a connection that breaks meanwhile is reported when all events are
 * taken. */
static void read_events(struct qmp *qmp) {
    json_t *answer;
    int got = 1;

    while (qmp->fd >= 0 && got > 0 && qmp->waiting < EVENTS_MOST) {
        got = take_answer(qmp, &answer, NULL);
        if (got > 0) {
            json_decref(answer);
            FAIL(qmp, NULL, "the storage daemon has sent a response without a request");
        } else if (got == 0) {
            got = read_some(qmp, NULL);
        }
    }
}

int qmp_event(struct qmp *qmp, struct arena *arena, json_t **ret, struct error *err) {
    if (qmp->waiting == 0)
        read_events(qmp);
    if (qmp->waiting == 0)
        return qmp->fd < 0 ? broken(qmp, err) : 0;
    *ret = json_keep(arena, pop_event(qmp));
    return 1;
}

int qmp_fd(const struct qmp *qmp) {
    return qmp->fd;
}

bool qmp_events_lost(struct qmp *qmp) {
    bool lost = qmp->lost;

    qmp->lost = false;
    return lost;
}

/* ---- begin and end ---- */

int qmp_open(const char *path, struct qmp **ret, struct error *err) {
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct qmp *qmp;

    if (fd < 0)
        return error_errno(err, ERROR_INTERNAL, "socket");
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ERROR_BAD_REQUEST, "The path of the socket is too long: %s", path);
    memcpy(address.sun_path, path, strlen(path));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "connecting to %s", path);
    qmp = heap_new(sizeof(*qmp));
    qmp->fd = take_fd(fd);
    qmp->first_id = qmp->next_id = clock_boottime_us(); /* no former client had these ids */
    *ret = qmp;
    return 0;
}

int qmp_negotiate(struct qmp *qmp, int64_t timeout_ms, struct error *err) {
    int64_t until_us = deadline_after_us(timeout_ms);
    autoarena struct arena *arena = arena_new();
    json_t *greeting;

    if (await_answer(qmp, &until_us, &greeting, err) < 0)
        return -1;
    json_keep(arena, greeting);
    return json_has(greeting, "QMP")
               ? qmp_execute(qmp, arena, "qmp_capabilities", NULL, timeout_ms, NULL, err)
               : FAIL(qmp, err, "the server at the socket is no monitor");
}

int qmp_connect(const char *path, int64_t timeout_ms, struct qmp **ret, struct error *err) {
    struct qmp *qmp;

    if (qmp_open(path, &qmp, err) < 0)
        return -1;
    if (qmp_negotiate(qmp, timeout_ms, err) < 0) {
        qmp_close(qmp);
        return error_context(err, "the monitor at %s", path);
    }
    *ret = qmp;
    return 0;
}

void qmp_close(struct qmp *qmp) {
    if (!qmp)
        return;
    if (qmp->fd >= 0)
        close(qmp->fd);
    while (qmp->waiting > 0)
        json_decref(pop_event(qmp));
    free(qmp->text);
    free(qmp);
}
