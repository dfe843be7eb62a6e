/*
 * Contents as images of the formats of a real qemu-img.
 */
#include "data/converted_image_io.h"

#include "common/cleanup.h"
#include "common/gib.h"
#include "common/process.h"
#include "data/image_inspect.h"
#include "data/temporary_file.h"
#include "tests/unit/data/volume_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE (70 * MIB + 512)

static const char *const known[][2] = { { "vmdk", "vmdk" },
                                        { "vdi", "vdi" },
                                        { "vhd", "vpc" },
                                        { "vhdx", "vhdx" },
                                        { "ploop", "parallels" } };

static unsigned queried;
static bool refused;

static int may(void *arg, struct error *err) {
    (void)arg;
    queried++;
    return refused ? error_set(err, ERROR_CONFLICT, "lost") : 0;
}

static int report(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err) {
    (void)arg, (void)err;
    ck_assert_int_le(2 * done_bytes, all_bytes);
    return 0;
}

static struct converted_image_settings settings_of(const char *directory, const char *format) {
    return (struct converted_image_settings){ .program = "qemu-img",
                                              .directory = directory,
                                              .disk_format = format,
                                              .idle_ms = 600000,
                                              .may = may,
                                              .report = report };
}

/* An own directory, which must be empty again at the end. */
static const char *directory_new(void) {
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/scoria-converted-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    queried = 0;
    refused = false;
    return path;
}

static struct volume_io *content_new(void) {
    struct volume_io *io = memory_volume(SIZE);

    fill(io, 0, MIB, 1);
    fill(io, 40 * MIB - 100, 300, 2);
    fill(io, SIZE - 512, 512, 3);
    return io;
}

