/*
 * Volumes with a storage daemon that is killed under writes, with a spare replica and without:
 * write logs decide the right content, and content that they do not justify is refused.
 */
#include "replication/engine/write_log_format.h"
#include "tests/lib/nbd.h"
#include "tests/lib/wall.h"
#include "tests/unit/replication/engine/target_test.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define KILLS       25
#define SPARE_KILLS 8

static char log_path[128];
static int replies_before_suspension = -1; /* none: no suspension */
static bool slow;                          /* each part of a reply takes a second */

/* In place of the C library's.  A wait of the engine's NBD client, alone without flags, is
 * interrupted by a suspension of this process and of the daemon for an hour. */
ssize_t recv(int fd, void *data, size_t size, int flags) {
    if (flags == 0 && slow)
        boot_pass(1);
    if (flags == 0 && replies_before_suspension >= 0 && replies_before_suspension-- == 0) {
        boot_pass(3600);
        errno = EAGAIN;
        return -1;
    }
    return recvfrom(fd, data, size, flags, NULL, NULL);
}

/* A volume of two replicas. */
static void make_two(void) {
    target_close(target);
    for (unsigned i = 0; i < REPLICAS; i++) {
        const struct replica replica = { .pool = pools[i], .uid = uids[i] };

        assert_done(replica_delete(&replica, &err));
    }
    settings.count = 2;
    open_target();
    create_replicas();
    serve();
}

static const char *log_of(unsigned i) {
    snprintf(log_path, sizeof(log_path), "%s/write-logs/%s", top, uids[i]);
    return log_path;
}

static void open_target_again(void) {
    target_close(target);
    open_target();
    assert_done(start());
    ck_assert(connect_checker());
}

/* As a process finds it that is started after the kill. */
static void kill_and_start(void) {
    checker_disconnect(&checker);
    kill_daemon();
    open_target_again();
}

/* Three replicas, one of which is lost: the other two are needed. */
static void lose_third(void) {
    serve();
    write_some(50);
    assert_done(target_evict(target, uids[2], &err));
    watch();
    assert_voters(2);
}

static void read_block(unsigned i, unsigned block, char ret[CHECKER_BLOCK]) {
    autoclose int fd = open(file_of(i, "data"), O_RDONLY);

    ck_assert_int_eq(pread(fd, ret, CHECKER_BLOCK, block * STRIDE), CHECKER_BLOCK);
}

static void write_block(unsigned i, unsigned block, const char content[CHECKER_BLOCK]) {
    autoclose int fd = open(file_of(i, "data"), O_WRONLY);

    ck_assert_int_eq(pwrite(fd, content, CHECKER_BLOCK, block * STRIDE), CHECKER_BLOCK);
}

/* The last write of each block, in one replica, is undone: as if it had been in flight. */
static unsigned take_back(unsigned from, char (*before)[CHECKER_BLOCK]) {
    char now[CHECKER_BLOCK];
    unsigned count = 0;

    for (unsigned block = 0; block < BLOCKS; block++) {
        read_block(from, block, now);
        if (memcmp(now, before[block], CHECKER_BLOCK) == 0)
            continue;
        write_block(from, block, before[block]);
        count++;
    }
    return count;
}

static void kill_under_writes(void) {
    for (unsigned i = 0; i < KILLS; i++) {
        write_some(checker_draw(&checker, 30));
        checker_send(&checker, CHECKER_DEPTH);
        usleep(checker_draw(&checker, 600));
        kill_and_start();
        ck_assert(checker_read(&checker));
        ck_assert_int_eq(status.failures, 0);
    }
    ck_assert(resynchronize());
    stop();
    assert_equal(0, 1);
}

START_TEST(two_of_two_killed_under_writes_have_no_unreadable_block) {
    make_two();
    kill_under_writes();
}
END_TEST

START_TEST(two_of_three_killed_under_writes_have_no_unreadable_block) {
    lose_third();
    kill_under_writes();
}
END_TEST

/* Returns the number of blocks that one replica lacks. */
static unsigned kill_with_writes(unsigned writes, unsigned lacking) {
    static char before[BLOCKS][CHECKER_BLOCK];

    for (unsigned block = 0; block < BLOCKS; block++)
        read_block(0, block, before[block]);
    write_some(writes);
    checker_disconnect(&checker);
    kill_daemon();
    return take_back(lacking, before);
}

