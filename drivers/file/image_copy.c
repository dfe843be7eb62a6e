#include "drivers/file/image_copy.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/image_holes.h"
#include "drivers/file/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* EINVAL: a length that is no multiple of its blocks, a kind of file that it does not share. */
static bool is_unsupported(int number) {
    return number == EOPNOTSUPP || number == ENOSYS || number == ENOTTY || number == EXDEV ||
           number == EINVAL;
}

int image_share(int from, int to, struct error *err) {
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    if (is_unsupported(errno))
        return 1;
    return error_errno(err, ERROR_BACKEND, "sharing the file's blocks");
}

#define REPORT_EVERY_US ((int64_t)500000)
/* A piece that takes less than QUICK_US doubles the next one; more than SLOW_US halves it. */
#define QUICK_US ((int64_t)50000)
#define SLOW_US  ((int64_t)250000)
enum {
    SMALLEST_PIECE = 1 << 16,
    LARGEST_PIECE = 1 << 26,
    BUFFER = 1 << 20,
    ZEROS = 1 << 16,     /* zeros of this length are skipped when read */
    UNFLUSHED = 1 << 27, /* so that the last flush is short */
};

struct copy {
    int from, to;
    const struct image_copy *how;
    off_t length, at;
    bool has_holes; /* it takes less space than its length */
    off_t flushed;  /* everything before it is flushed, or being flushed */
    int64_t moved;  /* bytes copied, without holes */
    size_t piece;   /* size of the next attempt */
    char *buffer;   /* NULL: copied by the kernel */
    int64_t begun_us, reported_us, checked_us;
};

/* Checked before each step: may it go on? */
static int check(struct copy *copy, struct error *err) {
    int64_t now_us = clock_boottime_us();

    if (image_fence_check(copy->how->fence, &copy->checked_us, err) < 0)
        return -1;
    if (copy->reported_us && now_us - copy->reported_us < REPORT_EVERY_US)
        return 0;
    copy->reported_us = now_us;
    return driver_progress_report(copy->how->progress, copy->at, copy->length, err);
}

/* Waits until the average rate since the start is within the limit. */
static int keep_pace(struct copy *copy, struct error *err) {
    int64_t limit = copy->how->bytes_per_second;

    while (limit > 0) {
        int64_t due_us = copy->begun_us + (int64_t)((double)copy->moved / (double)limit * 1e6);
        int64_t ahead_us = due_us - clock_boottime_us();
        struct timespec pause = { 0 };

        if (ahead_us <= 0)
            break;
        if (ahead_us > SLOW_US)
            ahead_us = SLOW_US;
        pause.tv_nsec = (long)ahead_us * 1000;
        nanosleep(&pause, NULL);
        if (check(copy, err) < 0)
            return -1;
    }
    return 0;
}

static size_t next_size(const struct copy *copy, off_t end) {
    int64_t limit = copy->how->bytes_per_second;
    size_t size = copy->piece;

    if (limit > 0 && (int64_t)size > limit / 4)
        size = limit / 4 < SMALLEST_PIECE ? SMALLEST_PIECE : (size_t)(limit / 4);
    return end - copy->at < (off_t)size ? (size_t)(end - copy->at) : size;
}

static void learn_speed(struct copy *copy, int64_t spent_us) {
    if (spent_us < QUICK_US && copy->piece < LARGEST_PIECE)
        copy->piece *= 2;
    else if (spent_us > SLOW_US && copy->piece > SMALLEST_PIECE)
        copy->piece /= 2;
}

/* The length of the first piece, and whether it is zeros. */
static size_t first_piece(const char *bytes, size_t size, bool *ret_zero) {
    size_t piece = size < ZEROS ? size : ZEROS;

    *ret_zero = bytes[0] == 0 && memcmp(bytes, bytes + 1, piece - 1) == 0;
    return piece;
}

/* The number of bytes before a piece of zeros. */
static size_t find_zeros(const char *bytes, size_t size) {
    size_t at = 0;

    while (at < size) {
        bool zero;
        size_t piece = first_piece(bytes + at, size - at, &zero);

        if (zero)
            break;
        at += piece;
    }
    return at;
}

