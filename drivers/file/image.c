#include "drivers/file/image.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const unsigned char qcow2_magic[] = { 'Q', 'F', 'I', 0xfb };
static const unsigned char luks_magic[] = { 'L', 'U', 'K', 'S', 0xba, 0xbe };

/* Bytes of the qcow2 header; all numbers are big-endian. */
enum {
    QCOW2_VERSION = 4,
    QCOW2_BACKING_OFFSET = 8,
    QCOW2_BACKING_SIZE = 16,
    QCOW2_CLUSTER_BITS = 20,
    QCOW2_SIZE = 24,
    QCOW2_CRYPT_METHOD = 32,
    QCOW2_L1_SIZE = 36,
    QCOW2_L1_OFFSET = 40,
    QCOW2_L1_END = 48,
    QCOW2_VERSION_2_END = 72,
    QCOW2_INCOMPATIBLE = 72,
    QCOW2_HEADER_LENGTH = 100,
    QCOW2_VERSION_3_END = 104,
    QCOW2_CORRUPT = 1 << 1, /* bits of QCOW2_INCOMPATIBLE */
    QCOW2_EXTERNAL_DATA = 1 << 2,
    EXTENSIONS_MOST = 64, /* QEMU writes a handful */
};

#define EXTENSION_BACKING_FORMAT 0xe2792acaU

bool image_format_known(const char *format) {
    return format && (strcmp(format, "raw") == 0 || strcmp(format, "qcow2") == 0);
}

int image_open(int directory_fd, const char *name, int flags, struct error *err) {
    /* O_NONBLOCK: opening a FIFO of that name must not block; regular files ignore it. */
    autoclose int fd =
        openat(directory_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat status;

    assert(*name && !strchr(name, '/'));
    if (fd < 0 && errno == ENOENT)
        return error_set(err, ERROR_NOT_FOUND, "There is no file %s.", name);
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", name);
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at %s", name);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_BACKEND, "%s is not a regular file.", name);
    return take_fd(fd);
}

int image_find(int directory_fd, const char *name, int flags, int *ret_fd, struct error *err) {
    struct error missing = { .kind = ERROR_NONE };

    *ret_fd = image_open(directory_fd, name, flags, &missing);
    if (*ret_fd >= 0)
        return 1;
    return missing.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &missing);
}

