#include "tests/lib/check_main.h"

#include "common/process.h"
#include "compute/hypervisor/image.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MIB (INT64_C(1) << 20)

/* A file system that only sets lengths, and a process that stops right before it does. */
static bool sets_lengths_only, stops;

int fallocate(int fd, int mode, off_t offset, off_t size) {
    if (stops)
        raise(SIGSTOP);
    if (!sets_lengths_only)
        return (int)syscall(SYS_fallocate, fd, mode, offset, size);
    errno = EOPNOTSUPP;
    return -1;
}

/* A folder with one image in it. */
struct place {
    char folder[64], path[128];
    struct arena *arena;
};

static void run(const char *command, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *command, ...) {
    char text[512];
    va_list values;

    va_start(values, command);
    vsnprintf(text, sizeof(text), command, values);
    va_end(values);
    ck_assert_int_eq(system(text), 0);
}

static struct place place_new(const char *format, int64_t bytes) {
    struct place place = { .folder = "/tmp/scoria-image-XXXXXX", .arena = arena_new() };

    ck_assert_ptr_nonnull(mkdtemp(place.folder));
    snprintf(place.path, sizeof(place.path), "%s/image", place.folder);
    run("qemu-img create -q -f %s %s %jd", format, place.path, (intmax_t)bytes);
    return place;
}

static void place_end(struct place *place) {
    run("rm -r %s", place->folder);
    arena_free(place->arena);
}

static int64_t capacity(struct place *place, const char *format) {
    struct error err = { 0 };
    int64_t bytes = -1;

    ck_assert_int_eq(image_capacity(place->arena, place->path, format, &bytes, &err), 0);
    return bytes;
}

START_TEST(an_image_grows_and_is_read_back) {
    static const char *const formats[] = { "raw", "qcow2" };

    for (size_t i = 0; i < LENGTH(formats); i++) {
        struct place place = place_new(formats[i], MIB);
        struct error err = { 0 };

        ck_assert_int_eq(capacity(&place, formats[i]), MIB);
        ck_assert_int_eq(image_grow(place.arena, place.path, formats[i], 3 * MIB, &err), 0);
        ck_assert_int_eq(capacity(&place, formats[i]), 3 * MIB);
        place_end(&place);
    }
}
END_TEST

