/*
 * An image goes only while it is the one that was looked at, no guest has it and no info names it,
 * by whatever name its volume is called.
 */
#include "drivers/file/removal.h"

#include "drivers/file/chain_assist.h"
#include "drivers/file/snapshot_file.h"
#include "drivers/file/volume_file.h"
#include "tests/unit/drivers/driver_test.h"

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

#define OVERLAY FILE_NAME ".s"
#define INFO    FILE_NAME ".info"

static void open_place(struct place *place) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .volume = A_VOLUME,
                             .snapshot = { .id = "s", .name_id = "s", .size_gb = 1 } };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    place->settings.overlays = true;
    ck_assert_int_eq(directory_open(bench->path, &place->settings, &place->directory, &bench->err),
                     0);
    ck_assert_int_eq(volume_file_create(&place->directory, bench->arena, &place->volume,
                                        &place->volume.format, &bench->err),
                     0);
    place->snapshot.format = place->volume.format;
}

static int remove_image(struct place *place, const char *name, const struct driver_fence *fence) {
    place->bench.err = (struct error){ .kind = ERROR_NONE };
    return removal_image(&place->directory, place->bench.arena, name, fence, &place->bench.err);
}

/* ---- the file ---- */

static struct place *replaced_at;

static bool is_replaced(const struct driver_fence *fence) {
    (void)fence;
    bench_write(&replaced_at->bench, "other", "of another", 0600);
    ck_assert_int_eq(
        renameat(replaced_at->directory.fd, "other", replaced_at->directory.fd, FILE_NAME), 0);
    return true;
}

START_TEST(a_file_that_replaces_the_locked_one_stays) {
    static const struct driver_fence fence = { .holds = is_replaced };
    autoplace struct place place;

    open_place(&place);
    replaced_at = &place;
    ck_assert_int_eq(remove_image(&place, FILE_NAME, &fence), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(bench_read(&place.bench, FILE_NAME), "of another");
    ck_assert_int_eq(remove_image(&place, FILE_NAME, NULL), 0);
    ck_assert_int_eq(remove_image(&place, FILE_NAME, NULL), 0);
}
END_TEST

START_TEST(without_the_lease_nothing_is_removed) {
    static const struct driver_fence fence = { .holds = never_holds };
    autoplace struct place place;

    open_place(&place);
    ck_assert_int_eq(remove_image(&place, FILE_NAME, &fence), -1);
    ck_assert(bench_has(&place.bench, FILE_NAME));
}
END_TEST

/* ---- guests ---- */

static int try_io(const struct place *place, const char *option, const char *command) {
    return BENCH_RUN("qemu-io", option, "-f", "raw", "-c", command,
                     bench_path(&place->bench, FILE_NAME));
}

static struct place *opened_at;

/* Between the look for guests and the removal. */
static bool no_guest_can_open_it(const struct driver_fence *fence) {
    (void)fence;
    ck_assert_int_ne(try_io(opened_at, "-t", "none"), 0);
    ck_assert_int_ne(try_io(opened_at, "-r", "read 0 512"), 0);
    return false;
}

START_TEST(no_guest_opens_an_image_that_is_being_removed) {
    static const struct driver_fence fence = { .holds = no_guest_can_open_it };
    autoplace struct place place;

    open_place(&place);
    opened_at = &place;
    ck_assert_int_eq(try_io(&place, "-r", "read 0 512"), 0);
    ck_assert_int_eq(remove_image(&place, FILE_NAME, &fence), -1);
    ck_assert_int_eq(try_io(&place, "-r", "read 0 512"), 0);
}
END_TEST

START_TEST(an_image_that_is_open_in_a_guest_stays) {
    static const int bytes[] = { 100, 101, 103, 201 };

    for (size_t i = 0; i < LENGTH(bytes); i++) {
        autoplace struct place place;
        autoclose int guest = -1;
        struct flock lock = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = bytes[i], .l_len = 1
        };

        open_place(&place);
        guest = openat(place.directory.fd, FILE_NAME, O_RDWR | O_CLOEXEC);
        ck_assert_int_eq(fcntl(guest, F_OFD_SETLK, &lock), 0);
        ck_assert_int_eq(remove_image(&place, FILE_NAME, NULL), -1);
        ck_assert_ptr_nonnull(strstr(place.bench.err.message, "running guest"));
        ck_assert(bench_has(&place.bench, FILE_NAME));
    }
}
END_TEST

/* ---- infos ---- */

/* A chain whose volume has got another name, and whose active file bears the id of a snapshot that
 * is gone: a guest's host has merged the two. */
static void open_renamed_chain(struct place *place) {
    open_place(place);
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2",
                               bench_path(&place->bench, OVERLAY), "1G"),
                     0);
    bench_write(&place->bench, "volume-other.info", "{\"active\": \"" OVERLAY "\"}", 0600);
}

