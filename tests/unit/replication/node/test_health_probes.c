#include "replication/node/health_probes.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hung_disk.h"
#include "tests/lib/wall.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char top[] = "/tmp/test-health_probes-XXXXXX";
static struct health_probes *health_probes;

static void begin(void) {
    strcpy(top, "/tmp/test-health_probes-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    health_probes = health_probes_new();
}

static const char *path_of(const char *name) {
    static char text[80];

    snprintf(text, sizeof(text), "%s/%s", top, name);
    return text;
}

static void make_file(const char *name, const char *content) {
    autoclose int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
}

static int64_t size_of(const char *name) {
    struct stat facts;

    return lstat(path_of(name), &facts) < 0 ? -1 : facts.st_size;
}

static void end(void) {
    ck_assert(health_probes_stop(health_probes, 60000));
    unlink(path_of("scoria-pool"));
    unlink(path_of("scoria-pool.probe"));
    unlink(path_of("other"));
    rmdir(top);
}

START_TEST(a_missing_directory_is_responsive) {
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(
        health_probes_unresponsive_ms(health_probes, "/tmp/test-health_probes-no-such"), 0);
}
END_TEST

/* A process that was suspended for an hour counts a few seconds of it. */
START_TEST(only_observed_time_counts_as_unresponsive) {
    int disk = hung_disk(top);
    int64_t first_ms, next_ms;

    if (disk < 0)
        return;
    first_ms = health_probes_unresponsive_ms(health_probes, top);
    ck_assert_int_gt(first_ms, 0);
    monotonic_pass(3600);
    next_ms = health_probes_unresponsive_ms(health_probes, top);
    monotonic_pass(-3600); /* used by libcheck, too */
    ck_assert_int_gt(next_ms, first_ms);
    ck_assert_int_lt(next_ms, first_ms + 60000);
    hung_disk_end(top, disk);
    while (health_probes_unresponsive_ms(health_probes, top) > 0)
        ;
}
END_TEST

/* A lease blocks each open for writing, and no read. */
START_TEST(a_pool_that_hangs_on_writes_alone_is_unresponsive) {
    autoclose int probe = -1;

    make_file("scoria-pool", "{}");
    make_file("scoria-pool.probe", "");
    probe = open(path_of("scoria-pool.probe"), O_RDONLY | O_CLOEXEC);
    signal(SIGIO, SIG_IGN);
    if (fcntl(probe, F_SETLEASE, F_RDLCK) < 0)
        return; /* a file system without leases */
    ck_assert_int_gt(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(fcntl(probe, F_SETLEASE, F_UNLCK), 0);
    while (health_probes_unresponsive_ms(health_probes, top) > 0)
        ;
}
END_TEST

START_TEST(a_probe_leaves_nothing_in_the_pool) {
    make_file("scoria-pool", "{}");
    make_file("scoria-pool.probe", "of an agent that was killed");
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(size_of("scoria-pool.probe"), -1);
    ck_assert_int_eq(size_of("scoria-pool"), 2);
}
END_TEST

START_TEST(a_directory_that_is_no_pool_is_not_written_to) {
    make_file("scoria-pool.probe", "other");
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(size_of("scoria-pool.probe"), 5);
}
END_TEST

START_TEST(a_probe_follows_no_link) {
    make_file("scoria-pool", "{}");
    make_file("other", "content");
    ck_assert_int_eq(symlink("other", path_of("scoria-pool.probe")), 0);
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(size_of("other"), 7);
}
END_TEST

START_TEST(a_probe_writes_to_no_file_with_another_name) {
    char other[80];

    make_file("scoria-pool", "{}");
    make_file("other", "content");
    snprintf(other, sizeof(other), "%s", path_of("other"));
    ck_assert_int_eq(link(other, path_of("scoria-pool.probe")), 0);
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(size_of("other"), 7);
}
END_TEST

START_TEST(a_full_pool_is_not_unresponsive) {
    autoclose int fd = -1;
    char block[4096] = { 1 };

    if (!small_disk(top, "size=16k"))
        return;
    make_file("scoria-pool", "{}");
    make_file("other", "");
    fd = open(path_of("other"), O_WRONLY | O_CLOEXEC);
    while (write(fd, block, sizeof(block)) > 0)
        ;
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(health_probes_refusal(health_probes, top), 0);
    umount2(top, MNT_DETACH);
}
END_TEST

START_TEST(a_pool_that_refuses_writes_is_reported_until_it_takes_them) {
    if (!small_disk(top, "size=1m"))
        return;
    make_file("scoria-pool", "{}");
    ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(health_probes_refusal(health_probes, top), 0);
    ck_assert_int_eq(mount(NULL, top, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    while (health_probes_refusal(health_probes, top) != EROFS)
        ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    ck_assert_int_eq(mount(NULL, top, NULL, MS_REMOUNT, NULL), 0);
    while (health_probes_refusal(health_probes, top) != 0)
        ck_assert_int_eq(health_probes_unresponsive_ms(health_probes, top), 0);
    umount2(top, MNT_DETACH);
}
END_TEST

CHECK_MAIN_WITH("health_probes", true, begin, end, a_missing_directory_is_responsive,
                only_observed_time_counts_as_unresponsive,
                a_pool_that_hangs_on_writes_alone_is_unresponsive,
                a_probe_leaves_nothing_in_the_pool, a_directory_that_is_no_pool_is_not_written_to,
                a_probe_follows_no_link, a_probe_writes_to_no_file_with_another_name,
                a_full_pool_is_not_unresponsive,
                a_pool_that_refuses_writes_is_reported_until_it_takes_them)
