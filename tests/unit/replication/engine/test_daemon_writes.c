/*
 * A storage daemon's writes to a replica's data are in the replica's write log, whichever way the
 * daemon writes; its writes to other files are not.
 */
#include "replication/engine/qmp.h"
#include "replication/engine/write_log.h"
#include "replication/engine/write_log_format.h"
#include "tests/lib/nbd.h"
#include "tests/unit/replication/engine/target_test.h"

#include <sys/syscall.h>

#define FILE_SIZE  (INT64_C(4) << 20)
#define TIMEOUT_MS 20000
#define ROUNDS     20
#define NBD_TRIM   ((enum nbd_command)4)
#define NBD_ZEROES ((enum nbd_command)6)

static struct qmp *qmp;
static struct arena *arena;
static const char *logs;
static int client = -1;
static const struct generation_id none = { 0 }, one = { 1, "one" };
static unsigned char bytes[1 << 20];

static void execute(const char *name, json_t *arguments) {
    ck_assert_msg(qmp_execute(qmp, arena, name, arguments, TIMEOUT_MS, NULL, &err) == 0, "%s: %s",
                  name, err.message);
}

static void begin_program(void) {
    arena = arena_new();
    logs = write_log_directory(arena, run);
    if (mkdir(run, 0700) < 0)
        ck_assert_int_eq(errno, EEXIST);
    assert_done(daemon_start(run, "qemu-storage-daemon", TIMEOUT_MS, &qmp, &err));
}

static void add_file(const char *node, const char *aio, const char *path) {
    execute("blockdev-add", json_pack("{s:s, s:s, s:s, s:s, s:s}", "driver", "file", "node-name",
                                      node, "filename", path, "aio", aio, "discard", "unmap"));
}

static void connect_to(const char *node) {
    int64_t size;

    execute("block-export-add",
            json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id", "export", "node-name", node,
                      "name", "volume", "writable", 1));
    client = nbd_connect(daemon_path(arena, run, "nbd"), "volume", &size);
    ck_assert_int_ge(client, 0);
}

static void begin_daemon(const char *aio, const char *path) {
    begin_program();
    add_file("file", aio, path);
    connect_to("file");
}

static void end_daemon(void) {
    close(client);
    qmp_close(qmp);
    kill_daemon();
    arena_free(arena);
}

static void do_one(enum nbd_command command, int64_t at, uint32_t size) {
    ck_assert_int_eq(nbd_do(client, command, at, bytes, size), 0);
}

static struct write_log read_writes_of(unsigned replica) {
    struct write_log ret;

    write_log_read(arena, logs, uids[replica], &ret);
    return ret;
}

static struct write_log read_writes(void) {
    return read_writes_of(0);
}

/* Each sector in the log has the sum of the file's content. */
static unsigned check_replica(unsigned replica, unsigned *ret_unknown) {
    static struct write_log_block blocks[1024];
    const struct write_log log = read_writes_of(replica);
    unsigned count = write_log_blocks(&log, blocks, LENGTH(blocks)), known = 0;
    autoclose int fd = open(file_of(replica, "data"), O_RDONLY);

    *ret_unknown = 0;
    for (unsigned i = 0; i < count; i++) {
        char content[WRITE_LOG_BLOCK];

        ck_assert_int_eq(pread(fd, content, sizeof(content), (off_t)blocks[i].block * 4096), 4096);
        for (unsigned j = 0; j < WRITE_LOG_SECTORS; j++) {
            *ret_unknown += (blocks[i].mask & ~blocks[i].known) >> j & 1;
            if (!(blocks[i].known >> j & 1))
                continue;
            known++;
            ck_assert_uint_eq(blocks[i].sums[j], write_log_sum_of(content + (size_t)j * 512, 512));
        }
    }
    return known;
}

static unsigned check_file(unsigned *ret_unknown) {
    return check_replica(0, ret_unknown);
}

static void write_all_ways(const char *aio) {
    unsigned unknown, known;

    begin_daemon(aio, file_of(0, "data"));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 31 + i / 4096);
    do_one(NBD_WRITE, 0, 4096); /* before it is wanted */
    ck_assert_uint_eq(read_writes().count, 0);
    assert_done(write_log_begin(logs, uids[0], &none, &one, &err));
    do_one(NBD_WRITE, 8192, 4096);
    ck_assert_uint_eq(read_writes().count, 1);
    do_one(NBD_WRITE, 1 << 20, 1 << 20);
    ck_assert_uint_eq(read_writes().count, 257);
    do_one(NBD_WRITE, 16384 + 512, 5120); /* blocks 4 and 5 in part */
    do_one(NBD_WRITE, (2 << 20) + 100, 1000);
    known = check_file(&unknown);
    ck_assert_uint_eq(known, 8 + 256 * 8 + 10 + 1);
    ck_assert_uint_eq(unknown, 2);
    do_one(NBD_TRIM, (1 << 20) + 4096, 65536);
    do_one(NBD_ZEROES, 8192, 2048);
    do_one(NBD_ZEROES, 3 << 20, 1 << 19);
    known = check_file(&unknown);
    ck_assert_uint_eq(known, 8 + 256 * 8 + 10 + 1 + 1024);
    assert_done(write_log_begin(logs, uids[0], &one, &none, &err));
    do_one(NBD_WRITE, 0, 4096);
    assert_done(write_log_begin(logs, uids[0], &none, &one, &err));
    ck_assert_uint_eq(read_writes().count, 0);
    do_one(NBD_WRITE, 4096, 512);
    kill_daemon(); /* and the log outlives it */
    ck_assert_uint_eq(check_file(&unknown), 1);
    end_daemon();
}

START_TEST(writes_by_io_uring_are_logged) {
    write_all_ways("io_uring");
}
END_TEST

