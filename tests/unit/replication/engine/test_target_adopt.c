/*
 * The adoption of a working daemon, with changes between a query and the action on its response: a
 * monitor in between causes them.
 */
#include "replication/engine/qmp.h"
#include "tests/unit/replication/engine/target_test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ENDS_JOB \
    "{\"execute\": \"block-job-cancel\", \"arguments\": {\"device\": \"job\", \"force\": true}}\n"
#define ASKS "{\"execute\": \"query-jobs\"}\n"

static int listener, client, monitor;
static char monitor_text[65536];
static bool ended; /* the job, before it was cancelled */

static struct sockaddr_un address_of(const char *name) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", run, name);
    return address;
}

static void say(int fd, const char *text, size_t size) {
    ck_assert_int_eq(send(fd, text, size, MSG_NOSIGNAL), (ssize_t)size);
}

/* The daemon's output up to that text. */
static void hear(const char *words) {
    size_t size = 0;

    do {
        ssize_t got = recv(monitor, monitor_text + size, sizeof(monitor_text) - 1 - size, 0);

        ck_assert_int_gt(got, 0);
        size += (size_t)got;
        monitor_text[size] = '\0';
    } while (!strstr(monitor_text, words) || monitor_text[size - 1] != '\n');
}

static void end_job_first(void) {
    ended = true;
    say(monitor, ENDS_JOB, strlen(ENDS_JOB));
    hear("\"return\"");
    do {
        say(monitor, ASKS, strlen(ASKS));
        hear("\"return\": [");
    } while (!strstr(monitor_text, "\"status\": \"concluded\""));
}

/* Bytes of one side to the other; false: it has disconnected. */
static bool pass(int from, int to) {
    static char text[65536];
    ssize_t size = recv(from, text, sizeof(text) - 1, 0);

    if (size <= 0)
        return false;
    text[size] = '\0';
    if (from == client && !ended && strstr(text, "block-job-cancel"))
        end_job_first();
    say(to, text, (size_t)size);
    return true;
}

static void *stand_between(void *arg) {
    const struct sockaddr_un address = address_of("qmp-behind");

    client = accept(listener, NULL, NULL);
    monitor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(monitor, (const struct sockaddr *)&address, sizeof(address)), 0);
    for (bool all = true; all;) {
        struct pollfd sides[] = { { client, POLLIN, 0 }, { monitor, POLLIN, 0 } };

        poll(sides, 2, -1);
        if (sides[0].revents)
            all = pass(client, monitor);
        if (all && sides[1].revents)
            all = pass(monitor, client);
    }
    close(client);
    close(monitor);
    return arg;
}

static void move(const char *from, const char *to) {
    const struct sockaddr_un old = address_of(from), new = address_of(to);

    ck_assert_int_eq(rename(old.sun_path, new.sun_path), 0);
}

START_TEST(a_job_that_ends_during_an_adoption_does_not_end_the_daemon) {
    const struct sockaddr_un address = address_of("qmp");
    const struct replica last = { .pool = pools[2], .uid = uids[2] };
    pthread_t thread;

    serve();
    write_some(50);
    assert_done(target_evict(target, uids[2], &err));
    assert_done(target_rebuild(target, &last, NULL, 1, &err));
    watch();
    ck_assert_int_eq(status.job, TARGET_REBUILD);
    target_close(target);

    move("qmp", "qmp-behind");
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, stand_between, NULL), 0);
    open_target();
    target_status(target, &status);
    ck_assert(ended);
    ck_assert_int_eq(status.state, TARGET_SERVING);
    write_some(10); /* and no client was disconnected */
    target_close(target);
    pthread_join(thread, NULL);
    close(listener);
    move("qmp-behind", "qmp");

    open_target();
    rebuild(2);
    read_all();
    stop();
    assert_equal(0, 2);
}
END_TEST

#define LAST_NODE "r00000000004000800000000000000c"

/* Of a daemon without an owner. */
static void execute(const char *command, json_t *arguments) {
    const struct sockaddr_un address = address_of("qmp");
    autoarena struct arena *arena = arena_new();
    struct qmp *qmp;

    assert_done(qmp_connect(address.sun_path, LIMIT_MS, &qmp, &err));
    assert_done(qmp_execute(qmp, arena, command, arguments, LIMIT_MS, NULL, &err));
    qmp_close(qmp);
}

/* The owner had begun to exclude a replica when it died. Another pool was full, so that its replica
 * lacks blocks; the daemon's reports of that have no receiver. */
START_TEST(a_replica_that_has_left_the_quorum_alone_has_answered_writes) {
    if (!own_mounts())
        return;
    target_close(target);
    ck_assert(small_disk(pools[0], "size=1m"));
    open_target();
    create_replicas();
    serve();
    write_some(10);
    target_close(target);
    fill(0);
    write_some(30);
    execute("x-blockdev-change",
            json_pack("{s:s, s:s}", "parent", "quorum", "child", "children.2"));
    execute("blockdev-del", json_pack("{s:s}", "node-name", LAST_NODE));
    open_target();
    checker_disconnect(&checker);
    serve();
    read_all();
    assert_voters(3);
    umount2(pools[0], MNT_DETACH);
}
END_TEST

/* Another node of the daemon uses it. */
START_TEST(a_node_that_cannot_be_removed_has_left_the_quorum) {
    serve();
    write_some(20);
    target_close(target);
    execute("blockdev-add",
            json_pack("{s:s, s:s, s:s}", "driver", "raw", "node-name", "user", "file", LAST_NODE));
    open_target();
    for (unsigned i = 0; i < 2; i++) {
        assert_done(target_evict(target, uids[2], &err));
        assert_voters(2);
        write_some(20);
        ck_assert_int_eq(target_watch(target, &err), -1);
    }
    target_close(target);
    execute("blockdev-del", json_pack("{s:s}", "node-name", "user"));
    open_target();
    write_some(20); /* and no client was disconnected */
    rebuild(2);
    read_all();
    stop();
    assert_equal(0, 2);
}
END_TEST

CHECK_MAIN_WITH("target adopt", adopt_daemons(), begin, end,
                a_job_that_ends_during_an_adoption_does_not_end_the_daemon,
                a_replica_that_has_left_the_quorum_alone_has_answered_writes,
                a_node_that_cannot_be_removed_has_left_the_quorum)
