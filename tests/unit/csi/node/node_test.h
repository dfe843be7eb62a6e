/*
 * For tests of the node with the kernel's own loop devices and mounts: a directory, images in it,
 * and a namespace of mounts for each test.  Leftovers of a test are reported by node_test_end().
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "tests/lib/check_main.h"

#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* An image that need not be named again. */
#define autoimage __attribute__((unused, cleanup(cleanup_close)))
#define MIB       (INT64_C(1) << 20)

static char base[64];
static struct arena *arena;
static struct error err;

#define assert_ok(call)                                           \
    do {                                                          \
        err.message[0] = '\0';                                    \
        ck_assert_msg((call) == 0, "%s: %s", #call, err.message); \
    } while (0)

static __attribute__((unused)) void node_test_begin(void) {
    const char *below = getenv("TMPDIR");

    snprintf(base, sizeof(base), "%.40s/csi.XXXXXX", below ? below : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(base));
    ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
    ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    arena = arena_new();
}

/* How many devices have a file of this test behind them. */
static __attribute__((unused)) int count_devices(void) {
    glob_t found;
    char line[512];
    int count = 0;

    if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        autofile FILE *file = fopen(found.gl_pathv[i], "re");

        count += file && fgets(line, sizeof(line), file) && strstr(line, base);
    }
    globfree(&found);
    return count;
}

static __attribute__((unused)) int count_mounts(void) {
    autofile FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[4096];
    int count = 0;

    while (fgets(line, sizeof(line), file))
        count += strstr(line, base) != NULL;
    return count;
}

/* A device ends a moment after its last user. */
static __attribute__((unused)) void wait_for_devices(int count) {
    for (int i = 0; i < 6000 && count_devices() != count; i++)
        usleep(10000);
    ck_assert_int_eq(count_devices(), count);
}

static __attribute__((unused)) void node_test_end(void) {
    ck_assert_int_eq(count_mounts(), 0);
    wait_for_devices(0);
    ck_assert_int_eq(system(arena_format(arena, "rm -rf --one-file-system %s", base)), 0);
    arena_free(arena);
}

static __attribute__((unused)) const char *path_of(const char *name) {
    return arena_format(arena, "%s/%s", base, name);
}

static __attribute__((unused)) int image_make(const char *name, int64_t bytes) {
    int fd = open(path_of(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, bytes), 0);
    return fd;
}

static __attribute__((unused, format(printf, 1, 2))) int shell(const char *format, ...) {
    va_list values;
    int status;

    va_start(values, format);
    status = system(arena_vformat(arena, format, values));
    va_end(values);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In place of a server: a program with the arguments of mount that shows the directory "export". */
static __attribute__((unused)) const char *share_program(void) {
    const char *program = path_of("mount");
    autofile FILE *script = fopen(program, "we");

    fprintf(script,
            "#!/bin/sh\necho \"$@\" >>%1$s/calls\n[ -d %1$s/export ] || { echo no such share >&2; "
            "exit 32; }\nexec mount --bind %1$s/export \"$6\"\n",
            base);
    fchmod(fileno(script), 0700);
    ck_assert_int_eq(mkdir(path_of("export"), 0700), 0);
    return program;
}

#define NODE_MAIN(name, ...)                                                               \
    CHECK_MAIN_WITH(name, geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0, \
                    node_test_begin, node_test_end, __VA_ARGS__)