static void interrupt_writes(unsigned lacking) {
    unsigned count = kill_with_writes(40, lacking);

    kill_and_start();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, count);
    ck_assert_uint_gt(count, 0);
    ck_assert(checker_read(&checker));
}

START_TEST(a_write_that_one_replica_lacks_is_completed) {
    make_two();
    write_some(100);
    for (unsigned i = 0; i < 4; i++)
        interrupt_writes(i % 2);
    ck_assert(resynchronize());
    target_status(target, &status);
    ck_assert_int_eq(status.failures, 0);
}
END_TEST

START_TEST(a_suspension_during_a_start_leaves_no_block_undecided) {
    make_two();
    for (unsigned i = 0; i < 4; i++) {
        write_some(100);
        replies_before_suspension = 5 + 10 * (int)i;
        interrupt_writes(i % 2);
        ck_assert_int_lt(replies_before_suspension, 0);
    }
}
END_TEST

/* One batch of blocks takes longer than all of them may. */
START_TEST(a_slow_disk_gets_no_more_time_for_a_start) {
    make_two();
    write_some(100);
    ck_assert_uint_gt(kill_with_writes(400, 0), 64);
    slow = true;
    kill_and_start();
    slow = false;
    target_status(target, &status);
    ck_assert_int_gt(status.decided_blocks, 0);
    ck_assert_int_le(status.decided_blocks, 32);
}
END_TEST

START_TEST(a_missing_third_is_rebuilt_at_once_after_a_kill) {
    lose_third();
    interrupt_writes(1);
    ck_assert(status.resynchronizing);
    rebuild(2);
    assert_voters(3);
    ck_assert(checker_read(&checker));
    ck_assert(resynchronize());
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

/* ---- rot ---- */

static void write_one(unsigned block, unsigned char value) {
    unsigned char data[CHECKER_BLOCK];

    memset(data, value, sizeof(data));
    ck_assert_int_eq(nbd_do(checker.fd, NBD_WRITE, block * STRIDE, data, sizeof(data)), 0);
}

static int read_one(unsigned block, unsigned char *ret) {
    unsigned char data[CHECKER_BLOCK];
    int outcome = nbd_do(checker.fd, NBD_READ, block * STRIDE, data, sizeof(data));

    for (size_t i = 0; outcome == 0 && i < sizeof(data); i++)
        ck_assert_uint_eq(data[i], data[0]);
    *ret = data[0];
    return outcome;
}

START_TEST(rot_in_a_block_written_before_the_kill_is_repaired) {
    unsigned char value = 0;

    make_two();
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned block = 0; block < 8; block++)
            write_one(block, (unsigned char)(10 + block));
        kill_daemon();
        damage(i, 3);
        kill_and_start();
        target_status(target, &status);
        ck_assert_int_eq(status.decided_blocks, 1);
        for (unsigned block = 0; block < 8; block++) {
            ck_assert_int_eq(read_one(block, &value), 0);
            ck_assert_uint_eq(value, 10 + block);
        }
    }
    ck_assert(resynchronize());
    stop();
    assert_equal(0, 1);
}
END_TEST

START_TEST(rot_in_both_replicas_is_refused) {
    unsigned char value;

    make_two();
    write_one(3, 7);
    write_one(4, 8);
    kill_daemon();
    damage(0, 3);
    damage(1, 3);
    kill_and_start();
    ck_assert_int_ne(read_one(3, &value), 0);
    ck_assert_int_eq(read_one(4, &value), 0);
    ck_assert(!resynchronize());
}
END_TEST

START_TEST(rot_in_a_block_without_entries_is_refused) {
    unsigned char value;

    make_two();
    write_one(3, 7);
    stop();
    serve(); /* the logs start again */
    write_one(4, 8);
    kill_daemon();
    damage(0, 3);
    kill_and_start();
    ck_assert_int_ne(read_one(3, &value), 0);
    ck_assert_int_eq(read_one(4, &value), 0);
    kill_and_start();
    ck_assert_int_ne(read_one(3, &value), 0);
}
END_TEST

/* ---- logs that do not count ---- */

static void lose_logs(void) {
    unlink(log_of(0));
    unlink(log_of(1));
}

