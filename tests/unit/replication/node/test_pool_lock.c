#include "replication/node/pool_lock.h"

#include "common/child.h"
#include "replication/node/instance.h"
#include "replication/node/pool_status.h"

#include "tests/unit/replication/node/storage_test.h"

#include <signal.h>
#include <sys/wait.h>

static struct pool_lock first, second;

static void begin(void) {
    begin_storage();
    first = second = POOL_LOCK_NONE;
}

static void end(void) {
    pool_lock_end(&first);
    pool_lock_end(&second);
    end_storage();
}

static void make_pool(void) {
    ck_assert_int_eq(pool_mark(paths[0], names[0], &err), 0);
}

static int start_agent(struct pool_lock *lock) {
    return pool_lock_begin(lock, paths[0], names[0], &err);
}

START_TEST(a_pool_has_one_agent_at_a_time) {
    make_pool();
    ck_assert_int_eq(start_agent(&first), 0);
    ck_assert_int_ge(first.fd, 0);
    ck_assert_int_eq(start_agent(&second), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(err.message, "is in use by another storage agent"));
    ck_assert_int_eq(second.fd, -1);
    ck_assert_int_eq(pool_lock_keep(&first, paths[0], &err), 0);
    ck_assert_int_eq(pool_lock_keep(&second, paths[0], &err), -1);
    pool_lock_end(&first);
    ck_assert_int_eq(pool_lock_keep(&second, paths[0], &err), 0);
}
END_TEST

START_TEST(a_directory_that_is_no_pool_yet_is_locked_when_it_becomes_one) {
    ck_assert_int_eq(start_agent(&first), 0);
    ck_assert_int_eq(first.fd, -1);
    ck_assert_int_eq(pool_mark(paths[0], "other", &err), 0);
    ck_assert_int_eq(start_agent(&first), 0);
    ck_assert_int_eq(first.fd, -1);
    make_pool();
    ck_assert_int_eq(pool_lock_keep(&first, paths[0], &err), 0);
    ck_assert_int_eq(start_agent(&second), -1);
}
END_TEST

START_TEST(another_disk_mounted_at_a_pool_is_locked) {
    make_pool();
    ck_assert_int_eq(start_agent(&first), 0);
    make_pool(); /* another file */
    ck_assert_int_eq(pool_lock_keep(&first, paths[0], &err), 0);
    ck_assert_int_eq(start_agent(&second), -1);
}
END_TEST

static void sleep_long(void *arg) {
    (void)arg;
    execlp("sleep", "sleep", "600", NULL);
}

static void end_child(pid_t pid) {
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_reap(pid);
}

START_TEST(a_program_that_an_agent_has_started_does_not_keep_its_lock) {
    pid_t pid;

    make_pool();
    ck_assert_int_eq(start_agent(&first), 0);
    pid = child_fork(sleep_long, NULL);
    ck_assert_int_gt(pid, 0);
    pool_lock_end(&first);
    while (start_agent(&second) < 0) /* until the program runs */
        poll(NULL, 0, 1);
    end_child(pid);
}
END_TEST

static void hold(void *arg) {
    char locked = start_agent(&first) == 0 && first.fd >= 0;

    (void)!write(*(int *)arg, &locked, 1);
    for (;;)
        pause();
}

START_TEST(an_agent_that_was_killed_leaves_no_lock) {
    int ends[2];
    char locked = 0;
    pid_t pid;

    make_pool();
    ck_assert_int_eq(pipe(ends), 0);
    pid = child_fork(hold, &ends[1]);
    ck_assert_int_eq(read(ends[0], &locked, 1), 1);
    ck_assert_int_eq(locked, 1);
    ck_assert_int_eq(start_agent(&second), -1);
    end_child(pid);
    ck_assert_int_eq(start_agent(&second), 0);
    ck_assert_int_ge(second.fd, 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static const char *start_in(unsigned i) {
    autoclose int fd =
        open(arena_join(arena, paths[i], "/lock", NULL), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    return instance_of(arena, fd);
}

START_TEST(an_agent_that_is_started_again_is_the_same_instance) {
    const char *instance = start_in(0);

    ck_assert(uuid_is_canonical(instance));
    ck_assert_str_eq(start_in(0), instance);
    ck_assert_str_ne(start_in(1), instance);
}
END_TEST

START_TEST(an_instance_that_was_damaged_is_replaced) {
    const char *instance = start_in(0), *next;

    ck_assert_int_eq(truncate(arena_join(arena, paths[0], "/lock", NULL), 5), 0);
    next = start_in(0);
    ck_assert(uuid_is_canonical(next));
    ck_assert_str_ne(next, instance);
    ck_assert_str_eq(start_in(0), next);
    ck_assert(uuid_is_canonical(instance_of(arena, -1))); /* it cannot be stored */
}
END_TEST

CHECK_MAIN_WITH("pool_lock", true, begin, end, a_pool_has_one_agent_at_a_time,
                a_directory_that_is_no_pool_yet_is_locked_when_it_becomes_one,
                another_disk_mounted_at_a_pool_is_locked,
                a_program_that_an_agent_has_started_does_not_keep_its_lock,
                an_agent_that_was_killed_leaves_no_lock,
                an_agent_that_is_started_again_is_the_same_instance,
                an_instance_that_was_damaged_is_replaced)
