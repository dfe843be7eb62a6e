#include "drivers/file/snapshot_file.h"

#include "tests/unit/drivers/driver_test.h"

#define SNAPSHOT_NAME "snapshot-s"
#define CLONE_NAME    "volume-c"

struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    struct driver_volume volume;
    struct driver_snapshot snapshot;
};

static void close_place(struct place *place) {
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

static void open_place(struct place *place, bool qcow2) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .volume = A_VOLUME,
                             .snapshot = { .id = "s", .name_id = "s", .size_gb = 1 } };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    place->settings.qcow2 = qcow2;
    ck_assert_int_eq(mkdir(bench_path(bench, "d"), 0700), 0);
    ck_assert_int_eq(
        directory_open(bench_path(bench, "d"), &place->settings, &place->directory, &bench->err),
        0);
    ck_assert_int_eq(volume_file_create(&place->directory, bench->arena, &place->volume,
                                        &place->volume.format, &bench->err),
                     0);
    place->volume.provider_location = place->directory.path;
    place->snapshot.format = place->volume.format;
}

static const char *path_of(const struct place *place, const char *name) {
    return directory_path(&place->directory, place->bench.arena, name);
}

static bool has(const struct place *place, const char *name) {
    return faccessat(place->directory.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum driver_outcome snapshot(struct place *place) {
    place->bench.err = (struct error){ .kind = ERROR_NONE };
    return snapshot_file_create(&place->directory, place->bench.arena, &place->volume,
                                &place->snapshot, NULL, &place->bench.err);
}

static int drop(struct place *place) {
    return snapshot_file_delete(&place->directory, place->bench.arena, &place->volume,
                                &place->snapshot, NULL, &place->bench.err);
}

static int clone_volume(struct place *place, const struct driver_volume *copy) {
    autosource struct image_source source = NO_SOURCE;

    place->bench.err = (struct error){ .kind = ERROR_NONE };
    if (image_source_open_volume(&place->directory, place->bench.arena, &place->volume, NULL,
                                 &source, &place->bench.err) < 0)
        return -1;
    return volume_file_clone(&place->directory, place->bench.arena, copy, &source, NULL,
                             &place->bench.err);
}

static int revert(struct place *place) {
    autosource struct image_source source = NO_SOURCE;

    place->bench.err = (struct error){ .kind = ERROR_NONE };
    if (image_source_open_snapshot(&place->directory, place->bench.arena, &place->snapshot, NULL,
                                   &source, &place->bench.err) < 0)
        return -1;
    return volume_file_revert(&place->directory, place->bench.arena, &place->volume, &source, NULL,
                              &place->bench.err);
}

static const struct driver_volume a_copy = { .id = "c", .name_id = "c", .size_gb = 1 };

/* ---- refusals ---- */

/* Under the name of a snapshot, or of the volume, stands a foreign file. */
static void put_link(const char *path) {
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
}

static void put_fifo(const char *path) {
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void put_directory(const char *path) {
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(only_regular_files_are_taken) {
    static void (*const puts[])(const char *path) = { put_link, put_fifo, put_directory };

    for (size_t i = 0; i < LENGTH(puts); i++) {
        autoplace struct place place;

        open_place(&place, false);
        puts[i](path_of(&place, SNAPSHOT_NAME));
        ck_assert_int_eq(snapshot(&place), DRIVER_FAILED);
        ck_assert_int_eq(place.bench.err.kind, ERROR_BACKEND);
        ck_assert_int_eq(revert(&place), -1);
        ck_assert_int_eq(drop(&place), -1);
        ck_assert(has(&place, SNAPSHOT_NAME));
        puts[i](path_of(&place, CLONE_NAME));
        ck_assert_int_eq(clone_volume(&place, &a_copy), -1);

        ck_assert_int_eq(unlink(path_of(&place, FILE_NAME)), 0);
        puts[i](path_of(&place, FILE_NAME));
        place.snapshot.name_id = "other";
        ck_assert_int_eq(snapshot(&place), DRIVER_FAILED);
        ck_assert(!has(&place, "snapshot-other"));
    }
}
END_TEST

START_TEST(ids_stay_in_the_directory) {
    static const char *const ids[] = { "", "../s", "s/t", ".s", "s.t" };

    for (size_t i = 0; i < LENGTH(ids); i++) {
        autoplace struct place place;

        open_place(&place, false);
        place.snapshot.name_id = ids[i];
        ck_assert_int_eq(snapshot(&place), DRIVER_FAILED);
        ck_assert_int_eq(place.bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(drop(&place), -1);
        ck_assert_int_eq(revert(&place), -1);
    }
}
END_TEST

static void assert_none_made(struct place *place, enum error_kind kind) {
    ck_assert_int_eq(snapshot(place), DRIVER_FAILED);
    ck_assert_msg(place->bench.err.kind == kind, "%s", place->bench.err.message);
    ck_assert_int_eq(clone_volume(place, &a_copy), -1);
    ck_assert_msg(place->bench.err.kind == kind, "%s", place->bench.err.message);
    ck_assert(!has(place, SNAPSHOT_NAME) && !has(place, CLONE_NAME));
    ck_assert(!has(place, "." SNAPSHOT_NAME ".new") && !has(place, "." CLONE_NAME ".new"));
}

START_TEST(an_encrypted_volume_is_refused) {
    autoplace struct place place;

    open_place(&place, false);
    place.volume.encrypted = true;
    place.volume.attached = true;
    assert_none_made(&place, ERROR_BAD_REQUEST);
}
END_TEST

/* The volume's image becomes one made with `options` of qemu-img create. */
static void make_image(struct place *place, const char *const *options) {
    const char *arguments[16] = { "qemu-img", "create", "-q", "-f", "qcow2" };
    size_t count = 5;

    ck_assert_int_eq(unlink(path_of(place, FILE_NAME)), 0);
    while (*options)
        arguments[count++] = *options++;
    arguments[count++] = path_of(place, FILE_NAME);
    arguments[count] = "1G";
    ck_assert_int_eq(bench_run(arguments), 0);
}

START_TEST(an_image_with_parts_elsewhere_is_refused) {
    autoplace struct place place;
    const char *other;

    open_place(&place, true);
    other = bench_path(&place.bench, "other");
    make_image(&place, (const char *const[]){
                           "-o", arena_format(place.bench.arena, "data_file=%s", other), NULL });
    assert_none_made(&place, ERROR_BACKEND);
    make_image(&place, (const char *const[]){ "-b", other, "-F", "raw", NULL });
    assert_none_made(&place, ERROR_BACKEND);
    make_image(&place, (const char *const[]){ "--object", "secret,id=s,data=x", "-o",
                                              "encrypt.format=aes,encrypt.key-secret=s", NULL });
    assert_none_made(&place, ERROR_BAD_REQUEST);
}
END_TEST

START_TEST(a_snapshot_without_its_format_is_no_source) {
    autoplace struct place place;

    open_place(&place, false);
    ck_assert_int_eq(snapshot(&place), DRIVER_DONE);
    place.snapshot.format = NULL;
    ck_assert_int_eq(revert(&place), -1);
    place.snapshot.format = "qcow2";
    ck_assert_int_eq(revert(&place), -1);
    place.snapshot.format = "raw";
    ck_assert_int_eq(revert(&place), 0);
}
END_TEST

START_TEST(qcow2_is_not_cloned_for_several_instances) {
    autoplace struct place place;
    struct driver_volume copy = a_copy;

    open_place(&place, true);
    copy.multiattach = true;
    ck_assert_int_eq(clone_volume(&place, &copy), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_BAD_REQUEST);
    copy.multiattach = false;
    ck_assert_int_eq(clone_volume(&place, &copy), 0);
}
END_TEST

/* ---- files beside each other ---- */

static void note(void *arg, const char *name_id, int64_t bytes) {
    char *text = arg;

    snprintf(text + strlen(text), 200 - strlen(text), "%s:%jd ", name_id, (intmax_t)bytes);
}

START_TEST(a_volume_goes_and_its_snapshots_stay) {
    autoplace struct place place;
    char volumes[200] = "", snapshots[200] = "";
    struct stat status;

    open_place(&place, false);
    place.settings.mode = 0660;
    ck_assert_int_eq(snapshot(&place), DRIVER_DONE);
    ck_assert_int_eq(stat(path_of(&place, SNAPSHOT_NAME), &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0660);
    ck_assert_int_eq(volume_file_rename(&place.directory, place.bench.arena, &place.volume, "new",
                                        &place.bench.err),
                     0);
    place.volume.name_id = "new";
    ck_assert_int_eq(volume_file_list(&place.directory, note, volumes, &place.bench.err), 0);
    ck_assert_str_eq(volumes, "new:1073741824 ");
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        0);
    ck_assert_int_eq(
        snapshot_file_list(&place.directory, place.bench.arena, note, snapshots, &place.bench.err),
        0);
    ck_assert_str_eq(snapshots, "s:1073741824 ");
    ck_assert_int_eq(drop(&place), 0);
    ck_assert_int_eq(drop(&place), 0);
    ck_assert(!has(&place, SNAPSHOT_NAME));
}
END_TEST

START_TEST(drafts_of_earlier_workers_are_removed) {
    static const char *const left[] = { "d/." SNAPSHOT_NAME ".new", "d/." SNAPSHOT_NAME ".2.new",
                                        "d/." FILE_NAME ".2.new" };
    autoplace struct place place;

    open_place(&place, false);
    for (size_t i = 0; i < LENGTH(left); i++)
        bench_write(&place.bench, left[i], "half", 0600);
    place.snapshot.attempt = 3;
    ck_assert_int_eq(snapshot(&place), DRIVER_DONE);
    ck_assert(!bench_has(&place.bench, left[0]) && !bench_has(&place.bench, left[1]));
    place.volume.attempt = 2;
    ck_assert_int_eq(revert(&place), 0);
    ck_assert(!bench_has(&place.bench, left[2]));
    bench_write(&place.bench, left[2], "half", 0600);
    ck_assert_int_eq(volume_file_rename(&place.directory, place.bench.arena, &place.volume, "new",
                                        &place.bench.err),
                     0);
    ck_assert(!bench_has(&place.bench, left[2]));
}
END_TEST

/* A guest had it grown after the extend was given up. */
START_TEST(a_source_larger_than_its_record_is_copied_whole) {
    autoplace struct place place;
    struct stat status;

    open_place(&place, false);
    ck_assert_int_eq(truncate(path_of(&place, FILE_NAME), 3 * GIB), 0);
    ck_assert_int_eq(snapshot(&place), DRIVER_DONE);
    ck_assert_int_eq(clone_volume(&place, &a_copy), 0);
    ck_assert_int_eq(stat(path_of(&place, CLONE_NAME), &status), 0);
    ck_assert_int_eq(status.st_size, 3 * GIB);
    ck_assert_int_eq(truncate(path_of(&place, FILE_NAME), GIB), 0);
    ck_assert_int_eq(clone_volume(&place, &a_copy), 0); /* again: it is there */
    ck_assert_int_eq(revert(&place), 0);
    ck_assert_int_eq(stat(path_of(&place, FILE_NAME), &status), 0);
    ck_assert_int_eq(status.st_size, 3 * GIB);
}
END_TEST

/* ---- other users of the image ---- */

static int lock_bytes(struct place *place, const int *bytes, size_t count) {
    int fd = open(path_of(place, FILE_NAME), O_RDONLY | O_CLOEXEC);

    for (size_t i = 0; i < count; i++) {
        struct flock lock = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = bytes[i], .l_len = 1
        };

        ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    }
    return fd;
}

/* Copies as where blocks cannot be shared: thick clones are always copied. */
START_TEST(a_source_with_a_writer_is_not_copied) {
    static const struct {
        int bytes[4];
        bool copied;
    } rows[] = {
        { { 100, 201, 203, 203 }, true },  /* another copy */
        { { 100, 101, 201, 203 }, false }, /* a guest */
        { { 100, 101, 101, 101 }, false }, /* one of several that share it */
        { { 103, 103, 103, 103 }, false }, /* a resize */
        { { 200, 200, 200, 200 }, false }, /* no other process may read */
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoplace struct place place;
        autoclose int fd = -1;

        open_place(&place, false);
        place.settings.sparse = false;
        fd = lock_bytes(&place, rows[i].bytes, LENGTH(rows[i].bytes));
        ck_assert_int_eq(clone_volume(&place, &a_copy), rows[i].copied ? 0 : -1);
        ck_assert_int_eq(has(&place, CLONE_NAME), rows[i].copied);
        if (!rows[i].copied)
            ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    }
}
END_TEST

/* ---- workers ---- */

static bool moves_data;
static unsigned queried;

static bool holds(const struct driver_fence *fence) {
    (void)fence;
    return true;
}

static bool may_take_long(const struct driver_fence *fence) {
    (void)fence;
    queried++;
    return moves_data;
}

static const struct driver_fence of_worker = { .holds = holds, .may_take_long = may_take_long };

/* Where blocks cannot be shared; `mib` of data. */
static void have_data(struct place *place, size_t mib) {
    autoclose int fd = open(path_of(place, FILE_NAME), O_WRONLY | O_CLOEXEC);
    char *bytes = arena_alloc(place->bench.arena, (size_t)1 << 20);

    memset(bytes, 'x', (size_t)1 << 20);
    for (size_t i = 0; i < mib; i++)
        ck_assert_int_eq(pwrite(fd, bytes, (size_t)1 << 20, (off_t)i << 20), 1 << 20);
}

START_TEST(much_data_is_moved_only_by_a_worker_for_that) {
    autoplace struct place place;
    struct driver_volume copy = a_copy;

    open_place(&place, false);
    copy.fence = place.snapshot.fence = &of_worker;
    copy.provider_location = place.volume.provider_location;
    moves_data = false;
    place.settings.sparse = false; /* thick copies share no blocks */
    ck_assert_int_eq(clone_volume(&place, &copy), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_BUSY);
    ck_assert_uint_eq(queried, 1);
    ck_assert(!has(&place, CLONE_NAME));

    moves_data = true;
    ck_assert_msg(clone_volume(&place, &copy) == 0, "%s", place.bench.err.message);
    ck_assert(has(&place, CLONE_NAME));
}
END_TEST

START_TEST(little_data_is_moved_by_any_worker) {
    autoplace struct place place;
    struct driver_volume copy = a_copy;

    open_place(&place, false);
    have_data(&place, 1);
    copy.fence = place.snapshot.fence = &of_worker;
    moves_data = false;
    queried = 0;
    ck_assert_msg(clone_volume(&place, &copy) == 0, "%s", place.bench.err.message);
    ck_assert_uint_eq(queried, 0);
}
END_TEST

CHECK_MAIN("snapshot file", much_data_is_moved_only_by_a_worker_for_that,
           little_data_is_moved_by_any_worker, only_regular_files_are_taken,
           ids_stay_in_the_directory, an_encrypted_volume_is_refused,
           an_image_with_parts_elsewhere_is_refused, a_snapshot_without_its_format_is_no_source,
           qcow2_is_not_cloned_for_several_instances, a_volume_goes_and_its_snapshots_stay,
           drafts_of_earlier_workers_are_removed, a_source_larger_than_its_record_is_copied_whole,
           a_source_with_a_writer_is_not_copied)