static void cut_logs(void) {
    ck_assert_int_eq(truncate(log_of(0), 100), 0);
    ck_assert_int_eq(truncate(log_of(1), 100), 0);
}

static void spoil(unsigned i, size_t at, size_t size) {
    autoclose int fd = open(log_of(i), O_WRONLY);
    static char junk[WRITE_LOG_SIZE];

    memset(junk, 0x5a, size);
    ck_assert_int_eq(pwrite(fd, junk, size, (off_t)at), (ssize_t)size);
}

static void spoil_magic(void) {
    spoil(0, 0, 8);
    spoil(1, 0, 8);
}

static void spoil_entries(void) {
    for (unsigned i = 0; i < 2; i++)
        spoil(i, WRITE_LOG_HEADER, WRITE_LOG_SIZE - WRITE_LOG_HEADER);
}

static void spoil_counter(void) {
    for (unsigned i = 0; i < 2; i++)
        spoil(i, offsetof(struct write_log_header, made), 8);
}

static void spoil_generation(void) {
    for (unsigned i = 0; i < 2; i++)
        spoil(i, offsetof(struct write_log_header, generation), 8);
}

/* Without them, a block that differs is refused as long as it is not written. */
static void refuse_without(void (*spoil_logs)(void)) {
    unsigned char value;

    make_two();
    write_one(3, 7);
    write_one(4, 8);
    kill_daemon();
    damage(1, 3);
    spoil_logs();
    kill_and_start();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, 0);
    ck_assert_int_ne(read_one(3, &value), 0);
    write_one(3, 9);
    kill_daemon(); /* and they have started again */
    damage(1, 3);
    kill_and_start();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, 1);
    ck_assert_int_eq(read_one(3, &value), 0);
    ck_assert_uint_eq(value, 9);
}

START_TEST(lost_logs_justify_no_content) {
    refuse_without(lose_logs);
}
END_TEST

START_TEST(truncated_logs_justify_no_content) {
    refuse_without(cut_logs);
}
END_TEST

START_TEST(logs_of_another_format_justify_no_content) {
    refuse_without(spoil_magic);
}
END_TEST

START_TEST(garbage_in_logs_justifies_no_content) {
    refuse_without(spoil_entries);
}
END_TEST

START_TEST(a_wrong_counter_in_logs_justifies_no_content) {
    refuse_without(spoil_counter);
}
END_TEST

START_TEST(logs_of_another_generation_justify_no_content) {
    refuse_without(spoil_generation);
}
END_TEST

/* ---- with a replica to spare ---- */

static void set_content(unsigned i, unsigned block, int value) {
    char content[CHECKER_BLOCK];

    memset(content, value, sizeof(content));
    write_block(i, block, content);
}

/* As another process finds it, without that replica. */
static void start_without(unsigned i) {
    checker_disconnect(&checker);
    target_close(target);
    ck_assert_int_eq(unlink(file_of(i, "data")), 0);
    open_target();
    ck_assert_msg(start() >= 0, "%s", err.message);
    ck_assert(connect_checker());
    assert_voters(2);
}

static void assert_refused(unsigned block) {
    unsigned char value;

    ck_assert_int_ne(read_one(block, &value), 0);
}

static void assert_value(unsigned block, unsigned expected) {
    unsigned char value = 0;

    ck_assert_int_eq(read_one(block, &value), 0);
    ck_assert_uint_eq(value, expected);
}

/* Killed after answered writes that one replica lacks. */
static unsigned kill_with_lacking(unsigned lacking) {
    static char before[BLOCKS][CHECKER_BLOCK];
    unsigned count;

    for (unsigned block = 0; block < BLOCKS; block++)
        read_block(0, block, before[block]);
    write_some(40);
    checker_disconnect(&checker);
    kill_daemon();
    count = take_back(lacking, before);
    ck_assert_uint_gt(count, 0);
    return count;
}

