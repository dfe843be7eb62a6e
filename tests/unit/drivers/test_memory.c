
#include "data/volume_io.h"
#include "tests/lib/memory_guests.h"
#include "tests/unit/drivers/driver_test.h"

START_TEST(a_locked_volume_defers_until_it_is_large_enough) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    BENCH_OPEN(&bench, &memory_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert(memory_lock(bench.handle, volume.name_id, true));
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DEFERRED);
    ck_assert_int_eq(memory_bytes(bench.handle, volume.name_id), GIB);
    ck_assert(memory_grow(bench.handle, volume.name_id, 2 * GIB));
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DONE);
    ck_assert(memory_lock(bench.handle, volume.name_id, false));
    ck_assert_int_eq(bench_extend(&bench, &volume, 3), DRIVER_DONE);
    ck_assert_int_eq(memory_bytes(bench.handle, volume.name_id), 3 * GIB);
}
END_TEST

START_TEST(missing_volumes_are_reported) {
    void *handle = memory_new("pool", 10);

    ck_assert(!memory_lock(handle, "x", true));
    ck_assert(!memory_grow(handle, "x", GIB));
    ck_assert(!memory_remove(handle, "x"));
    ck_assert_int_eq(memory_bytes(handle, "x"), -1);
    ck_assert(!memory_write(handle, "x", 1));
    ck_assert_int_eq(memory_read(handle, "x"), -1);
    ck_assert_uint_eq(memory_count(handle), 0);
    memory_driver.close(handle);
}
END_TEST

START_TEST(free_space_is_capacity_less_volumes) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *pools;

    BENCH_OPEN(&bench, &memory_driver, "memory_capacity_gb=10", "volume_backend_name=fast");
    volume.size_gb = 4;
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_int_eq(memory_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    ck_assert_str_eq(pools->name, "fast");
    ck_assert(pools->total_gb == 10 && pools->free_gb == 6);
    json_decref(pools->capabilities);
    ck_assert_int_eq(bench_extend(&bench, &volume, 11), DRIVER_FAILED);
    ck_assert_int_eq(bench_extend(&bench, &volume, 10), DRIVER_DONE);
    ck_assert(memory_remove(bench.handle, volume.name_id));
    ck_assert_int_eq(memory_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    ck_assert(pools->free_gb == 10);
    json_decref(pools->capabilities);
}
END_TEST

static void ignore(void *arg, const char *name_id, int64_t bytes) {
    (void)name_id, (void)bytes;
    ++*(int *)arg;
}

START_TEST(every_call_can_be_set_to_fail_once) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *pools;
    json_t *info;
    int seen = 0;

    BENCH_OPEN(&bench, &memory_driver, NULL);
    memory_fail_next(bench.handle, "create_volume", ERROR_UNAVAILABLE);
    ck_assert_int_eq(bench_create(&bench, &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_uint_eq(memory_count(bench.handle), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);

    memory_fail_next(bench.handle, "extend_volume", ERROR_BACKEND);
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_FAILED);
    memory_fail_next(bench.handle, "get_size", ERROR_BACKEND);
    ck_assert_int_eq(bench_size(&bench, &volume), -1);
    memory_fail_next(bench.handle, "connect", ERROR_BACKEND);
    ck_assert_int_eq(
        memory_driver.connect(bench.handle, bench.arena, &volume, NULL, &info, &bench.err), -1);
    memory_fail_next(bench.handle, "get_pools", ERROR_BACKEND);
    ck_assert_int_eq(memory_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), -1);
    memory_fail_next(bench.handle, "list_volumes", ERROR_BACKEND);
    ck_assert_int_eq(
        memory_driver.list_volumes(bench.handle, bench.arena, ignore, &seen, &bench.err), -1);
    memory_fail_next(bench.handle, "delete_volume", ERROR_BACKEND);
    ck_assert_int_eq(memory_driver.delete_volume(bench.handle, bench.arena, &volume, &bench.err),
                     -1);
    ck_assert_int_eq(memory_bytes(bench.handle, volume.name_id), GIB);
    memory_fail_next(bench.handle, "get_size", ERROR_BACKEND);
    memory_fail_next(bench.handle, NULL, ERROR_BACKEND);
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    ck_assert_int_eq(seen, 0);
}
END_TEST

