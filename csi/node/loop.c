#include "csi/node/loop.h"

#include "common/clock.h"
#include "csi/node/loop_ask.h"
#include "csi/node/loop_seal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define CONTROL         "/dev/loop-control"
#define DEVICES         "/sys/block"
#define MOST_ATTEMPTS   64
#define RELEASE_WAIT_US INT64_C(5000000)
/* Left to the kernel it follows from the storage, and from whether the image shares blocks with
 * another: a file system that was made with one size is none with a larger. */
#define LOOP_SECTOR 512

void loop_path(unsigned number, char ret[LOOP_PATH_SIZE]) {
    snprintf(ret, LOOP_PATH_SIZE, "/dev/loop%u", number);
}

bool loop_is(dev_t device, unsigned *ret_number) {
    *ret_number = minor(device);
    return major(device) == LOOP_MAJOR;
}

/* ---- one device ---- */

/* As the one of a server that has ended: nobody reads or writes through it any more. */
static bool is_dead_file(int number) {
    return number == ENOTCONN || number == ESTALE;
}

/* What is known of a device.  What its kernel or the file's server does not tell now may have been
 * seen before. */
struct seen {
    struct loop_info64 info;
    bool dead;   /* nobody's any more */
    bool silent; /* so info, if `known`, is what was seen before */
    bool known;
    bool numbered;       /* so what we have made is known */
    char path[PATH_MAX]; /* of the file, as the kernel shows it */
};

static int ask(int fd, unsigned number, struct loop_info64 *ret) {
    return loop_ask(fd, number, loop_seal_number(fd), ret);
}

/* 1 asked, 0 nothing is behind it, -1 it cannot be asked. */
static int look(int fd, unsigned number, struct seen *seen, struct error *err) {
    uint64_t seal = loop_seal_number(fd);

    if (loop_ask(fd, number, seal, &seen->info) == 0) {
        if (loop_seal_number(fd) == seal) /* what was read is of one and the same */
            loop_seal(number, seal, &seen->info);
        return 1;
    }
    if (errno == ENXIO)
        return 0;
    seen->dead = is_dead_file(errno);
    error_errno(err, ERROR_UNAVAILABLE, "asking /dev/loop%u", number);
    seen->info = (struct loop_info64){ .lo_number = number };
    seen->numbered = seal != 0;
    seen->known = loop_seal_recall(number, seal, &seen->info);
    return -1;
}

