#include "drivers/file/metadata_order.h"

#include "tests/lib/small_disk.h"
#include "tests/unit/drivers/driver_test.h"

typedef bool property_of(int fd);

static bool order_kept(int fd) {
    return metadata_order_of(fd).kept;
}

static bool unnamed_kept(int fd) {
    return metadata_order_of(fd).unnamed;
}

static bool kept(const char *path, property_of *property) {
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return property(fd);
}

/* -1: not possible here. */
static int kept_by(property_of *property, const char *program, const char *option,
                   const char *value) {
    autobench struct bench bench;
    const char *image, *point;
    autoclose int fd = -1;
    int result;

    bench_new(&bench);
    image = bench_path(&bench, "image");
    point = bench_path(&bench, "point");
    fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert(fd >= 0 && ftruncate(fd, GIB) == 0 && mkdir(point, 0700) == 0);
    if (!own_mounts() || BENCH_RUN(program, "-q", option, value, image) != 0 ||
        BENCH_RUN("mount", "-o", "loop", image, point) != 0) {
        fputs("not tested: file systems need root, their programs and loop devices\n", stderr);
        return -1;
    }
    result = kept(point, property);
    ck_assert_int_eq(umount(point), 0);
    return result;
}

START_TEST(a_journal_keeps_the_order) {
    ck_assert_int_ne(kept_by(order_kept, "mkfs.ext4", "-O", "has_journal"), 0);
    ck_assert_int_ne(kept_by(order_kept, "mkfs.ext4", "-O", "has_journal,fast_commit"), 0);
    ck_assert_int_ne(kept_by(order_kept, "mkfs.ext4", "-t", "ext3"), 0);
    ck_assert_int_ne(kept_by(order_kept, "mkfs.xfs", "-b", "size=4096"), 0);
}
END_TEST

START_TEST(a_file_system_without_a_journal_keeps_no_order) {
    ck_assert_int_ne(kept_by(order_kept, "mkfs.ext4", "-O", "^has_journal"), 1);
    ck_assert_int_ne(kept_by(order_kept, "mkfs.ext4", "-t", "ext2"), 1);
}
END_TEST

START_TEST(a_file_may_be_made_without_a_name_where_its_first_name_keeps_it) {
    ck_assert_int_ne(kept_by(unnamed_kept, "mkfs.ext4", "-O", "^has_journal"), 0);
    ck_assert_int_ne(kept_by(unnamed_kept, "mkfs.xfs", "-b", "size=4096"), 0);
    ck_assert_int_ne(kept_by(unnamed_kept, "mkfs.ext4", "-O", "has_journal"), 1);
    ck_assert_int_ne(kept_by(unnamed_kept, "mkfs.ext4", "-O", "has_journal,fast_commit"), 1);
}
END_TEST

START_TEST(of_other_file_systems_nothing_is_known) {
    autobench struct bench bench;

    bench_new(&bench);
    ck_assert(!kept("/proc", order_kept) && !kept("/proc", unnamed_kept));
    if (small_disk(bench.path, "size=1m"))
        ck_assert(!kept(bench.path, order_kept) && !kept(bench.path, unnamed_kept));
    ck_assert(!order_kept(-1) && !unnamed_kept(-1));
}
END_TEST

CHECK_MAIN("metadata_order", a_journal_keeps_the_order,
           a_file_system_without_a_journal_keeps_no_order,
           a_file_may_be_made_without_a_name_where_its_first_name_keeps_it,
           of_other_file_systems_nothing_is_known)