/* The copy is new: unwritten parts read as zeros. */
static ssize_t write_all(int fd, const char *bytes, size_t size, off_t at) {
    size_t done = 0;

    while (done < size) {
        size_t data = find_zeros(bytes + done, size - done);
        bool zero;
        ssize_t written = data > 0 ? pwrite(fd, bytes + done, data, at + (off_t)done)
                                   : (ssize_t)first_piece(bytes + done, size - done, &zero);

        if (written < 0 && errno != EINTR)
            return -1;
        done += written < 0 ? 0 : (size_t)written;
    }
    return (ssize_t)size;
}

static ssize_t move_by_hand(const struct copy *copy, size_t size) {
    ssize_t got = pread(copy->from, copy->buffer, size < BUFFER ? size : BUFFER, copy->at);

    return got > 0 ? write_all(copy->to, copy->buffer, (size_t)got, copy->at) : got;
}

static void begin_by_hand(struct copy *copy) {
    copy->buffer = malloc(BUFFER);
    assert(copy->buffer);
}

/* The number of bytes of the piece, 0 at the end of the file, or -1 and errno. */
static ssize_t move_piece(struct copy *copy, size_t size) {
    off_t from = copy->at, to = copy->at;
    ssize_t moved;

    if (copy->buffer)
        return move_by_hand(copy, size);
    moved = copy_file_range(copy->from, &from, copy->to, &to, size, 0);
    if (moved > 0 || (moved < 0 && !is_unsupported(errno)))
        return moved;
    begin_by_hand(copy);
    return move_by_hand(copy, size);
}

/* Starts the write-back of copied data.  An error reported here is not reported again. */
static int flush_behind(struct copy *copy, struct error *err) {
    const unsigned all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    off_t size = copy->at - copy->flushed;
    off_t from = copy->flushed;

    if (size < UNFLUSHED)
        return 0;
    copy->flushed = copy->at;
    if (sync_file_range(copy->to, from, size, all) < 0 && !is_unsupported(errno))
        return error_errno(err, ERROR_BACKEND, "writing the copy to the disk");
    return 0;
}

static int copy_step(struct copy *copy, off_t end, struct error *err) {
    int64_t begun_us;
    ssize_t moved;

    if (check(copy, err) < 0)
        return -1;
    begun_us = clock_boottime_us();
    moved = move_piece(copy, next_size(copy, end));
    if (moved < 0 && errno == EINTR)
        return 0;
    if (moved < 0)
        return error_errno(err, ERROR_BACKEND, "copying the file");
    if (moved == 0)
        return error_set(err, ERROR_BACKEND, "The file became shorter while it was copied.");
    copy->at += moved;
    copy->moved += moved;
    if (flush_behind(copy, err) < 0)
        return -1;
    learn_speed(copy, clock_boottime_us() - begun_us);
    return keep_pace(copy, err);
}

static int find_data(const struct copy *copy, off_t from, struct image_extent *ret,
                     struct error *err) {
    return image_find_data(copy->from, copy->length, from, ret, err);
}

/* The next data are located first: allocated and unwritten blocks count as data once they are in
 * memory, and reading before them brings them there. */
static int copy_data(struct copy *copy, struct error *err) {
    struct image_extent now, next;

    if (find_data(copy, 0, &now, err) < 0)
        return -1;
    /* NFS before 4.2 reports everything as data: holes are found by reading. */
    if (copy->has_holes && now.begin == 0 && now.end == copy->length)
        begin_by_hand(copy);
    for (; now.begin < copy->length; now = next) {
        if (find_data(copy, now.end, &next, err) < 0)
            return -1;
        copy->at = now.begin;
        while (copy->at < now.end)
            if (copy_step(copy, now.end, err) < 0)
                return -1;
    }
    return 0;
}

int image_copy(int from, int to, bool sparse, const struct image_copy *how, struct error *err) {
    struct copy copy = {
        .from = from, .to = to, .how = how, .piece = SMALLEST_PIECE, .begun_us = clock_boottime_us()
    };
    struct stat status;
    int result;

    if (fstat(from, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the length of the file");
    copy.length = status.st_size;
    copy.has_holes = status.st_blocks < status.st_size / 512;
    if (ftruncate(to, 0) < 0)
        return error_errno(err, ERROR_BACKEND, "emptying the copy");
    if (image_grow_raw(to, copy.length, sparse, NULL, err) < 0)
        return -1;
    result = copy_data(&copy, err);
    free(copy.buffer);
    return result < 0 ? -1 : image_flush(to, err);
}