START_TEST(many_volumes_are_listed_once_each) {
    autobench struct bench bench;
    int seen = 0;

    BENCH_OPEN(&bench, &memory_driver, NULL);
    for (int i = 0; i < 1000; i++) {
        struct driver_volume volume = A_VOLUME;

        volume.name_id = arena_format(bench.arena, "%d", i);
        ck_assert_int_eq(bench_create(&bench, &volume), 0);
    }
    ck_assert_int_eq(
        memory_driver.list_volumes(bench.handle, bench.arena, ignore, &seen, &bench.err), 0);
    ck_assert_int_eq(seen, 1000);
    ck_assert_uint_eq(memory_count(bench.handle), 1000);
}
END_TEST

START_TEST(snapshots_below_a_guest_are_taken_unless_deferred) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, copy = A_VOLUME;
    const struct driver_snapshot first = { .id = "1", .name_id = "1", .size_gb = 1 },
                                 second = { .id = "2", .name_id = "2", .size_gb = 1 };
    struct driver_created created;
    struct driver_pool *pools;

    BENCH_OPEN(&bench, &memory_driver, "memory_capacity_gb=10");
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert(memory_write(bench.handle, volume.name_id, 5));
    ck_assert(memory_lock(bench.handle, volume.name_id, true));
    ck_assert_int_eq(memory_driver.create_snapshot(bench.handle, bench.arena, &volume, &first, NULL,
                                                   &created, &bench.err),
                     DRIVER_DONE);
    memory_defer_snapshots(bench.handle, true);
    ck_assert_int_eq(memory_driver.create_snapshot(bench.handle, bench.arena, &volume, &second,
                                                   NULL, &created, &bench.err),
                     DRIVER_DEFERRED);
    copy.id = copy.name_id = "copy";
    ck_assert_int_eq(memory_driver.clone_volume(bench.handle, bench.arena, &copy, &volume, NULL,
                                                &created, &bench.err),
                     -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(memory_read_snapshot(bench.handle, "1"), 5);
    ck_assert_int_eq(memory_read_snapshot(bench.handle, "2"), -1);
    ck_assert_uint_eq(memory_count(bench.handle), 1);
    ck_assert_int_eq(memory_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    ck_assert(pools->free_gb == 9);
    json_decref(pools->capabilities);
}
END_TEST

struct pauses {
    void *handle;
    unsigned points[2];
    bool dies;
};

static bool between(void *arg, enum memory_point point, const char *call, const char *name_id) {
    struct pauses *pauses = arg;

    pauses->points[point]++;
    ck_assert_str_eq(call, "extend_volume");
    ck_assert(!memory_lock(pauses->handle, name_id, true));
    return !pauses->dies;
}

START_TEST(between_check_and_effect_the_image_is_locked_and_a_death_has_no_effect) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct pauses pauses = { .dies = true };

    BENCH_OPEN(&bench, &memory_driver, NULL);
    pauses.handle = bench.handle;
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    memory_watch(bench.handle, between, &pauses);
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_FAILED);
    ck_assert_int_eq(memory_bytes(bench.handle, volume.name_id), GIB);
    pauses.dies = false;
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_DONE);
    ck_assert_int_eq(memory_bytes(bench.handle, volume.name_id), 2 * GIB);
    ck_assert_uint_eq(pauses.points[MEMORY_LOOKED], 2);
    ck_assert_uint_eq(pauses.points[MEMORY_FENCED], 1);
    memory_watch(bench.handle, NULL, NULL);
    ck_assert(memory_lock(bench.handle, volume.name_id, true));
}
END_TEST

