#include "common/image_holes.h"

#include <assert.h>
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
    PIECE = 1 << 20, /* is read at once */
    STEP = 1 << 26,  /* is punched at once */
};

/* EINVAL: a file of a kind that has none. */
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
        return error_errno(err, ERROR_BACKEND, "looking for the file's data");
    end = begin < length ? lseek(fd, begin, SEEK_HOLE) : length;
    if (end < 0 && !is_unsupported(errno))
        return error_errno(err, ERROR_BACKEND, "looking for the file's holes");
    ret->begin = begin < length ? begin : length;
    ret->end = end > begin && end < length ? end : length;
    return 0;
}

int image_get_usage(int fd, int64_t *ret_bytes, struct error *err) {
    struct stat status;

    /* Blocks are taken when what was written goes to the disk. */
    if (fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the file");
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at the room that the file takes");
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
                         "The file system of this volume takes no part of a file back.");
    return error_errno(err, ERROR_BACKEND, "giving back the room of %jd bytes", (intmax_t)size);
}

/* The run ends.  Beside a hole it makes that larger; within data it must be worth a new one. */
static int end_run(struct image_digger *digger, bool at_hole, struct error *err) {
    off_t size = digger->run_end - digger->run;
    bool worth = at_hole || digger->run == digger->hole_end || size >= digger->worth;

    if (size == 0 || !worth) {
        digger->run = digger->run_end;
        return 0;
    }
    if (digger->may(digger->arg, digger->run, err) < 0 ||
        punch(digger->fd, digger->run, size, err) < 0)
        return -1;
    digger->run = digger->hole_end = digger->run_end;
    return 0;
}

static int take_page(struct image_digger *digger, off_t at, size_t size, bool empty,
                     struct error *err) {
    if (!empty)
        return end_run(digger, false, err);
    if (digger->run_end != at && end_run(digger, false, err) < 0)
        return -1;
    if (digger->run == digger->run_end)
        digger->run = at;
    digger->run_end = at + (off_t)size;
    return digger->run_end - digger->run >= STEP ? end_run(digger, false, err) : 0;
}

/* ---- what is read ---- */

static bool is_read(const struct image_digger *digger, off_t at) {
    return !digger->is_read || digger->is_read(digger->arg, at);
}

static bool is_zero(const char *bytes, size_t size) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static size_t page_size(off_t at, off_t end) {
    off_t left = PAGE - at % PAGE;

    return (size_t)(left < end - at ? left : end - at);
}

/* Reads the part that has a page which somebody may read. */
static int read_piece(const struct image_digger *digger, off_t from, off_t end, struct error *err) {
    bool any = false;
    ssize_t got;

    for (off_t at = from; at < end && !any; at += (off_t)page_size(at, end))
        any = is_read(digger, at);
    if (!any)
        return 0;
    do
        got = pread(digger->fd, digger->buffer, (size_t)(end - from), from);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_errno(err, ERROR_BACKEND, "reading the file");
    if (got < end - from)
        return error_set(err, ERROR_BACKEND, "The file became shorter while it was read.");
    return 0;
}

static int dig_piece(struct image_digger *digger, off_t from, off_t end, struct error *err) {
    if (digger->may(digger->arg, from, err) < 0 || read_piece(digger, from, end, err) < 0)
        return -1;
    for (off_t at = from; at < end;) {
        size_t size = page_size(at, end);
        bool empty = !is_read(digger, at) || is_zero(digger->buffer + (at - from), size);

        if (take_page(digger, at, size, empty, err) < 0)
            return -1;
        at += (off_t)size;
    }
    return 0;
}

/* ---- the file ---- */

static int next_data(const struct image_digger *digger, off_t from, struct image_extent *ret,
                     struct error *err) {
    if (digger->holes_told)
        return image_find_data(digger->fd, digger->length, from, ret, err);
    *ret = (struct image_extent){ from, digger->length };
    return 0;
}

int image_digger_dig(struct image_digger *digger, off_t from, off_t end, struct error *err) {
    struct image_extent data;

    for (off_t at = from; at < end; at = data.end) {
        if (next_data(digger, at, &data, err) < 0)
            return -1;
        if (data.end > end)
            data.end = end;
        if (data.begin > at || data.begin == 0)
            digger->hole_end = data.begin;
        for (at = data.begin; at < data.end; at += PIECE)
            if (dig_piece(digger, at, data.end - at < PIECE ? data.end : at + PIECE, err) < 0)
                return -1;
        if (end_run(digger, data.end < end || end == digger->length, err) < 0)
            return -1;
    }
    return 0;
}

/* Blocks that were taken and never written look like holes, and are room all the same: where there
 * are many, all of the file is read. */
int image_digger_look(struct image_digger *digger, struct error *err) {
    struct image_extent data = { 0 };
    int64_t usage, known = 0;

    if (image_get_usage(digger->fd, &usage, err) < 0)
        return -1;
    while (data.end < digger->length) {
        if (digger->may(digger->arg, 0, err) < 0 ||
            image_find_data(digger->fd, digger->length, data.end, &data, err) < 0)
            return -1;
        known += data.end - data.begin;
    }
    digger->holes_told = usage <= known + known / 8 + PIECE;
    return 0;
}

/* ---- begin and end ---- */

/* Behind everybody else who reads and writes there; what it was before. */
static int be_idle(void) {
    long before = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
    return before < 0 ? 0 : (int)before;
}

void image_digger_end(struct image_digger *digger) {
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, digger->priority);
    free(digger->buffer);
}

int image_digger_begin(struct image_digger *digger, struct error *err) {
    struct stat status;

    if (fstat(digger->fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at the file's length");
    digger->length = status.st_size;
    digger->run = digger->run_end = digger->hole_end = 0;
    /* Behind its end nothing changes, and whether holes can be is known before anything is read. */
    if (digger->may(digger->arg, 0, err) < 0 ||
        punch(digger->fd, (digger->length + PAGE - 1) / PAGE * PAGE, PAGE, err) < 0)
        return -1;
    digger->buffer = malloc(PIECE);
    assert(digger->buffer);
    digger->priority = be_idle();
    return 0;
}
