#include "db/sqlite/map.h"

#include "common/same_file.h"

#include <sqlite3.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local struct sqlite_map *volatile used;

static uintptr_t page_size;

void sqlite_map_use(struct sqlite_map *map) {
    used = map;
}

static void map_set(struct sqlite_map *map, void *begin, size_t length) {
    map->begin = (uintptr_t)begin;
    map->end = map->begin + length;
}

static void map_drop(struct sqlite_map *map) {
    if (map->kept)
        munmap((void *)map->begin, map->end - map->begin);
    map->kept = false;
    map->begin = map->end = 0;
}

void sqlite_map_end(struct sqlite_map *map) {
    map_drop(map);
    used = NULL;
}

/* The kept mapping of the same file, with another length if that has grown; else NULL. */
static void *map_again(struct sqlite_map *map, size_t length, const struct stat *file) {
    size_t kept_length = map->end - map->begin;
    void *begin = (void *)map->begin;

    if (!map->kept || !is_same_file(&map->file, file))
        return NULL;
    if (length != kept_length)
        begin = mremap(begin, kept_length, length, MREMAP_MAYMOVE);
    if (begin == MAP_FAILED)
        return NULL;
    map->kept = false;
    return begin;
}

/* Of SQLite's mappings the shared index of the WAL is writable, the database is not. */
static void *file_map(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    struct sqlite_map *map = protection == PROT_READ ? used : NULL;
    struct stat file;
    void *begin;

    if (!map || fstat(fd, &file) < 0)
        return mmap(at, length, protection, flags, fd, offset);
    begin = map_again(map, length, &file);
    if (!begin) {
        map_drop(map);
        begin = mmap(at, length, protection, flags, fd, offset);
    }
    if (begin != MAP_FAILED) {
        map->file = file;
        map_set(map, begin, length);
    }
    return begin;
}

/* Also a part of one, which is then its tail.  A whole one is kept for the next transaction. */
static int file_unmap(void *begin, size_t length) {
    struct sqlite_map *map = used;
    uintptr_t at = (uintptr_t)begin;

    if (map && at == map->begin && at + length == map->end && !map->lost) {
        map->kept = true;
        return 0;
    }
    if (map && at >= map->begin && at < map->end)
        map->end = at;
    return munmap(begin, length);
}

static void *file_remap(void *old, size_t old_length, size_t length, int flags, ...) {
    void *begin = mremap(old, old_length, length, flags);

    if (begin != MAP_FAILED && used && used->begin == (uintptr_t)old)
        map_set(used, begin, length);
    return begin;
}

/* Also for a page behind the end, when the file was truncated meanwhile. */
static void page_lost(int number, siginfo_t *info, void *context) {
    struct sqlite_map *map = used;
    uintptr_t at = (uintptr_t)info->si_addr;
    void *page = (void *)(at - at % page_size);

    (void)context;
    if (info->si_code > 0 && map && at >= map->begin && at < map->end &&
        mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
        map->lost = 1;
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
