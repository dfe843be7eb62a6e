#include "csi/node/mount_flags.h"

#include "tests/lib/check_main.h"

#include <string.h>
#include <sys/mount.h>

static struct error err;
static struct mount_flags flags;

static int parse(const char *type, const char *flag) {
    char *one = (char *)(uintptr_t)flag;

    return mount_flags_parse(type, &one, 1, &flags, &err);
}

START_TEST(no_flag_allows_device_nodes) {
    ck_assert_int_eq(mount_flags_parse("ext4", NULL, 0, &flags, &err), 0);
    ck_assert_uint_eq(flags.attributes, MOUNT_ATTR_NODEV);
    ck_assert_int_eq(parse("ext4", "dev"), -1);
    ck_assert_int_eq(parse("ext4", "rw"), 0);
    ck_assert_uint_eq(flags.attributes, MOUNT_ATTR_NODEV);
    ck_assert(!flags.read_only);
}
END_TEST

START_TEST(flags_of_mounts_become_attributes) {
    char *many[] = { "noatime", "noexec", "ro", "strictatime", "nosuid" };

    ck_assert_int_eq(mount_flags_parse("xfs", many, LENGTH(many), &flags, &err), 0);
    ck_assert_uint_eq(flags.attributes, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY |
                                            MOUNT_ATTR_STRICTATIME | MOUNT_ATTR_NOSUID);
    ck_assert(flags.read_only);
    ck_assert_ptr_null(flags.options[0]);
}
END_TEST

START_TEST(options_are_those_of_the_file_system) {
    ck_assert_int_eq(parse("ext4", "errors=remount-ro"), 0);
    ck_assert_str_eq(flags.options[0], "errors=remount-ro");
    ck_assert_ptr_null(flags.options[1]);
    ck_assert_int_eq(parse("xfs", "errors=remount-ro"), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(parse("xfs", "largeio"), 0);
    ck_assert_int_eq(parse("ext4", "discard"), 0);
}
END_TEST

START_TEST(every_other_flag_is_refused_and_not_disclosed) {
    static const char *const bad[] = {
        "",
        "errors=panic",
        "bind",
        "remount",
        "ro,suid",
        "noload",
        "norecovery",
        "journal_path=/etc",
        "logdev=/dev/vda",
        "loop",
        "move",
        "rbind",
        "x-secret=abc",
        "user",
        "noatime ",
        "RO",
    };

    for (size_t i = 0; i < LENGTH(bad); i++) {
        ck_assert_msg(parse(i % 2 ? "ext4" : "xfs", bad[i]) == -1, "%s", bad[i]);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert(strlen(bad[i]) < 5 || !strstr(err.message, bad[i]));
    }
}
END_TEST

START_TEST(too_many_are_refused) {
    char *many[100];

    for (size_t i = 0; i < LENGTH(many); i++)
        many[i] = "discard";
    ck_assert_int_eq(mount_flags_parse("ext4", many, LENGTH(many), &flags, &err), -1);
}
END_TEST

CHECK_MAIN("mount_flags", no_flag_allows_device_nodes, flags_of_mounts_become_attributes,
           options_are_those_of_the_file_system, every_other_flag_is_refused_and_not_disclosed,
           too_many_are_refused)
