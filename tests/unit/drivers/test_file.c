#include "tests/unit/drivers/driver_test.h"

START_TEST(the_directory_is_for_the_service_alone) {
    autobench struct bench bench;
    struct stat status;

    umask(0);
    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(stat(bench_path(&bench, "volumes"), &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0711);
}
END_TEST

START_TEST(the_directory_may_be_another) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    json_t *info, *data;

    bench_new(&bench);
    bench_configure(
        &bench, &file_driver,
        (const char *const[]){
            arena_format(bench.arena, "file_volume_directory=%s/a/b", bench.path), NULL });
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, bench_path(&bench, "a/b"));
    ck_assert(bench_has(&bench, "a/b/" FILE_NAME));
    ck_assert_int_eq(
        file_driver.connect(bench.handle, bench.arena, &volume, NULL, &info, &bench.err), 0);
    ck_assert_str_eq(json_string_value(json_object_get(info, "driver_volume_type")), "local");
    data = json_object_get(info, "data");
    ck_assert_str_eq(json_string_value(json_object_get(data, "device_path")),
                     bench_path(&bench, "a/b/" FILE_NAME));
    json_decref(info);
}
END_TEST

static void assert_refused(const char *option, const char *state, const char *reason) {
    autobench struct bench bench;

    bench_new(&bench);
    bench_configure(&bench, &file_driver, (const char *const[]){ option, NULL });
    if (state)
        bench.backend.state_directory = state;
    ck_assert_int_eq(bench_try_open(&bench), -1);
    ck_assert_msg(strstr(bench.err.message, reason) != NULL, "%s", bench.err.message);
}

START_TEST(a_place_that_cannot_be_used_stops_the_start) {
    assert_refused("file_volume_directory=volumes", NULL, "is not an absolute path");
    assert_refused("file_volume_directory=/tmp/\xff", NULL, "in UTF-8");
    assert_refused(NULL, "/proc/none", "making the directory");
    assert_refused("file_volume_directory=/etc/passwd", NULL, "opening the directory");
    assert_refused("mount_table=/nowhere", NULL, "reading /nowhere");
}
END_TEST

START_TEST(on_nfs_without_locks_attached_volumes_are_deferred) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    bench_new(&bench);
    bench_write(&bench, "table", "1 1 0:9 / / rw - nfs srv:/x rw,vers=3,nolock\n", 0600);
    bench_configure(&bench, &file_driver,
                    (const char *const[]){
                        arena_format(bench.arena, "mount_table=%s/table", bench.path), NULL });
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    volume.attached = true;
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DEFERRED);
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
}
END_TEST

START_TEST(the_pool_has_the_backends_name) {
    autobench struct bench bench;
    struct driver_pool *pools;

    BENCH_OPEN(&bench, &file_driver, "volume_backend_name=fast");
    ck_assert_int_eq(file_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    ck_assert_str_eq(pools->name, "fast");
    json_decref(pools->capabilities);
}
END_TEST

CHECK_MAIN("file", the_directory_is_for_the_service_alone, the_directory_may_be_another,
           a_place_that_cannot_be_used_stops_the_start,
           on_nfs_without_locks_attached_volumes_are_deferred, the_pool_has_the_backends_name)
