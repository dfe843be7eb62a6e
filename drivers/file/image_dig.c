#include "drivers/file/image_dig.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "drivers/file/image.h"
#include "drivers/file/image_copy.h"
#include "drivers/file/qcow2_use.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TELL_EVERY_US ((int64_t)500000)
enum {
    PAGE = 4096,
    WORTH = 1 << 16, /* fewer zeros between data are no hole: a file has few extents so */
    PIECE = 1 << 20, /* is read at once */
    STEP = 1 << 26,  /* is punched at once */
};

struct dig {
    int fd;
    const struct image_dig *how;
    off_t length;
    struct qcow2_use use; /* without bits: somebody may read every page */
    off_t worth;
    off_t run, run_end; /* nothing is in there, and it is not punched yet */
    off_t hole_end;     /* of the last hole that is known */
    bool holes_told;    /* the file system knows where there are data */
    char *buffer;       /* of PIECE bytes */
    int64_t asked_us, told_us;
};

int image_get_usage(int fd, int64_t *ret_bytes, struct error *err) {
    const int64_t block = 512;
    struct stat status;

    /* Blocks are taken when what was written goes to the disk. */
    if (image_flush(fd, err) < 0)
        return -1;
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at the room that the file takes");
    *ret_bytes = (int64_t)status.st_blocks * block;
    return 0;
}

/* ---- holes ---- */

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
static int end_run(struct dig *dig, bool at_hole, struct error *err) {
    off_t size = dig->run_end - dig->run;
    bool worth = at_hole || dig->run == dig->hole_end || size >= dig->worth;

    if (size == 0 || !worth) {
        dig->run = dig->run_end;
        return 0;
    }
    if (image_fence_check(dig->how->fence, &dig->asked_us, err) < 0 ||
        punch(dig->fd, dig->run, size, err) < 0)
        return -1;
    dig->run = dig->hole_end = dig->run_end;
    return 0;
}

static int take_page(struct dig *dig, off_t at, size_t size, bool empty, struct error *err) {
    if (!empty)
        return end_run(dig, false, err);
    if (dig->run_end != at && end_run(dig, false, err) < 0)
        return -1;
    if (dig->run == dig->run_end)
        dig->run = at;
    dig->run_end = at + (off_t)size;
    return dig->run_end - dig->run >= STEP ? end_run(dig, false, err) : 0;
}

/* ---- what is read ---- */

static bool is_read(const struct dig *dig, off_t at) {
    return !dig->use.bits || qcow2_use_has(&dig->use, (uint64_t)at);
}

static bool is_zero(const char *bytes, size_t size) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static size_t page_size(off_t at, off_t end) {
    off_t left = PAGE - at % PAGE;

    return (size_t)(left < end - at ? left : end - at);
}

/* Reads the part that has a page which somebody may read. */
static int read_piece(const struct dig *dig, off_t from, off_t end, struct error *err) {
    bool any = false;
    ssize_t got;

    for (off_t at = from; at < end && !any; at += (off_t)page_size(at, end))
        any = is_read(dig, at);
    if (!any)
        return 0;
    do
        got = pread(dig->fd, dig->buffer, (size_t)(end - from), from);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_errno(err, ERROR_BACKEND, "reading the file");
    if (got < end - from)
        return error_set(err, ERROR_BACKEND, "The file became shorter while it was read.");
    return 0;
}

static int ask(struct dig *dig, off_t at, struct error *err) {
    int64_t now_us = clock_boottime_us();

    if (image_fence_check(dig->how->fence, &dig->asked_us, err) < 0)
        return -1;
    if (dig->told_us && now_us - dig->told_us < TELL_EVERY_US)
        return 0;
    dig->told_us = now_us;
    return driver_progress_tell(dig->how->progress, at, dig->length, err);
}

