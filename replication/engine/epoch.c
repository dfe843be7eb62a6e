#include "replication/engine/epoch.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS   20
#define WAIT_MS  2000
#define PAUSE_MS 2

static int fail(struct error *err, const char *what) {
    return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE, "%s the epoch",
                       what);
}

/* Digits of one length, in one sector and in place: there is always space for the next epoch, and
 * never half of one. */
static int read_digits(int fd, int64_t *ret, struct error *err) {
    char text[DIGITS + 2] = "";
    ssize_t got = pread(fd, text, DIGITS + 1, 0);

    if (got < 0)
        return fail(err, "reading");
    *ret = 0;
    if (got == 0)
        return 0;
    if (got != DIGITS + 1 || strspn(text, "0123456789") != DIGITS || text[DIGITS] != '\n')
        return error_set(err, ERROR_BACKEND, "The epoch is damaged.");
    *ret = strtoll(text, NULL, 10);
    return 0;
}

static int write_digits(int fd, int64_t epoch, struct error *err) {
    char text[DIGITS + 2];

    assert(epoch >= 0);
    snprintf(text, sizeof(text), "%0*" PRId64 "\n", DIGITS, epoch);
    if (pwrite(fd, text, DIGITS + 1, 0) != DIGITS + 1 || fsync(fd) < 0)
        return fail(err, "writing");
    return 0;
}

int64_t epoch_read(int directory, struct error *err) {
    autoclose int fd =
        openat(directory, EPOCH_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int64_t epoch;

    if (fd < 0)
        return errno == ENOENT ? 0 : fail(err, "reading");
    return read_digits(fd, &epoch, err) < 0 ? -1 : epoch;
}

static int open_locked(int directory, bool *ret_new, struct error *err) {
    autoclose int fd =
        openat(directory, EPOCH_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat facts;

    if (fd < 0)
        return fail(err, "opening");
    /* It is held for moments only, so its end is awaited. */
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += PAUSE_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail(err, "locking");
        if (waited >= WAIT_MS)
            return error_set(err, ERROR_UNAVAILABLE, "The epoch is locked by another process.");
        poll(NULL, 0, PAUSE_MS);
    }
    if (fstat(fd, &facts) < 0 || facts.st_nlink == 0)
        return error_set(err, ERROR_NOT_FOUND, "The epoch was removed.");
    *ret_new = facts.st_size == 0;
    if (*ret_new && fsync(directory) < 0)
        return fail(err, "making");
    return take_fd(fd);
}

int epoch_make(int directory, struct error *err) {
    bool new = false;
    autoclose int fd = open_locked(directory, &new, err);

    if (fd < 0)
        return -1;
    return new ? write_digits(fd, 0, err) : 0;
}

static int hold(int directory, int64_t epoch, int64_t *ret_highest, struct error *err) {
    bool ignored;
    autoclose int fd = open_locked(directory, &ignored, err);

    if (fd < 0 || read_digits(fd, ret_highest, err) < 0)
        return -1;
    if (epoch < *ret_highest)
        return error_set(err, ERROR_CONFLICT,
                         "The epoch %" PRId64 " is over: it was opened in %" PRId64 ".", epoch,
                         *ret_highest);
    return take_fd(fd);
}

int epoch_hold(int directory, int64_t epoch, struct error *err) {
    int64_t ignored;

    return hold(directory, epoch, &ignored, err);
}

int epoch_take(int directory, int64_t epoch, struct error *err) {
    int64_t highest;
    autoclose int fd = hold(directory, epoch, &highest, err);

    if (fd < 0 || (epoch > highest && write_digits(fd, epoch, err) < 0))
        return -1;
    return take_fd(fd);
}
