/*
 * Part of the object that is preloaded into a storage daemon: it leaves out wake-ups of a thread
 * that is awake.
 *
 * QEMU wakes its event loop by an eventfd, several times for each request, and mostly from the
 * thread of that loop. A write of the thread that reads the eventfd is left out while one that the
 * same thread made before is unread: the eventfd is readable, and stays so until that thread reads
 * it. No write of another thread is left out, and none at all once a second thread has read the
 * eventfd. A thread that reads it in another way than by read() is not known as its reader. The
 * sum of the writes is lost: QEMU has no use for it.
 *
 * A kernel thread that completes a request, as each write to ext4, interrupts the processor on
 * which the thread runs that submitted it. With IORING_SETUP_COOP_TASKRUN (Linux 5.19) that thread
 * takes the completion at its next system call instead; if it sleeps, it is woken all the same.
 */
#include "replication/engine/daemon_release.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FDS_MOST 4096

int io_uring_queue_init(unsigned entries, void *ring, unsigned flags);

/* Of no eventfd, not read yet, read by several threads; any other value is the address of `self` of
 * the only thread that has read it. */
enum { NO_EVENT, UNREAD, SHARED };

static struct {
    atomic_uintptr_t reader;
    atomic_bool readable; /* true: its only reader has written it, and not read it since */
} events[FDS_MOST];

static _Thread_local char self;

static bool is_event(int fd) {
    return fd >= 0 && fd < FDS_MOST &&
           atomic_load_explicit(&events[fd].reader, memory_order_relaxed) != NO_EVENT;
}

void daemon_wakes_close(int fd) {
    if (is_event(fd))
        atomic_store(&events[fd].reader, NO_EVENT);
}

/* Before it reads. Returns whether no other thread has read it. */
static bool note_reader(int fd) {
    uintptr_t reader = UNREAD;

    if (atomic_compare_exchange_strong(&events[fd].reader, &reader, (uintptr_t)&self) ||
        reader == (uintptr_t)&self)
        return true;
    atomic_store(&events[fd].reader, SHARED);
    return false;
}

/* NOLINTBEGIN */
int eventfd(unsigned count, int flags) {
    static int (*real)(unsigned, int);
    int fd;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "eventfd");
    fd = real(count, flags);
    if (fd >= 0 && fd < FDS_MOST && !(flags & EFD_SEMAPHORE)) {
        atomic_store(&events[fd].readable, false);
        atomic_store(&events[fd].reader, UNREAD);
    }
    return fd;
}

ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    bool own = size == sizeof(uint64_t) && is_event(fd) &&
               atomic_load(&events[fd].reader) == (uintptr_t)&self;
    ssize_t written;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (own && atomic_load(&events[fd].readable))
        return (ssize_t)size;
    written = real(fd, data, size);
    if (own && written == (ssize_t)size)
        atomic_store(&events[fd].readable, true);
    return written;
}

/* A signal may have its handler write at any point. */
ssize_t read(int fd, void *data, size_t size) {
    static ssize_t (*real)(int, void *, size_t);
    bool own = is_event(fd) && note_reader(fd);
    ssize_t got;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "read");
    if (own)
        atomic_store(&events[fd].readable, false);
    got = real(fd, data, size);
    if (own)
        atomic_store(&events[fd].readable, false);
    return got;
}

int io_uring_queue_init(unsigned entries, void *ring, unsigned flags) {
    static int (*real)(unsigned, void *, unsigned);
    int code;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "io_uring_queue_init");
    code = real(entries, ring, flags | IORING_SETUP_COOP_TASKRUN);
    return code == -EINVAL ? real(entries, ring, flags) : code;
}
/* NOLINTEND */
