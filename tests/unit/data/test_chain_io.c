/*
 * Chains of images through a real qemu-nbd, made and checked with qemu-img and qemu-io.
 */
#include "data/chain_io.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/process.h"
#include "data/copy.h"
#include "tests/unit/data/volume_data.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (8 * MIB)

static const struct chain_io_settings settings = { "qemu-nbd", 600000, 0 };
static char directory[] = "/tmp/scoria-test-chain-XXXXXX";
static struct arena *arena;

static int run(const char *const *arguments) {
    const struct process_limits limits = { .timeout_ms = 600000 };
    struct process_result result;
    struct error err = { 0 };

    ck_assert_msg(process_run(arena, arguments, &limits, &result, &err) == 0, "%s", err.message);
    return result.exit_status;
}
#define RUN(...) ck_assert_int_eq(run((const char *const[]){ __VA_ARGS__, NULL }), 0)

static const char *path_of(const char *name) {
    return arena_format(arena, "%s/%s", directory, name);
}

static void begin(void) {
    arena = arena_new();
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void end(void) {
    run((const char *const[]){ "rm", "-r", directory, NULL });
    arena_free(arena);
}

/* A raw base and two overlays, each with a mebibyte of its own. */
static void make_chain(struct chain_io_file files[3]) {
    files[0] = (struct chain_io_file){ path_of("top, \"2\""), "qcow2" };
    files[1] = (struct chain_io_file){ path_of("middle"), "qcow2" };
    files[2] = (struct chain_io_file){ path_of("base"), "raw" };
    RUN("qemu-img", "create", "-q", "-f", "raw", files[2].path, "8M");
    RUN("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", files[2].path, files[1].path);
    RUN("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", files[1].path,
        files[0].path);
    RUN("qemu-io", "-f", "raw", "-c", "write -P 1 0 1M", files[2].path);
    RUN("qemu-io", "-f", "qcow2", "-c", "write -P 2 2M 1M", files[1].path);
    RUN("qemu-io", "-f", "qcow2", "-c", "write -P 3 2M 64k", files[0].path);
}

/* The file whose pages are dropped, and how often that was. */
static struct stat dropped;
static unsigned drops;

int posix_fadvise(int fd, off_t offset, off_t size, int advice) {
    struct stat status;

    if (advice == POSIX_FADV_DONTNEED && offset == 0 && size == 0 && fstat(fd, &status) == 0 &&
        status.st_ino == dropped.st_ino && status.st_dev == dropped.st_dev)
        drops++;
    return 0;
}

static unsigned byte_at(struct volume_io *io, int64_t offset) {
    unsigned char byte;
    struct error err = { 0 };

    ck_assert_msg(volume_io_read(io, &byte, 1, offset, &err) == 0, "%s", err.message);
    return byte;
}

static struct volume_io *open_chain(const struct chain_io_file *files, size_t count,
                                    bool writable) {
    struct error err = { 0 };
    struct volume_io *io = chain_io_open(&settings, files, count, writable, &err);

    ck_assert_msg(io != NULL, "%s", err.message);
    return io;
}

START_TEST(a_chain_reads_as_its_files_above_each_other) {
    struct chain_io_file files[3];
    struct volume_io *io;

    make_chain(files);
    io = open_chain(files, 3, false);
    ck_assert_int_eq(io->size, SIZE);
    ck_assert_uint_eq(byte_at(io, 0), 1);
    ck_assert_uint_eq(byte_at(io, 2 * MIB), 3);
    ck_assert_uint_eq(byte_at(io, 2 * MIB + 64 * KIB), 2);
    ck_assert_uint_eq(byte_at(io, 4 * MIB), 0);
    ck_assert_int_eq(data_bytes(io), 2 * MIB);
    volume_io_close(io);
}
END_TEST

/* The headers name other files than those stated, and content looks like another format. */
START_TEST(no_header_is_followed_and_no_format_probed) {
    struct chain_io_file files[3];
    struct volume_io *io;

    make_chain(files);
    files[0].format = "raw";
    io = open_chain(files, 1, false);
    ck_assert_uint_eq(byte_at(io, 0), 'Q');
    volume_io_close(io);
    io = open_chain(files + 1, 1, false);
    ck_assert_uint_eq(byte_at(io, 0), 0); /* and not the base's */
    ck_assert_uint_eq(byte_at(io, 2 * MIB), 2);
    volume_io_close(io);
}
END_TEST

START_TEST(a_copy_into_a_chain_changes_its_active_file_alone) {
    static const struct copy_position beginning;
    autovolumeio struct volume_io *from = memory_volume(SIZE);
    struct chain_io_file files[3];
    struct error err = { 0 };
    struct copy copy = { .from = from, .verify = true };
    struct volume_io *io;

    make_chain(files);
    fill(from, 3 * MIB, MIB, 5);
    io = open_chain(files, 3, true);
    copy.to = io;
    ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "%s", err.message);
    volume_io_close(io);
    RUN("qemu-img", "check", "-q", "-f", "qcow2", files[0].path);
    io = open_chain(files, 3, false);
    assert_same_bytes(from, io, SIZE);
    volume_io_close(io);
    RUN("qemu-io", "-r", "-f", "raw", "-c", "read -P 1 0 1M", files[2].path);
    RUN("qemu-io", "-r", "-f", "qcow2", "-c", "read -P 2 2M 1M", files[1].path);
}
END_TEST

