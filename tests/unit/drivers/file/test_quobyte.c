#include "tests/unit/drivers/driver_test.h"

static int open_url(struct bench *bench, const char *url, const char *type) {
    bench_new(bench);
    bench_add_mounts(bench, type);
    bench_configure_shares(bench, &quobyte_driver,
                           (const char *const[]){ "quobyte_client_cfg=/q.cfg", url, NULL });
    return bench_try_open(bench);
}

START_TEST(the_scheme_is_no_part_of_the_share) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    json_t *info, *data;

    ck_assert_msg(open_url(&bench, "quobyte_volume_url=quobyte://reg1,reg2/vol", "fuse.quobyte") ==
                      0,
                  "%s", bench.err.message);
    ck_assert_ptr_nonnull(strstr(bench_read(&bench, "calls"), "--disable-xattrs reg1,reg2/vol "));
    ck_assert_ptr_nonnull(strstr(bench_read(&bench, "calls"), " -c /q.cfg\n"));
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_str_eq(volume.provider_location, "reg1,reg2/vol");
    ck_assert_str_eq(volume.format, "qcow2");
    ck_assert_int_eq(
        quobyte_driver.connect(bench.handle, bench.arena, &volume, NULL, &info, &bench.err), 0);
    data = json_object_get(info, "data");
    ck_assert_str_eq(json_string_value(json_object_get(info, "driver_volume_type")), "quobyte");
    ck_assert_str_eq(json_string_value(json_object_get(data, "export")), "reg1,reg2/vol");
    ck_assert_ptr_null(json_object_get(data, "options"));
    json_decref(info);
}
END_TEST

START_TEST(any_mount_of_quobyte_will_do_and_no_other) {
    autobench struct bench by_source, other;
    struct driver_volume volume = A_VOLUME;

    bench_new(&by_source);
    bench_add_mounts(&by_source, "fuse");
    bench_write(&by_source, "source", "quobyte@reg/vol", 0600);
    bench_configure_shares(&by_source, &quobyte_driver,
                           (const char *const[]){ "quobyte_volume_url=reg/vol", NULL });
    ck_assert_int_eq(bench_try_open(&by_source), 0);
    ck_assert_int_eq(open_url(&other, "quobyte_volume_url=reg/vol", "tmpfs"), 0);
    ck_assert_int_eq(bench_create(&other, &volume), -1);
    ck_assert_int_eq(other.err.kind, ERROR_UNAVAILABLE);
}
END_TEST

START_TEST(an_invalid_url_is_refused) {
    static const char *const bad[] = { "reg", "/vol", "-o/vol", "reg/../etc", "a b/c", "reg/\x01" };

    for (size_t i = 0; i < LENGTH(bad); i++) {
        autobench struct bench bench;

        bench_new(&bench);
        bench_configure(
            &bench, &quobyte_driver,
            (const char *const[]){
                arena_format(bench.arena, "quobyte_volume_url=quobyte://%s", bad[i]), NULL });
        ck_assert_int_eq(bench_try_open(&bench), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_nonnull(strstr(bench.err.message, "is not quobyte://<registry>/<volume>"));
    }
}
END_TEST

START_TEST(a_url_is_required) {
    autobench struct bench bench;

    bench_new(&bench);
    bench_configure(&bench, &quobyte_driver, NULL);
    ck_assert_int_eq(bench_try_open(&bench), -1);
    ck_assert_str_eq(bench.err.message, "quobyte_volume_url is not set.");
}
END_TEST

CHECK_MAIN("quobyte", the_scheme_is_no_part_of_the_share, any_mount_of_quobyte_will_do_and_no_other,
           an_invalid_url_is_refused, a_url_is_required)
