/*
 * Images of each format, made with qemu-img and then damaged: one format, the declared one, and
 * nothing that leads to another file.
 */
#include "data/image_inspect.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/process.h"
#include "tests/unit/data/image_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES(text) text, sizeof(text) - 1
#define SIZE        ((int64_t)8 << 20)

/* ---- images ---- */

/* A new one of that format of qemu-img; `options` may be NULL. */
static void make(const char *format, const char *options) {
    const char *arguments[] = { "qemu-img", "create", "-q", "-f",    format,
                                path,       "8M",     "-o", options, NULL };
    const struct process_limits limits = { .timeout_ms = 600000 };
    struct process_result result;
    struct error err = { 0 };

    if (!options)
        arguments[7] = NULL;
    unlink(path);
    ck_assert_msg(process_run(arena, arguments, &limits, &result, &err) == 0, "%s", err.message);
    ck_assert_int_eq(result.exit_status, 0);
}

static void put(const void *bytes, size_t size, off_t at) {
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, size, at), (ssize_t)size);
}

static void make_zeros(void) {
    unlink(path);
    put("", 1, SIZE - 1);
}

/* NULL, or the reason of the refusal. */
static const char *refusal_of(const char *declared, struct image_finding *ret) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct image_bytes image = { .fd = fd };
    struct error err = { 0 };
    struct stat status;

    ck_assert_int_eq(fstat(fd, &status), 0);
    image.size = status.st_size;
    if (image_inspect(&image, declared, ret, &err) == 0)
        return NULL;
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    return arena_format(arena, "%s", err.message);
}

static void assert_refused(const char *declared, const char *why) {
    struct image_finding finding;
    const char *refusal = refusal_of(declared, &finding);

    ck_assert_msg(refusal && strstr(refusal, why), "%s: %s instead of \"%s\"", declared,
                  refusal ? refusal : "accepted", why);
}

static void assert_accepted(const char *declared, const char *qemu_name) {
    struct image_finding finding;
    const char *refusal = refusal_of(declared, &finding);

    ck_assert_msg(!refusal, "%s: %s", declared, refusal);
    ck_assert_str_eq(finding.qemu_name, qemu_name);
    ck_assert_int_eq(finding.virtual_bytes, SIZE);
}

/* ---- recognition ---- */

/* The formats that qemu-img makes; it writes a VHD of other sizes than requested without the last
 * option. */
static const struct {
    const char *declared, *qemu_name, *options;
} made[] = {
    { "qcow2", "qcow2", "compat=0.10" },
    { "qcow2", "qcow2", "compat=1.1" },
    { "qcow2", "qcow2", "compression_type=zstd" },
    { "vmdk", "vmdk", NULL },
    { "vmdk", "vmdk", "subformat=streamOptimized" },
    { "vhd", "vpc", "subformat=dynamic,force_size=on" },
    { "vhdx", "vhdx", NULL },
    { "vdi", "vdi", NULL },
    { "vdi", "vdi", "static=on" },
    { "ploop", "parallels", NULL },
    { "ploop", "parallels", "cluster_size=65536" },
    { "raw", "raw", NULL },
};

START_TEST(images_are_recognized_as_their_declared_format_alone) {
    static const char *const declared[] = { "raw",  "qcow2", "vmdk",  "vhd",
                                            "vhdx", "vdi",   "ploop", "iso" };

    for (size_t i = 0; i < LENGTH(made); i++) {
        make(made[i].qemu_name, made[i].options);
        assert_accepted(made[i].declared, made[i].qemu_name);
        for (size_t k = 0; k < LENGTH(declared); k++)
            if (strcmp(declared[k], made[i].declared) != 0)
                assert_refused(declared[k], "disk_format");
    }
}
END_TEST

START_TEST(contents_are_copied_as_they_are) {
    static const char *const kernels[] = { "raw", "ami", "ari", "aki" };

    make_zeros();
    for (size_t i = 0; i < LENGTH(kernels); i++)
        assert_accepted(kernels[i], "raw");
    put(BYTES("CD001"), 32769);
    assert_accepted("iso", "raw");
    assert_accepted("raw", "raw");
    assert_refused("qcow2", "disk_format");
}
END_TEST

START_TEST(hybrid_discs_are_discs_and_nothing_else) {
    make_zeros();
    put(BYTES("CD001"), 32769);
    put(BYTES("\x80\0\1\0\x17\x3f\x20\0\0\0\0\0\0\x10\0\0"), 446);
    put(BYTES("\x55\xaa"), 510);
    assert_accepted("iso", "raw");
    assert_refused("raw", "more than one format");
}
END_TEST

