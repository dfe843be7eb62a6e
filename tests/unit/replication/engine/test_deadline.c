/*
 * The start and the end of a storage daemon while this process, and with it the daemon, is
 * suspended for an hour.  A script has the place of the daemon.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/nbd_protocol.h"
#include "replication/engine/daemon.h"
#include "replication/engine/deadline.h"
#include "replication/engine/nbd_client.h"
#include "replication/engine/qmp.h"
#include "tests/lib/check_main.h"
#include "tests/lib/daemons.h"
#include "tests/lib/wall.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define LIMIT_MS 20000

static char top[] = "/tmp/test-deadline-XXXXXX";
static char run[64], program[64], trapped[80];
static struct error err;
static unsigned suspensions; /* of the next waits */
static bool becomes_ready;   /* after them */
static bool suspends_send;   /* the next one */
static bool ran;             /* the daemon, after the last one */
static int monitor = -1, client = -1;

static void make_file(const char *path, const char *text, mode_t mode) {
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void listen_as_monitor(void) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[80];

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/qmp", run);
    monitor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(monitor, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(monitor, 1), 0);
    snprintf(path, sizeof(path), "%s/pid", run);
    make_file(path, "", 0600);
}

/* Its clients wait for it in poll(). */
static void answer_as_monitor(void) {
    static const char greeting[] = "{\"QMP\": {}}\n";
    char request[256] = "", text[300];
    const char *id;

    if (client < 0) {
        client = accept4(monitor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client >= 0)
            ck_assert_int_gt(write(client, greeting, strlen(greeting)), 0);
    } else if (read(client, request, sizeof(request) - 1) > 0) {
        id = strstr(request, "\"id\":");
        ck_assert_ptr_nonnull(id);
        snprintf(text, sizeof(text), "{\"return\": {}, %s", id);
        ck_assert_int_gt(write(client, text, strlen(text)), 0);
    }
}

/* In place of the C library's. */
int poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
    struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

    if (suspensions == 0 && monitor >= 0)
        answer_as_monitor();
    if (suspensions == 0)
        return ppoll(polled, count, timeout_ms < 0 ? NULL : &time, NULL);
    ppoll(NULL, 0, &(struct timespec){ .tv_nsec = 100000000 }, NULL); /* a kill takes effect */
    boot_pass(3600);
    if (--suspensions > 0)
        return 0;
    ran = daemon_runs(run);
    if (becomes_ready)
        listen_as_monitor();
    return 0;
}

/* In place of the C library's. */
ssize_t send(int fd, const void *data, size_t size, int flags) {
    if (!suspends_send)
        return sendto(fd, data, size, flags, NULL, 0);
    suspends_send = false;
    boot_pass(3600);
    errno = EAGAIN;
    return -1;
}