START_TEST(writes_by_threads_are_logged) {
    write_all_ways("threads");
}
END_TEST

static void add_quorum(const char *aio) {
    json_t *children = json_array();

    for (unsigned i = 0; i < REPLICAS; i++) {
        char node[] = { 'f', 'i', 'l', 'e', (char)('0' + i), '\0' };

        add_file(node, aio, file_of(i, "data"));
        json_array_append_new(children, json_string(node));
    }
    execute("blockdev-add", json_pack("{s:s, s:s, s:i, s:o}", "driver", "quorum", "node-name",
                                      "quorum", "vote-threshold", 2, "children", children));
}

/* At once, each of one size: memory of earlier requests is used again, for the same blocks. */
static void write_round(unsigned round) {
    enum { AT_ONCE = 16, PIECE = sizeof(bytes) / AT_ONCE };
    uint64_t handle;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 31 + i / 4096 + round * 101);
    for (unsigned i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(
            nbd_send(client, NBD_WRITE, i, (int64_t)i * PIECE, bytes + (size_t)i * PIECE, PIECE),
            0);
    for (unsigned i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(nbd_answer(client, &handle, NULL, 0), 0);
}

static void write_to_quorum(const char *aio) {
    unsigned unknown;

    begin_program();
    add_quorum(aio);
    connect_to("quorum");
    for (unsigned i = 0; i < REPLICAS; i++)
        assert_done(write_log_begin(logs, uids[i], &none, &one, &err));
    for (unsigned round = 0; round < ROUNDS; round++) {
        write_round(round);
        for (unsigned i = 0; i < REPLICAS; i++) {
            ck_assert_uint_eq(read_writes_of(i).count, (round + 1) * sizeof(bytes) / 4096);
            ck_assert_uint_eq(check_replica(i, &unknown), sizeof(bytes) / 512);
            ck_assert_uint_eq(unknown, 0);
        }
    }
    end_daemon();
}

START_TEST(each_log_of_a_quorum_has_the_sums_of_its_replica) {
    write_to_quorum("io_uring");
}
END_TEST

START_TEST(each_log_of_a_quorum_has_the_sums_of_writes_by_threads) {
    write_to_quorum("threads");
}
END_TEST

START_TEST(writes_to_another_file_are_not_logged) {
    char path[128];
    autoclose int fd = -1;

    snprintf(path, sizeof(path), "%s/data", top);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(ftruncate(fd, FILE_SIZE), 0);
    begin_daemon("threads", path);
    do_one(NBD_WRITE, 0, 4096);
    ck_assert_int_eq(access(logs, F_OK), -1);
    end_daemon();
}
END_TEST

START_TEST(a_log_that_cannot_be_created_fails_no_write) {
    autoclose int fd = -1;
    char path[128];

    snprintf(path, sizeof(path), "%s/write-logs", top);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    begin_daemon("io_uring", file_of(0, "data"));
    do_one(NBD_WRITE, 0, 4096);
    end_daemon();
}
END_TEST

static int connect_slow(void) {
    int64_t size;
    int fd;

    execute("object-add", json_pack("{s:s, s:s, s:{s:i}}", "qom-type", "throttle-group", "id",
                                    "slow", "limits", "iops-total", 1));
    execute("blockdev-add", json_pack("{s:s, s:s, s:s, s:s}", "driver", "throttle", "node-name",
                                      "slow", "throttle-group", "slow", "file", "file"));
    execute("block-export-add", json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id", "slow",
                                          "node-name", "slow", "name", "slow", "writable", 1));
    fd = nbd_connect(daemon_path(arena, run, "nbd"), "slow", &size);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static pid_t daemon_pid(void) {
    autoclose int fd = open(daemon_path(arena, run, "daemon"), O_RDONLY);
    char text[32] = "";

    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    return (pid_t)strtol(text, NULL, 10);
}

static int open_daemon(void) {
    int process = (int)syscall(SYS_pidfd_open, daemon_pid(), 0);

    ck_assert_int_ge(process, 0);
    return process;
}

/* A lock beyond its end keeps the daemon waiting, as one of a request in flight. */
static int lock_data(void) {
    struct flock lock = { .l_type = F_RDLCK, .l_start = 2 * FILE_SIZE, .l_len = 1 };
    int fd = open(file_of(0, "data"), O_RDWR);

    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

/* The next daemon has the logs: writes that wait for a limit are not among its own. */
START_TEST(a_released_daemon_logs_no_write) {
    autoclose int slow = -1, lock = lock_data(), process = -1;
    struct pollfd dead = { .events = POLLIN };
    uint64_t handle;
    unsigned logged;

    ck_assert_int_ge(lock, 0);
    begin_daemon("io_uring", file_of(0, "data"));
    slow = connect_slow();
    assert_done(write_log_begin(logs, uids[0], &none, &one, &err));
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(nbd_send(slow, NBD_WRITE, i, i * 4096, bytes, 4096), 0);
    ck_assert_int_eq(nbd_answer(slow, &handle, NULL, 0), 0);
    dead.fd = process = open_daemon();
    kill_daemon();
    logged = read_writes().count;
    while (poll(&dead, 1, -1) != 1)
        ;
    ck_assert_uint_eq(read_writes().count, logged);
    end_daemon();
}
END_TEST

CHECK_MAIN_WITH("daemon writes", adopt_daemons(), begin, end, writes_by_io_uring_are_logged,
                writes_by_threads_are_logged, each_log_of_a_quorum_has_the_sums_of_its_replica,
                each_log_of_a_quorum_has_the_sums_of_writes_by_threads,
                writes_to_another_file_are_not_logged, a_log_that_cannot_be_created_fails_no_write,
                a_released_daemon_logs_no_write)