START_TEST(a_flush_drops_the_cached_pages_of_the_active_file) {
    struct chain_io_file files[3];
    struct error err = { 0 };
    struct volume_io *io;

    make_chain(files);
    ck_assert_int_eq(stat(files[0].path, &dropped), 0);
    io = open_chain(files, 3, true);
    ck_assert_int_eq(volume_io_write(io, "x", 1, MIB, &err), 0);
    ck_assert_uint_eq(drops, 0);
    ck_assert_int_eq(volume_io_flush(io, &err), 0);
    ck_assert_uint_eq(drops, 1);
    ck_assert_uint_eq(byte_at(io, MIB), 'x');
    volume_io_close(io);
}
END_TEST

START_TEST(an_image_with_a_writer_is_in_use_until_that_closes) {
    struct chain_io_file files[3];
    struct error err = { 0 };
    struct volume_io *io;

    make_chain(files);
    io = open_chain(files, 3, true);
    ck_assert_ptr_null(chain_io_open(&settings, files, 3, true, &err));
    ck_assert_msg(err.kind == ERROR_CONFLICT, "%s", err.message);
    volume_io_close(io);
    io = open_chain(files, 3, true);
    volume_io_close(io);
}
END_TEST

START_TEST(a_missing_file_or_program_is_reported) {
    const struct chain_io_file missing = { path_of("missing"), "raw" };
    const struct chain_io_settings none = { "/nonexistent/qemu-nbd", 1000, 0 };
    struct error err = { 0 };

    ck_assert_ptr_null(chain_io_open(&settings, &missing, 1, false, &err));
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_ptr_nonnull(strstr(err.message, "No such file"));
    ck_assert_ptr_null(chain_io_open(&none, &missing, 1, false, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "cannot run /nonexistent/qemu-nbd"));
}
END_TEST

/* A program that warns and serves nothing.  *ret_alive: a pipe that has a byte when it runs, and
 * ends with it. */
static const char *make_hanging_server(int *ret_alive) {
    const char *script = path_of("server"), *pipe = path_of("alive");
    FILE *text = fopen(script, "we");

    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    fprintf(text, "#!/bin/sh\nexec 9>%s\necho a warning >&2\nprintf x >&9\nexec sleep 600\n", pipe);
    ck_assert_int_eq(fclose(text), 0);
    ck_assert_int_eq(chmod(script, 0700), 0);
    *ret_alive = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return script;
}

