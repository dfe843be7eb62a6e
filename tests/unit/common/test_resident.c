#include "common/resident.h"

#include "tests/lib/check_main.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
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

/* As a debugger changes it. */
START_TEST(changed_code_stays) {
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(code() / size * size);
    volatile unsigned char *byte = page;

    if (!is_readable() || mprotect(page, size, PROT_READ | PROT_WRITE) < 0)
        return;
    *byte = *byte;
    ck_assert_int_eq(mprotect(page, size, PROT_READ | PROT_EXEC), 0);
    ck_assert_uint_eq(entry_of(code()) & (PRESENT | FILE_PAGE), PRESENT);
    resident_release();
    ck_assert_uint_eq(entry_of(code()) & (PRESENT | FILE_PAGE), PRESENT);
    ck_assert_ptr_nonnull(sqlite3_libversion());
}
END_TEST

CHECK_MAIN("resident", unused_code_is_unmapped_and_mapped_again_by_its_use, changed_code_stays)
