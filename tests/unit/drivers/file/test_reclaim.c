#include "drivers/file/image_punch.h"
#include "drivers/file/volume_file.h"

#include "common/image_lock.h"
#include "tests/unit/drivers/driver_test.h"
#include "tests/unit/drivers/xfs.h"

#include <stdlib.h>

#define MIB (INT64_C(1) << 20)
#define KIB (INT64_C(1) << 10)

/* ---- files ---- */

static const char *in(const struct bench *bench, const char *name) {
    return bench_path(bench, name);
}

static int open_file(const struct bench *bench, const char *name) {
    int fd = open(in(bench, name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void put(int fd, int byte, int64_t from, int64_t size) {
    autofree char *bytes = malloc((size_t)size);

    for (int64_t i = 0; i < size; i++)
        bytes[i] = (char)(byte ? byte + i % 7 : 0);
    ck_assert_int_eq(pwrite(fd, bytes, (size_t)size, from), size);
}

static int64_t usage(const struct bench *bench, const char *name) {
    autoclose int fd = open_file(bench, name);
    int64_t bytes;

    ck_assert_int_eq(image_get_usage(fd, &bytes, NULL), 0);
    return bytes;
}

static void copy(const struct bench *bench, const char *from, const char *to) {
    ck_assert_int_eq(
        BENCH_RUN("cp", "--sparse=never", "--reflink=never", in(bench, from), in(bench, to)), 0);
}

static void assert_same(const struct bench *bench, const char *one, const char *other) {
    ck_assert_int_eq(BENCH_RUN("cmp", in(bench, one), in(bench, other)), 0);
}

static int reclaim_file(struct bench *bench, const char *name, bool qcow2) {
    const struct image_punch how = { .qcow2 = qcow2 };
    autoclose int fd = open_file(bench, name);

    bench->err = (struct error){ .kind = ERROR_NONE };
    return image_punch(fd, &how, &bench->err);
}

static void assert_reclaimed(struct bench *bench, const char *name, bool qcow2) {
    ck_assert_msg(reclaim_file(bench, name, qcow2) == 0, "%s", bench->err.message);
}

/* The reclaimed part of `before` of `name`, beside the result of the best tool. */
static void assert_freed(const struct bench *bench, int64_t before, const char *name,
                         const char *best) {
    int64_t freed = before - usage(bench, name), possible = before - usage(bench, best);

    ck_assert_int_gt(possible, MIB);
    ck_assert_msg(freed * 100 >= possible * 95, "%jd of %jd", (intmax_t)freed, (intmax_t)possible);
}

/* ---- raw ---- */

/* Zeros of all lengths, also at both ends, between data of all lengths. */
static void fill_raw(const struct bench *bench, const char *name) {
    autoclose int fd = open_file(bench, name);
    int64_t at = 128 * KIB, zeros = 16 * KIB;

    put(fd, 0, 0, at);
    while (at < 24 * MIB) {
        put(fd, 'a', at, zeros / 3 + 5000);
        at += zeros / 3 + 5000;
        put(fd, 0, at, zeros);
        at += zeros;
        zeros = zeros > 4 * MIB ? 16 * KIB : zeros * 2;
    }
    ck_assert_int_eq(ftruncate(fd, at + 10 * MIB + 123), 0);
    put(fd, 'z', at + 8 * MIB, 10000);
    put(fd, 0, at + 10 * MIB - 90 * KIB, 90 * KIB + 123);
    ck_assert_int_eq(fsync(fd), 0);
}

START_TEST(zeros_of_a_raw_file_are_reclaimed) {
    autobench struct bench bench;
    int64_t before;

    bench_new(&bench);
    fill_raw(&bench, "raw");
    copy(&bench, "raw", "was");
    copy(&bench, "raw", "best");
    before = usage(&bench, "raw");
    ck_assert_int_eq(BENCH_RUN("fallocate", "-d", in(&bench, "best")), 0);
    assert_reclaimed(&bench, "raw", false);
    assert_same(&bench, "raw", "was");
    /* It began sparse, and the copy did not. */
    ck_assert_int_le(usage(&bench, "raw"),
                     usage(&bench, "best") + (before - usage(&bench, "best")) / 20);
    before = usage(&bench, "raw");
    assert_reclaimed(&bench, "raw", false);
    ck_assert_int_eq(usage(&bench, "raw"), before);
    assert_same(&bench, "raw", "was");
}
END_TEST

/* Blocks that were taken and never written hold nothing either. */
START_TEST(unwritten_space_is_reclaimed) {
    autobench struct bench bench;
    autoclose int fd = -1;

    bench_new(&bench);
    fd = open_file(&bench, "raw");
    ck_assert_int_eq(fallocate(fd, 0, 0, 64 * MIB), 0);
    put(fd, 'a', 10 * MIB, MIB);
    assert_reclaimed(&bench, "raw", false);
    ck_assert_int_lt(usage(&bench, "raw"), 2 * MIB);
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), 64 * MIB);
}
END_TEST

/* An inch of zeros between data is not worth an extent. */
START_TEST(a_file_is_not_cut_into_pieces) {
    autobench struct bench bench;
    autoclose int fd = -1;
    int64_t before;

    bench_new(&bench);
    fd = open_file(&bench, "raw");
    put(fd, 'a', 0, 4 * MIB);
    for (int64_t at = 64 * KIB; at < 4 * MIB - 64 * KIB; at += 64 * KIB)
        put(fd, 0, at, 8 * KIB);
    before = usage(&bench, "raw");
    assert_reclaimed(&bench, "raw", false);
    ck_assert_int_eq(usage(&bench, "raw"), before);
}
END_TEST

/* ---- qcow2 ---- */

static void qemu_io(const struct bench *bench, const char *name, const char *command) {
    ck_assert_msg(
        BENCH_RUN("qemu-io", "-f", "qcow2", "-d", "unmap", "-c", command, in(bench, name)) == 0,
        "%s", command);
}

static void make_qcow2(const struct bench *bench, const char *name, const char *options) {
    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-o", options, in(bench, name), "48M"),
        0);
}

