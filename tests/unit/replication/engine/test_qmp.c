#include "replication/engine/qmp.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/wall.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define GREETING "{\"QMP\": {\"version\": {}}}\r\n"
#define READY    "{\"return\": {}, \"id\": @1}\r\n"
#define LONG_MS  30000

/* A daemon that sends one text after each received line, the first at once; "…" at the end keeps it
 * silent, otherwise it disconnects. */
static char path[] = "/tmp/test-qmp-XXXXXX";
static const char *script[8]; /* NULL behind the last */
static size_t flood;          /* bytes that follow the last text */
static unsigned heard;        /* bytes that were not answered */
static long long first_number;
static unsigned repeated;    /* how often the last text is sent */
static int64_t stop_s;       /* that pass behind each wait */
static atomic_bool suspends; /* the next wait is, with the server, which responds afterwards */
static int listener = -1;
static pthread_t server;
static struct error err;

/* In place of the C library's. */
int poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
    int ready;

    if (atomic_load(&suspends)) {
        boot_pass(3600);
        atomic_store(&suspends, false);
        return 0;
    }
    ready = ppoll(polled, count, timeout_ms < 0 ? NULL : &time, NULL);
    boot_pass(ready > 0 ? stop_s : 0);
    return ready;
}

/* "@2" is the number of the second question. */
static void send_text(int fd, const char *text) {
    char said[1024];
    size_t size = 0;

    for (; *text && size < sizeof(said) - 24; text++) {
        if (*text == '@')
            size += (size_t)sprintf(said + size, "%lld", first_number + *++text - '1');
        else
            said[size++] = *text;
    }
    (void)!send(fd, said, size, MSG_NOSIGNAL);
}

static void receive_line(int fd) {
    char line[256] = "";
    const char *number;

    for (size_t i = 0; i < sizeof(line) - 1 && read(fd, &line[i], 1) == 1 && line[i] != '\n';)
        i++;
    number = strstr(line, "\"id\":");
    if (number && first_number == 0)
        first_number = strtoll(number + 5, NULL, 10);
}

static void *serve(void *arg) {
    autoclose int fd = accept(listener, NULL, NULL);
    char c;

    (void)arg;
    for (const char *const *text = script; *text; text++) {
        if (strcmp(*text, "…") == 0) {
            while (read(fd, &c, 1) == 1)
                heard++;
            return NULL;
        }
        if (text != script)
            receive_line(fd);
        while (atomic_load(&suspends))
            usleep(1000);
        for (unsigned i = 0; i < (text[1] ? 1 : repeated); i++)
            send_text(fd, *text);
    }
    for (size_t i = 0; i < flood; i++) {
        static const char text[64] = { [0 ... 63] = 'x' };

        (void)!send(fd, text, sizeof(text), MSG_NOSIGNAL);
    }
    return NULL;
}

static int begin(struct qmp **ret, int64_t timeout_ms, const char *const *texts) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    autoclose int file = -1;

    /* the caller's array ends with the assertion that it is in */
    for (size_t i = 0; i == 0 || texts[i - 1]; i++) {
        ck_assert_uint_lt(i, LENGTH(script));
        script[i] = texts[i];
    }
    first_number = 0;
    repeated = repeated ? repeated : 1;
    strcpy(path, "/tmp/test-qmp-XXXXXX");
    file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    unlink(path);
    strcpy(address.sun_path, path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(pthread_create(&server, NULL, serve, NULL), 0);
    return qmp_connect(path, timeout_ms, ret, &err);
}
#define BEGIN(qmp, timeout_ms, ...) \
    begin(qmp, timeout_ms, (const char *const[]){ __VA_ARGS__, NULL })

static void end(struct qmp *qmp) {
    qmp_close(qmp);
    pthread_join(server, NULL);
    close(listener);
    unlink(path);
}

static int query(struct qmp *qmp, struct arena *arena, json_t **ret) {
    memset(&err, 0, sizeof(err));
    return qmp_execute(qmp, arena, "query-status", NULL, LONG_MS, ret, &err);
}

START_TEST(responses_and_events_are_distinguished_and_kept) {
    autoarena struct arena *arena = arena_new();
    json_t *value = NULL;
    struct qmp *qmp;

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, "{\"event\": \"A\"}\n" READY,
                           "{\"event\": \"B\"}\n{\"return\": 5, \"id\": @2}\n{\"event\": \"C\"}\n",
                           "…"),
                     0);
    ck_assert_int_eq(query(qmp, arena, &value), 0);
    ck_assert_int_eq(json_integer_value(value), 5);
    for (const char *name = "ABC"; *name; name++) {
        while (qmp_event(qmp, arena, &value, &err) == 0)
            ;
        ck_assert_int_eq(json_string_value(json_object_get(value, "event"))[0], *name);
    }
    ck_assert_int_eq(qmp_event(qmp, arena, &value, &err), 0);
    ck_assert(!qmp_events_lost(qmp));
    end(qmp);
}
END_TEST

START_TEST(responses_to_the_former_client_are_skipped) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, "{\"return\": {}, \"id\": 5}\n" READY,
                           "{\"return\": {}, \"id\": @2}\n", "…"),
                     0);
    ck_assert_int_eq(query(qmp, arena, NULL), 0);
    end(qmp);
}
END_TEST

START_TEST(an_error_response_is_reported_and_keeps_the_connection) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    ck_assert_int_eq(
        BEGIN(
            &qmp, LONG_MS, GREETING, READY,
            "{\"id\": @2, \"error\": {\"class\": \"GenericError\", \"desc\": \"No such node\"}}\n",
            "{\"return\": {}, \"id\": @3}\n", "…"),
        0);
    ck_assert_int_eq(query(qmp, arena, NULL), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "query-status: No such node");
    ck_assert_int_eq(query(qmp, arena, NULL), 0);
    end(qmp);
}
END_TEST