static uint64_t big_endian(const unsigned char *bytes, unsigned size) {
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static bool begins_with(int fd, const unsigned char *magic, size_t size) {
    unsigned char bytes[8];

    return pread(fd, bytes, size, 0) == (ssize_t)size && memcmp(bytes, magic, size) == 0;
}

bool image_looks_qcow2(int fd) {
    return begins_with(fd, qcow2_magic, sizeof(qcow2_magic));
}

bool image_looks_luks(int fd) {
    return begins_with(fd, luks_magic, sizeof(luks_magic));
}

/* Extensions follow the header: type, length, content to a multiple of eight. */
static int read_backing_format(int fd, uint64_t at, uint64_t end, struct image_facts *facts,
                               struct error *err) {
    unsigned char head[8];

    for (int i = 0; i < EXTENSIONS_MOST && at + sizeof(head) <= end; i++) {
        uint64_t type, size;

        if (pread(fd, head, sizeof(head), (off_t)at) != (ssize_t)sizeof(head))
            return error_set(err, ERROR_BACKEND, "The qcow2 header ends among its extensions.");
        type = big_endian(head, 4);
        size = big_endian(head + 4, 4);
        at += sizeof(head);
        if (type == 0)
            return 0;
        if (size > end - at)
            return error_set(err, ERROR_BACKEND, "A qcow2 header extension is too long.");
        if (type == EXTENSION_BACKING_FORMAT) {
            if (size >= sizeof(facts->backing_format) ||
                pread(fd, facts->backing_format, size, (off_t)at) != (ssize_t)size)
                return error_set(err, ERROR_BACKEND,
                                 "The qcow2 header has a wrong backing format.");
            return 0;
        }
        at += (size + 7) / 8 * 8;
    }
    return 0;
}

static int read_backing(int fd, const unsigned char *header, struct image_facts *facts,
                        struct error *err) {
    uint64_t offset = big_endian(header + QCOW2_BACKING_OFFSET, 8);
    uint64_t size = big_endian(header + QCOW2_BACKING_SIZE, 4);
    uint64_t cluster = (uint64_t)1 << big_endian(header + QCOW2_CLUSTER_BITS, 4);

    if (offset == 0)
        return 0;
    if (size >= sizeof(facts->backing) || offset > cluster - size)
        return error_set(err, ERROR_BACKEND, "The qcow2 header places its backing name wrongly.");
    if (pread(fd, facts->backing, size, (off_t)offset) != (ssize_t)size)
        return error_set(err, ERROR_BACKEND, "The qcow2 header ends before its backing name.");
    return read_backing_format(fd,
                               big_endian(header + QCOW2_VERSION, 4) == 3
                                   ? big_endian(header + QCOW2_HEADER_LENGTH, 4)
                                   : QCOW2_VERSION_2_END,
                               offset, facts, err);
}

static int read_qcow2_facts(int fd, struct image_facts *facts, struct error *err) {
    unsigned char header[QCOW2_VERSION_3_END] = { 0 };
    ssize_t got = pread(fd, header, sizeof(header), 0);
    uint64_t version = big_endian(header + QCOW2_VERSION, 4);
    uint64_t cluster_bits = big_endian(header + QCOW2_CLUSTER_BITS, 4);
    uint64_t size = big_endian(header + QCOW2_SIZE, 8);
    uint64_t incompatible = version == 3 ? big_endian(header + QCOW2_INCOMPATIBLE, 8) : 0;

    if (got < 0)
        return error_errno(err, ERROR_BACKEND, "reading the qcow2 header");
    if (got < QCOW2_VERSION_2_END || memcmp(header, qcow2_magic, sizeof(qcow2_magic)) != 0)
        return error_set(err, ERROR_BACKEND, "The file is recorded as qcow2 but is not.");
    if ((version != 2 && version != 3) || (version == 3 && got < QCOW2_VERSION_3_END))
        return error_set(err, ERROR_BACKEND, "The qcow2 header has an unknown version.");
    if (cluster_bits < 9 || cluster_bits > 21 || size > INT64_MAX || size % 512 != 0)
        return error_set(err, ERROR_BACKEND, "The qcow2 header has impossible sizes.");
    if (incompatible & QCOW2_CORRUPT)
        return error_set(err, ERROR_BACKEND, "The qcow2 image is marked corrupt.");
    facts->virtual_bytes = (int64_t)size;
    facts->encrypted = big_endian(header + QCOW2_CRYPT_METHOD, 4) != 0;
    facts->external_data = incompatible & QCOW2_EXTERNAL_DATA;
    return read_backing(fd, header, facts, err);
}

int image_read_facts(int fd, const char *format, struct image_facts *ret, struct error *err) {
    struct image_facts facts = { .virtual_bytes = 0 };
    struct stat status;

    assert(image_format_known(format));
    if (strcmp(format, "qcow2") == 0) {
        if (read_qcow2_facts(fd, &facts, err) < 0)
            return -1;
    } else {
        if (fstat(fd, &status) < 0)
            return error_errno(err, ERROR_BACKEND, "reading the length of the file");
        facts.virtual_bytes = status.st_size;
    }
    *ret = facts;
    return 0;
}

/* One page of the table of the first level: 1 an entry is set. */
static int read_entries(int fd, uint64_t from, uint64_t bytes, struct error *err) {
    unsigned char page[4096];
    size_t size = bytes < sizeof(page) ? (size_t)bytes : sizeof(page);

    if (pread(fd, page, size, (off_t)from) != (ssize_t)size)
        return error_set(err, ERROR_BACKEND, "The qcow2 image ends in its first table.");
    for (size_t i = 0; i < size; i++)
        if (page[i])
            return 1;
    return 0;
}

int image_was_written(int fd, struct error *err) {
    enum { ENTRY = 8, ENTRIES_MOST = 1 << 22, PAGE = 4096 };
    unsigned char header[QCOW2_L1_END];
    uint64_t at, end;
    int written = 0;

    if (pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header, qcow2_magic, sizeof(qcow2_magic)) != 0)
        return error_set(err, ERROR_BACKEND, "It has no qcow2 header.");
    at = big_endian(header + QCOW2_L1_OFFSET, 8);
    end = big_endian(header + QCOW2_L1_SIZE, 4);
    if (end > ENTRIES_MOST || at > INT64_MAX / 2)
        return error_set(err, ERROR_BACKEND, "The qcow2 header has a wrong first table.");
    for (end = at + end * ENTRY; at < end && written == 0; at += PAGE)
        written = read_entries(fd, at, end - at, err);
    return written;
}

/* Allocates nothing, and may shorten a file that another call has grown meanwhile. */
static int truncate_to(int fd, off_t bytes, struct error *err) {
    if (ftruncate(fd, bytes) < 0)
        return error_errno(err, ERROR_BACKEND, "growing the file to %jd bytes", (intmax_t)bytes);
    return 0;
}

/* The last byte, allocated and never written, sets the length: in one step and upwards only, also
 * when others grow or write the file meanwhile. */
static int set_length(int fd, off_t bytes, const struct driver_fence *fence, struct error *err) {
    struct stat status;
    int result;

    assert(fd >= 0 && bytes > 0);
    do
        result = fallocate(fd, 0, bytes - 1, 1);
    while (result < 0 && errno == EINTR);
    if (result == 0 || errno != EOPNOTSUPP)
        return result < 0 ? error_errno(err, ERROR_BACKEND, "growing the file to %jd bytes",
                                        (intmax_t)bytes)
                          : 0;
    if (driver_fence_check(fence, err) < 0)
        return -1;
    if (fstat(fd, &status) == 0 && status.st_size >= bytes)
        return 0;
    return truncate_to(fd, bytes, err);
}

/* A small part of the shortest lease's rest when the fence gives it up. */
#define FENCE_LIFE_US ((int64_t)100000)