static void store(struct volume_io *io, const char *path) {
    static unsigned char bytes[VOLUME_IO_MOST];
    FILE *file = fopen(path, "w");
    struct error err;

    ck_assert_ptr_nonnull(file);
    for (int64_t at = 0, part; at < io->size; at += part) {
        part = io->size - at < MIB ? io->size - at : MIB;
        ck_assert_int_eq(volume_io_read(io, bytes, (size_t)part, at, &err), 0);
        ck_assert_uint_eq(fwrite(bytes, 1, (size_t)part, file), (size_t)part);
    }
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(an_image_has_the_content_in_the_requested_format) {
    for (size_t i = 0; i < LENGTH(known); i++) {
        autoarena struct arena *arena = arena_new();
        const char *directory = directory_new();
        const char *raw = arena_format(arena, "%s/raw", directory);
        const char *made = arena_format(arena, "%s/made", directory);
        const char *const compare[] = { "qemu-img",  "compare", "-f", "raw", "-F",
                                        known[i][1], raw,       made, NULL };
        const struct converted_image_settings settings = settings_of(directory, known[i][0]);
        autovolumeio struct volume_io *content = content_new(), *image = NULL;
        struct process_result result;
        struct error err;

        ck_assert(converted_image_is_known(known[i][0]));
        image = converted_image_io_open(content, &settings, &err);
        ck_assert_msg(image != NULL, "%s: %s", known[i][0], err.message);
        ck_assert_int_lt(image->size, SIZE); /* most zeros take no space */
        ck_assert_uint_gt(queried, 0);
        store(content, raw);
        store(image, made);
        ck_assert_int_eq(process_run(arena, compare, &(struct process_limits){ 0 }, &result, &err),
                         0);
        ck_assert_msg(result.exit_status == 0, "%s: %s%s", known[i][0], result.output,
                      result.errors);
        unlink(raw);
        unlink(made);
        ck_assert_int_eq(rmdir(directory), 0);
    }
}
END_TEST

START_TEST(other_formats_are_refused) {
    static const char *const unknown[] = { "parallels", "raw", "qcow2", "vpc", "iso", "" };

    for (size_t i = 0; i < LENGTH(unknown); i++) {
        const struct converted_image_settings settings = settings_of("/nowhere", unknown[i]);
        autovolumeio struct volume_io *content = content_new();
        struct error err;

        ck_assert(!converted_image_is_known(unknown[i]));
        ck_assert_ptr_null(converted_image_io_open(content, &settings, &err));
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
}
END_TEST

START_TEST(a_lost_operation_and_a_failed_tool_leave_nothing) {
    static const char *const programs[] = { "qemu-img", "/bin/false", "/bin/true" };

    for (size_t i = 0; i < LENGTH(programs); i++) {
        const char *directory = directory_new();
        struct converted_image_settings settings = settings_of(directory, "vdi");
        autovolumeio struct volume_io *content = content_new();
        struct error err;

        refused = i == 0;
        settings.program = programs[i];
        ck_assert_ptr_null(converted_image_io_open(content, &settings, &err));
        ck_assert_int_eq(err.kind, i == 0   ? ERROR_CONFLICT
                                   : i == 1 ? ERROR_BACKEND
                                            : ERROR_BAD_REQUEST);
        ck_assert_int_eq(rmdir(directory), 0);
    }
}
END_TEST

/* Of a script, with the directory of the files as its argument. */
static struct error failure_of(const char *script, int64_t idle_ms) {
    const char *directory = directory_new();
    struct converted_image_settings settings = settings_of(directory, "vmdk");
    autovolumeio struct volume_io *content = content_new();
    char path[80];
    FILE *file;
    struct error err = { 0 };

    snprintf(path, sizeof(path), "%s.script", directory);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fprintf(file, "#!/bin/sh\n%s\n", script), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
    settings.program = path;
    settings.idle_ms = idle_ms;
    ck_assert_ptr_null(converted_image_io_open(content, &settings, &err));
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0);
    return err;
}

START_TEST(a_tool_that_hangs_is_ended) {
    const struct error err = failure_of("exec sleep 100000", 300);

    ck_assert_int_eq(err.kind, ERROR_BACKEND); /* again it would hang again */
    ck_assert_msg(strstr(err.message, "idle for 300 ms") != NULL, "%s", err.message);
}
END_TEST

START_TEST(the_processor_time_of_a_tool_is_limited_by_size) {
    const struct error err = failure_of("echo limit $(ulimit -t) >&2; exit 1", 600000);

    ck_assert_msg(strstr(err.message, "limit 120") != NULL, "%s", err.message);
    ck_assert_int_eq(converted_image_cpu_seconds(10 * GIB + 1), 1320);
}
END_TEST

/* ---- contents of any size ---- */

static int all_data(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                    struct error *err) {
    (void)err;
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
}

static int read_nothing(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                        struct error *err) {
    (void)io, (void)buffer, (void)size, (void)offset;
    return error_set(err, ERROR_CONFLICT, "read");
}

static void close_nothing(struct volume_io *io) {
    (void)io;
}

/* Of an upload that ends with the first read of such a content. */
static enum error_kind failure_of_size(const char *format, int64_t bytes) {
    static const struct volume_io_functions functions = { .extent = all_data,
                                                          .read = read_nothing,
                                                          .close = close_nothing };
    const char *directory = directory_new();
    const struct converted_image_settings settings = settings_of(directory, format);
    struct volume_io content = { .functions = &functions, .size = bytes };
    struct error err = { 0 };

    ck_assert_ptr_null(converted_image_io_open(&content, &settings, &err));
    ck_assert_int_eq(rmdir(directory), 0);
    return err.kind;
}

/* Others end for lack of space. */
START_TEST(a_content_that_the_format_cannot_hold_is_not_copied) {
    static const struct {
        const char *format;
        int64_t size_gb;
        bool fits;
    } rows[] = {
        { "vmdk", 2047, true },    { "vmdk", 2048, false }, /* all of it data */
        { "vdi", 524287, true },   { "vdi", 524288, false },   { "vhd", 2040, true },
        { "vhd", 2041, false },    { "vhdx", 65536, true },    { "vhdx", 65537, false },
        { "ploop", 524287, true }, { "ploop", 524288, false },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        enum error_kind kind = failure_of_size(rows[i].format, rows[i].size_gb * GIB);

        ck_assert_msg((kind != ERROR_BAD_REQUEST) == rows[i].fits, "row %zu", i);
    }
}
END_TEST

/* Of the file system of temporary files, without the part for others. */
static int64_t free_bytes(int fd) {
    int64_t bytes = 0;

    for (int64_t step = (int64_t)1 << 60; step >= MIB; step /= 2)
        bytes += temporary_file_check_space(fd, bytes + step) == 0 ? step : 0;
    return bytes;
}

/* Half of the free space is needed for each of these images. */
START_TEST(space_is_promised_to_one_image_alone) {
    autoclose int fd = temporary_file_open("/tmp", NULL);
    int64_t bytes = free_bytes(fd), others = bytes / 4 * 3;

    ck_assert_int_gt(bytes, 0);
    ck_assert_int_eq(failure_of_size("vdi", bytes / 4), ERROR_CONFLICT); /* it was read */
    ck_assert_int_eq(temporary_file_promise(fd, others), 0);
    ck_assert_int_eq(failure_of_size("vdi", bytes / 4), ERROR_BACKEND);
    ck_assert_int_eq(temporary_file_promise(fd, bytes / 2), ENOSPC);
    temporary_file_release(others);
    ck_assert_int_eq(failure_of_size("vdi", bytes / 4), ERROR_CONFLICT);
    ck_assert_int_eq(temporary_file_promise(fd, others), 0); /* none is left of those */
    temporary_file_release(others);
}
END_TEST

CHECK_MAIN("converted_image_io", an_image_has_the_content_in_the_requested_format,
           other_formats_are_refused, a_lost_operation_and_a_failed_tool_leave_nothing,
           a_tool_that_hangs_is_ended, the_processor_time_of_a_tool_is_limited_by_size,
           a_content_that_the_format_cannot_hold_is_not_copied,
           space_is_promised_to_one_image_alone)
