/*
 * Files that may become snapshots of a volume, in its chain and beside it, and the state that stays
 * when one may not.
 */
#include "common/image_lock.h"
#include "tests/unit/drivers/driver_test.h"

#define VOLUME_ID "7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11"

static const struct driver_fence *fence; /* of the next call */

static struct driver_snapshot named(const char *id) {
    return (struct driver_snapshot){ .id = id, .name_id = id, .size_gb = 1, .fence = fence };
}

static int look(struct bench *bench, const struct driver_volume *volume, const char *id,
                const char *name, struct driver_candidate *ret) {
    const struct driver_snapshot snapshot = named(id);

    return file_driver.get_manageable_snapshot(bench->handle, bench->arena, volume, &snapshot, name,
                                               ret, &bench->err);
}

static int take_found(struct bench *bench, const struct driver_volume *volume, const char *id,
                      const struct driver_candidate *source) {
    const struct driver_snapshot snapshot = named(id);
    struct driver_created created;

    return file_driver.manage_snapshot(bench->handle, bench->arena, volume, &snapshot, source,
                                       &created, &bench->err);
}

static int manage(struct bench *bench, const struct driver_volume *volume, const char *id,
                  const char *name) {
    struct driver_candidate source;

    return look(bench, volume, id, name, &source) < 0 ? -1 : take_found(bench, volume, id, &source);
}

static int let_go(struct bench *bench, const struct driver_volume *volume, const char *id) {
    const struct driver_snapshot snapshot = named(id);

    return file_driver.unmanage_snapshot(bench->handle, bench->arena, volume, &snapshot,
                                         &bench->err);
}

static void make(struct bench *bench, const struct driver_volume *volume, const char *id) {
    const struct driver_snapshot snapshot = named(id);
    struct driver_created created;

    ck_assert_int_eq(file_driver.create_snapshot(bench->handle, bench->arena, volume, &snapshot,
                                                 NULL, &created, &bench->err),
                     DRIVER_DONE);
}

struct listed {
    const char *wanted;
    int64_t bytes;
    unsigned count;
};

static void see(void *arg, const char *name_id, int64_t bytes) {
    struct listed *listed = arg;

    listed->count += !listed->wanted || strcmp(listed->wanted, name_id) == 0;
    listed->bytes = bytes;
}

static struct listed list(struct bench *bench, const char *wanted) {
    struct listed listed = { .wanted = wanted };

    ck_assert_int_eq(
        file_driver.list_snapshots(bench->handle, bench->arena, see, &listed, &bench->err), 0);
    return listed;
}

static void put(struct bench *bench, const char *name, const char *head) {
    const char *path = bench_path(bench, arena_format(bench->arena, "volumes/%s", name));
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    ck_assert_int_eq(pwrite(fd, head, strlen(head), 0), (ssize_t)strlen(head));
    ck_assert_int_eq(ftruncate(fd, GIB), 0);
}

static void put_info(struct bench *bench, const char *text) {
    FILE *info = fopen(bench_path(bench, "volumes/" FILE_NAME ".info"), "we");

    fputs(text, info);
    ck_assert_int_eq(fclose(info), 0);
}

/* ---- a file of its own ---- */

START_TEST(links_and_parts_of_other_images_are_refused) {
    static const struct {
        const char *name, *why;
    } names[] = {
        { "two", "more than one name" },         { "link", "cannot be taken over" },
        { "folder", "cannot be taken over" },    { "empty", "is empty" },
        { "qcow2", "looks like qcow2" },         { "luks", "encrypted" },
        { FILE_NAME, "only the service gives" }, { "../one", "no plain file name" },
        { "missing", "cannot be taken over" },   { "snapshot-x", "only the service gives" },
    };
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    put(&bench, "one", "a");
    put(&bench, "qcow2", "QFI\xfb");
    put(&bench, "luks", "LUKS\xba\xbe");
    put(&bench, "empty", "");
    ck_assert_int_eq(truncate(bench_path(&bench, "volumes/empty"), 0), 0);
    ck_assert_int_eq(link(bench_path(&bench, "volumes/one"), bench_path(&bench, "volumes/two")), 0);
    ck_assert_int_eq(symlink("/etc/passwd", bench_path(&bench, "volumes/link")), 0);
    ck_assert_int_eq(mkdir(bench_path(&bench, "volumes/folder"), 0700), 0);
    for (size_t i = 0; i < LENGTH(names); i++) {
        ck_assert_msg(manage(&bench, &volume, "s", names[i].name) < 0, "%s", names[i].name);
        ck_assert_msg(bench.err.kind == ERROR_BAD_REQUEST &&
                          strstr(bench.err.message, names[i].why),
                      "%s: %s", names[i].name, bench.err.message);
    }
    volume.encrypted = true;
    ck_assert_int_eq(manage(&bench, &volume, "s", "one"), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "is encrypted"));
    ck_assert(bench_has(&bench, "volumes/one"));
    ck_assert(!bench_has(&bench, "volumes/snapshot-s"));
}
END_TEST

