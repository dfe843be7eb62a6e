#include "tests/lib/small_disk.h"
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

START_TEST(a_volume_that_has_all_its_blocks_is_connected_without_discards) {
    for (int sparse = 0; sparse < 2; sparse++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;
        const json_t *discard;
        json_t *info;

        bench_new(&bench);
        bench_configure(&bench, &file_driver,
                        (const char *const[]){
                            arena_format(bench.arena, "file_volume_directory=%s/a", bench.path),
                            sparse ? "file_sparsed_volumes=true" : "file_sparsed_volumes=false",
                            NULL });
        ck_assert_int_eq(bench_try_open(&bench), 0);
        ck_assert_int_eq(bench_create(&bench, &volume), 0);
        ck_assert_int_eq(
            file_driver.connect(bench.handle, bench.arena, &volume, NULL, &info, &bench.err), 0);
        discard = json_object_get(json_object_get(info, "data"), "discard");
        ck_assert(sparse ? !discard : json_is_false(discard));
        json_decref(info);
    }
}
END_TEST

/* ---- the path of a connection ---- */

static const char *type_of(struct bench *bench, const struct driver_volume *volume) {
    json_t *connector = json_object(), *info;
    const char *type;

    ck_assert_msg(file_driver.connect(bench->handle, bench->arena, volume, connector, &info,
                                      &bench->err) == 0,
                  "%s", bench->err.message);
    type = arena_text(bench->arena, json_string_value(json_object_get(info, "driver_volume_type")));
    json_decref(info);
    json_decref(connector);
    return type;
}

/* Nova takes "local" for a block device, and "gpfs" for a raw file. */
START_TEST(a_raw_file_is_connected_in_a_form_of_the_compute_service) {
    static const struct {
        const char *option;
        bool for_nova, qcow2;
        const char *type;
    } rows[] = {
        { NULL, false, false, "local" },
        { NULL, true, false, "gpfs" },
        { NULL, true, true, "local" },
        { "file_connection_type=auto", true, false, "gpfs" },
        { "file_connection_type=local", true, false, "local" },
        { "file_connection_type=gpfs", false, false, "gpfs" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;

        bench_new(&bench);
        bench_configure(&bench, &file_driver,
                        (const char *const[]){ rows[i].qcow2 ? "file_qcow2_volumes=true"
                                                             : "file_qcow2_volumes=false",
                                               rows[i].option, NULL });
        bench.backend.for_nova = rows[i].for_nova;
        ck_assert_int_eq(bench_try_open(&bench), 0);
        ck_assert_int_eq(bench_create(&bench, &volume), 0);
        ck_assert_str_eq(type_of(&bench, &volume), rows[i].type);
    }
}
END_TEST

/* Nova would read the image's head as the guest's data. */
START_TEST(no_image_is_connected_as_a_raw_file) {
    static const char *const others[] = { "file_qcow2_volumes=true",
                                          "file_snapshot_overlays=true" };
    autobench struct bench qcow2;
    struct driver_volume volume = A_VOLUME;
    json_t *connector = json_object(), *info;

    for (size_t i = 0; i < LENGTH(others); i++) {
        autobench struct bench bench;

        bench_new(&bench);
        bench_configure(&bench, &file_driver,
                        (const char *const[]){ "file_connection_type=gpfs", others[i], NULL });
        ck_assert_int_eq(bench_try_open(&bench), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_nonnull(strstr(bench.err.message, "file_connection_type"));
    }
    BENCH_OPEN(&qcow2, &file_driver, "file_qcow2_volumes=true");
    ck_assert_int_eq(bench_create(&qcow2, &volume), 0);
    file_driver.close(qcow2.handle);
    config_free(qcow2.config);
    bench_configure(&qcow2, &file_driver,
                    (const char *const[]){ "file_connection_type=gpfs", NULL });
    ck_assert_int_eq(bench_try_open(&qcow2), 0);
    ck_assert_int_eq(
        file_driver.connect(qcow2.handle, qcow2.arena, &volume, connector, &info, &qcow2.err), -1);
    ck_assert_int_eq(qcow2.err.kind, ERROR_BAD_REQUEST);
    json_decref(connector);
}
END_TEST

/* ---- the right directory ---- */

static int knows(const struct driver_backend *backend, const char *location, const char *name_id) {
    const struct driver_volume *volume = backend->has_volume_arg;

    (void)location;
    if (!volume)
        return -1; /* the database is away */
    return volume->provider_location && (!name_id || strcmp(name_id, volume->name_id) == 0);
}

/* The database goes away between two questions. */
static int knows_the_first(const struct driver_backend *backend, const char *location,
                           const char *name_id) {
    (void)backend, (void)location;
    return name_id ? -1 : 1;
}

static void open_knowing(struct bench *bench, struct driver_volume *volume) {
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    bench->backend.has_volume = knows;
    bench->backend.has_volume_arg = volume;
    ck_assert_msg(bench_try_open(bench) == 0, "%s", bench->err.message);
}

static void create_recorded(struct bench *bench, struct driver_volume *volume) {
    ck_assert_int_eq(bench_create(bench, volume), 0);
    volume->provider_location = "recorded"; /* in memory that outlives the handle */
}

static void stop(struct bench *bench) {
    bench->driver->close(bench->handle);
    bench->handle = NULL;
}

static void hide(const struct bench *bench, const char *name, const char *other) {
    ck_assert_int_eq(rename(bench_path(bench, name), bench_path(bench, other)), 0);
}

START_TEST(a_mount_that_is_missing_loses_no_volume) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    open_knowing(&bench, &volume);
    create_recorded(&bench, &volume);
    stop(&bench);
    hide(&bench, "volumes", "mounted");
    for (int i = 0; i < 2; i++) { /* the place is made, and is not the one */
        ck_assert_int_eq(bench_try_open(&bench), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(bench.err.message, "is it mounted?"));
    }
    ck_assert_int_eq(rmdir(bench_path(&bench, "volumes")), 0);
    hide(&bench, "mounted", "volumes");
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);

    /* A volume that is really gone, in the right place. */
    ck_assert_int_eq(unlink(bench_path(&bench, "volumes/" FILE_NAME)), 0);
    stop(&bench);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(file_driver.delete_volume(bench.handle, bench.arena, &volume, &bench.err), 0);
}
END_TEST