/* 1 opened, and *ret_seen says what is behind it; 0 nothing is; -1 it cannot be asked. */
static int open_device(unsigned number, struct loop *ret, struct seen *ret_seen,
                       struct error *err) {
    char path[LOOP_PATH_SIZE];
    autoclose int fd = -1;
    int found;

    ret_seen->dead = ret_seen->known = ret_seen->numbered = false;
    ret_seen->silent = true;
    loop_path(number, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
        return 0;
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", path);
    found = look(fd, number, ret_seen, err);
    if (found <= 0)
        return found;
    ret_seen->silent = false;
    *ret = (struct loop){ .fd = take_fd(fd),
                          .number = number,
                          .read_only = (ret_seen->info.lo_flags & LO_FLAGS_READ_ONLY) != 0,
                          .kept = (ret_seen->info.lo_flags & LO_FLAGS_AUTOCLEAR) == 0 };
    memcpy(ret->label, ret_seen->info.lo_file_name, sizeof(ret->label));
    ret->label[sizeof(ret->label) - 1] = '\0';
    return 1;
}

int loop_open(unsigned number, struct loop *ret, struct error *err) {
    struct seen seen;

    return open_device(number, ret, &seen, err);
}

bool loop_is_dead(unsigned number) {
    char path[LOOP_PATH_SIZE];
    struct loop_info64 info;
    autoclose int fd = -1;

    loop_path(number, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && ask(fd, number, &info) < 0 && errno == ENOTCONN;
}

void loop_bury(unsigned number) {
    char path[LOOP_PATH_SIZE];
    autoclose int fd = -1;

    loop_path(number, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        ioctl(fd, LOOP_CLR_FD, 0);
}

int loop_keep(const struct loop *loop, bool keep, struct error *err) {
    struct loop_info64 info;

    if (ask(loop->fd, loop->number, &info) < 0)
        return error_errno(err, ERROR_BACKEND, "asking /dev/loop%u", loop->number);
    info.lo_flags &= ~(uint32_t)LO_FLAGS_AUTOCLEAR;
    if (!keep)
        info.lo_flags |= LO_FLAGS_AUTOCLEAR;
    if (ioctl(loop->fd, LOOP_SET_STATUS64, &info) < 0)
        return error_errno(err, ERROR_BACKEND, "keeping /dev/loop%u", loop->number);
    return 0;
}

int loop_grow(const struct loop *loop, struct error *err) {
    if (ioctl(loop->fd, LOOP_SET_CAPACITY, 0) < 0)
        return error_errno(err, ERROR_BACKEND, "growing /dev/loop%u", loop->number);
    return 0;
}

int loop_size(const struct loop *loop, int64_t *ret_bytes, struct error *err) {
    uint64_t bytes;

    if (ioctl(loop->fd, BLKGETSIZE64, &bytes) < 0)
        return error_errno(err, ERROR_BACKEND, "measuring /dev/loop%u", loop->number);
    *ret_bytes = (int64_t)bytes;
    return 0;
}

static int read_backing(const char *device, char *ret, size_t size) {
    char path[sizeof(DEVICES "//loop/backing_file") + NAME_MAX];
    autofile FILE *file = NULL;

    snprintf(path, sizeof(path), DEVICES "/%s/loop/backing_file", device);
    file = fopen(path, "re");
    if (!file || !fgets(ret, (int)size, file))
        return -1;
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}

int loop_file_path(unsigned number, char *ret, size_t size, struct error *err) {
    char path[LOOP_PATH_SIZE];

    loop_path(number, path);
    if (read_backing(path + strlen("/dev/"), ret, size) < 0)
        return error_errno(err, ERROR_BACKEND, "looking for the file of %s", path);
    return 0;
}

/* ---- all of them ---- */

/* The control device, locked; -1: err says why not.  The lock ends with the descriptor. */
static int open_control(struct error *err) {
    autoclose int fd = open(CONTROL, O_RDWR | O_CLOEXEC);
    int result;

    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", CONTROL);
    do
        result = flock(fd, LOCK_EX);
    while (result < 0 && errno == EINTR);
    if (result < 0)
        return error_errno(err, ERROR_BACKEND, "locking %s", CONTROL);
    return take_fd(fd);
}

static void cleanup_dir(DIR *const *dir) {
    if (*dir)
        closedir(*dir);
}

/* The first device for which matches() says so, or -1 if nothing is known of that one but that it
 * may be the one.  Devices are the whole machine's: one over a dead or a silent file keeps nobody
 * from another. */
static int search(bool (*matches)(const struct seen *seen, const void *arg), const void *arg,
                  struct loop *ret, struct seen *ret_seen, struct error *err) {
    __attribute__((cleanup(cleanup_dir))) DIR *devices = opendir(DEVICES);
    const struct dirent *entry;
    unsigned number;

    if (!devices)
        return error_errno(err, ERROR_BACKEND, "looking into %s", DEVICES);
    while ((entry = readdir(devices))) {
        autoloop struct loop loop = LOOP_NONE;
        int found;

        if (sscanf(entry->d_name, "loop%u", &number) != 1 ||
            read_backing(entry->d_name, ret_seen->path, sizeof(ret_seen->path)) < 0)
            continue;
        found = open_device(number, &loop, ret_seen, err);
        if (found == 0 || ret_seen->dead || !matches(ret_seen, arg))
            continue;
        *ret = loop;
        loop.fd = -1;
        return found;
    }
    return 0;
}

/* As the kernel writes a device's number into loop_info64. */
static uint64_t encode(dev_t device) {
    return (minor(device) & 0xff) | (uint64_t)major(device) << 8 |
           (uint64_t)(minor(device) & ~0xffU) << 12;
}

struct file {
    struct stat status;
    char name[NAME_MAX + 1]; /* the last part of its path; "": nobody knows */
};

static int file_look(int fd, struct file *ret, struct error *err) {
    char link[sizeof("/proc/self/fd/2147483647")], path[PATH_MAX];
    const char *slash;
    ssize_t size;

    if (fstat(fd, &ret->status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at the image");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof(path) - 1);
    path[size < 0 ? 0 : size] = '\0';
    slash = strrchr(path, '/');
    snprintf(ret->name, sizeof(ret->name), "%s", slash ? slash + 1 : "");
    return 0;
}

/* One file has one name, whatever the way to it. */
static bool may_be_named(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');

    return !*name || !slash || strncmp(slash + 1, name, strlen(name)) == 0;
}

static bool is_of_file(const struct seen *seen, const void *arg) {
    const struct file *file = arg;

    if (seen->silent && !seen->known)
        return may_be_named(seen->path, file->name);
    return seen->info.lo_inode == file->status.st_ino &&
           seen->info.lo_device == encode(file->status.st_dev);
}

struct wanted {
    loop_label *is;
    const char *of;
};

static bool has_label(const struct seen *seen, const void *arg) {
    const struct wanted *wanted = arg;
    char label[LOOP_LABEL_SIZE + 1] = "";

    if (seen->silent && !seen->known)
        return !seen->numbered;
    memcpy(label, seen->info.lo_file_name, LOOP_LABEL_SIZE);
    return wanted->is(label, wanted->of);
}

static int find(int file, const char *begins, struct loop *ret, struct error *err) {
    struct file wanted;
    struct seen seen;
    int found;

    if (file_look(file, &wanted, err) < 0)
        return -1;
    found = search(is_of_file, &wanted, ret, &seen, err);
    if (found > 0 && (seen.info.lo_offset || seen.info.lo_sizelimit ||
                      strncmp(ret->label, begins, strlen(begins)) != 0)) {
        close(ret->fd);
        return error_set(err, ERROR_PRECONDITION,
                         "The image is behind /dev/loop%u, which somebody else has made.",
                         ret->number);
    }
    return found;
}

int loop_find(int file, const char *begins, struct loop *ret, struct error *err) {
    autoclose int control = open_control(err);

    return control < 0 ? -1 : find(file, begins, ret, err);
}

int loop_find_label(loop_label *is, const char *of, struct loop *ret, struct error *err) {
    const struct wanted wanted = { is, of };
    autoclose int control = open_control(err);
    struct seen seen;

    return control < 0 ? -1 : search(has_label, &wanted, ret, &seen, err);
}

#define LISTED_MOST 4096

struct listing {
    const char *begins;
    struct loop_name *names;
    int count;
};

static bool list_one(const struct seen *seen, const void *arg) {
    struct listing *listing = (struct listing *)(uintptr_t)arg;
    struct loop_name *name = &listing->names[listing->count];
    const struct loop_info64 *info = &seen->info;

    if (listing->count == LISTED_MOST || (seen->silent && !seen->known) ||
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
    struct seen seen;
    struct loop none;

    if (search(list_one, &listing, &none, &seen, err) < 0)
        return -1;
    *ret = listing.names;
    return listing.count;
}

/* ---- making and ending ---- */

static void seal_device(unsigned number, int fd, int file, struct loop_info64 *info) {
    struct stat status;

    if (fstat(file, &status) < 0)
        return;
    info->lo_device = encode(status.st_dev);
    info->lo_inode = status.st_ino;
    loop_seal(number, loop_seal_number(fd), info);
}

/* 1: somebody else has taken this one meanwhile. */
static int configure(unsigned number, int file, const char *label, const struct loop_how *how,
                     struct loop *ret, struct error *err) {
    struct loop_config config = {
        .fd = (uint32_t)file,
        .block_size = how->sector > 0 ? how->sector : LOOP_SECTOR,
        .info.lo_flags = LO_FLAGS_AUTOCLEAR | (how->one_by_one ? 0U : LO_FLAGS_DIRECT_IO) |
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
    seal_device(number, fd, file, &config.info);
    *ret = (struct loop){ .fd = take_fd(fd), .number = number, .read_only = how->read_only };
    memcpy(ret->label, config.info.lo_file_name, sizeof(ret->label));
    return 0;
}

/* Losing devices to other programs that many times in a row means that there is another reason. */
static int take_free(int control, int file, const char *label, const struct loop_how *how,
                     struct loop *ret, struct error *err) {
    for (int i = 0; i < MOST_ATTEMPTS; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE), result;

        if (number < 0)
            return error_errno(err, ERROR_BACKEND, "looking for a free loop device");
        result = configure((unsigned)number, file, label, how, ret, err);
        if (result <= 0)
            return result;
    }
    return error_set(err, ERROR_UNAVAILABLE, "Other programs take every free loop device.");
}

int loop_attach(int file, const char *label, const struct loop_how *how, struct loop *ret,
                struct error *err) {
    autoclose int control = open_control(err);
    autoloop struct loop other = LOOP_NONE;
    int found = control < 0 ? -1 : find(file, "", &other, err);

    if (found < 0)
        return -1;
    if (found > 0)
        return error_set(err, ERROR_CONFLICT, "The image has been attached meanwhile.");
    return take_free(control, file, label, how, ret, err);
}

/* 1 it is there, and has been told to end with its last user; 0 it is not. */
static int tell_to_end(unsigned number, const char *label, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found = loop_open(number, &loop, err);

    if (found <= 0 || strcmp(loop.label, label) != 0)
        return found < 0 ? -1 : 0;
    if (ioctl(loop.fd, LOOP_CLR_FD, 0) < 0 && errno != ENXIO)
        return error_errno(err, ERROR_BACKEND, "releasing /dev/loop%u", number);
    return 1;
}

/* The kernel tells nobody when a device ends, and others look at devices for a moment: it is looked
 * at again for a while. */
int loop_release(unsigned number, const char *label, struct error *err) {
    const struct timespec pause = { .tv_nsec = 10000000 };
    int64_t end_us = clock_monotonic_us() + RELEASE_WAIT_US;
    int found;

    while ((found = tell_to_end(number, label, err)) > 0 && clock_monotonic_us() < end_us)
        nanosleep(&pause, NULL);
    return found;
}
