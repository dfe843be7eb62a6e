/*
 * The tables of an image that has dropped out of a chain, compared with those of the one that it
 * was merged with.
 */
#include "drivers/file/qcow2_use.h"

#include "tests/unit/drivers/driver_test.h"

#include <stdlib.h>

/* An image of 8 MiB, and the commands of qemu-io that fill it. */
struct image {
    const char *options; /* of qcow2; NULL: it is raw */
    const char *commands;
};

static void make(struct bench *bench, const char *name, const struct image *image) {
    const char *path = bench_path(bench, name), *format = image->options ? "qcow2" : "raw";
    const char *const fill = "[ -z \"$3\" ] || printf '%s\\n' \"$3\" | tr ',' '\\n' | "
                             "qemu-io -f \"$1\" \"$2\" >/dev/null";

    ck_assert_int_eq(
        image->options
            ? BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-o", image->options, path, "8M")
            : BENCH_RUN("qemu-img", "create", "-q", "-f", "raw", path, "8M"),
        0);
    ck_assert_int_eq(BENCH_RUN("sh", "-c", fill, "sh", format, path, image->commands), 0);
}

static int covers(struct bench *bench, const struct image *dropped, const struct image *heir,
                  bool committed) {
    autoclose int dropped_fd = -1, heir_fd = -1;
    int result;

    make(bench, "dropped", dropped);
    make(bench, "heir", heir);
    dropped_fd = open(bench_path(bench, "dropped"), O_RDONLY | O_CLOEXEC);
    heir_fd = open(bench_path(bench, "heir"), O_RDONLY | O_CLOEXEC);
    result = qcow2_use_covers(&(struct qcow2_merge){ .dropped = dropped_fd,
                                                     .heir = heir_fd,
                                                     .dropped_raw = !dropped->options,
                                                     .heir_raw = !heir->options,
                                                     .committed = committed },
                              &bench->err);
    ck_assert_msg(result >= 0, "%s", bench->err.message);
    return result;
}

#define KIB_64 "cluster_size=65536"

START_TEST(each_kind_of_cluster_needs_its_own) {
    static const struct {
        struct image dropped, heir;
        int pulled, committed;
    } cases[] = {
        { { KIB_64, "" }, { KIB_64, "" }, 1, 1 },
        { { KIB_64, "" }, { KIB_64, "write 1M 64k" }, 1, 1 },
        { { KIB_64, "write 1M 64k" }, { KIB_64, "" }, 0, 0 },
        { { KIB_64, "write 1M 64k" }, { KIB_64, "write 1M 64k" }, 1, 1 },
        { { KIB_64, "write 1M 64k" }, { KIB_64, "write 2M 64k" }, 0, 0 },
        { { KIB_64, "write 1M 128k" }, { KIB_64, "write 1M 64k" }, 0, 0 },
        /* the first and the last cluster */
        { { KIB_64, "write 0 1,write 8388607 1" }, { KIB_64, "write 0 1" }, 0, 0 },
        { { KIB_64, "write 0 1,write 8388607 1" }, { KIB_64, "write 0 1,write 8388607 1" }, 1, 1 },
        /* zeros */
        { { KIB_64, "write -z 1M 64k" }, { KIB_64, "" }, 0, 0 },
        { { KIB_64, "write -z 1M 64k" }, { KIB_64, "write -z 1M 64k" }, 1, 1 },
        { { KIB_64, "write -z 1M 64k" }, { KIB_64, "write -P 0 1M 64k" }, 1, 1 },
        { { KIB_64, "write -z 1M 64k" }, { KIB_64, "write -P 1 1M 64k" }, 1, 0 },
        { { KIB_64, "write 1M 64k" }, { KIB_64, "write -z 1M 64k" }, 1, 0 },
        /* compressed: a write in place is impossible */
        { { KIB_64, "write -c 1M 64k" }, { KIB_64, "" }, 0, 0 },
        { { KIB_64, "write -c 1M 64k" }, { KIB_64, "write 1M 64k" }, 1, 1 },
        { { KIB_64, "write 1M 64k" }, { KIB_64, "write -c 1M 64k" }, 1, 0 },
        /* other sizes of clusters */
        { { "cluster_size=4096", "write 1M 4k" }, { KIB_64, "write 1M 64k" }, 1, 1 },
        { { KIB_64, "write 1M 64k" }, { "cluster_size=4096", "write 1M 60k" }, 0, 0 },
        { { KIB_64, "write 1M 64k" }, { "cluster_size=4096", "write 1M 64k" }, 1, 1 },
        { { "cluster_size=2097152", "write 2M 1" }, { "cluster_size=4096", "write 2M 2M" }, 1, 1 },
        { { "cluster_size=2097152", "write 2M 1" },
          { "cluster_size=4096", "write 2M 2044k" },
          0,
          0 },
        { { "cluster_size=512", "write 4k 512" }, { KIB_64, "write 0 64k" }, 0, 0 },
        /* older images */
        { { "compat=0.10", "write 1M 64k" }, { "compat=0.10", "write 1M 64k" }, 1, 1 },
        { { "compat=0.10", "write 1M 64k" }, { "compat=0.10", "" }, 0, 0 },
        { { KIB_64, "write 1M 64k" }, { "lazy_refcounts=on", "write 1M 64k" }, 1, 1 },
        /* unknown parts */
        { { KIB_64, "" }, { "extended_l2=on", "" }, 0, 0 },
        { { "extended_l2=on", "" }, { KIB_64, "" }, 0, 0 },
        /* a raw file at the bottom */
        { { NULL, "write 1M 64k" }, { KIB_64, "" }, 0, -1 },
        { { NULL, "write 1M 64k" }, { KIB_64, "write 1M 64k" }, 1, -1 },
        { { NULL, "write 1M 68k" }, { KIB_64, "write 1M 64k" }, 0, -1 },
        { { NULL, "write -P 0 1M 64k" }, { KIB_64, "" }, 1, -1 },
        { { KIB_64, "write 1M 64k" }, { NULL, "" }, -1, 1 },
    };
    struct bench bench;

    bench_new(&bench);
    for (size_t i = 0; i < LENGTH(cases); i++)
        for (int committed = 0; committed <= 1; committed++) {
            int wanted = committed ? cases[i].committed : cases[i].pulled;

            if (wanted >= 0)
                ck_assert_msg(covers(&bench, &cases[i].dropped, &cases[i].heir, committed) ==
                                  wanted,
                              "%zu, %s: %d", i, committed ? "committed" : "pulled", wanted);
        }
    bench_close(&bench);
}
END_TEST

