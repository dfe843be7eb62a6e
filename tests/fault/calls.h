/*
 * Functions of the C library that fail when a test requests it: they precede the library's own
 * because the program defines them itself.  For one source file of a program.
 */
#pragma once

#include "tests/unit/drivers/driver_test.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>

static struct {
    int countdown;           /* the n-th call from now fails; 0: none */
    const char *only, *also; /* every call of these names fails; NULL: by the countdown */
    bool no_allocation;      /* fallocate() is not there; not counted */
    bool no_keeping;         /* as with NFS: not without the length */
    bool locks_lost;         /* as of a host that the server takes for dead: they are not found */
    int error;
    pid_t process;           /* not in a child that is on its way to another program */
    void (*meanwhile)(void); /* runs before the n-th call, which does not fail then */
} fault;

static bool is_turn(const char *call) {
    if (getpid() != fault.process)
        return false;
    if (!fault.only && (fault.countdown == 0 || --fault.countdown > 0))
        return false;
    if (!fault.only && fault.meanwhile) {
        fault.meanwhile();
        return false;
    }
    if (!fault.only)
        return true;
    return strcmp(fault.only, call) == 0 || (fault.also && strcmp(fault.also, call) == 0);
}

static bool fails(const char *call) {
    if (!is_turn(call))
        return false;
    errno = fault.error;
    return true;
}

static void fail_nth(int n, int error) {
    fault.countdown = n;
    fault.only = NULL;
    fault.error = error;
    fault.process = getpid();
}

static inline void fail_all(const char *call, int error) {
    fault.countdown = 0;
    fault.only = call;
    fault.also = NULL;
    fault.error = error;
    fault.process = getpid();
}

static void fail_none(void) {
    fail_nth(0, 0);
}

#define STAND_IN(type, name, parameters, ...)                  \
    type name parameters;                                      \
    type name parameters {                                     \
        return fails(#name) ? -1 : (type)syscall(__VA_ARGS__); \
    }

/* clang-format off */
STAND_IN(int, fchmod, (int fd, mode_t mode), SYS_fchmod, fd, mode)
STAND_IN(int, ftruncate, (int fd, off_t size), SYS_ftruncate, fd, size)
STAND_IN(int, unlinkat, (int fd, const char *name, int flags), SYS_unlinkat, fd, name, flags)
STAND_IN(int, linkat, (int fd, const char *from, int to_fd, const char *to, int flags), SYS_linkat, fd, from, to_fd, to, flags)
STAND_IN(int, renameat2, (int fd, const char *from, int to_fd, const char *to, unsigned flags), SYS_renameat2, fd, from, to_fd, to, flags)
STAND_IN(int, dup3, (int fd, int to, int flags), SYS_dup3, fd, to, flags)
STAND_IN(int, renameat, (int fd, const char *from, int to_fd, const char *to), SYS_renameat2, fd, from, to_fd, to, 0)
STAND_IN(off_t, lseek, (int fd, off_t at, int whence), SYS_lseek, fd, at, whence)
STAND_IN(ssize_t, copy_file_range, (int fd, off_t *at, int to_fd, off_t *to, size_t size, unsigned flags), SYS_copy_file_range, fd, at, to_fd, to, size, flags)
STAND_IN(int, sync_file_range, (int fd, off_t at, off_t size, unsigned flags), SYS_sync_file_range, fd, at, size, flags)
STAND_IN(ssize_t, pread, (int fd, void *bytes, size_t size, off_t at), SYS_pread64, fd, bytes, size, at)
/* clang-format on */

/* While a write of zeros is observed: the clock, and the duration of each write. */
static struct {
    int64_t now_us; /* 0: the kernel's clock */
    int64_t write_us, pause_us;
    unsigned pause_at, written; /* the n-th write takes pause_us more; how many there were */
} boottime;

int clock_gettime(clockid_t id, struct timespec *now) {
    if (id != CLOCK_BOOTTIME || boottime.now_us == 0)
        return (int)syscall(SYS_clock_gettime, id, now);
    *now = (struct timespec){ .tv_sec = boottime.now_us / 1000000,
                              .tv_nsec = boottime.now_us % 1000000 * 1000 };
    return 0;
}

/* A pause by that clock takes no time. */
int nanosleep(const struct timespec *pause, struct timespec *left) {
    if (fault.meanwhile)
        return 0;
    if (boottime.now_us == 0)
        return (int)syscall(SYS_nanosleep, pause, left);
    boottime.now_us += pause->tv_sec * 1000000 + pause->tv_nsec / 1000;
    return 0;
}

int ioctl(int fd, unsigned long command, ...) {
    va_list more;
    void *argument;

    va_start(more, command);
    argument = va_arg(more, void *);
    va_end(more);
    return fails("ioctl") ? -1 : (int)syscall(SYS_ioctl, fd, command, argument);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    if (boottime.now_us > 0)
        boottime.now_us +=
            boottime.write_us + (++boottime.written == boottime.pause_at ? boottime.pause_us : 0);
    return fails("pwrite") ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, bytes, size, at);
}

