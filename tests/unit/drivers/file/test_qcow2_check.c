/*
 * Which qcow2 images of unknown origin may become volumes: each damage is found, and none is taken
 * that QEMU does not open.
 */
#include "data/qcow2_check.h"
#include "tests/unit/drivers/driver_test.h"

#define IMAGE        "image.qcow2"
#define HEADER_BYTES 112

static const char *image(const struct bench *bench) {
    return bench_path(bench, IMAGE);
}

/* A new image, made with these options of qemu-img. */
static void make(struct bench *bench, const char *options) {
    unlink(image(bench));
    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-o", options, image(bench), "1G"), 0);
}

static void change(const struct bench *bench, off_t at, const void *bytes, size_t size) {
    autoclose int fd = open(image(bench), O_WRONLY | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, bytes, size, at), (ssize_t)size);
}

static const char *checked(const struct bench *bench) {
    autoclose int fd = open(image(bench), O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return qcow2_check(fd, true);
}

START_TEST(images_of_qemu_may_be_taken_over_whatever_their_options) {
    static const char *const options[] = {
        "compat=0.10",
        "compat=1.1",
        "cluster_size=512",
        "cluster_size=2M",
        "extended_l2=on",
        "compression_type=zstd",
        "lazy_refcounts=on",
        "refcount_bits=1",
        "refcount_bits=64",
        "preallocation=metadata",
        "cluster_size=4k,preallocation=metadata,extended_l2=off",
    };
    autobench struct bench bench;

    bench_new(&bench);
    for (size_t i = 0; i < LENGTH(options); i++) {
        const char *why;

        make(&bench, options[i]);
        why = checked(&bench);
        ck_assert_msg(!why, "%s: %s", options[i], why);
        ck_assert_int_eq(BENCH_RUN("qemu-io", "-f", "qcow2", "-c", "write -q 0 1M", "-c",
                                   "write -q 700M 1M", image(&bench)),
                         0);
        if (!strstr(options[i], "0.10"))
            ck_assert_int_eq(
                BENCH_RUN("qemu-img", "bitmap", "-f", "qcow2", "--add", image(&bench), "b"), 0);
        why = checked(&bench);
        ck_assert_msg(!why, "%s, written to: %s", options[i], why);
    }
}
END_TEST

START_TEST(each_damage_of_an_image_is_found_and_named) {
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        off_t at;
        const char *bytes;
        size_t size;
        const char *why;
    } cases[] = {
        { 0, BYTES("QFI"), NULL },
        { 0, BYTES("qfi"), "is no qcow2 image" },
        { 4, BYTES("\0\0\0\1"), "version" },
        { 4, BYTES("\0\0\0\4"), "version" },
        { 8, BYTES("\0\0\0\0\0\0\1\0"), "needs other files" },
        { 20, BYTES("\0\0\0\x08"), "cluster size" },
        { 20, BYTES("\0\0\0\x16"), "cluster size" },
        { 20, BYTES("\0\0\0\x0f"), "too small for its size" },
        { 24, BYTES("\x7f\xff\xff\xff\xff\xff\xfe\0"), "too small for its size" },
        { 24, BYTES("\xff\xff\xff\xff\xff\xff\xfe\0"), "impossible size" },
        { 24, BYTES("\0\0\0\0\0\0\0\1"), "impossible size" },
        { 24, BYTES("\0\0\0\0\0\0\0\0"), "is empty" },
        { 32, BYTES("\0\0\0\1"), "is encrypted" },
        { 32, BYTES("\0\0\0\2"), "is encrypted" },
        { 32, BYTES("\0\0\0\7"), "is encrypted" },
        { 36, BYTES("\x7f\xff\xff\xff"), "table" },
        { 36, BYTES("\0\0\0\1"), "too small for its size" },
        { 40, BYTES("\0\0\0\0\0\0\0\0"), "table" },
        { 40, BYTES("\0\0\0\0\0\3\0\x08"), "table" },
        { 40, BYTES("\0\0\0\0\0\1\0\0"), "table" }, /* that of the reference counts */
        { 40, BYTES("\x7f\xff\xff\xff\xff\xff\0\0"), "table" },
        { 40, BYTES("\0\0\0\0\x7f\xff\0\0"), "table" },
        { 48, BYTES("\0\0\0\0\0\0\0\0"), "table" },
        { 48, BYTES("\0\0\0\0\0\0\2\0"), "table" },
        { 48, BYTES("\xff\xff\xff\xff\xff\xff\0\0"), "table" },
        { 56, BYTES("\0\0\0\0"), "table" },
        { 56, BYTES("\xff\xff\xff\xff"), "table" },
        { 60, BYTES("\0\0\0\1"), "snapshots" },
        { 64, BYTES("\0\0\0\0\0\0\2\0"), "table" },
        { 64, BYTES("\xff\xff\xff\xff\xff\xff\0\0"), "table" },
        { 72, BYTES("\x80"), "not supported" },
        { 79, BYTES("\1"), "was not closed" },
        { 79, BYTES("\2"), "corrupt" },
        { 79, BYTES("\4"), "needs other files" },
        { 79, BYTES("\x08"), "not supported" }, /* a compression that is not named */
        { 79, BYTES("\x20"), "not supported" },
        { 95, BYTES("\2"), "needs other files" },
        { 96, BYTES("\0\0\0\7"), "reference count" },
        { 100, BYTES("\0\0\0\x48"), "header" },
        { 100, BYTES("\0\1\0\1"), "header" },
        { 100, BYTES("\xff\xff\xff\xf8"), "header" },
        { 104, BYTES("\1"), "not supported" }, /* named without its bit */
        { 112, BYTES("\xe2\x79\x2a\xca\0\0\0\x10"), "extension" },
        { 112, BYTES("\x05\x37\xbe\x77\0\0\0\x10"), "is encrypted" },
        { 112, BYTES("DATA\0\0\0\4file"), "needs other files" },
        { 112, BYTES("\x23\x85\x28\x75\0\0\0\x10"), "extension" },
        { 112, BYTES("\x23\x85\x28\x75\0\0\0\x18\xff\xff\xff\xff"), "extension" },
        { 112, BYTES("ABCD\0\0\xff\xff"), "extension" },
        { 112, BYTES("ABCD\xff\xff\xff\xff"), "extension" },
        { 0x10000, BYTES("\0\0\0\0\x7f\xff\0\0"), "leads nowhere" },
        { 0x10000, BYTES("\0\0\0\0\0\0\0\1"), "leads nowhere" },
        { 0x30000, BYTES("\x80\0\0\0\x7f\xff\0\0"), "leads nowhere" },
        { 0x30008, BYTES("\x40\0\0\0\0\2\0\0"), "leads nowhere" },
        { 0x30008, BYTES("\0\0\0\0\0\2\x80\0"), "leads nowhere" },
    };
    autobench struct bench bench;

    bench_new(&bench);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *why;

        make(&bench, "compat=1.1");
        change(&bench, cases[i].at, cases[i].bytes, cases[i].size);
        why = checked(&bench);
        ck_assert_msg(cases[i].why ? why && strstr(why, cases[i].why) : !why, "%zu at %jd: %s", i,
                      (intmax_t)cases[i].at, why ? why : "taken");
    }
}
END_TEST

