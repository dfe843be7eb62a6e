#include "csi/node/mount_table.h"

#include "common/cleanup.h"
#include "common/mountinfo.h"

#include <fcntl.h>
#include <linux/major.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static size_t length_of(const char *root) {
    size_t length = strlen(root);

    while (length > 0 && root[length - 1] == '/')
        length--;
    return length;
}

static bool is_below(const char *path, const char *root) {
    size_t length = length_of(root);

    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

struct mounted {
    char *device, *root, *point;
    const char *type; /* starts the rest of the line */
};

/* A pod's volume may have a directory or file of that name, too, bound as a subPath, and one in
 * memory a device node that the pod made: of the type tmpfs, only /dev counts.  Only file systems
 * for device nodes are queried: these always respond. */
static bool is_node(const struct mounted *mounted, unsigned number) {
    static const char of_kernel[] = "devtmpfs ", other[] = "tmpfs ";
    bool is_of_kernel = strncmp(mounted->type, of_kernel, strlen(of_kernel)) == 0;
    unsigned major, minor;
    struct stat devices;
    struct statx facts;

    if (!is_of_kernel && (strncmp(mounted->type, other, strlen(other)) != 0 ||
                          sscanf(mounted->device, "%u:%u", &major, &minor) != 2 ||
                          stat("/dev", &devices) < 0 || devices.st_dev != makedev(major, minor)))
        return false;
    return statx(AT_FDCWD, mounted->point, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE,
                 &facts) < 0 ||
           (S_ISBLK(facts.stx_mode) && facts.stx_rdev_major == LOOP_MAJOR &&
            facts.stx_rdev_minor == number);
}

/* A file system has its device's number; a device node is a file "loopN" of the file system of
 * /dev. */
static bool shows(const struct mounted *mounted, unsigned number) {
    unsigned major, minor;
    const char *name = strrchr(mounted->root, '/');
    unsigned bound;
    int end = 0;

    if (sscanf(mounted->device, "%u:%u", &major, &minor) != 2)
        return false;
    if (major == LOOP_MAJOR)
        return minor == number && strcmp(mounted->root, "/") == 0;
    return name && sscanf(name, "/loop%u%n", &bound, &end) == 1 && !name[end] && bound == number &&
           is_node(mounted, number);
}

/* One line: id, parent, DEVICE, ROOT, POINT, ... - TYPE, ... */
static bool counts(const struct mount_table_query *query, char *line) {
    struct mounted mounted = { 0 };
    char *rest = line, *type;

    strsep(&rest, " ");
    strsep(&rest, " ");
    mounted.device = strsep(&rest, " ");
    mounted.root = strsep(&rest, " ");
    mounted.point = strsep(&rest, " ");
    type = rest ? strstr(rest, " - ") : NULL;
    if (!type)
        return false;
    mounted.type = type + strlen(" - ");
    mountinfo_decode(mounted.root);
    mountinfo_decode(mounted.point);
    return is_below(mounted.point, query->root) && !is_below(mounted.point, query->except) &&
           shows(&mounted, query->device);
}

int mount_table_count(const struct mount_table_query *query, struct error *err) {
    const char *table = query->table ? query->table : "/proc/self/mountinfo";
    autofree char *root = realpath(query->root, NULL), *except = NULL;
    struct mount_table_query shown = *query;
    autofile FILE *file = fopen(table, "re");
    autofree char *line = NULL;
    size_t size = 0;
    int count = 0;

    if (!file)
        return error_errno(err, ERROR_BACKEND, "reading %s", table);
    /* The kernel reports resolved paths, and the configured one may contain links. */
    if (root && is_below(query->except, query->root)) {
        if (asprintf(&except, "%.*s%s", (int)length_of(root), root,
                     query->except + length_of(query->root)) < 0)
            abort();
        shown.except = except;
    }
    if (root)
        shown.root = root;
    while (getline(&line, &size, file) > 0)
        count += counts(&shown, line);
    if (ferror(file))
        return error_errno(err, ERROR_BACKEND, "reading %s", table);
    return count;
}

/* ---- one mount ---- */

static int read_id(int fd, int *ret, struct error *err) {
    char path[sizeof("/proc/self/fdinfo/2147483647")], line[256];
    autofile FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "mnt_id: %d", ret) == 1)
            return 0;
    return error_errno(err, ERROR_BACKEND, "reading %s", path);
}

static bool has_option(const char *options, const char *option) {
    size_t length = strlen(option);

    for (const char *at = options; (at = strstr(at, option)); at += length)
        if ((at == options || at[-1] == ',') && strchr(",\n", at[length]))
            return true;
    return false;
}

/* ID, parent, DEVICE, root, point, options of the mount, ... - type, source, OPTIONS */
static bool read_entry(const char *line, int id, struct mount_table_entry *ret) {
    const char *options = strrchr(line, ' ');
    unsigned major, minor;

    if (sscanf(line, "%d %*d %u:%u ", &ret->id, &major, &minor) != 3 || ret->id != id || !options)
        return false;
    ret->device = makedev(major, minor);
    ret->read_only = has_option(options + 1, "ro");
    ret->stopped = has_option(options + 1, "emergency_ro") || has_option(options + 1, "shutdown");
    return true;
}

int mount_table_find(int fd, struct mount_table_entry *ret, struct error *err) {
    static const char table[] = "/proc/self/mountinfo";
    autofile FILE *file = fopen(table, "re");
    autofree char *line = NULL;
    size_t size = 0;
    int id;

    if (!file)
        return error_errno(err, ERROR_BACKEND, "reading %s", table);
    if (read_id(fd, &id, err) < 0)
        return -1;
    while (getline(&line, &size, file) > 0)
        if (read_entry(line, id, ret))
            return 0;
    return error_set(err, ERROR_BACKEND, "A mount is missing in %s.", table);
}