START_TEST(different_blocks_after_the_loss_of_a_spare_replica_are_decided) {
    serve();
    write_some(100);
    for (unsigned i = 0; i < 4; i++) {
        unsigned count = kill_with_lacking(i % 2);

        start_without(2);
        ck_assert_int_eq(status.decided_blocks, count);
        ck_assert(checker_read(&checker));
        rebuild(2);
        assert_voters(3);
    }
    ck_assert(resynchronize());
    ck_assert_int_eq(status.failures, 0);
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

START_TEST(three_killed_under_writes_have_no_unreadable_block_when_one_is_lost) {
    serve();
    for (unsigned i = 0; i < SPARE_KILLS; i++) {
        write_some(checker_draw(&checker, 30));
        checker_send(&checker, CHECKER_DEPTH);
        usleep(checker_draw(&checker, 600));
        kill_daemon();
        start_without(2);
        ck_assert(checker_read(&checker));
        ck_assert_int_eq(status.failures, 0);
        rebuild(2);
    }
}
END_TEST

/* Before all are compared. */
START_TEST(different_blocks_are_equal_before_a_spare_replica_is_lost) {
    unsigned count;

    serve();
    write_some(100);
    count = kill_with_lacking(1);
    open_target_again();
    ck_assert_int_eq(status.decided_blocks, count);
    ck_assert(status.resynchronizing);
    assert_done(target_evict(target, uids[2], &err));
    ck_assert(checker_read(&checker));
    watch();
    ck_assert_int_eq(status.failures, 0);
    rebuild(2);
    assert_voters(3);
}
END_TEST

/* Those of another generation, though it had the replica, too. */
START_TEST(entries_from_before_a_third_joined_justify_no_content) {
    lose_third();
    write_one(3, 7);
    write_one(4, 5);
    rebuild(2);
    assert_voters(3);
    write_one(3, 8);
    kill_daemon();
    set_content(0, 3, 7);
    damage(0, 4);
    start_without(2);
    ck_assert_int_eq(status.decided_blocks, 1);
    assert_value(3, 8);
    assert_refused(4);
}
END_TEST

/* ---- answered writes without an entry ---- */

static pid_t daemon_process(void) {
    autofile FILE *file = NULL;
    char path[80], text[32] = "";

    snprintf(path, sizeof(path), "%s/daemon", run);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
    return (pid_t)strtol(text, NULL, 10);
}

static void set_active(uint32_t active) {
    for (unsigned i = 0; i < REPLICAS; i++) {
        autoclose int fd = open(log_of(i), O_WRONLY);

        ck_assert_int_eq(
            pwrite(fd, &active, sizeof(active), offsetof(struct write_log_header, active)),
            sizeof(active));
    }
}

/* The first lacks the answered write of 8, and logs have one of 7 at most. */
static void assert_seven_is_refused(void) {
    set_content(0, 3, 7);
    start_without(2);
    assert_refused(3);
    write_one(3, 9);
    assert_value(3, 9);
}

/* It can open no more files. */
static void bound_daemon(void) {
    pid_t daemon = daemon_process();
    struct rlimit limit;
    char path[64];

    ck_assert_int_eq(prlimit(daemon, RLIMIT_NOFILE, NULL, &limit), 0);
    limit.rlim_cur = 0;
    do {
        snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)daemon, (unsigned)limit.rlim_cur++);
    } while (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    limit.rlim_cur--;
    ck_assert_int_eq(prlimit(daemon, RLIMIT_NOFILE, &limit, NULL), 0);
}

START_TEST(a_log_that_the_daemon_cannot_open_justifies_no_content) {
    serve();
    write_one(3, 7);
    kill_and_start(); /* it opens a log with the first write to its replica */
    bound_daemon();
    write_one(3, 8);
    assert_value(3, 8);
    kill_daemon();
    assert_seven_is_refused();
}
END_TEST

START_TEST(an_inactive_log_justifies_no_content) {
    serve();
    write_one(3, 7);
    set_active(0);
    write_one(3, 8);
    kill_daemon();
    assert_seven_is_refused();
}
END_TEST

/* A write may have failed before it reached the kernel, and its report was not received. */
START_TEST(entries_from_before_an_adoption_justify_no_content) {
    serve();
    write_one(3, 7);
    target_close(target);
    set_active(0);
    write_one(3, 8);
    set_active(1);
    open_target();
    watch();
    assert_voters(3);
    write_one(4, 5);
    kill_daemon();
    damage(0, 4);
    set_content(0, 3, 7);
    start_without(2);
    assert_refused(3);
    assert_value(4, 5);
}
END_TEST

