#include "csi/node/wipe.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "csi/node/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STEP    (INT64_C(64) << 20) /* of an allocation */
#define PIECE   (INT64_C(1) << 20)  /* of a write */
#define BLOCK   4096
#define EXTENTS 64

/* Extents without a fixed position on the device. */
#define ELSEWHERE                                                             \
    (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED | \
     FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_SHARED)

struct taken {
    const struct wipe *wipe;
    int file;
    int64_t reserve;
};

/* Outcomes of a step. */
enum { ENDED, DONE, YIELDED /* other files need the space */ };

/* Never written, so it occupies no memory. */
static _Alignas(BLOCK) char zeros[PIECE];

static int fail(struct error *err, const char *what) {
    bool cannot = errno == EOPNOTSUPP || errno == ENOTTY || errno == EINVAL || errno == EROFS;

    return error_errno(err, cannot ? ERROR_BAD_METHOD : ERROR_BACKEND, "%s", what);
}

static bool is_full(void) {
    return errno == ENOSPC || errno == EDQUOT;
}

/* ---- data of the device ---- */

/* The next data from `at`: 1; 0: none before `end`. */
static int next_data(int image, int64_t at, int64_t end, int64_t *ret_begin, int64_t *ret_end,
                     struct error *err) {
    int64_t begin = lseek(image, at, SEEK_DATA), hole;

    if (begin < 0 && errno == ENXIO)
        return 0;
    if (begin < 0)
        return fail(err, "searching data of the volume");
    if (begin >= end)
        return 0;
    hole = lseek(image, begin, SEEK_HOLE);
    *ret_begin = begin;
    *ret_end = hole < 0 || hole > end ? end : hole; /* it may be gone already */
    return 1;
}

int wipe_measure(const struct wipe *wipe, int64_t *ret, struct error *err) {
    int64_t begin, end = 0;
    int found;

    *ret = 0;
    while ((found = next_data(wipe->image, end, INT64_MAX, &begin, &end, err)) > 0) {
        if (!wipe->may_continue(wipe->arg))
            return 0;
        *ret += end - begin;
    }
    return found < 0 ? -1 : 1;
}

/* ---- wiping ---- */

static int64_t free_bytes(int file) {
    struct statvfs status;

    return fstatvfs(file, &status) < 0 ? 0 : (int64_t)(status.f_bavail * status.f_frsize);
}

static bool may_continue(const struct taken *taken) {
    return taken->wipe->may_continue(taken->wipe->arg);
}

static int put_zeros(const struct taken *taken, int64_t at, int64_t end, struct error *err) {
    while (at < end) {
        ssize_t put = pwrite(taken->file, zeros, (size_t)(end - at < PIECE ? end - at : PIECE), at);

        if (put < 0)
            return is_full() ? YIELDED : fail(err, "writing zeros");
        at += put;
        if (free_bytes(taken->file) < taken->reserve / 2)
            return YIELDED;
        if (!may_continue(taken))
            return ENDED;
    }
    return DONE;
}

/* `from` and `end` are offsets in the file, `shift` bytes before those on the device. */
static int wipe_extent(const struct taken *taken, int64_t from, int64_t end, int64_t shift,
                       struct error *err) {
    int image = taken->wipe->image, found, result = DONE;
    int64_t first, last;

    while (result == DONE &&
           (found = next_data(image, from + shift, end + shift, &first, &last, err))) {
        if (found < 0)
            return -1;
        from = (last - shift + BLOCK - 1) / BLOCK * BLOCK;
        result = put_zeros(taken, (first - shift) / BLOCK * BLOCK, from, err);
        posix_fadvise(image, first, last - first, POSIX_FADV_DONTNEED);
    }
    return result;
}

static int wipe_one(const struct taken *taken, const struct fiemap_extent *extent, int64_t at,
                    int64_t end, struct error *err) {
    int64_t from = (int64_t)extent->fe_logical, until = from + (int64_t)extent->fe_length;
    int64_t shift = (int64_t)extent->fe_physical - from;

    if (extent->fe_flags & ELSEWHERE)
        return DONE;
    return wipe_extent(taken, from < at ? at : from, until > end ? end : until, shift, err);
}

static int wipe_range(const struct taken *taken, int64_t at, int64_t end, struct error *err) {
    autofree struct fiemap *map = heap_new(sizeof(*map) + EXTENTS * sizeof(struct fiemap_extent));
    const struct fiemap_extent *last = &map->fm_extents[EXTENTS - 1];
    int result = DONE;

    while (result == DONE && at < end) {
        map->fm_start = (uint64_t)at;
        map->fm_length = (uint64_t)(end - at);
        map->fm_flags = FIEMAP_FLAG_SYNC;
        map->fm_extent_count = EXTENTS;
        if (ioctl(taken->file, FS_IOC_FIEMAP, map) < 0)
            return fail(err, "reading the file's extents");
        for (uint32_t i = 0; result == DONE && i < map->fm_mapped_extents; i++)
            result = wipe_one(taken, &map->fm_extents[i], at, end, err);
        if (map->fm_mapped_extents < EXTENTS)
            break;
        at = (int64_t)(last->fe_logical + last->fe_length);
    }
    return result;
}

/* ---- steps ---- */

/* The number of bytes to allocate next. */
static int64_t next_step(const struct taken *taken) {
    int64_t available = free_bytes(taken->file) - taken->reserve;

    return available >= STEP ? STEP : available >= PIECE ? available / PIECE * PIECE : 0;
}

static int take_all(const struct taken *taken, struct error *err) {
    int result = DONE;

    for (int64_t at = 0, step; result == DONE && (step = next_step(taken)) > 0; at += step) {
        if (!may_continue(taken))
            return ENDED;
        if (fallocate(taken->file, 0, at, step) < 0)
            return is_full() ? YIELDED : fail(err, "allocating free blocks");
        result = wipe_range(taken, at, at + step, err);
    }
    return result;
}

static int64_t reserve_of(int directory) {
    struct statvfs status;
    int64_t part =
        fstatvfs(directory, &status) < 0 ? 0 : (int64_t)(status.f_blocks / 16 * status.f_frsize);

    return part > WIPE_RESERVE ? part : WIPE_RESERVE;
}

int wipe_free(const struct wipe *wipe, struct error *err) {
    struct taken taken = { .wipe = wipe, .reserve = reserve_of(wipe->directory) };
    autoclose int file = -1;
    int result;

    if (filesystem_flush_deletions(wipe->directory, err) < 0)
        return -1;
    file = taken.file =
        openat(wipe->directory, ".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    if (file < 0)
        return is_full() ? 1 : fail(err, "creating an unnamed file");
    result = take_all(&taken, err);
    /* The space of a file that is merely closed may be freed later. */
    if (ftruncate(file, 0) < 0 && result >= 0)
        return fail(err, "releasing allocated blocks");
    return result < 0 ? -1 : result != ENDED;
}