/* Data, zeros that were written, clusters that are flagged zero with something in them, and such
 * that were freed while the file kept them (`discard`). */
static void fill_qcow2(const struct bench *bench, const char *name, const char *discard) {
    static const char *const commands[] = { "write -P 17 0 10M", "write -P 0 2M 3M",
                                            "write -P 18 15M 10M", "write -z 16M 4M",
                                            "write -P 19 30M 8M" };

    for (size_t i = 0; i < LENGTH(commands); i++)
        qemu_io(bench, name, commands[i]);
    ck_assert_int_eq(
        BENCH_RUN("qemu-io", "-f", "qcow2", "-d", discard, "-c", "discard 31M 5M", in(bench, name)),
        0);
}

static bool is_same_image(const struct bench *bench, const char *one, const char *other) {
    return BENCH_RUN("qemu-img", "compare", "-f", "qcow2", "-F", "qcow2", in(bench, one),
                     in(bench, other)) == 0;
}

static void assert_image_reclaimed(struct bench *bench, const char *name) {
    int64_t before = usage(bench, name);

    copy(bench, name, "was");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "convert", "-f", "qcow2", "-O", "qcow2", in(bench, name),
                               in(bench, "best")),
                     0);
    assert_reclaimed(bench, name, true);
    ck_assert(is_same_image(bench, name, "was"));
    ck_assert_int_eq(BENCH_RUN("qemu-img", "check", "-f", "qcow2", in(bench, name)),
                     BENCH_RUN("qemu-img", "check", "-f", "qcow2", in(bench, "was")));
    assert_freed(bench, before, name, "best");
}

START_TEST(a_reclaimed_image_is_as_small_as_a_fresh_copy) {
    static const char *const options[] = {
        "compat=1.1",
        "compat=1.1,preallocation=metadata",
        "compat=0.10",
        "cluster_size=4k",
        "cluster_size=2M",
        "refcount_bits=1",
        "compat=1.1,preallocation=falloc",
    };

    for (size_t i = WALK_FIRST; i < LENGTH(options); i += WALK_STEP) {
        autobench struct bench bench;

        bench_new(&bench);
        make_qcow2(&bench, "image", options[i]);
        fill_qcow2(&bench, "image", "unmap");
        assert_image_reclaimed(&bench, "image");
        /* Later writes of a guest find their place. */
        qemu_io(&bench, "image", "write -P 33 1M 40M");
        qemu_io(&bench, "image", "read -P 33 1M 40M");
        ck_assert_int_eq(BENCH_RUN("qemu-img", "check", "-f", "qcow2", in(&bench, "image")), 0);
    }
}
END_TEST

/* The program leaves freed clusters in the file when discards do not pass to the layer below: whole
 * clusters of old data that no table refers to any more. */