START_TEST(a_file_open_in_a_guest_is_refused) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    int fd;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    put(&bench, "disk", "a");
    fd = open(bench_path(&bench, "volumes/disk"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(image_lock_alone(fd, &bench.err), IMAGE_LOCKED);
    ck_assert_int_eq(manage(&bench, &volume, "s", "disk"), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    close(fd);
    ck_assert_int_eq(manage(&bench, &volume, "s", "disk"), 0);
}
END_TEST

/* And a file that has either name already stays. */
START_TEST(a_managed_file_gets_only_another_name) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct stat before, after;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    put(&bench, "disk", "a");
    ck_assert_int_eq(stat(bench_path(&bench, "volumes/disk"), &before), 0);
    ck_assert_int_eq(manage(&bench, &volume, "s", "disk"), 0);
    ck_assert_int_eq(stat(bench_path(&bench, "volumes/snapshot-s"), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    ck_assert_uint_eq(after.st_mode & 0777, 0600);
    ck_assert(!bench_has(&bench, "volumes/disk"));
    put(&bench, "unmanaged-s", "b");
    ck_assert_int_eq(let_go(&bench, &volume, "s"), -1);
    ck_assert_uint_eq(list(&bench, "s").count, 1);
    ck_assert_int_eq(unlink(bench_path(&bench, "volumes/unmanaged-s")), 0);
    ck_assert_int_eq(let_go(&bench, &volume, "s"), 0);
    ck_assert_int_eq(stat(bench_path(&bench, "volumes/unmanaged-s"), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    ck_assert_uint_eq(list(&bench, NULL).count, 0);
}
END_TEST

/* ---- in the volume's own chain ---- */

#define CHAIN_OPEN(bench, volume)                                       \
    do {                                                                \
        BENCH_OPEN(bench, &file_driver, "file_snapshot_overlays=true"); \
        ck_assert_int_eq(bench_create(bench, volume), 0);               \
        make(bench, volume, "a");                                       \
        make(bench, volume, "b");                                       \
    } while (0)

START_TEST(an_unrecorded_snapshot_is_named_by_its_overlay) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_candidate found;

    CHAIN_OPEN(&bench, &volume);
    ck_assert_int_eq(look(&bench, &volume, "c", FILE_NAME ".a", &found), 0);
    ck_assert_str_eq(found.name_id, "a"); /* whether that is one, the caller knows */
    ck_assert_int_eq(found.bytes, GIB);
    ck_assert_int_eq(take_found(&bench, &volume, "c", &found), 0);
    ck_assert_uint_eq(list(&bench, "a").count, 0);
    ck_assert_uint_eq(list(&bench, "c").count, 1);
    ck_assert_uint_eq(list(&bench, NULL).count, 2);
    ck_assert(bench_has(&bench, "volumes/" FILE_NAME ".a"));
    /* Of two that have looked one is too late. */
    ck_assert_int_eq(take_found(&bench, &volume, "d", &found), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(look(&bench, &volume, "d", FILE_NAME ".a", &found), 0);
    ck_assert_str_eq(found.name_id, "c");
    /* And done again it does nothing. */
    ck_assert_int_eq(manage(&bench, &volume, "c", FILE_NAME ".a"), 0);
    ck_assert_uint_eq(list(&bench, NULL).count, 2);
}
END_TEST

START_TEST(a_file_outside_the_chain_is_refused) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_candidate found;

    CHAIN_OPEN(&bench, &volume);
    ck_assert_int_eq(look(&bench, &volume, "c", FILE_NAME, &found), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(look(&bench, &volume, "c", FILE_NAME ".x", &found), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    /* Another volume's, an image that is none of the chain's, and keys that are no snapshots. */
    put_info(&bench, "{\"active\": \"" FILE_NAME ".b\", \"a\": \"" FILE_NAME ".x\", "
                     "\"b\": \"volume-other.b\", \"merging\": \"" FILE_NAME ".b\"}");
    ck_assert_int_eq(look(&bench, &volume, "c", FILE_NAME ".x", &found), -1);
    ck_assert_int_eq(look(&bench, &volume, "c", "volume-other.b", &found), -1);
    ck_assert_int_eq(look(&bench, &volume, "c", FILE_NAME ".b", &found), -1);
    ck_assert(bench_has(&bench, "volumes/" FILE_NAME ".a"));
    ck_assert(bench_has(&bench, "volumes/" FILE_NAME ".b"));
}
END_TEST

/* An unmanaged snapshot is a part of the volume: neither goes without the other. */
START_TEST(an_unmanaged_snapshot_is_not_deleted_with_its_volume) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    CHAIN_OPEN(&bench, &volume);
    ck_assert_int_eq(let_go(&bench, &volume, "a"), 0);
    ck_assert_int_eq(let_go(&bench, &volume, "a"), 0);
    ck_assert_uint_eq(list(&bench, NULL).count, 1);
    ck_assert_int_eq(bench_delete(&bench, &volume), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "unmanaged snapshot"));
    ck_assert(bench_has(&bench, "volumes/" FILE_NAME));
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    ck_assert_int_eq(manage(&bench, &volume, "c", FILE_NAME ".a"), 0);
    ck_assert_uint_eq(list(&bench, "c").count, 1);
    ck_assert_int_eq(bench_delete(&bench, &volume), 0);
    ck_assert(!bench_has(&bench, "volumes/" FILE_NAME));
}
END_TEST

/* Only the one on top can be reverted to; a request for another one changes nothing. */
START_TEST(a_volume_goes_back_to_one_that_was_taken_over) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    CHAIN_OPEN(&bench, &volume);
    for (int top = 0; top <= 1; top++) {
        const char *id = top ? "d" : "c";
        struct driver_snapshot snapshot = named(id);

        ck_assert_int_eq(manage(&bench, &volume, id, top ? FILE_NAME ".b" : FILE_NAME ".a"), 0);
        snapshot.format = volume.format;
        snapshot.provider_location = volume.provider_location;
        ck_assert_int_eq(file_driver.revert_volume(bench.handle, bench.arena, &volume, &snapshot,
                                                   NULL, &bench.err),
                         top - 1);
        if (!top)
            ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    }
}
END_TEST

/* The exchange with its successor gives the replaced info the name of a draft. */
START_TEST(a_replaced_info_of_a_dead_worker_is_removed_by_the_next_one) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    CHAIN_OPEN(&bench, &volume);
    ck_assert_int_eq(manage(&bench, &volume, "c", FILE_NAME ".a"), 0);
    put(&bench, "." FILE_NAME ".info.new", "{}");
    ck_assert_int_eq(manage(&bench, &volume, "c", FILE_NAME ".a"), 0);
    ck_assert(!bench_has(&bench, "volumes/." FILE_NAME ".info.new"));
    ck_assert_int_eq(let_go(&bench, &volume, "c"), 0);
    put(&bench, "." FILE_NAME ".info.new", "{}");
    ck_assert_int_eq(let_go(&bench, &volume, "c"), 0);
    ck_assert(!bench_has(&bench, "volumes/." FILE_NAME ".info.new"));
    ck_assert_uint_eq(list(&bench, NULL).count, 1);
}
END_TEST

START_TEST(a_worker_without_its_lease_changes_nothing) {
    static const struct driver_fence none = { .holds = never_holds };
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    CHAIN_OPEN(&bench, &volume);
    fence = &none;
    ck_assert_int_eq(manage(&bench, &volume, "c", FILE_NAME ".a"), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(let_go(&bench, &volume, "a"), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    fence = NULL;
    ck_assert_uint_eq(list(&bench, "a").count, 1);
    ck_assert_uint_eq(list(&bench, NULL).count, 2);
}
END_TEST

CHECK_MAIN("existing snapshots", links_and_parts_of_other_images_are_refused,
           a_file_open_in_a_guest_is_refused, a_managed_file_gets_only_another_name,
           an_unrecorded_snapshot_is_named_by_its_overlay, a_file_outside_the_chain_is_refused,
           an_unmanaged_snapshot_is_not_deleted_with_its_volume,
           a_volume_goes_back_to_one_that_was_taken_over,
           a_replaced_info_of_a_dead_worker_is_removed_by_the_next_one,
           a_worker_without_its_lease_changes_nothing)