START_TEST(images_of_two_formats_are_refused) {
    static const struct {
        const char *bytes;
        size_t size;
        off_t at;
    } others[] = {
        { BYTES("CD001"), 32769 },
        { BYTES("NSR03"), 32769 },
        { BYTES("\x55\xaa"), 510 },
        { BYTES("\x7f\x10\xda\xbe"), 64 },
    };

    for (size_t i = 0; i < LENGTH(others); i++) {
        make("qcow2", NULL);
        put(others[i].bytes, others[i].size, others[i].at);
        assert_refused("qcow2", "more than one format");
        assert_refused("raw", "more than one format");
        assert_refused("iso", "more than one format");
    }
}
END_TEST

START_TEST(declared_formats_are_known_or_not) {
    static const char *const unknown[] = { "parallels", "qed", "vpc", "RAW", "", "luks", "docker" };

    for (size_t i = 0; i < LENGTH(made); i++)
        ck_assert(image_format_is_known(made[i].declared));
    for (size_t i = 0; i < LENGTH(unknown); i++)
        ck_assert(!image_format_is_known(unknown[i]));
}
END_TEST

/* ---- damages ---- */

static const struct {
    const char *declared, *qemu_name, *options;
    off_t at;
    const char *bytes;
    size_t size;
    const char *why;
} damages[] = {
    { "qcow2", "qcow2", NULL, 8, BYTES("\0\0\0\0\0\0\1\0"), "needs other files" },
    { "qcow2", "qcow2", NULL, 79, BYTES("\4"), "needs other files" },
    { "qcow2", "qcow2", NULL, 79, BYTES("\x10"), "not supported" },
    { "qcow2", "qcow2", NULL, 79, BYTES("\x20"), "not supported" },
    { "qcow2", "qcow2", NULL, 4, BYTES("\0\0\0\4"), "version" },
    { "qcow2", "qcow2", NULL, 32, BYTES("\0\0\0\1"), "encrypted" },
    { "qcow2", "qcow2", NULL, 60, BYTES("\0\0\0\1"), "snapshots" },
    { "qcow2", "qcow2", NULL, 24, BYTES("\x7f\xff\xff\xff\xff\xff\xfe\0"), "too small" },
    { "qcow2", "qcow2", "extended_l2=on", 0, BYTES("QFI"), "not supported" },
    { "vmdk", "vmdk", NULL, 4, BYTES("\4"), "header" },
    { "vmdk", "vmdk", NULL, 12, BYTES("\0\0\0\0\0\0\0\0"), "header" },
    { "vmdk", "vmdk", NULL, 12, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "header" },
    { "vmdk", "vmdk", NULL, 28, BYTES("\2"), "header" },
    { "vmdk", "vmdk", NULL, 36, BYTES("\xff\xff\xff"), "header" },
    { "vmdk", "vmdk", NULL, 56, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "footer" },
    { "vmdk", "vmdk", NULL, 512, BYTES("nonsense without a sign\n"), "not understood" },
    { "vmdk", "vmdk", NULL, 512, BYTES("two words=1\n"), "not understood" },
    { "vmdk", "vmdk", NULL, 512, BYTES("parentCID=00000001\n"), "other files" },
    { "vmdk", "vmdk", NULL, 512, BYTES("parentFileNameHint=\"a\"\n"), "other files" },
    { "vmdk", "vmdk", NULL, 512, BYTES("#parentFileNameHint=\"a\"\n"), "other files" },
    { "vmdk", "vmdk", NULL, 512, BYTES("ddb.parentfilenamehint=\"a\"\n"), "other files" },
    { "vmdk", "vmdk", NULL, 512, BYTES("RW 1 FLAT \"a\" 0\n#"), "other files" },
    { "vmdk", "vmdk", NULL, 512, BYTES("RW 1 FLAT \"/etc/passwd\" 0\n"), "other files" },
    { "vmdk", "vmdk", NULL, 512, BYTES("createType=\"monolithicFlat\"\n"), "createType" },
    { "vmdk", "vmdk", "subformat=monolithicFlat", 0, BYTES("#"), "other files" },
    { "vmdk", "vmdk", "subformat=twoGbMaxExtentSparse", 0, BYTES("#"), "other files" },
    { "vhd", "vpc", "force_size=on", 60, BYTES("\0\0\0\4"), "other files" },
    { "vhd", "vpc", "force_size=on", 60, BYTES("\0\0\0\2"), "header" },
    { "vhd", "vpc", "force_size=on", 48, BYTES("\xff"), "size" },
    { "vhd", "vpc", "force_size=on", 48, BYTES("\0\0\0\0\0\0\0\0"), "size" },
    { "vhdx", "vhdx", NULL, 192 << 10, BYTES("ruin"), "header" },
    { "vhdx", "vhdx", NULL, (192 << 10) + 8, BYTES("\xff\xff\xff\xff"), "header" },
    { "vhdx", "vhdx", NULL, (192 << 10) + 8, BYTES("\0\0\0\0"), "header" },
    { "vhd", "vpc", "force_size=on", 16, BYTES("\xff"), "header" },
    { "vhd", "vpc", "force_size=on", 512 + 16, BYTES("\xff"), "header" },
    { "vhd", "vpc", "force_size=on", 512 + 28, BYTES("\x1f\xff"), "header" },
    { "vdi", "vdi", NULL, 76, BYTES("\4"), "other files" },
    { "vdi", "vdi", NULL, 340, BYTES("\xff\xff\xff\xff"), "header" },
    { "vdi", "vdi", NULL, 384, BYTES("\0\xff\xff\x1f"), "header" },
    { "vdi", "vdi", NULL, 368, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "size" },
    { "ploop", "parallels", NULL, 16, BYTES("\1"), "header" },
    { "ploop", "parallels", NULL, 28, BYTES("\0\0\0\0"), "header" },
    { "ploop", "parallels", NULL, 32, BYTES("\0\0\0\0"), "header" },
    { "ploop", "parallels", NULL, 32, BYTES("\xff\xff\xff\x1f"), "header" },
    { "ploop", "parallels", NULL, 36, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "header" },
    { "ploop", "parallels", NULL, 36, BYTES("\0\0\0\0"), "size" },
    { "ploop", "parallels", NULL, 44, BYTES("Ynot"), "was not closed" },
    { "ploop", "parallels", NULL, 48, BYTES("\xff\xff\xff\xff"), "header" },
    { "ploop", "parallels", NULL, 56, BYTES("\1"), "extension" },
    { "raw", "raw", NULL, 0, BYTES("QED\0"), "disk_format" },
    { "raw", "raw", NULL, 0, BYTES("LUKS\xba\xbe\0\2"), "LUKS version" },
    { "raw", "raw", NULL, 0, BYTES("LUKS\xba\xbe\0\0"), "LUKS version" },
};

