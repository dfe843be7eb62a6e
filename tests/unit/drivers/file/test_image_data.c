#include "drivers/file/image_data.h"

#include "drivers/file/volume_file.h"
#include "tests/unit/drivers/driver_test.h"

/* A guest of another host would not be seen. */
START_TEST(data_are_written_only_where_locks_are_seen) {
    for (int qcow2 = 0; qcow2 <= 1; qcow2++) {
        autobench struct bench bench;
        struct directory_settings settings;
        struct directory directory;
        struct driver_volume volume = A_VOLUME;
        struct volume_io *io = NULL;

        bench_new(&bench);
        bench_configure(&bench, &file_driver, NULL);
        directory_settings_load(&bench.backend, &settings);
        settings.qcow2 = qcow2;
        ck_assert_int_eq(directory_open(bench.path, &settings, &directory, &bench.err), 0);
        ck_assert_int_eq(
            volume_file_create(&directory, bench.arena, &volume, &volume.format, &bench.err), 0);

        directory.locks_trusted = false;
        ck_assert_int_eq(
            image_data_open_volume(&directory, bench.arena, &volume, true, &io, &bench.err), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_null(io);
        ck_assert_int_eq(
            image_data_open_volume(&directory, bench.arena, &volume, false, &io, &bench.err), 0);
        ck_assert(!io->writable);
        volume_io_close(io);

        directory.locks_trusted = true;
        ck_assert_int_eq(
            image_data_open_volume(&directory, bench.arena, &volume, true, &io, &bench.err), 0);
        ck_assert(io->writable);
        volume_io_close(io);
        close(directory.fd);
    }
}
END_TEST

CHECK_MAIN("image_data", data_are_written_only_where_locks_are_seen)
