#include "data/file_io.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/image_holes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    UNFLUSHED = 1 << 27,
    BLOCK = 512, /* the unit of st_blocks */
};

struct file_io {
    struct volume_io io;
    int fd;
    bool sparse, hides_holes;
    int64_t unflushed; /* bytes written since the last flush */
};

static struct file_io *file_of(struct volume_io *io) {
    return (struct file_io *)io;
}

bool file_io_unsupported(int number) {
    return number == EOPNOTSUPP || number == ENOSYS || number == ENOTTY || number == EXDEV ||
           number == EINVAL;
}

static int file_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                       struct error *err) {
    struct image_extent data;

    if (image_find_data(file_of(io)->fd, io->size, offset, &data, err) < 0)
        return -1;
    ret->zero = data.begin > offset;
    ret->size = (ret->zero ? data.begin : data.end) - offset;
    return 0;
}

static int file_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                     struct error *err) {
    size_t done = 0;

    while (done < size) {
        ssize_t got =
            pread(file_of(io)->fd, (char *)buffer + done, size - done, offset + (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, ERROR_BACKEND, "reading the file");
        if (got == 0)
            return error_set(err, ERROR_BACKEND, "The file became shorter while it was read.");
        done += (size_t)got;
    }
    return 0;
}

/* An error reported here is not reported again. */
static int flush_behind(struct file_io *file, int64_t written, struct error *err) {
    const unsigned all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    file->unflushed += written;
    if (file->unflushed < UNFLUSHED)
        return 0;
    file->unflushed = 0;
    if (sync_file_range(file->fd, 0, 0, all) < 0 && !file_io_unsupported(errno))
        return error_errno(err, ERROR_BACKEND, "writing the file to the disk");
    return 0;
}

static int file_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                      struct error *err) {
    size_t done = 0;

    while (done < size) {
        ssize_t put =
            pwrite(file_of(io)->fd, (const char *)buffer + done, size - done, offset + (off_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = EIO;
        if (put <= 0)
            return error_errno(err, ERROR_BACKEND, "writing the file");
        done += (size_t)put;
    }
    return flush_behind(file_of(io), (int64_t)size, err);
}

/* 1: unsupported. */
static int deallocate(struct file_io *file, int mode, int64_t offset, int64_t size,
                      struct error *err) {
    int result;

    do
        result = fallocate(file->fd, mode | FALLOC_FL_KEEP_SIZE, offset, size);
    while (result < 0 && errno == EINTR);
    if (result < 0 && !file_io_unsupported(errno))
        return error_errno(err, ERROR_BACKEND, "deallocating a part of the file");
    return result < 0;
}

static int file_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    struct file_io *file = file_of(io);
    int mode = file->sparse ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
    int result = deallocate(file, mode, offset, size, err);

    return result > 0 ? volume_io_write_zeros(io, offset, size, err) : result;
}

static int file_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    struct file_io *file = file_of(io);

    return file->sparse && deallocate(file, FALLOC_FL_PUNCH_HOLE, offset, size, err) < 0 ? -1 : 0;
}

/* Drops the kernel's pages as well: they are read from the disk again. */
static int file_flush(struct volume_io *io, struct error *err) {
    struct file_io *file = file_of(io);

    file->unflushed = 0;
    if (fsync(file->fd) < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the file");
    posix_fadvise(file->fd, 0, (off_t)1 << 62, POSIX_FADV_DONTNEED);
    return 0;
}

static void file_close(struct volume_io *io) {
    close(file_of(io)->fd);
    free(io);
}

/* Some file systems report no holes: then they are found by reading. */
static bool hides_holes(int fd, const struct stat *status) {
    struct image_extent data;

    return status->st_blocks < status->st_size / BLOCK &&
           image_find_data(fd, status->st_size, 0, &data, NULL) == 0 && data.begin == 0 &&
           data.end == status->st_size;
}

static int64_t file_send(struct volume_io *io, struct volume_io *to, int64_t offset, int64_t size,
                         struct error *err) {
    off_t source = offset, target = offset;
    ssize_t moved;

    if (to->functions->write != file_write || file_of(io)->hides_holes)
        return 0;
    do
        moved =
            copy_file_range(file_of(io)->fd, &source, file_of(to)->fd, &target, (size_t)size, 0);
    while (moved < 0 && errno == EINTR);
    if (moved < 0)
        return file_io_unsupported(errno) ? 0 : error_errno(err, ERROR_BACKEND, "copying the file");
    if (moved == 0) /* a shorter file, which the next read finds, or a server that moves nothing */
        return 0;
    return flush_behind(file_of(to), moved, err) < 0 ? -1 : moved;
}

static const struct volume_io_functions file_functions = {
    .extent = file_extent,
    .read = file_read,
    .write = file_write,
    .zero = file_zero,
    .discard = file_discard,
    .flush = file_flush,
    .close = file_close,
    .send = file_send,
};

struct volume_io *file_io_open(int fd, bool writable, bool sparse, struct error *err) {
    autoclose int owned = fd;
    struct file_io *file;
    struct stat status;

    if (fstat(owned, &status) < 0) {
        error_errno(err, ERROR_BACKEND, "reading the length of the file");
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        error_set(err, ERROR_BACKEND, "The volume is not a regular file.");
        return NULL;
    }
    file = heap_new(sizeof(*file));
    file->io = (struct volume_io){ .functions = &file_functions,
                                   .size = status.st_size,
                                   .writable = writable };
    file->fd = take_fd(owned);
    file->sparse = sparse;
    file->hides_holes = hides_holes(file->fd, &status);
    return &file->io;
}

struct volume_io *file_io_open_memory(int64_t size, struct error *err) {
    autoclose int fd = memfd_create("volume", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, size) < 0) {
        error_errno(err, ERROR_BACKEND, "making a volume of %jd bytes in memory", (intmax_t)size);
        return NULL;
    }
    return file_io_open(take_fd(fd), true, true, err);
}