START_TEST(each_damage_is_refused_with_its_reason) {
    for (size_t i = 0; i < LENGTH(damages); i++) {
        make(damages[i].qemu_name, damages[i].options);
        put(damages[i].bytes, damages[i].size, damages[i].at);
        assert_refused(damages[i].declared, damages[i].why);
    }
}
END_TEST

/* QEMU reads more of a descriptor than its header states. */
START_TEST(a_vmdk_descriptor_without_an_end_is_refused) {
    enum { SECTOR = 512 };
    static const char rest[] = "\nparentFileNameHint=\"/etc/passwd\"\n";

    make("vmdk", NULL);
    put(BYTES("\2"), 36);
    assert_accepted("vmdk", "vmdk");
    for (off_t at = SECTOR + 1; at < 3 * SECTOR; at++) {
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        char byte;

        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        if (byte == '\0')
            ck_assert_int_eq(pwrite(fd, "\n", 1, at), 1);
    }
    put(BYTES(rest), 3 * SECTOR);
    assert_refused("vmdk", "not understood");
}
END_TEST

/* Of the older kind: it has only four bytes for the number of sectors. */
START_TEST(an_old_ploop_image_is_one) {
    make("parallels", NULL);
    put(BYTES("WithoutFreeSpace"), 0);
    put(BYTES("\xff\xff\xff\xff"), 40);
    assert_accepted("ploop", "parallels");
}
END_TEST

START_TEST(a_vmdk_footer_is_the_last_of_whole_sectors) {
    static const unsigned char marker[16] = { [0] = 1, [12] = 3 };
    unsigned char footer[3 * 512] = { 0 };
    autoclose int fd = -1;
    struct stat status;

    make("vmdk", "subformat=streamOptimized");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(fstat(fd, &status), 0);
    memcpy(footer, marker, sizeof(marker));
    ck_assert_int_eq(pread(fd, footer + 512, 512, 0), 512);
    put(BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), 56);
    put(footer, sizeof(footer), status.st_size);
    assert_accepted("vmdk", "vmdk");
    put(footer, sizeof(footer), status.st_size + 1); /* beside which one of whole sectors fits */
    assert_refused("vmdk", "footer");
}
END_TEST