START_TEST(nothing_shrinks) {
    struct place place = place_new("qcow2", 3 * MIB);
    struct error err = { 0 };

    ck_assert_int_eq(image_grow(place.arena, place.path, "qcow2", MIB, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_ptr_nonnull(strstr(err.message, "shrink"));
    ck_assert_int_eq(capacity(&place, "qcow2"), 3 * MIB);
    place_end(&place);
}
END_TEST

static pid_t start_stopped(const struct place *place, int64_t bytes) {
    struct error err = { 0 };
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stops = true;
        _exit(image_grow(place->arena, place->path, "raw", bytes, &err) == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
    return pid;
}

/* A program that has read the length and then stops keeps the others out until it is through. */
static void check_late_process(bool lengths_only) {
    struct place place = place_new("raw", MIB);
    const char *const resize[] = { "qemu-img", "resize", "-f", "raw", place.path, "3M", NULL };
    const struct process_limits limits = { .timeout_ms = 60000 };
    struct process_result result;
    struct error err = { 0 };
    int status = 0;
    pid_t late;

    sets_lengths_only = lengths_only;
    late = start_stopped(&place, 2 * MIB);
    ck_assert_int_eq(image_grow(place.arena, place.path, "raw", 3 * MIB, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(process_run(place.arena, resize, &limits, &result, &err), 0);
    ck_assert_int_ne(result.exit_status, 0);
    ck_assert_int_eq(capacity(&place, "raw"), MIB);
    kill(late, SIGCONT);
    ck_assert_int_eq(waitpid(late, &status, 0), late);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(capacity(&place, "raw"), 2 * MIB);
    ck_assert_int_eq(image_grow(place.arena, place.path, "raw", 3 * MIB, &err), 0);
    ck_assert_int_eq(image_grow(place.arena, place.path, "raw", 2 * MIB, &err), 0);
    ck_assert_int_eq(capacity(&place, "raw"), 3 * MIB);
    place_end(&place);
}

START_TEST(a_late_process_undoes_nothing) {
    check_late_process(false);
    check_late_process(true);
}
END_TEST

START_TEST(the_format_is_the_requested_one_not_that_of_the_header) {
    struct place place = place_new("qcow2", 64 * MIB);
    struct stat status;

    ck_assert_int_eq(stat(place.path, &status), 0);
    ck_assert_int_eq(capacity(&place, "raw"), (status.st_size + 511) / 512 * 512);
    place_end(&place);
}
END_TEST

START_TEST(a_locked_image_is_a_conflict) {
    struct place place = place_new("raw", MIB);
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 201, .l_len = 1 };
    autoclose int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    struct error err = { 0 };

    /* As QEMU does it: "I do not share the permission to write". */
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    ck_assert_int_eq(image_grow(place.arena, place.path, "raw", 2 * MIB, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(capacity(&place, "raw"), MIB);
    place_end(&place);
}
END_TEST

START_TEST(a_lock_service_that_fails_is_no_guest) {
    struct place place = place_new("raw", MIB);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 150 };
    autoclose int fd = open(place.path, O_RDWR | O_CLOEXEC);
    struct error err = { 0 };

    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    ck_assert_int_eq(image_grow(place.arena, place.path, "raw", 2 * MIB, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    place_end(&place);
}
END_TEST

START_TEST(a_path_without_an_image_is_refused) {
    struct place place = place_new("raw", MIB);
    const struct {
        const char *path, *format;
    } rows[] = {
        { place.path, "vmdk" },  { place.path, "" },     { "", "raw" },
        { "nbd:host:1", "raw" }, { "image", "raw" },     { "/nowhere/image", "raw" },
        { place.folder, "raw" }, { "/dev/null", "raw" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct error err = { 0 };
        int64_t bytes = 7;

        ck_assert_int_eq(image_capacity(place.arena, rows[i].path, rows[i].format, &bytes, &err),
                         -1);
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
        ck_assert_int_eq(bytes, 7);
        ck_assert_int_eq(image_grow(place.arena, rows[i].path, rows[i].format, 2 * MIB, &err), -1);
    }
    place_end(&place);
}
END_TEST

START_TEST(a_wrong_format_is_refused) {
    struct place place = place_new("raw", MIB);
    struct error err = { 0 };
    int64_t bytes = 7;

    ck_assert_int_eq(image_capacity(place.arena, place.path, "qcow2", &bytes, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_int_eq(bytes, 7);
    place_end(&place);
}
END_TEST

/* A qemu-img of the test's own stands first in PATH and prints this. */
static int request_other_tool(struct place *place, const char *output, struct error *err) {
    int64_t bytes = 7;
    int result;

    run("printf '#!/bin/sh\\necho '\"'\"'%s'\"'\"'\\n' > %s/qemu-img && chmod +x %s/qemu-img",
        output, place->folder, place->folder);
    setenv("PATH", place->folder, 1);
    result = image_capacity(place->arena, place->path, "raw", &bytes, err);
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    ck_assert_int_eq(bytes, 7);
    return result;
}

START_TEST(invalid_output_of_qemu_img_is_refused) {
    struct place place = place_new("raw", MIB);
    struct error err = { 0 };

    ck_assert_int_eq(request_other_tool(&place, "no json", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "reading the output of qemu-img"));
    ck_assert_int_eq(request_other_tool(&place, "{\"virtual-size\": \"big\"}", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "no virtual size"));
    setenv("PATH", "/nowhere", 1);
    ck_assert_int_eq(image_grow(place.arena, place.path, "qcow2", 2 * MIB, &err), -1);
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    place_end(&place);
}
END_TEST

CHECK_MAIN("image", an_image_grows_and_is_read_back, nothing_shrinks, a_late_process_undoes_nothing,
           the_format_is_the_requested_one_not_that_of_the_header, a_locked_image_is_a_conflict,
           a_lock_service_that_fails_is_no_guest, a_path_without_an_image_is_refused,
           a_wrong_format_is_refused, invalid_output_of_qemu_img_is_refused)
