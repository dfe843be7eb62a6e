#include "common/resident.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

/* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_FILE    (UINT64_C(1) << 61)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_PRESENT (UINT64_C(1) << 63)

struct release {
    int pagemap;
    uintptr_t page_size;
};

static bool is_unchanged(const struct release *release, uintptr_t first, uintptr_t end) {
    uint64_t entries[512];

    for (uintptr_t number = first; number < end;) {
        const size_t count = end - number < LENGTH(entries) ? end - number : LENGTH(entries);

        if (pread(release->pagemap, entries, count * sizeof(entries[0]),
                  (off_t)(number * sizeof(entries[0]))) != (ssize_t)(count * sizeof(entries[0])))
            return false;
        for (size_t i = 0; i < count; i++)
            if (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED) && !(entries[i] & ENTRY_FILE))
                return false;
        number += count;
    }
    return true;
}

/* Segments that the program may write stay as they are. */
static int object_release(struct dl_phdr_info *object, size_t size, void *arg) {
    const struct release *release = arg;

    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        const uintptr_t first = begin / release->page_size;
        const uintptr_t end = (begin + segment->p_memsz - 1) / release->page_size + 1;

        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) && segment->p_memsz > 0 &&
            is_unchanged(release, first, end))
            madvise((void *)(first * release->page_size), (end - first) * release->page_size,
                    MADV_DONTNEED);
    }
    return 0;
}

void resident_release(void) {
    struct release release = { .pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
                               .page_size = (uintptr_t)sysconf(_SC_PAGESIZE) };

    if (release.pagemap < 0)
        return;
    dl_iterate_phdr(object_release, &release);
    close(release.pagemap);
}

#define FREE_MOST ((size_t)32 * 1024 * 1024)

/* Pages of this process alone, in bytes; 0: unknown. */
static size_t own_bytes(void) {
    autofile FILE *statm = fopen("/proc/self/statm", "re");
    size_t resident, shared;

    if (!statm || fscanf(statm, "%*u %zu %zu", &resident, &shared) != 2 || resident < shared)
        return 0;
    return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

/* The allocator's own count has no difference between free memory that it keeps and what it has
 * returned. */
void resident_trim(void) {
    const struct mallinfo2 heap = mallinfo2();

    if (heap.fordblks > FREE_MOST && own_bytes() > heap.uordblks + heap.hblkhd + FREE_MOST)
        malloc_trim(0);
}
