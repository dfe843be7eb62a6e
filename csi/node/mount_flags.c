#include "csi/node/mount_flags.h"

#include "common/cleanup.h"

#include <string.h>
#include <sys/mount.h>

/* clang-format off */
static const struct {
    const char *name;
    uint64_t attributes;
} of_mount[] = {
    { "ro",          MOUNT_ATTR_RDONLY },
    { "rw",          0 },
    { "defaults",    0 },
    { "nosuid",      MOUNT_ATTR_NOSUID },
    { "nodev",       MOUNT_ATTR_NODEV },
    { "noexec",      MOUNT_ATTR_NOEXEC },
    { "noatime",     MOUNT_ATTR_NOATIME },
    { "strictatime", MOUNT_ATTR_STRICTATIME },
    { "relatime",    MOUNT_ATTR_RELATIME },
    { "nodiratime",  MOUNT_ATTR_NODIRATIME },
};

/* None of them stops the kernel, trusts the device more, or disables the journal. */
static const struct {
    const char *name;
    const char *type; /* NULL: any */
} of_file_system[] = {
    { "sync", NULL }, { "dirsync", NULL }, { "lazytime", NULL }, { "nolazytime", NULL },
    { "discard", NULL }, { "nodiscard", NULL },
    { "errors=remount-ro", "ext4" }, { "errors=continue", "ext4" },
    { "data=ordered", "ext4" }, { "data=journal", "ext4" },
    { "delalloc", "ext4" }, { "nodelalloc", "ext4" },
    { "acl", "ext4" }, { "user_xattr", "ext4" },
    { "inode64", "xfs" }, { "largeio", "xfs" }, { "nolargeio", "xfs" }, { "nouuid", "xfs" },
};
/* clang-format on */

static bool find_attributes(const char *flag, struct mount_flags *flags) {
    for (size_t i = 0; i < LENGTH(of_mount); i++) {
        if (strcmp(of_mount[i].name, flag) != 0)
            continue;
        if (strstr(flag, "latime") || strcmp(flag, "noatime") == 0 ||
            strcmp(flag, "strictatime") == 0)
            flags->attributes &= ~(uint64_t)MOUNT_ATTR__ATIME;
        flags->attributes |= of_mount[i].attributes;
        flags->read_only |= of_mount[i].attributes == MOUNT_ATTR_RDONLY;
        return true;
    }
    return false;
}

static const char *find_option(const char *type, const char *flag) {
    for (size_t i = 0; i < LENGTH(of_file_system); i++)
        if (strcmp(of_file_system[i].name, flag) == 0 &&
            (!type || !of_file_system[i].type || strcmp(of_file_system[i].type, type) == 0))
            return of_file_system[i].name;
    return NULL;
}

int mount_flags_parse(const char *type, char *const *flags, size_t count, struct mount_flags *ret,
                      struct error *err) {
    size_t options = 0;

    *ret = (struct mount_flags){ .attributes = MOUNT_ATTR_NODEV };
    for (size_t i = 0; i < count; i++) {
        if (find_attributes(flags[i], ret))
            continue;
        if (options == MOUNT_FLAGS_MOST - 1)
            return error_set(err, ERROR_BAD_REQUEST, "There are too many mount flags.");
        ret->options[options] = find_option(type, flags[i]);
        if (!ret->options[options++])
            return error_set(err, ERROR_BAD_REQUEST,
                             "Mount flag %zu is not allowed for volumes with %s.", i + 1,
                             type ? type : "a file system");
    }
    return 0;
}
