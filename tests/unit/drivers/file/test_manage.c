/*
 * Files that may become volumes, and the state that stays when one may not.
 */
#include "common/image_lock.h"
#include "tests/unit/drivers/driver_test.h"

static int manage(struct bench *bench, const struct driver_volume *volume, const char *name) {
    struct driver_created created;

    return file_driver.manage_volume(bench->handle, bench->arena, volume, name, &created,
                                     &bench->err);
}

static int look(struct bench *bench, const char *name) {
    struct driver_volume volume = A_VOLUME;
    int64_t bytes;

    return file_driver.get_manageable(bench->handle, bench->arena, &volume, name, &bytes,
                                      &bench->err);
}

static int open_volumes(struct bench *bench, const char *name, int flags) {
    const char *path = bench_path(bench, arena_format(bench->arena, "volumes/%s", name));
    int fd = open(path, flags | O_CLOEXEC, 0644);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void put(struct bench *bench, const char *name, const void *head, size_t size) {
    autoclose int fd = open_volumes(bench, name, O_WRONLY | O_CREAT | O_EXCL);

    ck_assert_int_eq(pwrite(fd, head, size, 0), (ssize_t)size);
    ck_assert_int_eq(ftruncate(fd, GIB), 0);
}

static void assert_refused(struct bench *bench, const char *name, enum error_kind kind,
                           const char *why) {
    const struct driver_volume volume = A_VOLUME;

    for (int i = 0; i <= 1; i++) {
        ck_assert_msg((i ? manage(bench, &volume, name) : look(bench, name)) < 0, "%s", name);
        ck_assert_msg(bench->err.kind == kind && strstr(bench->err.message, why), "%s: %s", name,
                      bench->err.message);
    }
    ck_assert(!bench_has(bench, "volumes/" FILE_NAME));
}

START_TEST(links_and_parts_of_other_images_are_refused) {
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put(&bench, "one", "a", 1);
    ck_assert_int_eq(link(bench_path(&bench, "volumes/one"), bench_path(&bench, "volumes/two")), 0);
    ck_assert_int_eq(symlink("/etc/passwd", bench_path(&bench, "volumes/link")), 0);
    ck_assert_int_eq(mkdir(bench_path(&bench, "volumes/folder"), 0700), 0);
    ck_assert_int_eq(mkfifo(bench_path(&bench, "volumes/fifo"), 0600), 0);
    close(open_volumes(&bench, "empty", O_WRONLY | O_CREAT));
    assert_refused(&bench, "one", ERROR_BAD_REQUEST, "more than one name");
    assert_refused(&bench, "link", ERROR_BAD_REQUEST, "cannot be taken over");
    assert_refused(&bench, "folder", ERROR_BAD_REQUEST, "cannot be taken over");
    assert_refused(&bench, "fifo", ERROR_BAD_REQUEST, "not a regular file");
    assert_refused(&bench, "empty", ERROR_BAD_REQUEST, "is empty");
    assert_refused(&bench, ".scoria-" BACKEND, ERROR_BAD_REQUEST, "only the service gives");
    assert_refused(&bench, "snapshot-x", ERROR_BAD_REQUEST, "only the service gives");
    assert_refused(&bench, "../disk", ERROR_BAD_REQUEST, "no plain file name");
    ck_assert(bench_has(&bench, "volumes/one") && bench_has(&bench, "volumes/two"));
}
END_TEST

START_TEST(an_image_of_another_format_or_with_other_files_is_refused) {
    autobench struct bench bench;
    const char *const qcow2[] = { "file_qcow2_volumes=true", NULL };
    struct driver_volume volume = A_VOLUME;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put(&bench, "qcow2", "QFI\xfb", 4);
    put(&bench, "luks", "LUKS\xba\xbe", 6);
    assert_refused(&bench, "qcow2", ERROR_BAD_REQUEST, "looks like qcow2");
    assert_refused(&bench, "luks", ERROR_BAD_REQUEST, "encrypted");
    bench_close(&bench);

    bench_new(&bench);
    bench_configure(&bench, &file_driver, qcow2);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    put(&bench, "raw", "a", 1);
    assert_refused(&bench, "raw", ERROR_BAD_REQUEST, "no qcow2");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-b", "raw", "-F", "raw",
                               bench_path(&bench, "volumes/above")),
                     0);
    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-o",
                  arena_format(bench.arena, "data_file=%s", bench_path(&bench, "volumes/data")),
                  bench_path(&bench, "volumes/split"), "1G"),
        0);
    assert_refused(&bench, "above", ERROR_BAD_REQUEST, "needs other files");
    assert_refused(&bench, "split", ERROR_BAD_REQUEST, "needs other files");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2",
                               bench_path(&bench, "volumes/good"), "1G"),
                     0);
    volume.multiattach = true;
    ck_assert_int_eq(manage(&bench, &volume, "good"), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    volume.multiattach = false;
    ck_assert_int_eq(manage(&bench, &volume, "good"), 0);
}
END_TEST