START_TEST(a_directory_from_before_the_marker_is_recognized_by_its_volumes) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, other = A_VOLUME;

    open_knowing(&bench, &volume);
    create_recorded(&bench, &volume);
    stop(&bench);
    ck_assert_int_eq(unlink(bench_path(&bench, "volumes/.scoria-" BACKEND)), 0);
    other.name_id = "another";
    other.provider_location = "recorded";
    bench.backend.has_volume_arg = &other; /* these volumes are not its own */
    ck_assert_int_eq(bench_try_open(&bench), -1);
    bench.backend.has_volume_arg = &volume;
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert(bench_has(&bench, "volumes/.scoria-" BACKEND));
}
END_TEST

/* No error about volumes that cannot be requested. */
START_TEST(a_directory_without_a_marker_waits_for_the_database) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    open_knowing(&bench, &volume);
    create_recorded(&bench, &volume);
    stop(&bench);
    ck_assert_int_eq(unlink(bench_path(&bench, "volumes/.scoria-" BACKEND)), 0);
    for (int i = 0; i <= 1; i++) {
        bench.backend.has_volume = i == 0 ? knows : knows_the_first;
        bench.backend.has_volume_arg = NULL;
        ck_assert_int_eq(bench_try_open(&bench), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
        ck_assert_msg(strstr(bench.err.message, "the database does not answer") != NULL, "%s",
                      bench.err.message);
        ck_assert_ptr_null(strstr(bench.err.message, "none of the volumes"));
        ck_assert(!bench_has(&bench, "volumes/.scoria-" BACKEND));
    }
    bench.backend.has_volume = knows;
    bench.backend.has_volume_arg = &volume;
    ck_assert_msg(bench_try_open(&bench) == 0, "%s", bench.err.message);
}
END_TEST