START_TEST(unreferenced_clusters_are_reclaimed) {
    autobench struct bench bench;
    autoclose int fd = -1;
    int64_t before;

    bench_new(&bench);
    make_qcow2(&bench, "image", "compat=1.1");
    qemu_io(&bench, "image", "write -P 17 0 4M");
    fd = open_file(&bench, "image");
    put(fd, 'x', lseek(fd, 0, SEEK_END) / MIB * MIB + MIB, 16 * MIB);
    before = usage(&bench, "image");
    assert_image_reclaimed(&bench, "image");
    ck_assert_int_le(usage(&bench, "image"), before - 15 * MIB);
}
END_TEST

START_TEST(compressed_clusters_stay) {
    autobench struct bench bench;

    bench_new(&bench);
    make_qcow2(&bench, "plain", "compat=1.1");
    fill_qcow2(&bench, "plain", "unmap");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "convert", "-c", "-f", "qcow2", "-O", "qcow2",
                               in(&bench, "plain"), in(&bench, "image")),
                     0);
    qemu_io(&bench, "image", "write -P 0 0 1M");
    copy(&bench, "image", "was");
    assert_reclaimed(&bench, "image", true);
    ck_assert(is_same_image(&bench, "image", "was"));
    ck_assert_int_eq(BENCH_RUN("qemu-img", "check", "-f", "qcow2", in(&bench, "image")), 0);
}
END_TEST

/* Unknown parts of an image may belong to another program: only zeros go. */
START_TEST(unknown_image_features_keep_every_byte) {
    autobench struct bench bench;

    bench_new(&bench);
    make_qcow2(&bench, "image", "compat=1.1");
    qemu_io(&bench, "image", "write -P 17 0 10M");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "snapshot", "-c", "kept", in(&bench, "image")), 0);
    fill_qcow2(&bench, "image", "unmap");
    copy(&bench, "image", "was");
    assert_reclaimed(&bench, "image", true);
    assert_same(&bench, "image", "was");
    for (unsigned change = 0; change < 24; change++) {
        autoclose int fd = -1;
        unsigned char byte;
        const off_t at = 4 + (off_t)(change * 29 % 108);

        make_qcow2(&bench, "other", "compat=1.1");
        qemu_io(&bench, "other", "write -P 17 0 2M");
        fd = open_file(&bench, "other");
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte = (unsigned char)(byte ^ 1 << change % 8);
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        copy(&bench, "other", "was");
        reclaim_file(&bench, "other", true);
        /* A header with other positions of the tables. */
        if (BENCH_RUN("qemu-img", "check", "-f", "qcow2", in(&bench, "was")) != 0)
            continue;
        ck_assert_msg(is_same_image(&bench, "other", "was"), "change %u", change);
    }
}
END_TEST

/* ---- volumes ---- */

struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    struct driver_volume volume;
};

static void close_place(struct place *place) {
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

static void open_place(struct place *place, bool qcow2) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .volume = A_VOLUME };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    place->settings.qcow2 = qcow2;
    ck_assert_int_eq(directory_open(bench->path, &place->settings, &place->directory, &bench->err),
                     0);
    ck_assert_int_eq(volume_file_create(&place->directory, bench->arena, &place->volume,
                                        &place->volume.format, &bench->err),
                     0);
}

static int reclaim(struct place *place) {
    place->bench.err = (struct error){ .kind = ERROR_NONE };
    return volume_file_reclaim(&place->directory, place->bench.arena, &place->volume, NULL,
                               &place->bench.err);
}

static void assert_refused(struct place *place, enum error_kind kind) {
    int64_t before = usage(&place->bench, FILE_NAME);

    ck_assert_int_eq(reclaim(place), -1);
    ck_assert_int_eq(place->bench.err.kind, kind);
    ck_assert_int_eq(usage(&place->bench, FILE_NAME), before);
}

/* An overlay's zeros hide the data below, whether they are written or flagged. */
START_TEST(zeros_above_another_image_keep_hiding_it) {
    static const char *const commands[] = { "write -P 0 0 8M", "write -z 16M 8M",
                                            "write -P 9 32M 8M", "discard 33M 4M" };
    autoplace struct place place;
    struct bench *bench = &place.bench;
    const char *overlay = FILE_NAME ".s";

    open_place(&place, false);
    {
        autoclose int fd = open_file(bench, FILE_NAME);

        put(fd, 'b', 0, 64 * MIB);
    }
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-b", FILE_NAME, "-F",
                               "raw", in(bench, overlay)),
                     0);
    bench_write(bench, FILE_NAME ".info",
                "{\"active\": \"" FILE_NAME ".s\", \"s\": \"" FILE_NAME ".s\"}", 0600);
    for (size_t i = 0; i < LENGTH(commands); i++)
        qemu_io(bench, overlay, commands[i]);
    copy(bench, FILE_NAME, "below");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "convert", "-f", "qcow2", "-O", "raw",
                               in(bench, overlay), in(bench, "was")),
                     0);
    ck_assert_msg(reclaim(&place) == 0, "%s", bench->err.message);
    ck_assert_int_eq(BENCH_RUN("qemu-img", "convert", "-f", "qcow2", "-O", "raw",
                               in(bench, overlay), in(bench, "is")),
                     0);
    assert_same(bench, "is", "was");
    assert_same(bench, FILE_NAME, "below");
    ck_assert_int_lt(usage(bench, overlay), 10 * MIB);
}
END_TEST