START_TEST(a_file_open_in_a_guest_is_refused) {
    autobench struct bench bench;
    int fd;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put(&bench, "disk", "a", 1);
    fd = open_volumes(&bench, "disk", O_RDWR);
    ck_assert_int_eq(image_lock_alone(fd, &bench.err), IMAGE_LOCKED);
    assert_refused(&bench, "disk", ERROR_CONFLICT, "running guest");
    close(fd);
    ck_assert_int_eq(look(&bench, "disk"), 0);
}
END_TEST

START_TEST(a_managed_file_gets_only_the_name_and_mode_of_the_volume) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct stat before, after;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put(&bench, "disk", "a", 1);
    ck_assert_int_eq(stat(bench_path(&bench, "volumes/disk"), &before), 0);
    ck_assert_int_eq(manage(&bench, &volume, "disk"), 0);
    ck_assert_int_eq(stat(bench_path(&bench, "volumes/" FILE_NAME), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    ck_assert_uint_eq(after.st_mode & 0777, 0600);
    ck_assert_int_eq(before.st_blocks, after.st_blocks);
    ck_assert(!bench_has(&bench, "volumes/disk"));
}
END_TEST

/* Without renames that replace nothing a link is made first: a crash behind it leaves two names. */
START_TEST(half_way_with_a_link_is_finished) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put(&bench, "disk", "a", 1);
    ck_assert_int_eq(
        link(bench_path(&bench, "volumes/disk"), bench_path(&bench, "volumes/" FILE_NAME)), 0);
    ck_assert_int_eq(manage(&bench, &volume, "disk"), 0);
    ck_assert(!bench_has(&bench, "volumes/disk"));
    put(&bench, "disk", "b", 1); /* a foreign file of the same name */
    ck_assert_int_eq(manage(&bench, &volume, "disk"), 0);
    ck_assert(bench_has(&bench, "volumes/disk"));
}
END_TEST

/* As of a volume that had snapshots once: the file keeps the name when the volume is renamed. */
static void put_info(struct bench *bench, const char *name) {
    static const char info[] = "{\"active\": \"" FILE_NAME "\"}";
    autoclose int fd = open_volumes(bench, arena_format(bench->arena, "%s.info", name),
                                    O_WRONLY | O_CREAT | O_EXCL);

    ck_assert_int_eq(pwrite(fd, info, strlen(info), 0), (ssize_t)strlen(info));
}

static void begin(struct bench *bench, struct driver_volume *volume, bool with_info) {
    BENCH_OPEN(bench, &file_driver, NULL);
    ck_assert_int_eq(bench_create(bench, volume), 0);
    if (with_info)
        put_info(bench, FILE_NAME);
}

START_TEST(unmanaging_replaces_no_file) {
    for (int with_info = 0; with_info <= 1; with_info++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;

        begin(&bench, &volume, with_info);
        put(&bench, arena_format(bench.arena, "unmanaged-%s", volume.id), "b", 1);
        ck_assert_int_eq(
            file_driver.unmanage_volume(bench.handle, bench.arena, &volume, &bench.err), -1);
        ck_assert(bench_has(&bench, "volumes/" FILE_NAME));
        ck_assert(bench_has(&bench, "volumes/" FILE_NAME ".info") == with_info);
    }
}
END_TEST

/* ---- workers that come late, and those that stop ---- */

#define OTHER_ID   "0f8d1f5e-9f2c-4d6b-8a57-3c1c0e1f7a22"
#define OTHER_NAME "volume-" OTHER_ID
#define THIRD_ID   "5b0c7b1a-1f6e-4f0d-9d3b-7a6d2c9e4b33"

static struct {
    struct bench *bench;
    const char *to;
} renaming;

