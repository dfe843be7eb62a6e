/*
 * Common to the tests of drivers: a directory that goes away, a configuration of one backend, a
 * driver opened from it, and programs that stand in for mount and umount.
 *
 * The stand-ins mount nothing: they write into (and take out of) a table of mountinfo's form that
 * the driver reads, and note how they were called in "calls".
 */
#pragma once

#include "cmd/drivers.h"
#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKEND "disk"

static const struct option bench_options[] = {
    { .section = "DEFAULT", .key = "enabled_backends", .type = OPTION_LIST, .help = "Backends." },
    OPTIONS_END
};

struct bench {
    char path[64]; /* the directory */
    struct config *config;
    const struct option *tables[16];
    struct driver_backend backend;
    const struct driver *driver;
    void *handle; /* NULL until bench_open() */
    struct arena *arena;
    struct error err;
};

static inline const char *bench_path(const struct bench *bench, const char *name) {
    return arena_format(bench->arena, "%s/%s", bench->path, name);
}

static inline void bench_write(const struct bench *bench, const char *name, const char *text,
                               mode_t mode) {
    const char *path = bench_path(bench, name);
    autofile FILE *file = fopen(path, "we");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fchmod(fileno(file), mode), 0);
}

static inline char *bench_read(const struct bench *bench, const char *name) {
    autofile FILE *file = fopen(bench_path(bench, name), "re");
    char *text = arena_alloc(bench->arena, 65536);

    if (file)
        text[fread(text, 1, 65535, file)] = '\0';
    return text;
}

static inline bool bench_has(const struct bench *bench, const char *name) {
    return access(bench_path(bench, name), F_OK) == 0;
}

/* `options`: "key=value" of the backend's section, ended with NULL. */
static inline void bench_configure(struct bench *bench, const struct driver *driver,
                                   const char *const *options) {
    const char *arguments[24] = { "--enabled_backends=" BACKEND };
    size_t count = 1;

    for (size_t i = 0; options && options[i]; i++) {
        ck_assert_uint_lt(count, LENGTH(arguments) - 1);
        arguments[count++] = arena_format(bench->arena, "--" BACKEND ".%s", options[i]);
    }
    bench->driver = driver;
    bench->tables[0] = bench_options;
    driver_add_options(drivers, bench->tables, 1, LENGTH(bench->tables) - 1);
    ck_assert_msg(config_load(bench->tables, NULL, arguments, &bench->config, &bench->err) == 0,
                  "%s", bench->err.message);
    bench->backend = (struct driver_backend){
        .name = BACKEND, .config = bench->config, .state_directory = bench->path, .drivers = drivers
    };
}

static inline void bench_new(struct bench *bench) {
    *bench = (struct bench){ .path = "/tmp/scoria-driver-XXXXXX", .arena = arena_new() };
    ck_assert_ptr_nonnull(mkdtemp(bench->path));
}

static inline int bench_try_open(struct bench *bench) {
    return bench->driver->open(&bench->backend, &bench->handle, &bench->err);
}

static inline void bench_open(struct bench *bench, const struct driver *driver,
                              const char *const *options) {
    bench_new(bench);
    bench_configure(bench, driver, options);
    ck_assert_msg(bench_try_open(bench) == 0, "%s", bench->err.message);
}
#define BENCH_OPEN(bench, driver, ...) \
    bench_open(bench, driver, (const char *const[]){ __VA_ARGS__, NULL })

static inline int bench_unlink(const char *path, const struct stat *status, int type,
                               struct FTW *place) {
    (void)status, (void)type, (void)place;
    return remove(path);
}

static inline void bench_close(struct bench *bench) {
    if (bench->handle)
        bench->driver->close(bench->handle);
    bench->handle = NULL;
    config_free(bench->config);
    bench->config = NULL;
    arena_free(bench->arena);
    nftw(bench->path, bench_unlink, 16, FTW_DEPTH | FTW_PHYS);
}
#define autobench __attribute__((cleanup(bench_close)))