/* As its shell prints them: memory in KiB, files, a core, seconds. */
START_TEST(the_server_of_an_untrusted_image_is_limited) {
    const char *script = path_of("server");
    const struct chain_io_settings limited = { script, 600000, 77 };
    const struct chain_io_file file = { path_of("base"), "raw" };
    FILE *text = fopen(script, "we");
    struct error err = { 0 };

    fprintf(text,
            "#!/bin/sh\necho $(ulimit -v) $(ulimit -f) $(ulimit -c) $(ulimit -t) >&2\nexit 1\n");
    ck_assert_int_eq(fclose(text), 0);
    ck_assert_int_eq(chmod(script, 0700), 0);
    ck_assert_ptr_null(chain_io_open(&limited, &file, 1, false, &err));
    ck_assert_msg(strstr(err.message, "4194304 0 0 77"), "%s", err.message);
}
END_TEST

/* Each read unpacks a cluster again. */
START_TEST(an_untrusted_image_that_takes_too_long_has_failed) {
    static const struct chain_io_settings limited = { "qemu-nbd", 600000, 1 };
    const struct chain_io_file file = { path_of("packed"), "qcow2" };
    autofree char *buffer = heap_new(MIB);
    struct error err = { 0 };
    struct volume_io *io;

    RUN("qemu-img", "create", "-q", "-f", "raw", path_of("plain"), "8M");
    RUN("qemu-io", "-f", "raw", "-c", "write -P 1 0 8M", path_of("plain"));
    RUN("qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", "-o", "cluster_size=2M",
        path_of("plain"), file.path);
    io = chain_io_open(&limited, &file, 1, false, &err);
    ck_assert_msg(io != NULL, "%s", err.message);
    for (int64_t i = 0; volume_io_read(io, buffer, MIB, i % 4 * 2 * MIB, &err) == 0; i++)
        ck_assert_int_lt(i, 10000000);
    ck_assert_msg(err.kind == ERROR_BACKEND, "%s", err.message);
    volume_io_close(io);
}
END_TEST

static void await_read(int fd, ssize_t size) {
    char byte;

    while (read(fd, &byte, 1) != size)
        usleep(1000);
}

START_TEST(a_server_that_does_not_respond_ends_the_open_in_time) {
    int alive;
    const struct chain_io_settings slow = { make_hanging_server(&alive), 500, 0 };
    const struct chain_io_file file = { path_of("base"), "raw" };
    struct error err = { 0 };

    ck_assert_ptr_null(chain_io_open(&slow, &file, 1, false, &err));
    ck_assert_msg(err.kind == ERROR_UNAVAILABLE, "%s", err.message);
    await_read(alive, 0);
    close(alive);
}
END_TEST

START_TEST(a_server_without_a_negotiation_ends_with_this_process) {
    int alive;
    const struct chain_io_settings slow = { make_hanging_server(&alive), 600000, 0 };
    const struct chain_io_file file = { path_of("base"), "raw" };
    struct error err = { 0 };
    pid_t child = fork();

    if (child == 0) {
        chain_io_open(&slow, &file, 1, false, &err);
        _exit(0);
    }
    await_read(alive, 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    await_read(alive, 0);
    close(alive);
}
END_TEST

CHECK_MAIN_WITH("chain_io", true, begin, end, a_chain_reads_as_its_files_above_each_other,
                no_header_is_followed_and_no_format_probed,
                a_copy_into_a_chain_changes_its_active_file_alone,
                a_flush_drops_the_cached_pages_of_the_active_file,
                an_image_with_a_writer_is_in_use_until_that_closes,
                a_missing_file_or_program_is_reported, the_server_of_an_untrusted_image_is_limited,
                an_untrusted_image_that_takes_too_long_has_failed,
                a_server_that_does_not_respond_ends_the_open_in_time,
                a_server_without_a_negotiation_ends_with_this_process)
