/*
 * Preloaded into the storage daemon, for one fault of QEMU (seen in 7.2, and by their text in 5.0
 * and all later ones): a mirror that fails, or is cancelled by force, frees its bitmap of requests
 * in flight before the clients' writes have ended that clear their bits in it.
 *
 * QEMU allocates bitmaps with g_try_malloc0(). Here such memory has pages of its own, which go back
 * to the kernel when it is freed, and whose addresses are never reused: a bit that is cleared in
 * them later belongs to no other object.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of addresses, not of memory; when they are used up, memory is allocated as usual. */
#define SPACE ((size_t)1 << 38)

/* GLib's, with its names: there is no header of ours for them. */
void *g_try_malloc0(size_t size);
void *g_realloc(void *memory, size_t size);
void g_free(void *memory);

static char *space;
static size_t page;
static atomic_size_t used;

__attribute__((constructor)) static void reserve(void) {
    void *got = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    page = (size_t)sysconf(_SC_PAGESIZE);
    space = got == MAP_FAILED ? NULL : got;
}

static int is_ours(const void *memory) {
    return space && (uintptr_t)memory - (uintptr_t)space < SPACE;
}

/* A page with the total size precedes the memory. */
static size_t *size_of(void *memory) {
    return (size_t *)(void *)((char *)memory - page);
}

void *g_try_malloc0(size_t size) {
    size_t all, at;

    if (size == 0 || size > SPACE / 2)
        return NULL;
    if (!space)
        return calloc(1, size);
    all = (size + page - 1) / page * page + page;
    at = atomic_fetch_add(&used, all);
    if (at > SPACE - all || mprotect(space + at, all, PROT_READ | PROT_WRITE) < 0)
        return calloc(1, size);
    *(size_t *)(void *)(space + at) = all;
    return space + at + page;
}

void g_free(void *memory) {
    if (is_ours(memory))
        madvise(size_of(memory), *size_of(memory), MADV_DONTNEED);
    else
        free(memory);
}

void *g_realloc(void *memory, size_t size) {
    size_t before;
    void *more;

    if (size == 0) {
        g_free(memory);
        return NULL;
    }
    if (!is_ours(memory)) {
        more = realloc(memory, size);
    } else if ((more = malloc(size)) != NULL) {
        before = *size_of(memory) - page;
        memcpy(more, memory, before < size ? before : size);
        g_free(memory);
    }
    if (!more)
        abort();
    return more;
}