START_TEST(a_volume_in_a_guest_is_left_alone) {
    for (int qcow2 = 0; qcow2 <= 1; qcow2++) {
        autoplace struct place place;
        autoclose int fd = -1;

        open_place(&place, qcow2);
        fd = open_file(&place.bench, FILE_NAME);
        place.volume.attached = true;
        assert_refused(&place, ERROR_CONFLICT);
        place.volume.attached = false;
        ck_assert_int_eq(image_lock(fd, &place.bench.err), IMAGE_LOCKED);
        assert_refused(&place, ERROR_CONFLICT);
    }
}
END_TEST

static const char *tried;
static int opened;
static bool try_to_write(const struct driver_fence *fence) {
    (void)fence;
    opened = BENCH_RUN("qemu-io", "-f", "raw", "-c", "write -P 5 0 64k", tried);
    return true;
}

/* Called in the middle: a guest that starts meanwhile is refused by QEMU itself. */
START_TEST(an_image_is_locked_against_writers_during_a_reclaim) {
    const struct driver_fence fence = { .holds = try_to_write };
    const struct image_punch how = { .fence = &fence };
    autoplace struct place place;
    autoclose int fd = -1;

    open_place(&place, false);
    fd = open_file(&place.bench, FILE_NAME);
    put(fd, 0, 0, 8 * MIB);
    tried = in(&place.bench, FILE_NAME);
    ck_assert_int_eq(image_lock_still(fd, &place.bench.err), IMAGE_LOCKED);
    opened = -1;
    ck_assert_int_eq(image_punch(fd, &how, &place.bench.err), 0);
    ck_assert_int_eq(opened, 1);
}
END_TEST

START_TEST(space_of_thick_volumes_is_not_reclaimed) {
    autoplace struct place place;

    open_place(&place, false);
    place.settings.sparse = false;
    assert_refused(&place, ERROR_BAD_REQUEST);
    place.settings.sparse = true;
    place.directory.locks_trusted = false;
    assert_refused(&place, ERROR_BAD_REQUEST);
    place.directory.locks_trusted = true;
    ck_assert_int_eq(reclaim(&place), 0);
}
END_TEST

/* Files share blocks there. */
START_TEST(a_snapshot_keeps_the_blocks_that_it_shares) {
    if (!xfs_enter())
        return;
    for (int qcow2 = 0; qcow2 <= 1; qcow2++) {
        autoplace struct place place;
        struct bench *bench = &place.bench;

        open_place(&place, qcow2);
        if (qcow2)
            fill_qcow2(bench, FILE_NAME, "ignore");
        else
            fill_raw(bench, FILE_NAME);
        copy(bench, FILE_NAME, "was");
        ck_assert_int_eq(
            BENCH_RUN("cp", "--reflink=always", in(bench, FILE_NAME), in(bench, "snapshot")), 0);
        ck_assert_int_eq(reclaim(&place), 0);
        assert_same(bench, "snapshot", "was");
        if (qcow2)
            ck_assert(is_same_image(bench, FILE_NAME, "was"));
        else
            assert_same(bench, FILE_NAME, "was");
        ck_assert_int_lt(usage(bench, FILE_NAME), usage(bench, "snapshot"));
    }
}
END_TEST

CHECK_MAIN("reclaim", zeros_of_a_raw_file_are_reclaimed, unwritten_space_is_reclaimed,
           a_file_is_not_cut_into_pieces, a_reclaimed_image_is_as_small_as_a_fresh_copy,
           unreferenced_clusters_are_reclaimed, compressed_clusters_stay,
           unknown_image_features_keep_every_byte, zeros_above_another_image_keep_hiding_it,
           a_volume_in_a_guest_is_left_alone, an_image_is_locked_against_writers_during_a_reclaim,
           space_of_thick_volumes_is_not_reclaimed, a_snapshot_keeps_the_blocks_that_it_shares)