static void begin(void) {
    strcpy(top, "/tmp/test-deadline-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(run, sizeof(run), "%s/run", top);
    ck_assert_int_eq(mkdir(run, 0700), 0);
    snprintf(program, sizeof(program), "%s/program", top);
    snprintf(trapped, sizeof(trapped), "%s.trapped", program);
    make_file(program, "#!/bin/sh\nexec sleep 1000\n", 0700);
    suspensions = 0;
    becomes_ready = true;
}

static void end(void) {
    suspensions = 0;
    daemon_kill(run, LIMIT_MS, &err);
    daemon_clear(run);
    unlink(program);
    unlink(trapped);
    rmdir(run);
    ck_assert_int_eq(rmdir(top), 0);
}

static void start(void) {
    struct qmp *qmp;

    ck_assert_msg(daemon_start(run, program, LIMIT_MS, &qmp, &err) == 0, "%s", err.message);
    ck_assert(daemon_runs(run));
    qmp_close(qmp);
    close(client);
    close(monitor);
    client = monitor = -1;
    becomes_ready = false;
}

START_TEST(a_suspended_start_continues) {
    suspensions = 3;
    start();
    ck_assert_uint_eq(suspensions, 0);
}
END_TEST

START_TEST(a_suspended_end_continues) {
    suspensions = 1;
    start();
    suspensions = 1;
    ck_assert_msg(daemon_kill(run, LIMIT_MS, &err) == 0, "%s", err.message);
    ck_assert(!daemon_runs(run));
}
END_TEST

/* It is killed only when it had its time to release its files. */
START_TEST(a_daemon_that_was_suspended_with_its_end_has_time_to_release_its_files) {
    make_file(program,
              "#!/bin/sh\nunset LD_PRELOAD\n"
              "exec sh -c \"trap '' RTMAX; : >$0.trapped; exec sleep 1000\"\n",
              0700);
    suspensions = 1;
    start();
    while (access(trapped, F_OK) < 0)
        ppoll(NULL, 0, &(struct timespec){ .tv_nsec = 1000000 }, NULL);
    ran = false;
    suspensions = 3;
    ck_assert_msg(daemon_kill(run, LIMIT_MS, &err) == 0, "%s", err.message);
    ck_assert(ran);
    ck_assert(!daemon_runs(run));
}
END_TEST

START_TEST(a_daemon_that_does_not_become_ready_has_no_more_than_its_time) {
    int64_t begun_us = clock_boottime_us();
    struct qmp *qmp;

    becomes_ready = false;
    ck_assert_int_eq(daemon_start(run, program, 300, &qmp, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert(!daemon_runs(run));
    ck_assert_int_ge(clock_boottime_us() - begun_us, 300000);
}
END_TEST

/* The thread of its monitor never takes the socket over while the first client connects.  The
 * process that started it may have ended before it connected. */
START_TEST(a_daemon_waits_for_its_first_client_and_can_be_ended) {
    char path[80];

    snprintf(path, sizeof(path), "%s/qmp", run);
    ck_assert_msg(daemon_begin(run, "qemu-storage-daemon", &err) == 0, "%s", err.message);
    while (access(path, F_OK) < 0)
        ppoll(NULL, 0, &(struct timespec){ .tv_nsec = 1000000 }, NULL);
    ppoll(NULL, 0, &(struct timespec){ .tv_nsec = 200000000 }, NULL);
    snprintf(path, sizeof(path), "%s/pid", run);
    ck_assert_int_lt(access(path, F_OK), 0);
    ck_assert(daemon_runs(run));
    ck_assert_msg(daemon_kill(run, LIMIT_MS, &err) == 0, "%s", err.message);
    ck_assert(!daemon_runs(run));
}
END_TEST

START_TEST(a_pause_ends_at_the_deadline) {
    int64_t until_us = deadline_after_us(20), before_us = until_us;

    while (deadline_pause(5, &until_us))
        ;
    ck_assert_int_ge(clock_boottime_us(), before_us);
}
END_TEST

/* A wait of 1000 s at most, and the seconds that it took. */
START_TEST(a_wait_that_takes_longer_than_it_can_was_suspended) {
    static const struct {
        int64_t seconds, postponed;
    } waits[] = { { 0, 0 }, { 900, 0 }, { 3600, 2600 } };

    for (size_t i = 0; i < LENGTH(waits); i++) {
        int64_t begun_us = clock_boottime_us() - waits[i].seconds * SECOND_US, until_us = 0;

        ck_assert(deadline_end_wait(begun_us, 1000 * SECOND_US, &until_us) ==
                  (waits[i].postponed > 0));
        ck_assert_int_ge(until_us, waits[i].postponed * SECOND_US);
        ck_assert(until_us == 0 || waits[i].postponed > 0);
    }
}
END_TEST

START_TEST(a_request_whose_send_was_suspended_is_sent) {
    const struct nbd_simple reply = { .magic = htobe32(NBD_SIMPLE_MAGIC) };
    struct nbd_request request;
    int64_t until_us = 0;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(write(ends[1], &reply, sizeof(reply)), sizeof(reply));
    suspends_send = true;
    ck_assert_msg(nbd_client_flush(ends[0], &until_us, &err) == 0, "%s", err.message);
    ck_assert_int_ge(until_us, 3600 * SECOND_US);
    ck_assert_int_eq(read(ends[1], &request, sizeof(request)), sizeof(request));
    close(ends[0]);
    close(ends[1]);
}
END_TEST

CHECK_MAIN_WITH("deadline", adopt_daemons(), begin, end, a_suspended_start_continues,
                a_suspended_end_continues,
                a_daemon_that_was_suspended_with_its_end_has_time_to_release_its_files,
                a_daemon_that_does_not_become_ready_has_no_more_than_its_time,
                a_daemon_waits_for_its_first_client_and_can_be_ended, a_pause_ends_at_the_deadline,
                a_request_whose_send_was_suspended_is_sent,
                a_wait_that_takes_longer_than_it_can_was_suspended)
