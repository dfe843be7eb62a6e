#include "common/resident.h"

#include "tests/lib/check_main.h"

#include <fcntl.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FILE_PAGE (UINT64_C(1) << 61)
#define PRESENT   (UINT64_C(1) << 63)

/* Code of a library that the test itself does not use. */
static uintptr_t code(void) {
    return (uintptr_t)sqlite3_libversion;
}

static bool is_readable(void) {
    return access("/proc/self/pagemap", R_OK) == 0;
}

static uint64_t entry_of(uintptr_t address) {
    autoclose int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const uintptr_t number = address / (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t entry = 0;

    ck_assert_int_eq(pread(fd, &entry, sizeof(entry), (off_t)(number * sizeof(entry))),
                     sizeof(entry));
    return entry;
}

START_TEST(unused_code_is_unmapped_and_mapped_again_by_its_use) {
    char version[32];

    snprintf(version, sizeof(version), "%s", sqlite3_libversion());
    if (!is_readable())
        return;
    ck_assert(entry_of(code()) & PRESENT);
    resident_release();
    ck_assert(!(entry_of(code()) & PRESENT));
    ck_assert_str_eq(sqlite3_libversion(), version);
    ck_assert(entry_of(code()) & PRESENT);
    resident_release();
}
END_TEST

/* The thread sanitizer watches no code. */
__attribute__((no_sanitize_thread)) static void write_again(volatile unsigned char *byte) {
    *byte = *byte;
}

/* As a debugger changes it. */
START_TEST(changed_code_stays) {
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(code() / size * size);

    if (!is_readable() || mprotect(page, size, PROT_READ | PROT_WRITE) < 0)
        return;
    write_again(page);
    ck_assert_int_eq(mprotect(page, size, PROT_READ | PROT_EXEC), 0);
    ck_assert_uint_eq(entry_of(code()) & (PRESENT | FILE_PAGE), PRESENT);
    resident_release();
    ck_assert_uint_eq(entry_of(code()) & (PRESENT | FILE_PAGE), PRESENT);
    ck_assert_ptr_nonnull(sqlite3_libversion());
}
END_TEST

/* Pieces that a test leaves. */
static char *kept[4096];
static size_t kept_count;

static size_t own_pages(void) {
    autofile FILE *statm = fopen("/proc/self/statm", "re");
    size_t resident = 0, shared = 0;

    ck_assert_ptr_nonnull(statm);
    ck_assert_int_eq(fscanf(statm, "%*u %zu %zu", &resident, &shared), 2);
    return resident - shared;
}

/* Sanitizers have allocators of their own. */
static bool counts_memory(void) {
    return mallinfo2().uordblks > 0;
}

/* Every 64th piece stays, so that no end of the heap is free. */
static void make_free_memory(size_t bytes) {
    enum { PIECE = 1000, KEPT = 64 };
    const size_t count = bytes / PIECE;
    autofree char **pieces = calloc(count, sizeof(*pieces));

    for (size_t i = 0; i < count; i++) {
        pieces[i] = malloc(PIECE);
        memset(pieces[i], 1, PIECE);
    }
    for (size_t i = 0; i < count; i++)
        if (i % KEPT)
            free(pieces[i]);
        else
            kept[kept_count++ % LENGTH(kept)] = pieces[i];
}

START_TEST(freed_memory_is_returned_after_each_peak) {
    const size_t peak = (size_t)64 << 20, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before;

    if (!counts_memory())
        return;
    for (int i = 0; i < 2; i++) {
        before = own_pages();
        make_free_memory(peak);
        ck_assert_uint_gt((own_pages() - before) * page, peak * 3 / 4);
        resident_trim();
        ck_assert_uint_lt((own_pages() - before) * page, peak / 2);
    }
}
END_TEST

START_TEST(a_little_freed_memory_stays) {
    size_t before;

    if (!counts_memory())
        return;
    make_free_memory((size_t)8 << 20);
    before = own_pages();
    resident_trim();
    ck_assert_uint_eq(own_pages(), before);
}
END_TEST

CHECK_MAIN("resident", unused_code_is_unmapped_and_mapped_again_by_its_use, changed_code_stays,
           freed_memory_is_returned_after_each_peak, a_little_freed_memory_stays)