/* A table that leads nowhere proves nothing. */
START_TEST(no_damage_counts_as_a_proof) {
    static const struct image full = { KIB_64, "write 1M 64k" };
    static const struct {
        off_t from, size;
    } tables[] = { { 0, 112 }, { 3 << 16, 8 }, { 4 << 16, 256 } };
    struct bench bench;
    unsigned char bytes[5 << 16];
    int dropped, heir;

    bench_new(&bench);
    ck_assert_int_eq(covers(&bench, &full, &full, false), 1);
    dropped = open(bench_path(&bench, "dropped"), O_RDONLY | O_CLOEXEC);
    heir = open(bench_path(&bench, "heir"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pread(heir, bytes, sizeof(bytes), 0), sizeof(bytes));
    for (int cut = 0; cut <= 4; cut++) {
        const struct qcow2_merge merge = { .dropped = dropped, .heir = heir };

        ck_assert_int_eq(ftruncate(heir, (off_t)cut << 16), 0);
        ck_assert_int_eq(qcow2_use_covers(&merge, &bench.err), 0);
        ck_assert_int_eq(ftruncate(heir, 6 << 16), 0);
        ck_assert_int_eq(pwrite(heir, bytes, sizeof(bytes), 0), sizeof(bytes));
        ck_assert_int_eq(qcow2_use_covers(&merge, &bench.err), 1);
    }
    for (size_t i = 0; i < LENGTH(tables); i++)
        for (off_t at = tables[i].from; at < tables[i].from + tables[i].size; at++) {
            const struct qcow2_merge merge = { .dropped = dropped, .heir = heir };
            const unsigned char damaged = (unsigned char)~bytes[at];

            ck_assert_int_eq(pwrite(heir, &damaged, 1, at), 1);
            ck_assert_int_ge(qcow2_use_covers(&merge, &bench.err), 0);
            ck_assert_int_eq(pwrite(heir, &bytes[at], 1, at), 1);
        }
    close(dropped);
    close(heir);
    bench_close(&bench);
}
END_TEST

static bool refuse_fence(const struct driver_fence *fence) {
    (void)fence;
    return false;
}

START_TEST(a_lost_fence_ends_the_comparison) {
    static const struct image full = { KIB_64, "write 1M 64k" };
    const struct driver_fence fence = { .holds = refuse_fence };
    struct bench bench;
    autoclose int dropped = -1, heir = -1;

    bench_new(&bench);
    ck_assert_int_eq(covers(&bench, &full, &full, false), 1);
    dropped = open(bench_path(&bench, "dropped"), O_RDONLY | O_CLOEXEC);
    heir = open(bench_path(&bench, "heir"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(
        qcow2_use_covers(&(struct qcow2_merge){ .dropped = dropped, .heir = heir, .fence = &fence },
                         &bench.err),
        -1);
    bench_close(&bench);
}
END_TEST

CHECK_MAIN("tables of merged images", each_kind_of_cluster_needs_its_own,
           no_damage_counts_as_a_proof, a_lost_fence_ends_the_comparison)