/* The clock runs on while the process is stopped. */
int image_fence_check(const struct driver_fence *fence, int64_t *checked_us, struct error *err) {
    int64_t now_us = clock_boottime_us();

    if (*checked_us && now_us - *checked_us < FENCE_LIFE_US)
        return 0;
    *checked_us = now_us;
    return driver_fence_check(fence, err);
}

static int write_zeros(int fd, off_t from, off_t to, const struct driver_fence *fence,
                       struct error *err) {
    static const char zeros[1 << 18];
    int64_t checked_us = 0;

    assert(fd >= 0 && from >= 0 && from <= to);
    while (from < to) {
        off_t left = to - from;
        size_t size = left < (off_t)sizeof(zeros) ? (size_t)left : sizeof(zeros);
        ssize_t written;

        if (image_fence_check(fence, &checked_us, err) < 0)
            return -1;
        written = pwrite(fd, zeros, size, from);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_errno(err, ERROR_BACKEND, "writing zeros");
        from += written;
    }
    return 0;
}

struct growth {
    bool sparse;
    const struct driver_fence *fence;  /* checked before each effect */
    const struct driver_fence *worker; /* decides whether the call may take long */
    bool only_content;                 /* is flushed: the caller makes the length durable */
    bool is_private;                   /* no other call has the file */
};

/* Allocates the blocks first, after the end of the file, then sets the length.  NFS can do only
 * both at once.  1: zeros were written. */
static int allocate(int fd, off_t from, off_t to, const struct growth *growth, struct error *err) {
    const struct driver_fence *fence = growth->fence;
    static const int modes[] = { FALLOC_FL_KEEP_SIZE, 0 };

    assert(fd >= 0 && from >= 0 && from < to);
    for (size_t i = 0; i < LENGTH(modes); i++) {
        int result;

        do
            result = fallocate(fd, modes[i], from, to - from);
        while (result < 0 && errno == EINTR);
        if (result == 0)
            return set_length(fd, to, fence, err);
        if (errno != EOPNOTSUPP)
            return error_errno(err, ERROR_BACKEND, "allocating %jd bytes", (intmax_t)(to - from));
    }
    if (driver_fence_take_long(growth->worker, to - from, 0, err) < 0)
        return -1;
    return write_zeros(fd, from, to, fence, err) < 0 ? -1 : 1;
}

int image_flush(int fd, struct error *err) {
    if (fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the file");
    return 0;
}

int image_reread(int fd, struct error *err) {
    if (image_flush(fd, err) < 0)
        return -1;
    posix_fadvise(fd, 0, (off_t)1 << 62, POSIX_FADV_DONTNEED);
    return 0;
}

int image_read_flushed(int fd, const char *format, struct image_facts *ret, struct error *err) {
    enum { FIRST_PAGE = 4096 };
    int64_t before;

    if (image_read_facts(fd, format, ret, err) < 0 || image_flush(fd, err) < 0)
        return -1;
    if (strcmp(format, "raw") == 0)
        return 0; /* the length is the file system's own record */
    before = ret->virtual_bytes;
    posix_fadvise(fd, 0, FIRST_PAGE, POSIX_FADV_DONTNEED);
    if (image_read_facts(fd, format, ret, err) < 0)
        return -1;
    if (ret->virtual_bytes > before)
        ret->virtual_bytes = before;
    return 0;
}

/* `written`: content, too. */
static int flush_growth(int fd, bool written, const struct growth *growth, struct error *err) {
    return growth->only_content && !written ? 0 : image_flush(fd, err);
}

static int grow(int fd, int64_t bytes, const struct growth *growth, struct error *err) {
    const struct driver_fence *fence = growth->fence;
    struct stat status;
    int written;

    assert(bytes >= 0);
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the length of the file");
    if (bytes <= status.st_size)
        return image_flush(fd, err);
    if (driver_fence_check(fence, err) < 0)
        return -1;
    if (growth->sparse)
        return (growth->is_private ? truncate_to(fd, bytes, err)
                                   : set_length(fd, bytes, fence, err)) < 0
                   ? -1
                   : flush_growth(fd, false, growth, err);
    written = allocate(fd, status.st_size, bytes, growth, err);
    if (written >= 0 && flush_growth(fd, written > 0, growth, err) == 0)
        return 0;
    /* Frees the blocks of this attempt; the part after the old end has no user yet. */
    if (driver_fence_check(fence, NULL) < 0 || ftruncate(fd, status.st_size) < 0)
        return error_context(err, "the file stays partly grown");
    return -1;
}

int image_grow_raw(int fd, int64_t bytes, bool sparse, const struct driver_fence *fence,
                   struct error *err) {
    return grow(fd, bytes, &(struct growth){ sparse, fence, fence, false, false }, err);
}

int image_fill_raw(int fd, int64_t bytes, bool sparse, bool only_content,
                   const struct driver_fence *worker, struct error *err) {
    return grow(fd, bytes, &(struct growth){ sparse, NULL, worker, only_content, true }, err);
}
