/*
 * The second part of the preloaded object: it appends the storage daemon's next writes to the data
 * of a replica to the replica's write log (replication/engine/write_log.h).
 *
 * Writes go to the kernel by liburing, and where that is refused by calls of threads. They are
 * intercepted before they are submitted. A log is found by the name of the open file: the replica's
 * uid is its directory. An inactive one costs a read of memory. A log that cannot be opened is
 * removed: its entries are older than a write without one.
 */
#include "replication/engine/daemon_release.h"
#include "replication/engine/write_log_shared.h"

#include <dlfcn.h>
#include <linux/falloc.h>
#include <stdlib.h>

#define FDS_MOST  4096
#define UID_SIZE  36
#define DATA_NAME "/data"

int io_uring_submit(void *ring);
int io_uring_submit_and_wait(void *ring, unsigned count);

static char no_log;   /* its address: of a file of no replica, */
static char lost_log; /* and of a replica without a usable log */
static _Atomic(void *) logs[FDS_MOST];
static const char *directory;
static atomic_bool ended;
static _Thread_local struct write_log_shared latest;

__attribute__((constructor)) static void begin_logs(void) {
    write_log_prepare();
    directory = getenv(WRITE_LOG_VARIABLE);
}

/* ---- a descriptor's log ---- */

/* The uid of the replica with its data open there; false: of none. */
static bool find_uid(int fd, char ret[UID_SIZE + 1]) {
    static const char gone[] = " (deleted)";
    const size_t name = sizeof(DATA_NAME) - 1, end = sizeof(gone) - 1;
    char link[32], path[4096];
    size_t length;
    ssize_t got;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    got = readlink(link, path, sizeof(path) - 1);
    if (!directory || got <= 0)
        return false;
    length = (size_t)got;
    path[length] = '\0';
    if (length > end && strcmp(path + length - end, gone) == 0)
        path[length -= end] = '\0';
    if (length < name + UID_SIZE + 1 || strcmp(path + length - name, DATA_NAME) != 0 ||
        path[length - name - UID_SIZE - 1] != '/')
        return false;
    memcpy(ret, path + length - name - UID_SIZE, UID_SIZE);
    ret[UID_SIZE] = '\0';
    return strspn(ret, "0123456789abcdef-") == UID_SIZE;
}

/* With each write: another process, or descriptor, may have made one since. */
static void remove_log(int fd) {
    char uid[UID_SIZE + 1], path[512];

    if (find_uid(fd, uid) &&
        snprintf(path, sizeof(path), "%s/%s", directory, uid) < (int)sizeof(path))
        unlink(path);
}

static void unmap(void *log) {
    if (log && log != &no_log && log != &lost_log)
        munmap(log, WRITE_LOG_SIZE);
}

static void *get_log(int fd) {
    void *found = atomic_load(&logs[fd]), *none = NULL;
    char uid[UID_SIZE + 1];

    if (found)
        return found;
    found = find_uid(fd, uid) ? write_log_open_in(directory, uid) : (void *)&no_log;
    if (!found)
        found = &lost_log;
    if (atomic_compare_exchange_strong(&logs[fd], &none, found))
        return found;
    unmap(found);
    return none;
}

/* NULL: no entry is to be appended. */
static struct write_log_header *log_of(int fd) {
    struct write_log_header *log;
    void *found;

    if (fd < 0 || atomic_load_explicit(&ended, memory_order_relaxed))
        return NULL;
    found = fd < FDS_MOST ? get_log(fd) : &lost_log;
    if (found == &lost_log)
        remove_log(fd);
    if (found == &lost_log || found == &no_log)
        return NULL;
    log = found;
    return atomic_load(&log->active) ? log : NULL;
}

void daemon_writes_end(void) {
    atomic_store(&ended, true);
}

/* ---- liburing ---- */

static void note_submissions(const struct write_log_ring *ring) {
    const struct write_log_submissions *submitted = &ring->submitted;

    for (unsigned at = submitted->begun; at != submitted->end; at++) {
        const struct io_uring_sqe *sqe = &submitted->sqes[at & *submitted->mask];
        const struct iovec one = { (void *)(uintptr_t)sqe->addr, sqe->len };
        bool is_one = sqe->opcode == IORING_OP_WRITE;
        const struct iovec *iov = is_one ? &one : (const struct iovec *)(uintptr_t)sqe->addr;
        size_t count = is_one ? 1 : sqe->len;
        struct write_log_header *log;

        if ((!is_one && sqe->opcode != IORING_OP_WRITEV) || sqe->flags & IOSQE_FIXED_FILE)
            continue;
        log = log_of(sqe->fd);
        if (log && sqe->flags) /* it may have no completion */
            write_log_append(log, sqe->off, iov, count);
        else if (log)
            write_log_append_shared(log, &latest, ring, sqe->user_data, sqe->off, iov, count);
    }
}

/* Errors include those after which QEMU fails a write that is in the ring. */
static int note_result(int result) {
    if (result < 0)
        write_log_forget(&latest);
    return result;
}

int io_uring_submit(void *ring) {
    static int (*real)(void *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit");
    note_submissions(ring);
    return note_result(real(ring));
}

int io_uring_submit_and_wait(void *ring, unsigned count) {
    static int (*real)(void *, unsigned);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit_and_wait");
    note_submissions(ring);
    return note_result(real(ring, count));
}

/* ---- calls ---- */

/* NOLINTBEGIN */
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    const struct iovec one = { (void *)(uintptr_t)data, size };
    struct write_log_header *log = log_of(fd);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    if (log)
        write_log_append(log, (uint64_t)offset, &one, 1);
    return real(fd, data, size, offset);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t offset) {
    static ssize_t (*real)(int, const struct iovec *, int, off64_t);
    struct write_log_header *log = log_of(fd);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwritev64");
    if (log && count > 0)
        write_log_append(log, (uint64_t)offset, iov, (size_t)count);
    return real(fd, iov, count, offset);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
    static int (*real)(int, int, off64_t, off64_t);
    struct write_log_header *log = log_of(fd);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "fallocate64");
    if (log && mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE) && offset >= 0 && size > 0)
        write_log_append_run(log, (uint64_t)offset, (uint64_t)size, true);
    return real(fd, mode, offset, size);
}

/* The copied bytes are unknown here. */
ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size,
                        unsigned flags) {
    static ssize_t (*real)(int, off64_t *, int, off64_t *, size_t, unsigned);
    struct write_log_header *log = log_of(to);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "copy_file_range");
    if (log && to_offset && *to_offset >= 0)
        write_log_append_run(log, (uint64_t)*to_offset, size, false);
    return real(from, from_offset, to, to_offset, size, flags);
}

int close(int fd) {
    static int (*real)(int);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd < FDS_MOST)
        unmap(atomic_exchange(&logs[fd], NULL));
    daemon_wakes_close(fd);
    return real(fd);
}
/* NOLINTEND */