int fallocate(int fd, int mode, off_t from, off_t size) {
    if (fault.no_allocation || (fault.no_keeping && mode & FALLOC_FL_KEEP_SIZE)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return fails("fallocate") ? -1 : (int)syscall(SYS_fallocate, fd, mode, from, size);
}

/*
 * A disk that could not take a flush of one file, of which it keeps the header of before: the
 * kernel has the page for clean, and reads it from the disk again only after its cache is dropped.
 */
static struct {
    ino_t file;           /* 0: there is none */
    unsigned fail_at;     /* the n-th flush of it fails */
    bool lost;            /* one has failed, and nothing was written since */
    struct timespec when; /* the last write, then */
    unsigned char header[4096];
} lossy;

static bool is_lossy(int fd, struct stat *status) {
    return lossy.file && fstatat(fd, "", status, AT_EMPTY_PATH) == 0 &&
           status->st_ino == lossy.file;
}

static inline void lossy_watch(int directory, const char *name) {
    autoclose int fd = (int)syscall(SYS_openat, directory, name, O_RDONLY | O_CLOEXEC, 0);
    struct stat status;

    ck_assert_int_eq(fstatat(fd, "", &status, AT_EMPTY_PATH), 0);
    lossy.file = status.st_ino;
    lossy.lost = false;
    ck_assert_int_gt(syscall(SYS_pread64, fd, lossy.header, sizeof(lossy.header), 0L), 0);
}

/* As when the power is cut, or the kernel reads the disk's content. */
static inline void lossy_read_disk(int fd) {
    char path[32];
    autoclose int writable = -1;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    writable = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(syscall(SYS_pwrite64, writable, lossy.header, sizeof(lossy.header), 0L),
                     (long)sizeof(lossy.header));
    lossy.lost = false;
}

static bool lossy_flush_fails(int fd) {
    struct stat status;

    if (!is_lossy(fd, &status))
        return false;
    if (lossy.fail_at > 0 && --lossy.fail_at == 0) {
        lossy.lost = true;
        lossy.when = status.st_mtim;
        errno = EIO;
        return true;
    }
    if (lossy.lost && status.st_mtim.tv_sec == lossy.when.tv_sec &&
        status.st_mtim.tv_nsec == lossy.when.tv_nsec)
        return false;
    lossy.lost = false;
    syscall(SYS_pread64, fd, lossy.header, sizeof(lossy.header), 0L);
    return false;
}

int fsync(int fd) {
    return lossy_flush_fails(fd) || fails("fsync") ? -1 : (int)syscall(SYS_fsync, fd);
}

/* The qcow2 header on a disk whose flush failed: the kernel reads it again after its cache is
 * dropped. */
static struct {
    bool behind;
    unsigned char size[8];
} disk;

int posix_fadvise(int fd, off_t from, off_t size, int advice) {
    struct stat status;

    ck_assert_int_eq(advice, POSIX_FADV_DONTNEED);
    ck_assert_int_eq(from, 0);
    ck_assert_int_ge(size, 4096);
    if (disk.behind) {
        char path[32];
        autoclose int writable = -1;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        writable = open(path, O_WRONLY | O_CLOEXEC);
        ck_assert_int_eq(syscall(SYS_pwrite64, writable, disk.size, sizeof(disk.size), 24L), 8);
    }
    disk.behind = false;
    if (is_lossy(fd, &status) && lossy.lost)
        lossy_read_disk(fd);
    return 0;
}

int fstat(int fd, struct stat *status);
int fstat(int fd, struct stat *status) {
    return fails("fstat") ? -1 : fstatat(fd, "", status, AT_EMPTY_PATH);
}

struct dirent *readdir(DIR *stream) {
    /* The C library has the same function under this name. */
    return fails("readdir") ? NULL : (struct dirent *)readdir64(stream);
}

int fstatvfs(int fd, struct statvfs *room) {
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fails("fstatvfs") ? -1 : statvfs(path, room);
}

int stat(const char *path, struct stat *status);
int stat(const char *path, struct stat *status) {
    return fails("stat") ? -1 : fstatat(AT_FDCWD, path, status, 0);
}

int openat(int fd, const char *name, int flags, ...) {
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return fails("openat") ? -1 : (int)syscall(SYS_openat, fd, name, flags, mode);
}

int fcntl(int fd, int command, ...) {
    va_list more;
    void *argument;

    va_start(more, command);
    argument = va_arg(more, void *);
    va_end(more);
    if (command == F_OFD_SETLK && fault.locks_lost)
        return 0;
    if (command == F_OFD_GETLK && fault.locks_lost) {
        ((struct flock *)argument)->l_type = F_UNLCK;
        return 0;
    }
    return fails("fcntl") ? -1 : (int)syscall(SYS_fcntl, fd, command, argument);
}
