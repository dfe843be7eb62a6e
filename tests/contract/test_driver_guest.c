/*
 * Extends under real QEMU processes that hold the image, paused and without a guest system: the
 * locks are all that matters.  Where there is no QEMU the tests check nothing and pass.
 */
#include "tests/contract/driver_guest.h"

static const char *image_path(const struct bench *bench) {
    return bench_path(bench, "volumes/" FILE_NAME);
}

static void open_with_volume(struct bench *bench, const char *option,
                             struct driver_volume *volume) {
    BENCH_OPEN(bench, &file_driver, option);
    *volume = A_VOLUME;
    ck_assert_msg(bench_create(bench, volume) == 0, "%s", bench->err.message);
    volume->attached = true;
}

static void extend_under_guest(const char *option) {
    autobench struct bench bench;
    autoguest struct guest guest = { 0 };
    struct driver_volume volume;
    struct stat before, after;

    open_with_volume(&bench, option, &volume);
    ck_assert(start_guest(&bench, image_path(&bench), volume.format, false, &guest));
    ck_assert_int_eq(stat(image_path(&bench), &before), 0);

    ck_assert_msg(bench_extend(&bench, &volume, 2) == DRIVER_DEFERRED, "%s", bench.err.message);
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    ck_assert_int_eq(stat(image_path(&bench), &after), 0);
    ck_assert_int_eq(after.st_size, before.st_size);
    ck_assert_int_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    ck_assert_int_eq(bench_extend(&bench, &volume, 1), DRIVER_DONE);

    stop_guest(&guest);
    ck_assert_msg(bench_extend(&bench, &volume, 2) == DRIVER_DONE, "%s", bench.err.message);
    ck_assert_int_eq(bench_size(&bench, &volume), 2 * GIB);
}

START_TEST(a_guest_on_raw_defers_until_it_is_gone) {
    if (have_qemu())
        extend_under_guest("file_qcow2_volumes=false");
}
END_TEST

START_TEST(a_guest_on_qcow2_defers_until_it_is_gone) {
    if (have_qemu())
        extend_under_guest("file_qcow2_volumes=true");
}
END_TEST

START_TEST(guests_that_share_raw_are_extended_under) {
    autobench struct bench bench;
    autoguest struct guest one = { 0 };
    autoguest struct guest other = { 0 };
    struct driver_volume volume;

    open_with_volume(&bench, "file_qcow2_volumes=false", &volume);
    volume.multiattach = true;
    if (!have_qemu())
        return;
    ck_assert(start_guest(&bench, image_path(&bench), "raw", true, &one));
    ck_assert(start_guest(&bench, image_path(&bench), "raw", true, &other));
    ck_assert_msg(bench_extend(&bench, &volume, 2) == DRIVER_DONE, "%s", bench.err.message);
    ck_assert_int_eq(bench_size(&bench, &volume), 2 * GIB);
}
END_TEST

/* The purpose of our lock: taken by the same bytes as QEMU's own, it keeps a guest out. */
START_TEST(a_guest_cannot_start_while_we_grow) {
    static const int bytes[] = { 100, 101, 103 };
    autobench struct bench bench;
    autoguest struct guest guest = { 0 };
    struct driver_volume volume;

    open_with_volume(&bench, "file_qcow2_volumes=false", &volume);
    if (!have_qemu())
        return;
    {
        autoclose int fd = open(image_path(&bench), O_RDWR | O_CLOEXEC);

        for (size_t i = 0; i < LENGTH(bytes); i++) {
            struct flock lock = {
                .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = bytes[i], .l_len = 1
            };

            ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
        }
        ck_assert(!start_guest(&bench, image_path(&bench), "raw", false, &guest));
    }
    ck_assert(start_guest(&bench, image_path(&bench), "raw", false, &guest));
}
END_TEST

START_TEST(an_image_open_in_a_guest_is_not_deleted) {
    static const struct {
        const char *option;
        bool shareable;
    } cases[] = {
        { "file_qcow2_volumes=false", false },
        { "file_qcow2_volumes=false", true },
        { "file_qcow2_volumes=true", false },
    };

    for (size_t i = 0; have_qemu() && i < LENGTH(cases); i++) {
        autobench struct bench bench;
        autoguest struct guest guest = { 0 };
        struct driver_volume volume;

        open_with_volume(&bench, cases[i].option, &volume);
        volume.attached = false; /* the rows are wrong */
        ck_assert(
            start_guest(&bench, image_path(&bench), volume.format, cases[i].shareable, &guest));
        ck_assert_int_eq(bench_delete(&bench, &volume), -1);
        ck_assert_int_eq(bench_size(&bench, &volume), GIB);
        stop_guest(&guest);
        ck_assert_msg(bench_delete(&bench, &volume) == 0, "%s", bench.err.message);
    }
}
END_TEST

CHECK_MAIN("driver and guest", a_guest_on_raw_defers_until_it_is_gone,
           a_guest_on_qcow2_defers_until_it_is_gone, guests_that_share_raw_are_extended_under,
           a_guest_cannot_start_while_we_grow, an_image_open_in_a_guest_is_not_deleted)