static void rename_volume(struct bench *bench, const char *from, const char *to) {
    struct driver_volume volume = A_VOLUME;

    volume.name_id = from;
    ck_assert_msg(
        file_driver.rename_volume(bench->handle, bench->arena, &volume, to, &bench->err) == 0, "%s",
        bench->err.message);
}

static bool holds_and_is_renamed(const struct driver_fence *fence) {
    const struct driver_volume volume = A_VOLUME;

    (void)fence;
    if (renaming.to)
        rename_volume(renaming.bench, volume.name_id, renaming.to);
    renaming.to = NULL;
    return true;
}

static const char *free_name(struct bench *bench) {
    const struct driver_volume volume = A_VOLUME;

    return arena_format(bench->arena, "unmanaged-%s", volume.id);
}

/* The volume was released and renamed meanwhile, and a guest may use it. */
START_TEST(a_late_unmanage_leaves_the_file_to_a_volume_that_was_renamed) {
    const struct driver_fence fence = { .holds = holds_and_is_renamed };

    for (int with_info = 0; with_info <= 1; with_info++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;

        begin(&bench, &volume, with_info);
        renaming.bench = &bench;
        renaming.to = OTHER_ID;
        volume.fence = &fence;
        file_driver.unmanage_volume(bench.handle, bench.arena, &volume, &bench.err);
        ck_assert_ptr_null(renaming.to);
        ck_assert(!bench_has(&bench, arena_format(bench.arena, "volumes/%s", free_name(&bench))));
        volume.fence = NULL;
        volume.name_id = OTHER_ID;
        ck_assert_int_eq(bench_size(&bench, &volume), volume.size_gb * GIB);
    }
}
END_TEST

/* The info was taken away, and the file has its name yet: any worker goes on, under any name. */
START_TEST(an_unmanage_that_stopped_is_finished) {
    static const struct {
        const char *called; /* the volume, when its info was taken away; NULL: as at first */
        const char *renamed;
    } cases[] = { { NULL, NULL }, { NULL, OTHER_ID }, { OTHER_ID, NULL }, { OTHER_ID, THIRD_ID } };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autobench struct bench bench;
        struct driver_volume volume = A_VOLUME;
        const char *name;

        begin(&bench, &volume, false);
        volume.name_id = cases[i].called ? cases[i].called : volume.name_id;
        put_info(&bench, free_name(&bench));
        if (cases[i].renamed)
            rename_volume(&bench, volume.name_id, cases[i].renamed);
        volume.name_id = cases[i].renamed ? cases[i].renamed : volume.name_id;
        for (int again = 0; again <= 1; again++) {
            ck_assert_msg(
                file_driver.unmanage_volume(bench.handle, bench.arena, &volume, &bench.err) == 0,
                "%s", bench.err.message);
            name = arena_format(bench.arena, "volumes/%s", free_name(&bench));
            ck_assert(bench_has(&bench, name));
            ck_assert(!bench_has(&bench, arena_format(bench.arena, "%s.info", name)));
            ck_assert(!bench_has(&bench, "volumes/" FILE_NAME));
            ck_assert(!bench_has(&bench, "volumes/" OTHER_NAME));
        }
    }
}
END_TEST

/* It was taken away before, and the volume has another one by now. */
START_TEST(an_info_of_an_earlier_unmanage_has_no_effect) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    const char *name;

    begin(&bench, &volume, true);
    name = free_name(&bench);
    put_info(&bench, name);
    ck_assert_int_eq(file_driver.unmanage_volume(bench.handle, bench.arena, &volume, &bench.err),
                     0);
    ck_assert(bench_has(&bench, arena_format(bench.arena, "volumes/%s", name)));
    ck_assert(!bench_has(&bench, arena_format(bench.arena, "volumes/%s.info", name)));
    ck_assert(!bench_has(&bench, "volumes/" FILE_NAME));
    ck_assert(!bench_has(&bench, "volumes/" FILE_NAME ".info"));
}
END_TEST

CHECK_MAIN("existing files", links_and_parts_of_other_images_are_refused,
           an_image_of_another_format_or_with_other_files_is_refused,
           a_file_open_in_a_guest_is_refused,
           a_managed_file_gets_only_the_name_and_mode_of_the_volume,
           half_way_with_a_link_is_finished, unmanaging_replaces_no_file,
           a_late_unmanage_leaves_the_file_to_a_volume_that_was_renamed,
           an_unmanage_that_stopped_is_finished, an_info_of_an_earlier_unmanage_has_no_effect)
