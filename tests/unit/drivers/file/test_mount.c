#include "drivers/file/mount.h"

#include "tests/unit/drivers/driver_test.h"

static const char table[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "30 22 0:40 / /mnt/a\\040b rw,relatime shared:7 master:2 - nfs4 srv:/x\\134y "
    "rw,vers=4.2,local_lock=none\n"
    "31 22 0:41 / /mnt/old rw - nfs srv:/old rw,vers=3,nolock,local_lock=all\n"
    "32 22 0:42 / /mnt/old rw - nfs srv:/new rw,vers=3,local_lock=flock\n"
    "broken line\n"
    "33 22 0:43 / /mnt/cut rw - nfs\n";

static int find(struct bench *bench, const char *path, struct mount_entry *entry) {
    return mount_find(bench->arena, bench_path(bench, "table"), path, entry, &bench->err);
}

START_TEST(the_mount_of_a_path_is_found) {
    autobench struct bench bench;
    struct mount_entry entry;

    bench_new(&bench);
    bench_write(&bench, "table", table, 0600);
    ck_assert_int_eq(find(&bench, "/mnt/a b/deep", &entry), 1);
    ck_assert_str_eq(entry.point, "/mnt/a b");
    ck_assert_str_eq(entry.type, "nfs4");
    ck_assert_str_eq(entry.source, "srv:/x\\y");
    ck_assert_str_eq(entry.options, "rw,vers=4.2,local_lock=none");
    ck_assert_int_eq(find(&bench, "/mnt/old", &entry), 1);
    ck_assert_str_eq(entry.source, "srv:/new");
    ck_assert_int_eq(find(&bench, "/mnt/older", &entry), 1);
    ck_assert_str_eq(entry.point, "/");
    ck_assert_int_eq(find(&bench, "/mnt/cut", &entry), 1);
    ck_assert_str_eq(entry.point, "/");

    bench_write(&bench, "table", "", 0600);
    ck_assert_int_eq(find(&bench, "/", &entry), 0);
    ck_assert_int_eq(mount_find(bench.arena, "/nowhere", "/", &entry, &bench.err), -1);
    ck_assert_int_eq(mount_find(bench.arena, "/proc/self/mountinfo", "/proc", &entry, &bench.err),
                     1);
    ck_assert_str_eq(entry.type, "proc");
}
END_TEST

START_TEST(locks_are_local_only_when_the_mount_options_have_it) {
    static const struct {
        const char *type, *options;
        bool shared;
    } mounts[] = {
        { "ext4", "rw,nolock", true },          { "nfs4", "rw,vers=4.2,local_lock=none", true },
        { "nfs", "rw,vers=3", true },           { "nfs", "rw,local_lock=flock", true },
        { "nfs", "rw,nolock", false },          { "nfs", "local_lock=posix,rw", false },
        { "nfs", "rw,local_lock=all", false },  { "nfs", "rw,local_lock", false },
        { "nfs", "rw,nolocker,xnolock", true },
    };

    for (size_t i = 0; i < LENGTH(mounts); i++) {
        const struct mount_entry entry = { .type = mounts[i].type, .options = mounts[i].options };

        ck_assert_int_eq(mount_shares_locks(&entry), mounts[i].shared);
    }
    ck_assert(mount_has_option("a,vers=4,b", "vers"));
    ck_assert(!mount_has_option("a,versions=4,b", "vers"));
    ck_assert(!mount_has_option("", "vers"));
}
END_TEST

static struct mount_programs programs_of(struct bench *bench) {
    bench_new(bench);
    bench_add_mounts(bench, "nfs4");
    return (struct mount_programs){ .mount = bench_path(bench, "mount"),
                                    .umount = bench_path(bench, "umount"),
                                    .table = bench_path(bench, "table"),
                                    .timeout_s = 30 };
}

static int mount_with(struct bench *bench, const struct mount_programs *programs,
                      const char *options, int64_t attempts) {
    unlink(bench_path(bench, "calls"));
    return mount_nfs(bench->arena, programs, "srv:/x", options, bench_path(bench, "mnt/p"),
                     attempts, &bench->err);
}

static void assert_calls(const struct bench *bench, const char *const *expected) {
    const char *all = "";

    for (size_t i = 0; expected[i]; i++)
        all = arena_format(bench->arena, "%s-t nfs %s%ssrv:/x %s/mnt/p\n", all, expected[i],
                           *expected[i] ? " " : "", bench->path);
    ck_assert_str_eq(bench_read(bench, "calls"), all);
}
#define ASSERT_CALLS(bench, ...) assert_calls(bench, (const char *const[]){ __VA_ARGS__, NULL })

START_TEST(newer_versions_are_tried_first) {
    autobench struct bench bench;
    const struct mount_programs programs = programs_of(&bench);

    ck_assert_int_eq(mount_with(&bench, &programs, "", 3), 0);
    ASSERT_CALLS(&bench, "-o vers=4,minorversion=2");
    bench_write(&bench, "refused", "minorversion=2", 0600);
    ck_assert_int_eq(mount_with(&bench, &programs, "rw,hard", 3), 0);
    ASSERT_CALLS(&bench, "-o vers=4,minorversion=2,rw,hard", "-o vers=4,minorversion=1,rw,hard");
    bench_write(&bench, "refused", "minorversion", 0600);
    ck_assert_int_eq(mount_with(&bench, &programs, "", 3), 0);
    ASSERT_CALLS(&bench, "-o vers=4,minorversion=2", "-o vers=4,minorversion=1", "");
}
END_TEST

START_TEST(a_version_that_is_given_is_the_only_one) {
    static const char *const given[] = { "vers=3", "nfsvers=4.1,rw", "rw,minorversion=1", "v4.2" };
    autobench struct bench bench;
    const struct mount_programs programs = programs_of(&bench);

    for (size_t i = 0; i < LENGTH(given); i++) {
        ck_assert_int_eq(mount_with(&bench, &programs, given[i], 3), 0);
        assert_calls(&bench,
                     (const char *const[]){ arena_format(bench.arena, "-o %s", given[i]), NULL });
    }
}
END_TEST

START_TEST(attempts_end) {
    autobench struct bench bench;
    const struct mount_programs programs = programs_of(&bench);

    bench_write(&bench, "refused", "srv:/x", 0600);
    ck_assert_int_eq(mount_with(&bench, &programs, "vers=3", 2), -1);
    ASSERT_CALLS(&bench, "-o vers=3", "-o vers=3");
    ck_assert_ptr_nonnull(strstr(bench.err.message, "mounting srv:/x at "));
    ck_assert_ptr_nonnull(strstr(bench.err.message, "status 32: mount: refused"));
    ck_assert_int_eq(mount_with(&bench, &programs, "vers=3", 0), -1);
    ASSERT_CALLS(&bench, "-o vers=3");
}
END_TEST

START_TEST(an_unresponsive_server_is_tried_once) {
    autobench struct bench bench;
    struct mount_programs programs = programs_of(&bench);

    bench_write(&bench, "mount", "#!/bin/sh\necho x >> ${0%/*}/calls\nexec sleep 60\n", 0755);
    programs.timeout_s = 0;
    do { /* until the program came as far as to note its call */
        programs.timeout_s++;
        ck_assert_int_eq(mount_with(&bench, &programs, "", 3), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    } while (!bench_has(&bench, "calls") && programs.timeout_s < 8);
    ck_assert_str_eq(bench_read(&bench, "calls"), "x\n");
}
END_TEST

START_TEST(quobyte_is_mounted_by_its_own_program) {
    autobench struct bench bench;
    struct mount_programs programs = programs_of(&bench);
    const char *point = bench_path(&bench, "mnt/p");

    ck_assert_int_eq(mount_quobyte(bench.arena, &programs, "reg/vol", NULL, point, &bench.err), 0);
    ck_assert_int_eq(mount_quobyte(bench.arena, &programs, "reg/vol", "/q.cfg", point, &bench.err),
                     0);
    ck_assert_str_eq(bench_read(&bench, "calls"),
                     arena_format(bench.arena,
                                  "--disable-xattrs reg/vol %s\n"
                                  "--disable-xattrs reg/vol %s -c /q.cfg\n",
                                  point, point));
    programs.mount = "/nowhere/mount.quobyte";
    ck_assert_int_eq(mount_quobyte(bench.arena, &programs, "reg/vol", NULL, point, &bench.err), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "mounting reg/vol at "));
}
END_TEST

START_TEST(detaching_is_lazy_only_on_request) {
    autobench struct bench bench;
    const struct mount_programs programs = programs_of(&bench);

    ck_assert_int_eq(mount_detach(bench.arena, &programs, "/p", false, &bench.err), 0);
    ck_assert_int_eq(mount_detach(bench.arena, &programs, "/p", true, &bench.err), 0);
    ck_assert_str_eq(bench_read(&bench, "calls"), "umount /p\numount -l /p\n");
    bench_write(&bench, "busy", "", 0600);
    ck_assert_int_eq(mount_detach(bench.arena, &programs, "/p", false, &bench.err), -1);
}
END_TEST

CHECK_MAIN("mount", the_mount_of_a_path_is_found,
           locks_are_local_only_when_the_mount_options_have_it, newer_versions_are_tried_first,
           a_version_that_is_given_is_the_only_one, attempts_end,
           an_unresponsive_server_is_tried_once, quobyte_is_mounted_by_its_own_program,
           detaching_is_lazy_only_on_request)
