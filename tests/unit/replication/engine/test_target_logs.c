/*
 * Volumes with no replica to spare, whose storage daemon is killed under writes: write logs decide
 * which content is right, and what they do not justify is refused.
 */
#include "replication/engine/write_log_format.h"
#include "tests/lib/nbd.h"
#include "tests/unit/replication/engine/target_test.h"

#define KILLS 25

static char log_path[128];

/* A volume of two replicas. */
static void make_two(void) {
    target_close(target);
    for (unsigned i = 0; i < REPLICAS; i++) {
        const struct replica replica = { .pool = pools[i], .uid = uids[i] };

        assert_done(replica_delete(&replica, &err));
    }
    settings.count = 2;
    open_target();
    assert_done(target_create(target, &err));
    serve();
}

static const char *log_of(unsigned i) {
    snprintf(log_path, sizeof(log_path), "%s/write-logs/%s", top, uids[i]);
    return log_path;
}

/* As another process finds it that is started behind the kill. */
static void kill_and_start(void) {
    checker_disconnect(&checker);
    kill_daemon();
    target_close(target);
    open_target();
    ck_assert_int_ge(start(), 0);
    ck_assert(connect_checker());
}

/* Three replicas, one of which is lost: the other two are needed. */
static void lose_third(void) {
    serve();
    write_some(50);
    assert_done(target_drop(target, uids[2], &err));
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

/* The last write of each block, in one replica, is taken back: as if it had been in flight. */
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

static void interrupt_writes(unsigned lacking) {
    static char before[BLOCKS][CHECKER_BLOCK];
    unsigned count;

    for (unsigned block = 0; block < BLOCKS; block++)
        read_block(0, block, before[block]);
    write_some(40);
    checker_disconnect(&checker);
    kill_daemon();
    count = take_back(lacking, before);
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

START_TEST(a_missing_third_is_rebuilt_at_once_behind_a_kill) {
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

START_TEST(rot_in_a_block_written_before_the_kill_is_mended) {
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

START_TEST(rot_in_a_block_that_no_log_has_is_refused) {
    unsigned char value;

    make_two();
    write_one(3, 7);
    stop();
    serve(); /* the logs begin anew */
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

/* Where they are gone, a block that differs is refused as long as it is not written. */
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
    kill_daemon(); /* and they have begun anew */
    damage(1, 3);
    kill_and_start();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, 1);
    ck_assert_int_eq(read_one(3, &value), 0);
    ck_assert_uint_eq(value, 9);
}

START_TEST(lost_logs_justify_nothing) {
    refuse_without(lose_logs);
}
END_TEST

START_TEST(logs_that_are_cut_justify_nothing) {
    refuse_without(cut_logs);
}
END_TEST

START_TEST(logs_of_another_kind_justify_nothing) {
    refuse_without(spoil_magic);
}
END_TEST

START_TEST(garbage_in_logs_justifies_nothing) {
    refuse_without(spoil_entries);
}
END_TEST

START_TEST(a_wrong_counter_in_logs_justifies_nothing) {
    refuse_without(spoil_counter);
}
END_TEST

START_TEST(logs_of_another_generation_justify_nothing) {
    refuse_without(spoil_generation);
}
END_TEST

/* A third replica has answered writes in the place of one that lacks them: no log decides then. */
START_TEST(what_was_logged_before_a_third_joined_justifies_nothing) {
    char seven[CHECKER_BLOCK];
    unsigned char value;

    lose_third();
    write_one(3, 7);
    rebuild(2);
    assert_voters(3);
    write_one(3, 8);
    kill_daemon();
    /* What was answered by the second and the third; then the third is lost. */
    memset(seven, 7, sizeof(seven));
    write_block(0, 3, seven);
    checker_disconnect(&checker);
    target_close(target);
    ck_assert_int_eq(unlink(file_of(2, "data")), 0);
    open_target();
    ck_assert_int_ge(start(), 0);
    ck_assert(connect_checker());
    assert_voters(2);
    ck_assert_int_eq(status.decided_blocks, 0);
    ck_assert_int_ne(read_one(3, &value), 0);
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
        ck_assert_int_ge(start(), 0);
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

/* A sector holds the number of the write that wrote it last. */
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

/* Each in a place of its own, so that none overlaps another. */
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

START_TEST(requests_of_any_form_are_whole_by_sectors_behind_a_kill) {
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
                a_missing_third_is_rebuilt_at_once_behind_a_kill,
                what_was_logged_before_a_third_joined_justifies_nothing,
                a_write_that_one_replica_lacks_is_completed,
                rot_in_a_block_written_before_the_kill_is_mended, rot_in_both_replicas_is_refused,
                rot_in_a_block_that_no_log_has_is_refused, lost_logs_justify_nothing,
                logs_that_are_cut_justify_nothing, logs_of_another_kind_justify_nothing,
                garbage_in_logs_justifies_nothing, a_wrong_counter_in_logs_justifies_nothing,
                logs_of_another_generation_justify_nothing, a_start_that_dies_anywhere_is_repeated,
                requests_of_any_form_are_whole_by_sectors_behind_a_kill)