static int dig_piece(struct dig *dig, off_t from, off_t end, struct error *err) {
    if (ask(dig, from, err) < 0 || read_piece(dig, from, end, err) < 0)
        return -1;
    for (off_t at = from; at < end;) {
        size_t size = page_size(at, end);
        bool empty = !is_read(dig, at) || is_zero(dig->buffer + (at - from), size);

        if (take_page(dig, at, size, empty, err) < 0)
            return -1;
        at += (off_t)size;
    }
    return 0;
}

/* ---- the file ---- */

static int next_data(const struct dig *dig, off_t from, struct image_extent *ret,
                     struct error *err) {
    if (dig->holes_told)
        return image_find_data(dig->fd, dig->length, from, ret, err);
    *ret = (struct image_extent){ from, dig->length };
    return 0;
}

static int dig_part(struct dig *dig, off_t from, off_t end, struct error *err) {
    struct image_extent data;

    for (off_t at = from; at < end; at = data.end) {
        if (next_data(dig, at, &data, err) < 0)
            return -1;
        if (data.end > end)
            data.end = end;
        if (data.begin > at || data.begin == 0)
            dig->hole_end = data.begin;
        for (at = data.begin; at < data.end; at += PIECE)
            if (dig_piece(dig, at, data.end - at < PIECE ? data.end : at + PIECE, err) < 0)
                return -1;
        if (end_run(dig, data.end < end || end == dig->length, err) < 0)
            return -1;
    }
    return 0;
}

/* Blocks that were taken and never written look like holes, and are room all the same: where there
 * are many, all of the file is read. */
static int look_for_unwritten(struct dig *dig, struct error *err) {
    struct image_extent data = { 0 };
    int64_t usage, known = 0;

    if (image_get_usage(dig->fd, &usage, err) < 0)
        return -1;
    while (data.end < dig->length) {
        if (image_find_data(dig->fd, dig->length, data.end, &data, err) < 0)
            return -1;
        known += data.end - data.begin;
    }
    dig->holes_told = usage <= known + known / 8 + PIECE;
    return 0;
}

static int dig_raw(struct dig *dig, struct error *err) {
    return dig_part(dig, 0, dig->length, err);
}

/* As many clusters at a time as their bits have room. */
static int dig_qcow2(struct dig *dig, struct error *err) {
    autofree unsigned char *bits = malloc(QCOW2_USE_MOST / 8);
    struct qcow2_use *use = &dig->use;
    off_t at = 0;

    assert(bits);
    use->bits = bits;
    while (at < dig->length) {
        int known = qcow2_use_read(dig->fd, (uint64_t)dig->length, dig->how->fence, use, err);
        off_t end;

        if (known < 0)
            return -1;
        if (known == 0)
            break;
        end = (off_t)((use->first + use->count) << use->cluster_bits);
        if (((off_t)1 << use->cluster_bits) < dig->worth)
            dig->worth = (off_t)1 << use->cluster_bits;
        if (dig_part(dig, at, end < dig->length ? end : dig->length, err) < 0)
            return -1;
        use->first += use->count;
        at = end;
    }
    use->bits = NULL;
    return at < dig->length ? dig_part(dig, at, dig->length, err) : 0;
}

/* Behind everybody else who reads and writes there; what it was before. */
static int be_idle(void) {
    long before = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
    return before < 0 ? 0 : (int)before;
}

int image_dig(int fd, const struct image_dig *how, struct error *err) {
    autofree char *buffer = malloc(PIECE);
    struct dig dig = { .fd = fd, .how = how, .worth = WORTH, .buffer = buffer };
    struct stat status;
    int result, before;

    assert(buffer);
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at the file's length");
    dig.length = status.st_size;
    /* Behind its end nothing changes, and whether holes can be is known before anything is read. */
    if (image_fence_check(how->fence, &dig.asked_us, err) < 0 ||
        punch(fd, (dig.length + PAGE - 1) / PAGE * PAGE, PAGE, err) < 0)
        return -1;
    before = be_idle();
    result = look_for_unwritten(&dig, err);
    if (result == 0)
        result = how->qcow2 ? dig_qcow2(&dig, err) : dig_raw(&dig, err);
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, before);
    return result < 0 ? -1 : image_flush(fd, err);
}