START_TEST(files_named_by_the_info_of_a_renamed_volume_stay) {
    autoplace struct place place;

    open_renamed_chain(&place);
    ck_assert_int_eq(remove_image(&place, OVERLAY, NULL), 1);
    ck_assert_int_eq(remove_image(&place, FILE_NAME, NULL), 1);
    ck_assert_int_eq(
        renameat(place.directory.fd, OVERLAY, place.directory.fd, "." OVERLAY ".undone"), 0);
    ck_assert_int_eq(remove_image(&place, "." OVERLAY ".undone", NULL), 1);
    bench_write(&place.bench, "volume-other.info", "{\"deleted\": \"" OVERLAY "\"}", 0600);
    ck_assert_int_eq(remove_image(&place, "." OVERLAY ".undone", NULL), 0);
    ck_assert_int_eq(remove_image(&place, FILE_NAME, NULL), 0);
}
END_TEST

static void assert_chain_stays(const struct place *place) {
    ck_assert(bench_has(&place->bench, FILE_NAME) && bench_has(&place->bench, OVERLAY) &&
              bench_has(&place->bench, "volume-other.info"));
}

/* The worker that made the snapshot, or the volume, knows the old name alone. */
START_TEST(a_late_clean_up_under_an_old_name_takes_no_file_of_the_chain) {
    for (int locks = 0; locks <= 1; locks++) {
        autoplace struct place place;
        struct bench *bench = &place.bench;

        open_renamed_chain(&place);
        place.directory.locks_trusted = locks;
        place.snapshot.late = place.volume.late = true;
        ck_assert_int_eq(snapshot_file_delete(&place.directory, bench->arena, &place.volume,
                                              &place.snapshot, NULL, &bench->err),
                         DRIVER_DONE);
        assert_chain_stays(&place);
        ck_assert_int_eq(chain_assist_complete(&place.directory, bench->arena, &place.volume,
                                               &place.snapshot, false, DRIVER_REPORTED_FAILED,
                                               &bench->err),
                         0);
        assert_chain_stays(&place);
        ck_assert_int_eq(
            volume_file_delete(&place.directory, bench->arena, &place.volume, &bench->err), 0);
        assert_chain_stays(&place);
    }
}
END_TEST

/* Another worker has finished the snapshot. */
START_TEST(a_late_clean_up_merges_nothing) {
    autoplace struct place place;
    struct bench *bench = &place.bench;
    const char *info;

    open_place(&place);
    ck_assert_int_eq(snapshot_file_create(&place.directory, bench->arena, &place.volume,
                                          &place.snapshot, NULL, &bench->err),
                     DRIVER_DONE);
    if (!bench_has(bench, INFO))
        return; /* the file system shares blocks */
    info = bench_read(bench, INFO);
    place.snapshot.late = true;
    ck_assert_int_eq(snapshot_file_delete(&place.directory, bench->arena, &place.volume,
                                          &place.snapshot, NULL, &bench->err),
                     DRIVER_DONE);
    ck_assert_str_eq(bench_read(bench, INFO), info);
    ck_assert(bench_has(bench, OVERLAY));
    place.volume.late = true;
    ck_assert_int_eq(volume_file_delete(&place.directory, bench->arena, &place.volume, &bench->err),
                     0);
    ck_assert(bench_has(bench, OVERLAY) && bench_has(bench, FILE_NAME));
}
END_TEST

START_TEST(a_late_clean_up_removes_only_unused_files) {
    autoplace struct place place;
    struct bench *bench = &place.bench;

    open_place(&place);
    place.snapshot.late = place.volume.late = true;
    bench_write(bench, OVERLAY, "", 0600);
    bench_write(bench, "snapshot-s", "", 0600);
    ck_assert_int_eq(snapshot_file_delete(&place.directory, bench->arena, &place.volume,
                                          &place.snapshot, NULL, &bench->err),
                     DRIVER_DONE);
    ck_assert(!bench_has(bench, OVERLAY) && !bench_has(bench, "snapshot-s"));
    ck_assert_int_eq(volume_file_delete(&place.directory, bench->arena, &place.volume, &bench->err),
                     0);
    ck_assert(!bench_has(bench, FILE_NAME));
}
END_TEST

/* Its making was being undone when the power was lost. */
START_TEST(an_overlay_without_its_name_goes_with_the_volume) {
    autoplace struct place place;
    struct bench *bench = &place.bench;

    open_place(&place);
    bench_write(bench, INFO, "{\"active\": \"" OVERLAY "\", \"s\": \"" OVERLAY "\"}", 0600);
    bench_write(bench, "." OVERLAY ".undone", "", 0600);
    ck_assert_msg(volume_file_delete(&place.directory, bench->arena, &place.volume, &bench->err) ==
                      0,
                  "%s", bench->err.message);
    ck_assert(!bench_has(bench, "." OVERLAY ".undone") && !bench_has(bench, FILE_NAME));
}
END_TEST

CHECK_MAIN("removal", a_file_that_replaces_the_locked_one_stays,
           without_the_lease_nothing_is_removed, no_guest_opens_an_image_that_is_being_removed,
           an_image_that_is_open_in_a_guest_stays, files_named_by_the_info_of_a_renamed_volume_stay,
           a_late_clean_up_under_an_old_name_takes_no_file_of_the_chain,
           a_late_clean_up_merges_nothing, a_late_clean_up_removes_only_unused_files,
           an_overlay_without_its_name_goes_with_the_volume)
