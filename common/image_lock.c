#include "common/image_lock.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* LOCK_USE + n "permission n in use", LOCK_KEEP + n "permission n not shared". */
enum { LOCK_USE = 100, LOCK_KEEP = 200 };
enum { READ = 0, WRITE = 1, RESIZE = 3 }; /* permissions */
static const int resize_permissions[] = { READ, WRITE, RESIZE };
/* Not a permission of QEMU: "no other writer, but growing is allowed". */
enum { LOCK_GROWS = 190 };
enum { LOCKS_END = LOCK_KEEP + 100 };

static int take_byte(int fd, int byte, struct error *err) {
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

    if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
        return error_errno(err, ERROR_BACKEND, "locking byte %d", byte);
    return 0;
}

/* A guest's lock is shared and belongs to an open file description (l_pid is -1). Any other lock is
 * held by an unrelated program: the extend is not deferred to the compute side. */
static enum image_hold test_byte(int fd, int byte, struct error *err) {
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

    if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
        return error_errno(err, ERROR_BACKEND, "testing the lock of byte %d", byte);
    if (lock.l_type == F_UNLCK)
        return IMAGE_LOCKED;
    if (lock.l_type == F_RDLCK && lock.l_pid <= 0)
        return IMAGE_HELD;
    return error_set(err, ERROR_BACKEND, "Byte %d is locked by another program than QEMU.", byte);
}

/* All locks are taken before the others are tested: of two that start together at least one sees
 * the other. */
static enum image_hold lock(int fd, bool alone, struct error *err) {
    for (size_t i = 0; i < LENGTH(resize_permissions); i++)
        if (take_byte(fd, LOCK_USE + resize_permissions[i], err) < 0)
            return IMAGE_LOCK_FAILED;
    if (alone && take_byte(fd, LOCK_KEEP + RESIZE, err) < 0)
        return IMAGE_LOCK_FAILED;
    for (size_t i = 0; i < LENGTH(resize_permissions); i++) {
        enum image_hold hold = test_byte(fd, LOCK_KEEP + resize_permissions[i], err);

        if (hold == IMAGE_HELD && !alone && test_byte(fd, LOCK_GROWS, err) == IMAGE_HELD)
            return IMAGE_LOCKED;
        if (hold != IMAGE_LOCKED)
            return hold;
    }
    return alone ? test_byte(fd, LOCK_USE + RESIZE, err) : IMAGE_LOCKED;
}

enum image_hold image_lock(int fd, struct error *err) {
    return lock(fd, false, err);
}

enum image_hold image_lock_alone(int fd, struct error *err) {
    return lock(fd, true, err);
}

enum image_hold image_lock_still(int fd, struct error *err) {
    static const int own[] = { LOCK_USE + READ, LOCK_KEEP + WRITE, LOCK_KEEP + RESIZE };
    static const int others[] = { LOCK_KEEP + READ, LOCK_USE + WRITE, LOCK_USE + RESIZE };
    enum image_hold hold = IMAGE_LOCKED;

    for (size_t i = 0; i < LENGTH(own); i++)
        if (take_byte(fd, own[i], err) < 0)
            return IMAGE_LOCK_FAILED;
    for (size_t i = 0; i < LENGTH(others) && hold == IMAGE_LOCKED; i++)
        hold = test_byte(fd, others[i], err);
    return hold;
}

/* The second half are locks of holders that share nothing. */
enum image_hold image_lock_writer(int fd, bool alone, struct error *err) {
    static const int own[] = { LOCK_USE + READ, LOCK_USE + WRITE, LOCK_KEEP + WRITE, LOCK_GROWS };
    static const int others[] = { LOCK_KEEP + READ, LOCK_KEEP + WRITE, LOCK_USE + WRITE };
    enum image_hold hold = IMAGE_LOCKED;

    for (size_t i = 0; i < (alone ? LENGTH(own) : 2); i++)
        if (take_byte(fd, own[i], err) < 0)
            return IMAGE_LOCK_FAILED;
    for (size_t i = 0; i < (alone ? LENGTH(others) : 2) && hold == IMAGE_LOCKED; i++)
        hold = test_byte(fd, others[i], err);
    return hold;
}

enum image_hold image_lock_look(int fd, struct error *err) {
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_USE, .l_len = LOCKS_END - LOCK_USE
    };

    if (fcntl(fd, F_OFD_GETLK, &lock) < 0) {
        error_errno(err, ERROR_BACKEND, "testing locks");
        return IMAGE_LOCK_FAILED;
    }
    return lock.l_type == F_UNLCK ? IMAGE_LOCKED : IMAGE_HELD;
}

enum image_hold image_lock_away(int fd, struct error *err) {
    for (int permission = READ; permission <= RESIZE; permission++)
        if (take_byte(fd, LOCK_KEEP + permission, err) < 0)
            return IMAGE_LOCK_FAILED;
    return image_lock_look(fd, err);
}

enum image_hold image_lock_written(int fd, struct error *err) {
    return test_byte(fd, LOCK_USE + WRITE, err);
}

/* A line such as …: Failed to get "write" lock */
static bool line_says_locked(const char *line, size_t length) {
    static const char *const begins[] = { "Failed to get \"", "Failed to get shared \"" };
    static const char end[] = "\" lock";
    const size_t end_length = sizeof(end) - 1;

    if (length < end_length || memcmp(line + length - end_length, end, end_length) != 0)
        return false;
    for (size_t i = 0; i < LENGTH(begins); i++) {
        const char *found = memmem(line, length, begins[i], strlen(begins[i]));
        const char *word = found ? found + strlen(begins[i]) : NULL;

        /* the first quotation mark after the opening one must end the permission */
        if (word && word < line + length &&
            memchr(word, '"', (size_t)(line + length - word)) == line + length - end_length)
            return true;
    }
    return false;
}

bool image_lock_reported(const char *errors) {
    while (*errors) {
        size_t length = strcspn(errors, "\n");

        if (line_says_locked(errors, length))
            return true;
        errors += length + (errors[length] == '\n');
    }
    return false;
}

enum image_hold image_lock_chain(int fd, bool hold, struct error *err) {
    struct flock lock = {
        .l_type = hold ? F_RDLCK : F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = IMAGE_CHAIN_BYTE,
        .l_len = 1,
    };

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return IMAGE_LOCKED;
    if (errno == EAGAIN || errno == EACCES)
        return IMAGE_HELD;
    error_errno(err, ERROR_BACKEND, "locking the files of a volume");
    return IMAGE_LOCK_FAILED;
}
