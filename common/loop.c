#include "common/loop.h"

#include "common/async_call.h"
#include "common/clock.h"
#include "common/loop.private.h"
#include "common/loop_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <time.h>

#define RELEASE_WAIT_US INT64_C(5000000)

void loop_path(unsigned number, char ret[LOOP_PATH_SIZE]) {
    snprintf(ret, LOOP_PATH_SIZE, "/dev/loop%u", number);
}

bool loop_is(dev_t device, unsigned *ret_number) {
    *ret_number = minor(device);
    return major(device) == LOOP_MAJOR;
}

/* ---- status ---- */

struct status_query {
    int fd;
    int reason; /* errno; 0: info is valid */
    struct loop_info64 info;
};

static void query(void *arg, const atomic_bool *abandoned) {
    struct status_query *status_query = arg;

    (void)abandoned;
    status_query->reason =
        ioctl(status_query->fd, LOOP_GET_STATUS64, &status_query->info) < 0 ? errno : 0;
}

static void drop(void *arg) {
    struct status_query *status_query = arg;

    cleanup_close(&status_query->fd);
}

/* LOOP_GET_STATUS64 of device `number` with this diskseq.  0, or -1 with errno: ETIMEDOUT without a
 * response, as the kernel waits for the file's server; later callers do not wait at all. */
static int get_status(int fd, unsigned number, uint64_t diskseq, struct loop_info64 *ret) {
    static const struct detached_function function = { .run = query, .drop = drop };
    struct status_query status_query = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
    char about[64];
    int reason;

    if (status_query.fd < 0)
        return -1;
    snprintf(about, sizeof(about), "/dev/loop%u %" PRIu64, number, diskseq);
    reason = async_call(about, &function, &status_query, sizeof(status_query));
    if (reason != ETIMEDOUT)
        drop(&status_query);
    if (reason == 0)
        reason = status_query.reason;
    errno = reason == EBUSY ? ETIMEDOUT : reason;
    if (reason != 0)
        return -1;
    *ret = status_query.info;
    return 0;
}

/* ---- one device ---- */

/* The file's server has terminated, or its file system has shut down: no I/O is possible any
 * more. */
static bool is_stale_error(int number) {
    return number == ENOTCONN || number == ESTALE || number == EIO;
}

static int query_status(int fd, unsigned number, struct loop_info64 *ret) {
    return get_status(fd, number, loop_diskseq(fd), ret);
}

/* 1: queried; 0: no file; -1: the query failed. */
static int query_device(int fd, unsigned number, struct loop_seen *seen, struct error *err) {
    uint64_t diskseq = loop_diskseq(fd);

    if (get_status(fd, number, diskseq, &seen->info) == 0) {
        if (loop_diskseq(fd) == diskseq) /* the device was not replaced during the query */
            loop_identity_record(number, diskseq, &seen->info);
        return 1;
    }
    if (errno == ENXIO)
        return 0;
    seen->stale = is_stale_error(errno);
    error_errno(err, ERROR_UNAVAILABLE, "querying /dev/loop%u", number);
    seen->info = (struct loop_info64){ .lo_number = number };
    seen->numbered = diskseq != 0;
    seen->known = loop_identity_recall(number, diskseq, &seen->info);
    return -1;
}