START_TEST(an_image_that_is_cut_off_is_refused) {
    autobench struct bench bench;

    bench_new(&bench);
    for (off_t size = 0; size < 0x30010; size += size < HEADER_BYTES ? 8 : 0x4000) {
        make(&bench, "compat=1.1");
        ck_assert_int_eq(truncate(image(&bench), size), 0);
        ck_assert_msg(checked(&bench), "%jd bytes", (intmax_t)size);
    }
}
END_TEST

static size_t image_bytes(const struct bench *bench, unsigned char *bytes, size_t space) {
    autoclose int fd = open(image(bench), O_RDONLY | O_CLOEXEC);
    ssize_t got = pread(fd, bytes, space, 0);

    ck_assert_int_gt(got, HEADER_BYTES);
    ck_assert_int_lt(got, (ssize_t)space);
    return (size_t)got;
}

static void put_image(const struct bench *bench, const unsigned char *bytes, size_t size) {
    autoclose int fd = open(image(bench), O_WRONLY | O_TRUNC | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
}

/* Every byte of the header, with one bit turned or all of them. */
START_TEST(no_image_is_taken_over_that_qemu_does_not_open) {
    static const unsigned char masks[] = { 0x01, 0x80, 0xff };
    static unsigned char bytes[1 << 20];
    autobench struct bench bench;
    unsigned taken = 0;
    size_t size;

    bench_new(&bench);
    make(&bench, "compat=1.1");
    size = image_bytes(&bench, bytes, sizeof(bytes));
    for (unsigned i = WALK_FIRST; i < HEADER_BYTES * LENGTH(masks); i += WALK_STEP) {
        unsigned at = i / (unsigned)LENGTH(masks);
        unsigned char mask = masks[i % LENGTH(masks)];

        bytes[at] ^= mask;
        put_image(&bench, bytes, size);
        bytes[at] ^= mask;
        if (checked(&bench))
            continue;
        taken++;
        ck_assert_msg(BENCH_RUN("qemu-io", "-f", "qcow2", "-c", "read -q 0 512", image(&bench)) ==
                          0,
                      "byte %u with %02x turned", at, mask);
    }
    ck_assert(taken > 0 || !WALK_IS_WHOLE);
}
END_TEST

CHECK_MAIN("qcow2_check", images_of_qemu_may_be_taken_over_whatever_their_options,
           each_damage_of_an_image_is_found_and_named, an_image_that_is_cut_off_is_refused,
           no_image_is_taken_over_that_qemu_does_not_open)
