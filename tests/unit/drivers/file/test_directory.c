#include "drivers/file/directory.h"

#include "tests/unit/drivers/driver_test.h"

#include <sys/statvfs.h>

static void configure(struct bench *bench, struct directory_settings *settings,
                      const char *const *options) {
    bench_new(bench);
    bench_configure(bench, &file_driver, options);
    directory_settings_load(&bench->backend, settings);
}

START_TEST(missing_directories_are_made_and_others_left) {
    autobench struct bench bench;
    struct stat status;
    const char *path;

    bench_new(&bench);
    path = bench_path(&bench, "a/b/c");
    ck_assert_int_eq(directory_make(path, 0700, &bench.err), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0700);
    ck_assert_int_eq(chmod(path, 0750), 0);
    ck_assert_int_eq(directory_make(path, 0700, &bench.err), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0750);

    bench_write(&bench, "file", "", 0600);
    ck_assert_int_eq(directory_make(bench_path(&bench, "file/x"), 0700, &bench.err), -1);
    ck_assert_int_eq(directory_make(bench_path(&bench, "file/x/y"), 0700, &bench.err), -1);
    ck_assert_int_eq(directory_make("/proc/none/x", 0700, &bench.err), -1);
}
END_TEST

START_TEST(only_an_absolute_directory_opens) {
    autobench struct bench bench;
    struct directory_settings settings;
    struct directory directory = { .fd = -7 };

    configure(&bench, &settings, NULL);
    bench_write(&bench, "file", "", 0600);
    ck_assert_int_eq(directory_open("volumes", &settings, &directory, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(directory_open(bench_path(&bench, "none"), &settings, &directory, &bench.err),
                     -1);
    ck_assert_int_eq(directory_open(bench_path(&bench, "file"), &settings, &directory, &bench.err),
                     -1);
    ck_assert_int_eq(directory.fd, -7);
}
END_TEST

START_TEST(a_reopened_directory_keeps_its_descriptor) {
    autobench struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    const char *path;
    int fd;

    configure(&bench, &settings, NULL);
    path = bench_path(&bench, "d");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(directory_open(path, &settings, &directory, &bench.err), 0);
    fd = directory.fd;
    ck_assert_int_eq(rename(path, bench_path(&bench, "old")), 0);
    ck_assert_int_eq(directory_reopen(&directory, &bench.err), -1);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    bench_write(&bench, "d/inside", "", 0600);
    ck_assert_int_eq(directory_reopen(&directory, &bench.err), 0);
    ck_assert_int_eq(directory.fd, fd);
    ck_assert_int_eq(faccessat(fd, "inside", F_OK, 0), 0);
    ck_assert_int_eq(directory_flush(&directory, &bench.err), 0);
    close(fd);
    ck_assert_int_eq(directory_flush(&directory, &bench.err), -1);
    ck_assert_int_eq(directory_check_space(&directory, 1, &bench.err), -1);
}
END_TEST

/* In place of the C library's: there is always the same space, whatever else runs on the
 * machine. */
int fstatvfs(int fd, struct statvfs *ret) {
    struct stat status;

    *ret = (struct statvfs){ .f_blocks = 1 << 25, .f_bavail = 1 << 24, .f_frsize = 4096 };
    return fstat(fd, &status);
}

/* Does so many times the free space fit? */
static bool fits(struct bench *bench, const struct directory_settings *settings, double times) {
    struct directory directory;
    double total_gb, free_gb;
    bool result;

    ck_assert_int_eq(directory_open(bench->path, settings, &directory, &bench->err), 0);
    ck_assert_int_eq(directory_get_space(&directory, &total_gb, &free_gb, &bench->err), 0);
    ck_assert(free_gb <= total_gb);
    result = directory_check_space(&directory, (int64_t)(free_gb * times * (double)GIB),
                                   &bench->err) == 0;
    close(directory.fd);
    return result;
}

START_TEST(a_file_without_a_name_gets_one_where_there_are_such_files) {
    static const struct {
        const char *path;
        bool links;
    } rows[] = { { "/dev/shm", true }, { "/proc", false } };
    struct directory_settings settings = { .mode = 0600 };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct error err;
        struct directory directory;

        ck_assert_int_eq(directory_open(rows[i].path, &settings, &directory, &err), 0);
        ck_assert_int_eq(directory_links_unnamed(&directory), rows[i].links);
        close(directory.fd);
    }
}
END_TEST

START_TEST(sparse_files_may_promise_more_than_there_is) {
    autobench struct bench bench;
    struct directory_settings settings;

    configure(&bench, &settings, (const char *const[]){ "max_over_subscription_ratio=3", NULL });
    ck_assert(fits(&bench, &settings, 2.5));
    ck_assert(!fits(&bench, &settings, 3.5));
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    settings.sparse = false;
    ck_assert(fits(&bench, &settings, 0.5));
    ck_assert(!fits(&bench, &settings, 1.5));
    settings.reserved_percent = 100;
    ck_assert(!fits(&bench, &settings, 0.1));
}
END_TEST

START_TEST(capabilities_follow_the_settings) {
    struct directory_settings settings = { .sparse = true, .over_subscription = 2 };
    const char *const ratio = "max_over_subscription_ratio";
    const unsigned features = driver_supported(&file_driver);
    json_t *report = directory_capabilities(&settings, features);

    ck_assert(json_is_true(json_object_get(report, "online_extend_support")));
    ck_assert(json_is_true(json_object_get(report, "multiattach")));
    ck_assert(json_is_true(json_object_get(report, "thin_provisioning_support")));
    ck_assert(json_is_false(json_object_get(report, "thick_provisioning_support")));
    ck_assert_ptr_null(json_object_get(report, ratio));
    json_decref(report);
    settings.qcow2 = true;
    settings.over_subscription_given = true;
    report = directory_capabilities(&settings, features);
    ck_assert(json_is_false(json_object_get(report, "multiattach")));
    ck_assert(json_real_value(json_object_get(report, ratio)) == 2);
    json_decref(report);
    settings = (struct directory_settings){ .sparse = false };
    report = directory_capabilities(&settings, features & ~(unsigned)DRIVER_MULTIATTACH);
    ck_assert(json_is_false(json_object_get(report, "multiattach")));
    ck_assert(json_is_true(json_object_get(report, "thick_provisioning_support")));
    json_decref(report);
}
END_TEST

CHECK_MAIN("directory", missing_directories_are_made_and_others_left,
           only_an_absolute_directory_opens, a_reopened_directory_keeps_its_descriptor,
           a_file_without_a_name_gets_one_where_there_are_such_files,
           sparse_files_may_promise_more_than_there_is, capabilities_follow_the_settings)