static const char *junk_path(void) {
    snprintf(log_path, sizeof(log_path), "%s/junk", pools[REPLICAS]);
    return log_path;
}

/* The first of three is on a disk that is full. */
static bool serve_full(void) {
    static char junk[4096];
    autoclose int fd = -1;

    target_close(target);
    target = NULL;
    if (!small_disk(pools[REPLICAS], "size=200k"))
        return false; /* not possible here */
    for (unsigned i = 0; i < REPLICAS; i++) {
        const struct replica replica = { .pool = pools[i], .uid = uids[i] };

        assert_done(replica_delete(&replica, &err));
    }
    settings.replicas[0] = (struct replica){ .pool = pools[REPLICAS], .uid = uids[REPLICAS] };
    open_target();
    create_replicas();
    serve();
    fd = open(junk_path(), O_WRONLY | O_CREAT, 0600);
    while (write(fd, junk, sizeof(junk)) > 0)
        ;
    ck_assert_int_eq(errno, ENOSPC);
    write_one(3, 8);
    return true;
}

START_TEST(an_answered_write_that_one_replica_failed_is_completed) {
    if (!serve_full())
        return;
    kill_daemon();
    ck_assert_int_eq(unlink(junk_path()), 0);
    start_without(2);
    ck_assert_int_eq(status.decided_blocks, 1);
    assert_value(3, 8);
}
END_TEST

START_TEST(a_replica_that_failed_a_write_has_no_log) {
    if (!serve_full())
        return;
    ck_assert_int_eq(access(log_of(REPLICAS), F_OK), 0);
    watch();
    assert_voters(2);
    ck_assert_int_eq(access(log_of(REPLICAS), F_OK), -1);
    ck_assert_int_eq(access(log_of(1), F_OK), 0);
}
END_TEST

START_TEST(a_replica_loses_its_log_before_it_leaves_the_quorum) {
    pid_t daemon;

    serve();
    limit_queries(5000);
    write_one(3, 7);
    ck_assert_int_eq(access(log_of(2), F_OK), 0);
    daemon = daemon_process();
    ck_assert_int_eq(kill(daemon, SIGSTOP), 0);
    ck_assert_int_eq(target_evict(target, uids[2], &err), -1);
    ck_assert_int_eq(access(log_of(2), F_OK), -1);
    ck_assert_int_eq(kill(daemon, SIGCONT), 0);
}
END_TEST

START_TEST(an_eviction_during_a_rebuild_leaves_no_block_undecided) {
    const struct replica fourth = { .pool = pools[3], .uid = uids[3] };

    serve();
    write_some(50);
    write_one(3, 7);
    assert_done(target_rebuild(target, &fourth, uids[0], 1 << 20, &err));
    assert_done(target_evict(target, uids[2], &err));
    watch();
    ck_assert_int_eq(status.job, TARGET_REBUILD);
    assert_voters(2);
    write_one(3, 8);
    kill_daemon();
    set_content(0, 3, 7);
    start_without(2);
    ck_assert_int_eq(status.decided_blocks, 1);
    assert_value(3, 8);
}
END_TEST

/* ---- interrupted starts ---- */

START_TEST(a_start_that_dies_anywhere_is_repeated) {
    unsigned char value;

    make_two();
    for (unsigned i = 0; i < 12; i++) {
        pid_t starter;

        for (unsigned block = 0; block < 30; block++)
            write_one(block, (unsigned char)(1 + i + block));
        checker_disconnect(&checker);
        kill_daemon();
        target_close(target);
        for (unsigned block = 0; block < 30; block += 2)
            damage(i % 2, block);
        starter = fork();
        if (starter == 0) {
            target_open(&settings, &target, &err);
            target_start(target, &err);
            _exit(0);
        }
        usleep(i * 12000);
        kill(starter, SIGKILL);
        waitpid(starter, NULL, 0);
        target = NULL;
        while (target_open(&settings, &target, &err) < 0)
            poll(NULL, 0, 5);
        assert_done(start());
        ck_assert(connect_checker());
        for (unsigned block = 0; block < 30; block++) {
            int outcome = read_one(block, &value);

            ck_assert(outcome != 0 || value == (unsigned char)(1 + i + block));
        }
    }
}
END_TEST

