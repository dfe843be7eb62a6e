#include "common/image_holes.h"

#include "common/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    BLOCK = 512,
    PAGE = 4096,
    PIECE = 1 << 20, /* bytes per read */
    STEP = 1 << 26,  /* bytes per hole punched */
};

/* EINVAL: a file type without holes. */
static bool is_unsupported(int number) {
    return number == EOPNOTSUPP || number == ENOSYS || number == ENOTTY || number == EXDEV ||
           number == EINVAL;
}

int image_find_data(int fd, off_t length, off_t from, struct image_extent *ret, struct error *err) {
    off_t begin = from < length ? lseek(fd, from, SEEK_DATA) : length, end;

    if (begin < 0 && errno == ENXIO)
        begin = length;
    else if (begin < 0 && is_unsupported(errno))
        begin = from;
    if (begin < 0)
        return error_errno(err, ERROR_BACKEND, "finding the data of the file");
    end = begin < length ? lseek(fd, begin, SEEK_HOLE) : length;
    if (end < 0 && !is_unsupported(errno))
        return error_errno(err, ERROR_BACKEND, "finding the holes of the file");
    ret->begin = begin < length ? begin : length;
    ret->end = end > begin && end < length ? end : length;
    return 0;
}

int image_get_usage(int fd, int64_t *ret_bytes, struct error *err) {
    struct stat status;

    /* Delayed allocation: blocks are allocated at the flush. */
    if (fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the file");
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the space usage of the file");
    *ret_bytes = (int64_t)status.st_blocks * BLOCK;
    return 0;
}

/* ---- punching ---- */

static int punch(int fd, off_t from, off_t size, struct error *err) {
    int result;

    do
        result = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, size);
    while (result < 0 && errno == EINTR);
    if (result == 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The file system of this volume does not support punching holes.");
    return error_errno(err, ERROR_BACKEND, "punching a hole of %jd bytes", (intmax_t)size);
}

/* Ends a run of zeros.  Next to a hole it extends that; within data it must be worth a new one. */
static int end_run(struct image_puncher *puncher, bool at_hole, struct error *err) {
    off_t size = puncher->run_end - puncher->run;
    bool worth = at_hole || puncher->run == puncher->hole_end || size >= puncher->worth;

    if (size == 0 || !worth) {
        puncher->run = puncher->run_end;
        return 0;
    }
    if (puncher->may(puncher->arg, puncher->run, err) < 0 ||
        punch(puncher->fd, puncher->run, size, err) < 0)
        return -1;
    puncher->run = puncher->hole_end = puncher->run_end;
    return 0;
}

static int take_page(struct image_puncher *puncher, off_t at, size_t size, bool empty,
                     struct error *err) {
    if (!empty)
        return end_run(puncher, false, err);
    if (puncher->run_end != at && end_run(puncher, false, err) < 0)
        return -1;
    if (puncher->run == puncher->run_end)
        puncher->run = at;
    puncher->run_end = at + (off_t)size;
    return puncher->run_end - puncher->run >= STEP ? end_run(puncher, false, err) : 0;
}

/* ---- used pages ---- */

static bool is_read(const struct image_puncher *puncher, off_t at) {
    return !puncher->is_read || puncher->is_read(puncher->arg, at);
}

bool image_is_zero(const void *bytes, size_t size) {
    const char *first = bytes;

    return first[0] == 0 && memcmp(first, first + 1, size - 1) == 0;
}

static size_t page_size(off_t at, off_t end) {
    off_t left = PAGE - at % PAGE;

    return (size_t)(left < end - at ? left : end - at);
}

/* Reads a part that contains a used page. */
static int read_piece(const struct image_puncher *puncher, off_t from, off_t end,
                      struct error *err) {
    bool any = false;
    ssize_t got;

    for (off_t at = from; at < end && !any; at += (off_t)page_size(at, end))
        any = is_read(puncher, at);
    if (!any)
        return 0;
    do
        got = pread(puncher->fd, puncher->buffer, (size_t)(end - from), from);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_errno(err, ERROR_BACKEND, "reading the file");
    if (got < end - from)
        return error_set(err, ERROR_BACKEND, "The file became shorter while it was read.");
    return 0;
}

static int punch_piece(struct image_puncher *puncher, off_t from, off_t end, struct error *err) {
    if (puncher->may(puncher->arg, from, err) < 0 || read_piece(puncher, from, end, err) < 0)
        return -1;
    for (off_t at = from; at < end;) {
        size_t size = page_size(at, end);
        bool empty = !is_read(puncher, at) || image_is_zero(puncher->buffer + (at - from), size);

        if (take_page(puncher, at, size, empty, err) < 0)
            return -1;
        at += (off_t)size;
    }
    return 0;
}

/* ---- the file ---- */

int image_puncher_punch(struct image_puncher *puncher, off_t from, off_t end, struct error *err) {
    struct image_extent data;

    for (off_t at = from; at < end; at = data.end) {
        data = (struct image_extent){ at, puncher->length };
        if (puncher->holes_known &&
            image_find_data(puncher->fd, puncher->length, at, &data, err) < 0)
            return -1;
        if (data.end > end)
            data.end = end;
        if (data.begin > at || data.begin == 0)
            puncher->hole_end = data.begin;
        for (at = data.begin; at < data.end; at += PIECE)
            if (punch_piece(puncher, at, data.end - at < PIECE ? data.end : at + PIECE, err) < 0)
                return -1;
        if (end_run(puncher, data.end < end || end == puncher->length, err) < 0)
            return -1;
    }
    return 0;
}

/* Blocks allocated but never written look like holes and take space: where there are many, the
 * whole file is read. */
int image_puncher_scan(struct image_puncher *puncher, struct error *err) {
    struct image_extent data = { 0 };
    int64_t usage, known = 0;

    if (image_get_usage(puncher->fd, &usage, err) < 0)
        return -1;
    while (data.end < puncher->length) {
        if (puncher->may(puncher->arg, 0, err) < 0 ||
            image_find_data(puncher->fd, puncher->length, data.end, &data, err) < 0)
            return -1;
        known += data.end - data.begin;
    }
    puncher->holes_known = usage <= known + known / 8 + PIECE;
    return 0;
}

/* ---- start and end ---- */

void image_puncher_end(struct image_puncher *puncher) {
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, puncher->priority);
    free(puncher->buffer);
}

int image_puncher_begin(struct image_puncher *puncher, struct error *err) {
    struct stat status;
    long priority;

    if (fstat(puncher->fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the length of the file");
    puncher->length = status.st_size;
    puncher->run = puncher->run_end = puncher->hole_end = 0;
    /* Punched behind the end of the file, where nothing changes: it shows whether holes are
     * supported before any data is read. */
    if (puncher->may(puncher->arg, 0, err) < 0 ||
        punch(puncher->fd, (puncher->length + PAGE - 1) / PAGE * PAGE, PAGE, err) < 0)
        return -1;
    puncher->buffer = malloc(PIECE);
    assert(puncher->buffer);
    priority = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
    puncher->priority = priority < 0 ? 0 : (int)priority;
    return 0;
}