/* Each is the daemon's last response to a command. */
static const char *const nonsense[] = {
    "",
    "\n",
    "x\n",
    "[]\n",
    "{}\n",
    "5\n",
    "{\"return\": {}}\n",
    "{\"return\": {}, \"id\": @7}\n",
    "{\"return\": {}, \"id\": \"2\"}\n",
    "{\"error\": {}, \"id\": @2}\n",
    "{\"error\": 5, \"id\": @2}\n",
    "{\"id\": @2}\n",
    "{\"return\": {}, \"id\": @2",
    "{\"return\": \"\xff\", \"id\": @2}\n",
    "{\"return\": {}, \"return\": {}, \"id\": @2}\n",
};

static void refuse(const char *text) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;
    json_t *event;

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, READY, text), 0);
    ck_assert_int_eq(query(qmp, arena, NULL), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(query(qmp, arena, NULL), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(qmp_event(qmp, arena, &event, &err), -1);
    end(qmp);
}

START_TEST(an_invalid_line_breaks_the_connection) {
    for (size_t i = 0; i < LENGTH(nonsense); i++)
        refuse(nonsense[i]);
}
END_TEST

START_TEST(silence_and_an_incomplete_line_time_out) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, READY, "{\"return\"", "…"), 0);
    ck_assert_int_eq(qmp_execute(qmp, arena, "stop", json_object(), 20, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "does not respond"));
    end(qmp);
}
END_TEST

/* As after a suspension of an hour: received lines stay received. */
START_TEST(a_received_response_counts_past_the_deadline) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    stop_s = 3600;
    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, READY, "{\"return\": {}, \"id\": @2}\n"), 0);
    ck_assert_msg(query(qmp, arena, NULL) == 0, "%s", err.message);
    end(qmp);
    stop_s = 0;
}
END_TEST

START_TEST(a_suspension_of_machine_and_daemon_does_not_count) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, READY, "{\"return\": {}, \"id\": @2}\n"), 0);
    atomic_store(&suspends, true);
    ck_assert_msg(query(qmp, arena, NULL) == 0, "%s", err.message);
    ck_assert(!atomic_load(&suspends));
    end(qmp);
}
END_TEST

START_TEST(a_server_without_a_greeting_is_no_monitor) {
    struct qmp *qmp;

    ck_assert_int_eq(BEGIN(&qmp, 20, "…"), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    shutdown(listener, SHUT_RDWR);
    end(NULL);
    ck_assert_int_eq(qmp_connect(path, 20, &qmp, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, "220 mail\r\n"), -1);
    end(NULL);
    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, "{\"return\": {}}\n"), -1);
    end(NULL);
}
END_TEST

/* The daemon may not have the connection in its last thread yet. */
START_TEST(no_command_is_sent_before_the_greeting) {
    struct qmp *qmp;

    ck_assert_int_eq(BEGIN(&qmp, 20, "…"), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    end(NULL);
    ck_assert_uint_eq(heard, 0);
}
END_TEST

START_TEST(a_line_without_end_is_not_kept) {
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    flood = 100000; /* 6.4 MB */
    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, READY, "{\"return\": \""), 0);
    ck_assert_int_eq(query(qmp, arena, NULL), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "sent a line of more than"));
    end(qmp);
}
END_TEST

START_TEST(the_last_events_are_kept_and_a_loss_is_reported) {
    autoarena struct arena *arena = arena_new();
    json_t *event, *returned = NULL;
    unsigned count = 0;
    struct qmp *qmp;

    repeated = 1000;
    ck_assert_int_eq(
        BEGIN(&qmp, LONG_MS, GREETING, READY, "{\"event\": \"A\"}\n{\"event\": \"B\"}\n"), 0);
    ck_assert_int_eq(query(qmp, arena, &returned), -1); /* it disconnects after all of them */
    while (qmp_event(qmp, arena, &event, &err) > 0)
        count++;
    ck_assert_uint_eq(count, 256);
    ck_assert(qmp_events_lost(qmp));
    ck_assert(!qmp_events_lost(qmp));
    end(qmp);
}
END_TEST

START_TEST(events_before_the_daemons_end_are_received) {
    autoarena struct arena *arena = arena_new();
    json_t *event;
    struct qmp *qmp;
    int told;

    ck_assert_int_eq(BEGIN(&qmp, LONG_MS, GREETING, READY "{\"event\": \"LAST\"}\n"), 0);
    while ((told = qmp_event(qmp, arena, &event, &err)) == 0)
        ;
    ck_assert_int_eq(told, 1);
    while ((told = qmp_event(qmp, arena, &event, &err)) == 0)
        ;
    ck_assert_int_eq(told, -1);
    ck_assert_int_eq(query(qmp, arena, NULL), -1);
    end(qmp);
}
END_TEST

CHECK_MAIN("qmp", responses_and_events_are_distinguished_and_kept,
           responses_to_the_former_client_are_skipped,
           an_error_response_is_reported_and_keeps_the_connection,
           an_invalid_line_breaks_the_connection, silence_and_an_incomplete_line_time_out,
           a_received_response_counts_past_the_deadline,
           a_suspension_of_machine_and_daemon_does_not_count,
           a_server_without_a_greeting_is_no_monitor, no_command_is_sent_before_the_greeting,
           a_line_without_end_is_not_kept, the_last_events_are_kept_and_a_loss_is_reported,
           events_before_the_daemons_end_are_received)