int loop_open_seen(unsigned number, struct loop *ret, struct loop_seen *ret_seen,
                   struct error *err) {
    char path[LOOP_PATH_SIZE];
    autoclose int fd = -1;
    int found;

    ret_seen->stale = ret_seen->known = ret_seen->numbered = false;
    ret_seen->unresponsive = true;
    loop_path(number, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
        return 0;
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", path);
    found = query_device(fd, number, ret_seen, err);
    if (found <= 0 && !(ret_seen->stale && ret_seen->known))
        return found;
    ret_seen->unresponsive = false;
    *ret = (struct loop){ .fd = take_fd(fd),
                          .number = number,
                          .stale = ret_seen->stale,
                          .read_only = (ret_seen->info.lo_flags & LO_FLAGS_READ_ONLY) != 0,
                          .persistent = (ret_seen->info.lo_flags & LO_FLAGS_AUTOCLEAR) == 0 };
    memcpy(ret->label, ret_seen->info.lo_file_name, sizeof(ret->label));
    ret->label[sizeof(ret->label) - 1] = '\0';
    return 1;
}

int loop_open(unsigned number, struct loop *ret, struct error *err) {
    struct loop_seen seen;

    return loop_open_seen(number, ret, &seen, err);
}

bool loop_recall(unsigned number, char ret_label[LOOP_LABEL_SIZE]) {
    char path[LOOP_PATH_SIZE];
    struct loop_info64 info;
    autoclose int fd = -1;

    loop_path(number, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || !loop_identity_recall(number, loop_diskseq(fd), &info))
        return false;
    snprintf(ret_label, LOOP_LABEL_SIZE, "%.*s", LOOP_LABEL_SIZE - 1, info.lo_file_name);
    return true;
}

/* -1: it is not stale.  While it is open its number is that of no other device. */
static int open_stale(unsigned number) {
    char path[LOOP_PATH_SIZE];
    struct loop_info64 info;
    autoclose int fd = -1;

    loop_path(number, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && query_status(fd, number, &info) < 0 && is_stale_error(errno) ? take_fd(fd)
                                                                                   : -1;
}

bool loop_is_stale(unsigned number) {
    autoclose int fd = open_stale(number);

    return fd >= 0;
}

void loop_detach_stale(unsigned number) {
    autoclose int fd = open_stale(number);

    if (fd >= 0)
        ioctl(fd, LOOP_CLR_FD, 0);
}

int loop_set_persistent(const struct loop *loop, bool persistent, struct error *err) {
    struct loop_info64 info;

    if (query_status(loop->fd, loop->number, &info) < 0)
        return error_errno(err, ERROR_BACKEND, "querying /dev/loop%u", loop->number);
    info.lo_flags &= ~(uint32_t)LO_FLAGS_AUTOCLEAR;
    if (!persistent)
        info.lo_flags |= LO_FLAGS_AUTOCLEAR;
    if (ioctl(loop->fd, LOOP_SET_STATUS64, &info) < 0)
        return error_errno(err, ERROR_BACKEND, "setting autoclear of /dev/loop%u", loop->number);
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

int loop_backing(const char *device, char *ret, size_t size) {
    char path[sizeof(LOOP_DEVICES "//loop/backing_file") + NAME_MAX];
    autofile FILE *file = NULL;

    snprintf(path, sizeof(path), LOOP_DEVICES "/%s/loop/backing_file", device);
    file = fopen(path, "re");
    if (!file || !fgets(ret, (int)size, file))
        return -1;
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}

/* The kernel encodes a device's number in a form of its own here. */
int loop_file(const struct loop *loop, dev_t *ret_device, ino_t *ret_inode) {
    struct loop_info64 info;

    if (query_status(loop->fd, loop->number, &info) < 0)
        return -1;
    *ret_device =
        makedev((unsigned)(info.lo_device >> 8) & 0xfff,
                (unsigned)(info.lo_device & 0xff) | ((unsigned)(info.lo_device >> 12) & ~0xffU));
    *ret_inode = info.lo_inode;
    return 0;
}

int loop_file_path(unsigned number, char *ret, size_t size, struct error *err) {
    char path[LOOP_PATH_SIZE];

    loop_path(number, path);
    if (loop_backing(path + strlen("/dev/"), ret, size) < 0)
        return error_errno(err, ERROR_BACKEND, "looking for the file of %s", path);
    return 0;
}

/* ---- release ---- */

/* 1: it exists, and will be detached at its last close; 0: it does not. */
static int request_detach(unsigned number, const char *label, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found = loop_open(number, &loop, err);

    if (found <= 0 || strcmp(loop.label, label) != 0)
        return found < 0 ? -1 : 0;
    if (ioctl(loop.fd, LOOP_CLR_FD, 0) < 0 && errno != ENXIO)
        return error_errno(err, ERROR_BACKEND, "releasing /dev/loop%u", number);
    return 1;
}

/* The kernel sends no notification of a detached device, and other programs open devices for
 * moments: it is polled for a while. */
int loop_release(unsigned number, const char *label, struct error *err) {
    const struct timespec pause = { .tv_nsec = 10000000 };
    int64_t end_us = clock_monotonic_us() + RELEASE_WAIT_US;
    int found;

    while ((found = request_detach(number, label, err)) > 0 && clock_monotonic_us() < end_us)
        nanosleep(&pause, NULL);
    return found;
}
