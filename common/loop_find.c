/*
 * The machine's loop devices: searched, listed by label, and attached.
 */
#include "common/loop.h"

#include "common/clock.h"
#include "common/loop.private.h"
#include "common/loop_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define CONTROL       "/dev/loop-control"
#define MOST_ATTEMPTS 64
/* The kernel's own choice depends on the storage, and on whether the image shares blocks with
 * another: a file system made with one sector size is not readable with a larger one. */
#define LOOP_SECTOR 512

/* A search takes as long as devices of servers that have just become unresponsive
 * (common/async_call.h). */
#define LOCK_WAIT_US  (15 * SECOND_US)
#define LOCK_PAUSE_NS 20000000

/* The control device, locked; -1: failed with err.  The lock ends with the descriptor.  Another
 * process that is suspended with it, or is held in a call by the kernel, keeps it for any time. */
static int open_control(struct error *err) {
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
    const int64_t until_us = clock_monotonic_us() + LOCK_WAIT_US;
    autoclose int fd = open(CONTROL, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", CONTROL);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_errno(err, ERROR_BACKEND, "locking %s", CONTROL);
        if (clock_monotonic_us() >= until_us)
            return error_set(err, ERROR_UNAVAILABLE, "Another process keeps %s locked.", CONTROL);
        nanosleep(&pause, NULL);
    }
    return take_fd(fd);
}

/* The first device that matches, or -1 if the state of a possible match is unknown.  The devices
 * are those of the whole machine: one with a stale or unresponsive file does not hide others. */
static int search(bool (*matches)(const struct loop_seen *seen, const void *arg), const void *arg,
                  struct loop *ret, struct loop_seen *ret_seen, struct error *err) {
    autodirectory DIR *devices = opendir(LOOP_DEVICES);
    const struct dirent *entry;
    unsigned number;

    if (!devices)
        return error_errno(err, ERROR_BACKEND, "reading %s", LOOP_DEVICES);
    while ((entry = readdir(devices))) {
        autoloop struct loop loop = LOOP_NONE;
        int found;

        if (sscanf(entry->d_name, "loop%u", &number) != 1 ||
            loop_backing(entry->d_name, ret_seen->path, sizeof(ret_seen->path)) < 0)
            continue;
        found = loop_open_seen(number, &loop, ret_seen, err);
        if (found == 0 || (ret_seen->stale && !ret_seen->known) || !matches(ret_seen, arg))
            continue;
        *ret = loop;
        loop.fd = -1;
        return found;
    }
    return 0;
}

/* The kernel's encoding of a device's number in loop_info64. */
static uint64_t encode(dev_t device) {
    return (minor(device) & 0xff) | (uint64_t)major(device) << 8 |
           (uint64_t)(minor(device) & ~0xffU) << 12;
}

struct file {
    struct stat status;
    bool is_mount;
    char path[PATH_MAX]; /* "": unknown */
};

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : NULL;
}

static bool is_of_file(const struct loop_seen *seen, const void *arg) {
    const struct file *file = arg;

    if (seen->unresponsive && !seen->known) {
        /* A file has one name, whatever the path to it, and one that is a mount has one path. */
        const char *name = file->is_mount ? file->path : last_part(file->path),
                   *seen_name = file->is_mount ? seen->path : last_part(seen->path);

        return !name || !*name || !seen_name || strncmp(seen_name, name, strlen(name)) == 0;
    }
    return seen->info.lo_inode == file->status.st_ino &&
           seen->info.lo_device == encode(file->status.st_dev);
}

struct sought {
    loop_label *is;
    const char *of;
};

static bool has_label(const struct loop_seen *seen, const void *arg) {
    const struct sought *sought = arg;
    char label[LOOP_LABEL_SIZE + 1] = "";

    if (seen->unresponsive && !seen->known)
        return !seen->numbered;
    memcpy(label, seen->info.lo_file_name, LOOP_LABEL_SIZE);
    return sought->is(label, sought->of);
}

