#include "csi/node/mount_table.h"

#include "common/arena.h"
#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A format with the number of the file system of /dev. */
static const char table[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "30 22 7:3 / /k/staging rw - ext4 /dev/loop3 rw\n"
    "31 22 7:3 / /k/pods/a\\040b/mount rw,nodev shared:7 master:3 - ext4 /dev/loop3 rw\n"
    "32 22 7:3 / /k/pods/c ro - ext4 /dev/loop3 rw\n"
    "33 22 7:3 /sub /k/pods/d/volume-subpaths/x rw - ext4 /dev/loop3 rw\n"
    "34 22 7:3 / /kelsewhere rw - ext4 /dev/loop3 rw\n"
    "35 22 7:33 / /k/pods/e rw - ext4 /dev/loop33 rw\n"
    "40 22 0:5 /loop4 /k/block/device rw - devtmpfs devtmpfs rw\n"
    "41 22 0:5 /loop4 /k/publish/a rw - devtmpfs devtmpfs rw\n"
    "42 22 0:5 /loop44 /k/publish/b rw - devtmpfs devtmpfs rw\n"
    "43 22 %u:%u /dir/loop4 /k/publish/c rw - tmpfs tmpfs rw\n"
    "44 22 254:0 /pods/f/loop6 /k/pods/f/volume-subpaths/x rw - ext4 /dev/vda rw\n"
    "45 22 0:6 /loop6 /usr rw shared:9 - devtmpfs devtmpfs rw\n"
    "46 22 0:1048575 /loop8 /k/pods/g/volume-subpaths/x rw - tmpfs tmpfs rw\n"
    "nonsense\n"
    "\n"
    "50 22 7:3\n";

static int count(const char *root, unsigned device, const char *except) {
    char path[] = "/tmp/mount-table.XXXXXX";
    int fd = mkstemp(path), result;
    struct stat devices;
    struct error err;

    ck_assert_int_eq(stat("/dev", &devices), 0);
    ck_assert_int_gt(dprintf(fd, table, major(devices.st_dev), minor(devices.st_dev)), 0);
    result = mount_table_count(
        &(struct mount_table_query){
            .table = path, .root = root, .device = device, .except = except },
        &err);
    close(fd);
    unlink(path);
    return result;
}

START_TEST(mounts_of_the_whole_device_below_the_root_count) {
    ck_assert_int_eq(count("/k", 3, "/k/staging"), 2);
    ck_assert_int_eq(count("/k/", 3, "/k/stag"), 3);
    ck_assert_int_eq(count("/", 3, "/k/staging"), 3);
    ck_assert_int_eq(count("/k/pods/a b", 3, "/k/staging"), 1);
    ck_assert_int_eq(count("/k", 33, "/k/staging"), 1);
    ck_assert_int_eq(count("/k", 5, "/k/staging"), 0);
}
END_TEST

START_TEST(devices_are_known_by_their_name) {
    ck_assert_int_eq(count("/k", 4, "/k/block"), 2);
    ck_assert_int_eq(count("/k", 44, "/k/block"), 1);
}
END_TEST

START_TEST(directories_with_the_name_of_a_device_do_not_count) {
    ck_assert_int_eq(count("/k", 6, "/k/block"), 0);
    ck_assert_int_eq(count("/usr", 6, "/k/block"), 0);
}
END_TEST

START_TEST(device_nodes_of_pods_do_not_count) {
    ck_assert_int_eq(count("/k", 8, "/k/block"), 0);
}
END_TEST

START_TEST(a_table_that_cannot_be_read_is_a_failure) {
    struct mount_table_query query = { .table = "/nowhere", .root = "/", .except = "/k" };
    struct error err;

    ck_assert_int_eq(mount_table_count(&query, &err), -1);
    query.table = NULL;
    ck_assert_int_ge(mount_table_count(&query, &err), 0);
}
END_TEST

CHECK_MAIN("mount_table", mounts_of_the_whole_device_below_the_root_count,
           devices_are_known_by_their_name, directories_with_the_name_of_a_device_do_not_count,
           device_nodes_of_pods_do_not_count, a_table_that_cannot_be_read_is_a_failure)