/* Runs a program of PATH to its end; its exit status. */
static inline int bench_run(const char *const *arguments) {
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

        dup2(nowhere, 1);
        dup2(nowhere, 2);
        execvp(arguments[0], (char *const *)(void *)arguments);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
#define BENCH_RUN(...) bench_run((const char *const[]){ __VA_ARGS__, NULL })

/* The fence of a late call: another worker has the lease. */
static inline bool never_holds(const struct driver_fence *fence) {
    (void)fence;
    return false;
}

#define A_VOLUME                                                        \
    (struct driver_volume) {                                            \
        .id = "7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11",                   \
        .name_id = "7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11", .size_gb = 1 \
    }
#define FILE_NAME "volume-7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11"

static inline int bench_create(struct bench *bench, struct driver_volume *volume) {
    struct driver_created created;
    int result =
        bench->driver->create_volume(bench->handle, bench->arena, volume, &created, &bench->err);

    if (result == 0) {
        volume->provider_location = created.provider_location;
        volume->format = created.format;
    }
    return result;
}

static inline enum driver_outcome bench_extend(struct bench *bench,
                                               const struct driver_volume *volume, int64_t new_gb) {
    return bench->driver->extend_volume(bench->handle, bench->arena, volume, new_gb, &bench->err);
}

static inline int bench_delete(struct bench *bench, const struct driver_volume *volume) {
    return bench->driver->delete_volume(bench->handle, bench->arena, volume, &bench->err);
}

static inline int64_t bench_size(struct bench *bench, const struct driver_volume *volume) {
    int64_t bytes = -1;

    if (bench->driver->get_size(bench->handle, bench->arena, volume, &bytes, &bench->err) < 0)
        return -1;
    return bytes;
}

/* ---- stand-ins for mount and umount ---- */

/* "mount -t nfs …" and "mount.quobyte …": the share and the point are known by their form. */
static const char mount_script[] =
    "#!/bin/sh\n"
    "dir=${0%/*}\n"
    "echo \"$*\" >> $dir/calls\n"
    "for refused in $(cat $dir/refused 2>/dev/null); do\n"
    "    case \"$*\" in *$refused*) echo 'mount: refused' >&2; exit 32;; esac\n"
    "done\n"
    "for word; do case $word in\n"
    "    $dir/mnt/*) point=$word;;\n"
    "    *:/*|*/*) share=$word;;\n"
    "esac; done\n"
    "[ -e $dir/mounts-nothing ] && exit 0\n"
    "echo \"1 1 0:1 / $point rw - $(cat $dir/type) $(cat $dir/source 2>/dev/null || echo $share)"
    " $(cat $dir/options 2>/dev/null || echo rw,vers=4.2)\" >> $dir/table\n";

static const char umount_script[] = "#!/bin/sh\n"
                                    "dir=${0%/*}\n"
                                    "echo \"umount $*\" >> $dir/calls\n"
                                    "[ -e $dir/busy ] && { echo 'umount: busy' >&2; exit 32; }\n"
                                    "for point; do :; done\n"
                                    "grep -v \" $point \" $dir/table > $dir/table.new\n"
                                    "mv $dir/table.new $dir/table\n";

/* Writes the programs and an empty table into the directory. `type`: of the file system. */
static inline void bench_add_mounts(const struct bench *bench, const char *type) {
    bench_write(bench, "mount", mount_script, 0755);
    bench_write(bench, "umount", umount_script, 0755);
    bench_write(bench, "table", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n", 0644);
    bench_write(bench, "type", type, 0644);
}

/* Configures a driver of mounted shares; `options` as bench_configure(). */
static inline void bench_configure_shares(struct bench *bench, const struct driver *driver,
                                          const char *const *options) {
    const char *all[20] = { arena_format(bench->arena, "mount_program=%s/mount", bench->path),
                            arena_format(bench->arena, "umount_program=%s/umount", bench->path),
                            arena_format(bench->arena, "mount_table=%s/table", bench->path) };
    size_t count = 3;

    for (size_t i = 0; options && options[i]; i++)
        all[count++] = options[i];
    bench_configure(bench, driver, all);
}
