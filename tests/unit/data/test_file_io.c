#include "data/file_io.h"

#include "tests/lib/small_disk.h"
#include "tests/unit/data/volume_data.h"

#include <fcntl.h>
#include <sys/stat.h>

/* A file of the build's file system, without a name. */
static int new_file(int64_t size) {
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, size), 0);
    return fd;
}

static struct volume_io *file_volume(int64_t size, bool sparse) {
    struct error err = { 0 };
    struct volume_io *io = file_io_open(new_file(size), true, sparse, &err);

    ck_assert_msg(io != NULL, "%s", err.message);
    return io;
}

/* An object that others write through has it, too. */
START_TEST(lack_of_space_is_an_error_with_the_directory) {
    char directory[] = "/tmp/scoria-test-XXXXXX";
    struct error err = { 0 };
    struct volume_io *io;
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    if (!small_disk(directory, "size=1m")) {
        rmdir(directory);
        return;
    }
    fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, 4 * MIB), 0);
    io = file_io_open(fd, true, true, &err);
    ck_assert_ptr_nonnull(io);
    volume_io_set_place(io, directory);
    ck_assert_int_eq(volume_io_zero(io, 0, 4 * MIB, &err), 0);
    ck_assert_int_eq(volume_io_write_zeros(io, 0, 4 * MIB, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, directory));
    ck_assert_ptr_nonnull(strstr(err.message, ": writing the file: No space left on device"));
    volume_io_close(io);
    ck_assert_int_eq(umount2(directory, MNT_DETACH), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

/* Each promise for each kind of object. */
static void each_kind(void (*promise)(struct volume_io *io)) {
    struct volume_io *kinds[] = { memory_volume(3 * MIB + 512), file_volume(3 * MIB + 512, true),
                                  file_volume(3 * MIB + 512, false) };

    for (size_t i = 0; i < LENGTH(kinds); i++) {
        promise(kinds[i]);
        volume_io_close(kinds[i]);
    }
}

static void keep_bytes(struct volume_io *io) {
    autovolumeio struct volume_io *same = memory_volume(io->size);
    struct error err = { 0 };

    fill(io, 100, 2 * MIB, 7);
    fill(same, 100, 2 * MIB, 7);
    ck_assert_int_eq(volume_io_flush(io, &err), 0);
    assert_same_bytes(io, same, io->size);
}

START_TEST(written_bytes_are_read_back_and_others_are_zeros) {
    each_kind(keep_bytes);
}
END_TEST

static void zero_a_part(struct volume_io *io) {
    autovolumeio struct volume_io *same = memory_volume(io->size);
    struct error err = { 0 };

    fill(io, 0, io->size, 7);
    fill(same, 0, io->size, 7);
    ck_assert_int_eq(volume_io_zero(io, MIB + 1, MIB, &err), 0);
    assert_zeros(io, MIB + 1, MIB);
    assert_same_bytes(io, same, MIB + 1);
    ck_assert_int_eq(volume_io_zero(io, 0, 0, &err), 0);
    ck_assert_int_eq(volume_io_zero(io, 0, io->size, &err), 0);
    assert_zeros(io, 0, io->size);
}

START_TEST(a_zeroed_range_reads_as_zeros_and_the_rest_stays) {
    each_kind(zero_a_part);
}
END_TEST

static void report_extents(struct volume_io *io) {
    struct error err = { 0 };
    int64_t bytes;

    fill(io, 64 * KIB, 4 * KIB, 7);
    fill(io, 2 * MIB, 4 * KIB, 7);
    ck_assert_int_eq(volume_io_flush(io, &err), 0);
    bytes = data_bytes(io);
    ck_assert_int_ge(bytes, 8 * KIB);
    ck_assert_int_lt(bytes, MIB);
    ck_assert_int_eq(volume_io_zero(io, 0, io->size, &err), 0);
    assert_zeros(io, 0, io->size);
}

START_TEST(extents_cover_all_data) {
    each_kind(report_extents);
}
END_TEST

static void discard_a_part(struct volume_io *io) {
    autovolumeio struct volume_io *same = memory_volume(io->size);
    struct error err = { 0 };

    fill(io, 0, io->size, 7);
    fill(same, 0, io->size, 7);
    ck_assert_int_eq(volume_io_discard(io, MIB, io->size - MIB, &err), 0);
    assert_same_bytes(io, same, MIB);
}

START_TEST(a_discard_leaves_all_other_bytes) {
    each_kind(discard_a_part);
}
END_TEST

static int64_t space_of(int fd) {
    struct stat status;

    ck_assert_int_eq(fsync(fd), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (int64_t)status.st_blocks * 512;
}

START_TEST(a_thick_file_keeps_its_blocks_and_a_sparse_one_releases_them) {
    for (int sparse = 0; sparse <= 1; sparse++) {
        struct error err = { 0 };
        autoclose int fd = new_file(2 * MIB);
        autovolumeio struct volume_io *io =
            file_io_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), true, sparse, &err);

        fill(io, 0, 2 * MIB, 7);
        ck_assert_int_eq(volume_io_zero(io, 0, MIB, &err), 0);
        ck_assert_int_eq(volume_io_discard(io, MIB, MIB, &err), 0);
        if (sparse)
            ck_assert_int_lt(space_of(fd), MIB);
        else
            ck_assert_int_ge(space_of(fd), 2 * MIB);
    }
}
END_TEST

START_TEST(the_kernel_moves_bytes_between_files_only) {
    autovolumeio struct volume_io *from = file_volume(MIB, true), *to = file_volume(MIB, true);
    struct error err = { 0 };
    int64_t moved = 0;

    fill(from, 0, MIB, 7);
    ck_assert_int_eq(volume_io_flush(from, &err), 0);
    while (moved < MIB) {
        int64_t part = volume_io_send(from, to, moved, MIB - moved, &err);

        ck_assert_msg(part > 0, "%s", err.message);
        moved += part;
    }
    assert_same_bytes(from, to, MIB);
}
END_TEST

START_TEST(a_file_that_became_shorter_fails_the_read) {
    struct error err = { 0 };
    autoclose int fd = new_file(MIB);
    autovolumeio struct volume_io *io =
        file_io_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), false, true, &err);
    char bytes[512];

    ck_assert_int_eq(ftruncate(fd, 1000), 0);
    ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 600, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}
END_TEST

static void note_open(void *arg) {
    int *fd = arg;

    *fd = fcntl(*fd, F_GETFD) >= 0 ? 0 : -1;
}

START_TEST(a_close_calls_its_function_before_locks_are_released) {
    struct volume_io *io = memory_volume(MIB);
    int fd = new_file(1), seen = fd;

    volume_io_hold(io, fd);
    volume_io_on_close(io, note_open, &seen);
    volume_io_close(io);
    ck_assert_int_eq(seen, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(only_a_regular_file_is_opened) {
    struct error err = { 0 };

    ck_assert_ptr_null(file_io_open(open("/dev/null", O_RDWR | O_CLOEXEC), true, true, &err));
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_ptr_null(file_io_open(-1, true, true, &err));
}
END_TEST

CHECK_MAIN("file_io", written_bytes_are_read_back_and_others_are_zeros,
           lack_of_space_is_an_error_with_the_directory,
           a_zeroed_range_reads_as_zeros_and_the_rest_stays, extents_cover_all_data,
           a_discard_leaves_all_other_bytes,
           a_thick_file_keeps_its_blocks_and_a_sparse_one_releases_them,
           the_kernel_moves_bytes_between_files_only, a_file_that_became_shorter_fails_the_read,
           a_close_calls_its_function_before_locks_are_released, only_a_regular_file_is_opened)