START_TEST(a_probe_writes_no_marker) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME, recorded = A_VOLUME;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert(!bench_has(&bench, "volumes/.scoria-" BACKEND));
    stop(&bench);
    bench.backend.probe_only = true;
    bench.backend.has_volume = knows;
    bench.backend.has_volume_arg = &volume; /* not made */
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert(!bench_has(&bench, "volumes/.scoria-" BACKEND));
    stop(&bench);
    recorded.provider_location = "recorded";
    bench.backend.has_volume_arg = &recorded;
    ck_assert_int_eq(bench_try_open(&bench), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
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

START_TEST(an_unusable_directory_prevents_the_start) {
    assert_refused("file_volume_directory=volumes", NULL, "is not an absolute path");
    assert_refused("file_volume_directory=/tmp/\xff", NULL, "in UTF-8");
    assert_refused(NULL, "/proc/none", "making the directory");
    assert_refused("file_volume_directory=/etc/passwd", NULL, "opening the directory");
    assert_refused("mount_table=/nowhere", NULL, "reading /nowhere");
}
END_TEST

/* Nothing new is made, existing volumes are in reach, and all is well when the directory is
 * back. */
static void assert_noticed(struct bench *bench, struct driver_volume *old,
                           void (*back)(const struct bench *bench)) {
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *pools;

    volume.id = volume.name_id = "22222222-2222-4222-8222-222222222222";
    ck_assert_int_eq(file_driver.get_pools(bench->handle, bench->arena, &pools, &bench->err), -1);
    ck_assert_ptr_nonnull(strstr(bench->err.message, "a mount has come, gone or covers it"));
    ck_assert_int_eq(bench_create(bench, &volume), -1);
    ck_assert_int_eq(bench->err.kind, ERROR_UNAVAILABLE);
    ck_assert(!bench_has(bench, "volumes/volume-22222222-2222-4222-8222-222222222222"));
    ck_assert_int_eq(bench_size(bench, old), GIB);
    ck_assert_int_eq(bench_extend(bench, old, 2), DRIVER_DONE);
    back(bench);
    ck_assert_int_eq(file_driver.get_pools(bench->handle, bench->arena, &pools, &bench->err), 1);
    json_decref(pools->capabilities);
    ck_assert_int_eq(bench_create(bench, &volume), 0);
    ck_assert_int_eq(bench_size(bench, old), 2 * GIB);
}

static void uncover(const struct bench *bench) {
    ck_assert_int_eq(umount(bench_path((struct bench *)(uintptr_t)bench, "volumes")), 0);
}

START_TEST(a_mount_that_covers_the_volumes_is_detected) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    if (small_disk(bench_path(&bench, "volumes"), "size=1m"))
        assert_noticed(&bench, &volume, uncover);
}
END_TEST

static void unhide(const struct bench *bench) {
    struct bench *own = (struct bench *)(uintptr_t)bench;

    ck_assert_int_eq(rmdir(bench_path(own, "volumes")), 0);
    hide(bench, "gone", "volumes");
}

START_TEST(a_replaced_directory_is_detected) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    hide(&bench, "volumes", "gone");
    ck_assert_int_eq(mkdir(bench_path(&bench, "volumes"), 0700), 0);
    assert_noticed(&bench, &volume, unhide);
}
END_TEST

START_TEST(a_file_system_that_refuses_writes_is_no_pool) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *pools;
    const char *directory;

    bench_new(&bench);
    bench_configure(&bench, &file_driver, NULL);
    directory = bench_path(&bench, "volumes");
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    if (!small_disk(directory, "size=2g")) /* of which no block is used */
        return;
    ck_assert_msg(bench_try_open(&bench) == 0, "%s", bench.err.message);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(mount(NULL, directory, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        ck_assert_int_eq(file_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(bench.err.message, "is read-only"));
        ck_assert_int_eq(bench_size(&bench, &volume), GIB);
        ck_assert_int_eq(mount(NULL, directory, NULL, MS_REMOUNT, NULL), 0);
        ck_assert_int_eq(file_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
        json_decref(pools->capabilities);
    }
    stop(&bench);
    uncover(&bench);
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

CHECK_MAIN("file", a_volume_that_has_all_its_blocks_is_connected_without_discards,
           the_directory_is_for_the_service_alone, a_mount_that_is_missing_loses_no_volume,
           a_directory_from_before_the_marker_is_recognized_by_its_volumes,
           a_directory_without_a_marker_waits_for_the_database, a_probe_writes_no_marker,
           the_directory_may_be_another, an_unusable_directory_prevents_the_start,
           on_nfs_without_locks_attached_volumes_are_deferred, the_pool_has_the_backends_name,
           a_raw_file_is_connected_in_a_form_of_the_compute_service,
           no_image_is_connected_as_a_raw_file, a_mount_that_covers_the_volumes_is_detected,
           a_file_system_that_refuses_writes_is_no_pool, a_replaced_directory_is_detected)