/* Called without the lock: the kernel may wait for the file's server. */
static int read_file(int file, struct file *ret, struct error *err) {
    char link[sizeof("/proc/self/fd/2147483647")];
    struct statx attributes;
    ssize_t size;

    if (fstat(file, &ret->status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the image's attributes");
    ret->is_mount = statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &attributes) == 0 &&
                    (attributes.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    size = readlink(link, ret->path, sizeof(ret->path) - 1);
    ret->path[size < 0 ? 0 : size] = '\0';
    return 0;
}

static int backed_loop_find(const struct file *sought, const char *begins, struct loop *ret,
                            struct error *err) {
    struct loop_seen seen;
    int found = search(is_of_file, sought, ret, &seen, err);

    if (found > 0 && (seen.info.lo_offset || seen.info.lo_sizelimit ||
                      strncmp(ret->label, begins, strlen(begins)) != 0)) {
        close(ret->fd);
        return error_set(err, ERROR_PRECONDITION,
                         "The image is attached to /dev/loop%u by another program.", ret->number);
    }
    return found;
}

int loop_find(int file, const char *begins, struct loop *ret, struct error *err) {
    struct file sought;
    autoclose int control = read_file(file, &sought, err) < 0 ? -1 : open_control(err);

    return control < 0 ? -1 : backed_loop_find(&sought, begins, ret, err);
}

int loop_find_label(loop_label *is, const char *of, struct loop *ret, struct error *err) {
    const struct sought sought = { is, of };
    autoclose int control = open_control(err);
    struct loop_seen seen;

    return control < 0 ? -1 : search(has_label, &sought, ret, &seen, err);
}

#define LISTED_MOST 4096

struct listing {
    const char *begins;
    struct loop_name *names;
    int count;
};

static bool list_one(const struct loop_seen *seen, const void *arg) {
    struct listing *listing = (struct listing *)(uintptr_t)arg;
    struct loop_name *name = &listing->names[listing->count];
    const struct loop_info64 *info = &seen->info;

    if (listing->count == LISTED_MOST || (seen->unresponsive && !seen->known) ||
        strncmp((const char *)info->lo_file_name, listing->begins, strlen(listing->begins)) != 0)
        return false;
    *name = (struct loop_name){ .number = info->lo_number };
    memcpy(name->label, info->lo_file_name, LOOP_LABEL_SIZE);
    listing->count++;
    return false;
}

int loop_list(struct arena *arena, const char *begins, struct loop_name **ret, struct error *err) {
    struct listing listing = { .begins = begins,
                               .names = arena_alloc(arena, LISTED_MOST * sizeof *listing.names) };
    struct loop_seen seen;
    struct loop none;

    if (search(list_one, &listing, &none, &seen, err) < 0)
        return -1;
    *ret = listing.names;
    return listing.count;
}

/* ---- attach ---- */

static int open_limit(unsigned number, const char *name, int flags) {
    char path[128];

    snprintf(path, sizeof(path), LOOP_DEVICES "/loop%u/queue/%s", number, name);
    return open(path, flags | O_CLOEXEC);
}

static bool is_zero(unsigned number, const char *name) {
    autoclose int fd = open_limit(number, name, O_RDONLY);
    char text[24] = "";

    return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strcmp(text, "0\n") == 0;
}

static void remove_number(int control, unsigned number) {
    (void)!ioctl(control, LOOP_CTL_REMOVE, number); /* it is open at the moment: removed the next
                                                     * time */
}

void loop_reset_discard(unsigned number) {
    struct error ignored;
    autoclose int control = open_control(&ignored);

    if (control >= 0 && is_zero(number, "discard_max_bytes"))
        remove_number(control, number);
}

/* 1: another program has taken this device meanwhile. */
static int configure(unsigned number, int file, const struct stat *status, const char *label,
                     const struct loop_how *how, struct loop *ret, struct error *err) {
    struct loop_config config = {
        .fd = (uint32_t)file,
        .block_size = how->sector > 0 ? how->sector : LOOP_SECTOR,
        .info.lo_flags = LO_FLAGS_AUTOCLEAR | (how->serialized ? 0U : LO_FLAGS_DIRECT_IO) |
                         (how->read_only ? LO_FLAGS_READ_ONLY : 0U),
    };
    char path[LOOP_PATH_SIZE];
    autoclose int fd = -1;

    snprintf((char *)config.info.lo_file_name, LOOP_LABEL_SIZE, "%s", label);
    loop_path(number, path);
    fd = open(path, (how->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
        return 1;
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", path);
    if (ioctl(fd, LOOP_CONFIGURE, &config) < 0)
        return errno == EBUSY ? 1 : error_errno(err, ERROR_BACKEND, "attaching to %s", path);
    config.info.lo_device = encode(status->st_dev);
    config.info.lo_inode = status->st_ino;
    loop_identity_record(number, loop_diskseq(fd), &config.info);
    if (how->no_discard) {
        autoclose int limit = open_limit(number, "discard_max_bytes", O_WRONLY);

        if (limit < 0 || write(limit, "0", 1) != 1)
            return error_errno(err, ERROR_BACKEND, "refusing discards of /dev/loop%u", number);
    }
    *ret = (struct loop){ .fd = take_fd(fd), .number = number, .read_only = how->read_only };
    memcpy(ret->label, config.info.lo_file_name, sizeof(ret->label));
    return 0;
}

int loop_attach(int file, const char *label, const struct loop_how *how, struct loop *ret,
                struct error *err) {
    struct file sought;
    autoclose int control = read_file(file, &sought, err) < 0 ? -1 : open_control(err);
    autoloop struct loop other = LOOP_NONE;
    int found = control < 0 ? -1 : backed_loop_find(&sought, "", &other, err);

    if (found < 0)
        return -1;
    if (found > 0)
        return error_set(err, ERROR_CONFLICT, "The image has been attached meanwhile.");
    /* So many consecutive losses to other programs have another cause. */
    for (int i = 0; i < MOST_ATTEMPTS; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE), result;

        if (number < 0)
            return error_errno(err, ERROR_BACKEND, "looking for a free loop device");
        result = configure((unsigned)number, file, &sought.status, label, how, ret, err);
        /* The kernel does not restore discards: the number keeps the refusal for its next device,
         * until it is removed itself. */
        if (result == 0 && !how->no_discard && i < MOST_ATTEMPTS / 2 &&
            is_zero((unsigned)number, "discard_max_bytes") &&
            !is_zero((unsigned)number, "discard_max_hw_bytes")) {
            cleanup_loop(ret); /* the device is detached with it */
            remove_number(control, (unsigned)number);
            continue;
        }
        if (result <= 0)
            return result;
    }
    return error_set(err, ERROR_UNAVAILABLE, "Other programs take every free loop device.");
}