START_TEST(luks_with_too_many_iterations_is_refused) {
    make_zeros();
    put(BYTES("LUKS\xba\xbe\0\1"), 0);
    assert_accepted("raw", "raw");
    put(BYTES("\0\xb7\x1b\0"), 164); /* 12,000,000 */
    assert_accepted("raw", "raw");
    put(BYTES("\0\0\0\1"), 208 + 7 * 48 + 4); /* of a slot that is not used */
    assert_accepted("raw", "raw");
    put(BYTES("\0\xac\x71\xf3"), 208 + 7 * 48);
    assert_refused("raw", "iterations");
}
END_TEST

START_TEST(partition_tables_are_possible) {
    static const struct {
        const char *entries;
        size_t size;
        const char *why;
    } tables[] = {
        { BYTES("\x80\0\1\0\x83\x3f\x20\0\1\0\0\0\0\x10\0\0"), NULL },
        { BYTES("\0\0\2\0\xee\xff\xff\xff\1\0\0\0\xff\xff\0\0"), NULL },
        { BYTES("\0\0\1\0\xee\xff\xff\xff\1\0\0\0\xff\xff\0\0"), "protective" },
        { BYTES("\0\0\2\0\xee\xff\xff\xff\2\0\0\0\xff\xff\0\0"), "protective" },
        { BYTES("\0\0\2\0\xee\xff\xff\xff\1\0\0\0\xff\xff\0\0"
                "\0\0\1\0\x83\x3f\x20\0\1\0\0\0\0\x10\0\0"),
          "partition table" },
        { BYTES("\0\0\1\0\x83\x3f\x20\0\1\0\0\0\0\x10\0\0"
                "\0\0\2\0\xee\xff\xff\xff\1\0\0\0\xff\xff\0\0"),
          "protective" },
        { BYTES("\x55\0\1\0\x83\x3f\x20\0\1\0\0\0\0\x10\0\0"), "boot flag" },
        { BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "partition table" },
    };

    for (size_t i = 0; i < LENGTH(tables); i++) {
        make_zeros();
        put(tables[i].entries, tables[i].size, 446);
        put(BYTES("\x55\xaa"), 510);
        if (tables[i].why)
            assert_refused("raw", tables[i].why);
        else
            assert_accepted("raw", "raw");
    }
}
END_TEST

START_TEST(boot_sectors_of_file_systems_are_no_partition_tables) {
    static const struct {
        off_t at;
        const char *name;
    } systems[] = { { 54, "FAT16" }, { 82, "FAT32" }, { 3, "NTFS    " }, { 3, "EXFAT   " } };

    for (size_t i = 0; i < LENGTH(systems); i++) {
        make_zeros();
        put(BYTES("\xeb\x55\x55\x55"), 446);
        put(BYTES("\x55\xaa"), 510);
        assert_refused("raw", "boot flag");
        put(systems[i].name, strlen(systems[i].name), systems[i].at);
        assert_accepted("raw", "raw");
    }
}
END_TEST

START_TEST(images_that_are_cut_off_are_refused) {
    for (size_t i = 0; i < LENGTH(made); i++) {
        if (strcmp(made[i].declared, "raw") == 0)
            continue;
        for (off_t size = 100; size < 512; size += 100) {
            make(made[i].qemu_name, made[i].options);
            ck_assert_int_eq(truncate(path, size), 0);
            ck_assert_ptr_nonnull(refusal_of(made[i].declared, &(struct image_finding){ 0 }));
        }
    }
    make_zeros();
    ck_assert_int_eq(truncate(path, 0), 0);
    assert_refused("raw", "size");
}
END_TEST

CHECK_MAIN_WITH("image_inspect", true, begin, end,
                images_are_recognized_as_their_declared_format_alone,
                contents_are_copied_as_they_are, hybrid_discs_are_discs_and_nothing_else,
                images_of_two_formats_are_refused, declared_formats_are_known_or_not,
                each_damage_is_refused_with_its_reason, luks_with_too_many_iterations_is_refused,
                a_vmdk_descriptor_without_an_end_is_refused,
                a_vmdk_footer_is_the_last_of_whole_sectors, an_old_ploop_image_is_one,
                partition_tables_are_possible, boot_sectors_of_file_systems_are_no_partition_tables,
                images_that_are_cut_off_are_refused)
