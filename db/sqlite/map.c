#include "db/sqlite/map.h"

#include <signal.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local struct {
    volatile uintptr_t begin, end;
    volatile sig_atomic_t lost;
} mapping;

static uintptr_t page_size;

/* Of SQLite's mappings the shared index of the WAL is writable, the database is not. */
static void *file_map(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    void *begin = mmap(at, length, protection, flags, fd, offset);

    if (begin != MAP_FAILED && protection == PROT_READ) {
        mapping.begin = (uintptr_t)begin;
        mapping.end = mapping.begin + length;
    }
    return begin;
}

/* Also a part of one, which is then its tail. */
static int file_unmap(void *begin, size_t length) {
    uintptr_t at = (uintptr_t)begin;

    if (at >= mapping.begin && at < mapping.end)
        mapping.end = at;
    return munmap(begin, length);
}

static void *file_remap(void *old, size_t old_length, size_t length, int flags, ...) {
    void *begin = mremap(old, old_length, length, flags);

    if (begin != MAP_FAILED && mapping.begin == (uintptr_t)old) {
        mapping.begin = (uintptr_t)begin;
        mapping.end = mapping.begin + length;
    }
    return begin;
}

/* Also for a page behind the end, when the file was truncated meanwhile. */
static void page_lost(int number, siginfo_t *info, void *context) {
    uintptr_t at = (uintptr_t)info->si_addr;
    void *page = (void *)(at - at % page_size);

    (void)context;
    if (info->si_code > 0 && at >= mapping.begin && at < mapping.end &&
        mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
        mapping.lost = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

void sqlite_map_setup(void) {
    const struct sigaction action = { .sa_sigaction = page_lost, .sa_flags = SA_SIGINFO };
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGBUS, &action, NULL);
    vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)file_map);
    vfs->xSetSystemCall(vfs, "munmap", (sqlite3_syscall_ptr)file_unmap);
    vfs->xSetSystemCall(vfs, "mremap", (sqlite3_syscall_ptr)file_remap);
}

bool sqlite_map_lost(void) {
    bool lost = mapping.lost != 0;

    mapping.lost = 0;
    return lost;
}