/* ---- requests of any form ---- */

#define AREA  (INT64_C(256) << 10)
#define FORMS 40

/* A sector holds the number of its last write. */
static uint32_t written[AREA / 512], answered[AREA / 512];

static void check_area(void) {
    static unsigned char bytes[AREA];

    ck_assert_int_eq(nbd_do(checker.fd, NBD_READ, 0, bytes, AREA), 0);
    for (unsigned i = 0; i < AREA / 512; i++) {
        uint32_t seen;

        memcpy(&seen, bytes + (size_t)i * 512, sizeof(seen));
        ck_assert_msg(seen == 0 || (seen >= answered[i] && seen <= written[i]),
                      "sector %u has %u, of %u to %u", i, seen, answered[i], written[i]);
        ck_assert(seen != 0 || answered[i] == 0);
        for (unsigned j = 4; j < 512; j += 4)
            ck_assert_mem_eq(bytes + (size_t)i * 512 + j, bytes + (size_t)i * 512, 4);
        answered[i] = written[i] = seen;
    }
}

/* Each in a range of its own, so that none overlaps another. */
static void send_forms(uint32_t *number) {
    static uint32_t words[AREA / 4 / 8];

    for (unsigned i = 0; i < 8; i++) {
        unsigned first = i * (AREA / 512 / 8), room = AREA / 512 / 8;
        unsigned from = checker_draw(&checker, room), count = 1;

        count += checker_draw(&checker, room - from);
        ++*number;
        for (unsigned j = 0; j < count * 128; j++)
            words[j] = *number;
        for (unsigned j = 0; j < count; j++)
            written[first + from + j] = *number;
        ck_assert_int_eq(
            nbd_send(checker.fd, NBD_WRITE, i, (first + from) * INT64_C(512), words, count * 512),
            0);
    }
}

START_TEST(requests_of_any_form_are_complete_by_sectors_after_a_kill) {
    uint32_t number = 0;
    uint64_t handle;

    make_two();
    for (unsigned round = 0; round < FORMS; round++) {
        unsigned more = checker_draw(&checker, 4);

        for (unsigned i = 0; i < more; i++) {
            send_forms(&number);
            for (unsigned j = 0; j < 8; j++)
                ck_assert_int_eq(nbd_answer(checker.fd, &handle, NULL, 0), 0);
            memcpy(answered, written, sizeof(answered));
        }
        send_forms(&number);
        usleep(checker_draw(&checker, 300));
        kill_and_start();
        check_area();
    }
}
END_TEST

CHECK_MAIN_WITH("target logs", adopt_daemons(), begin, end,
                two_of_two_killed_under_writes_have_no_unreadable_block,
                two_of_three_killed_under_writes_have_no_unreadable_block,
                a_missing_third_is_rebuilt_at_once_after_a_kill,
                entries_from_before_a_third_joined_justify_no_content,
                different_blocks_after_the_loss_of_a_spare_replica_are_decided,
                three_killed_under_writes_have_no_unreadable_block_when_one_is_lost,
                different_blocks_are_equal_before_a_spare_replica_is_lost,
                a_log_that_the_daemon_cannot_open_justifies_no_content,
                an_inactive_log_justifies_no_content,
                entries_from_before_an_adoption_justify_no_content,
                an_answered_write_that_one_replica_failed_is_completed,
                a_replica_that_failed_a_write_has_no_log,
                a_replica_loses_its_log_before_it_leaves_the_quorum,
                an_eviction_during_a_rebuild_leaves_no_block_undecided,
                a_write_that_one_replica_lacks_is_completed,
                a_suspension_during_a_start_leaves_no_block_undecided,
                a_slow_disk_gets_no_more_time_for_a_start,
                rot_in_a_block_written_before_the_kill_is_repaired, rot_in_both_replicas_is_refused,
                rot_in_a_block_without_entries_is_refused, lost_logs_justify_no_content,
                truncated_logs_justify_no_content, logs_of_another_format_justify_no_content,
                garbage_in_logs_justifies_no_content, a_wrong_counter_in_logs_justifies_no_content,
                logs_of_another_generation_justify_no_content,
                a_start_that_dies_anywhere_is_repeated,
                requests_of_any_form_are_complete_by_sectors_after_a_kill)