static struct volume_io *open_data(struct bench *bench, const struct driver_volume *volume,
                                   bool writable) {
    struct volume_io *io = NULL;
    int result = memory_driver.open_volume_data(bench->handle, bench->arena, volume, writable, &io,
                                                &bench->err);

    ck_assert_int_eq(result, io ? 0 : -1);
    return io;
}

START_TEST(no_guest_opens_a_volume_whose_data_are_open) {
    for (int writable = 0; writable <= 1; writable++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;
        struct volume_io *io, *second;

        BENCH_OPEN(&bench, &memory_driver, NULL);
        ck_assert_int_eq(bench_create(&bench, &volume), 0);
        ck_assert(memory_lock(bench.handle, volume.name_id, true));
        ck_assert_ptr_null(open_data(&bench, &volume, writable));
        ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
        ck_assert(memory_lock(bench.handle, volume.name_id, false));
        io = open_data(&bench, &volume, writable);
        ck_assert_ptr_nonnull(io);
        second = open_data(&bench, &volume, false);
        ck_assert((second == NULL) == writable);
        ck_assert(!memory_lock(bench.handle, volume.name_id, true));
        volume_io_close(io);
        ck_assert(memory_lock(bench.handle, volume.name_id, true) == writable);
        volume_io_close(second);
        ck_assert(memory_lock(bench.handle, volume.name_id, true));
    }
}
END_TEST

/* All other bytes are zeros. */
START_TEST(the_number_of_a_volume_is_its_byte_at_a_mebibyte) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct volume_io_range data;
    struct volume_io *io;
    unsigned char bytes[8192];

    BENCH_OPEN(&bench, &memory_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert(memory_write(bench.handle, volume.name_id, 256 + 7));
    io = open_data(&bench, &volume, true);
    ck_assert_int_eq(io->size, GIB);
    ck_assert_int_eq(volume_io_find_data(io, 0, &data, &bench.err), 0);
    ck_assert_int_eq(data.begin, 1 << 20);
    ck_assert_int_eq(volume_io_find_data(io, data.end, &data, &bench.err), 0);
    ck_assert_int_eq(data.begin, GIB);
    ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), (1 << 20) - 4096, &bench.err), 0);
    ck_assert_uint_eq(bytes[4095], 0);
    ck_assert_uint_eq(bytes[4096], 7);
    ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), (1 << 20) - 4096, &bench.err), 0);
    ck_assert_int_eq(memory_read(bench.handle, volume.name_id), 256 + 7);
    bytes[4096] = 8;
    ck_assert_int_eq(volume_io_write(io, bytes, 4096, (1 << 20) - 4096, &bench.err), 0);
    ck_assert_int_eq(memory_read(bench.handle, volume.name_id), 256 + 7);
    ck_assert_int_eq(volume_io_write(io, bytes + 4096, 4096, 1 << 20, &bench.err), 0);
    ck_assert_int_eq(memory_read(bench.handle, volume.name_id), 8);
    ck_assert_int_eq(volume_io_zero(io, 0, io->size, &bench.err), 0);
    ck_assert_int_eq(memory_read(bench.handle, volume.name_id), 0);
    ck_assert(memory_remove(bench.handle, volume.name_id));
    ck_assert_int_eq(volume_io_write(io, bytes, 1, 0, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    volume_io_close(io);
}
END_TEST

CHECK_MAIN("memory", a_locked_volume_defers_until_it_is_large_enough, missing_volumes_are_reported,
           free_space_is_capacity_less_volumes, every_call_can_be_set_to_fail_once,
           many_volumes_are_listed_once_each, snapshots_below_a_guest_are_taken_unless_deferred,
           between_check_and_effect_the_image_is_locked_and_a_death_has_no_effect,
           no_guest_opens_a_volume_whose_data_are_open,
           the_number_of_a_volume_is_its_byte_at_a_mebibyte)
