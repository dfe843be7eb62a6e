/*
 * A volume as a file: its users see the served content, whatever becomes of the daemons and of
 * their owner.
 */
#include "replication/engine/qmp.h"
#include "tests/unit/replication/engine/target_test.h"
#include "json/json.h"

#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/vfs.h>

static char file_path[80], file_run[80];

static void begin_with_file(void) {
    begin();
    snprintf(file_path, sizeof(file_path), "%s/volume", run);
    snprintf(file_run, sizeof(file_run), "%s/file", run);
    target_close(target);
    settings.export = TARGET_EXPORT_FILE;
    open_target();
}

static bool has_fuse(void) {
    return access("/dev/fuse", W_OK) == 0 && geteuid() == 0;
}

static void end_with_file(void) {
    daemon_kill(file_run, 10000, &err);
    while (umount2(file_path, MNT_DETACH) == 0)
        ;
    end();
}

/* ---- its users ---- */

/* A process of its own: each that forks here would wait for the file when it closes it. */
struct order {
    enum { SIZE_OF, PUT, GET, PUNCH } what;
    int64_t at;
    char byte;
};

static int64_t obey(int fd, const struct order *order) {
    struct statx facts;
    char text[4096];

    memset(text, order->byte, sizeof(text));
    if (order->what == PUT)
        return pwrite(fd, text, sizeof(text), order->at) == sizeof(text) ? fsync(fd) : -1;
    if (order->what == GET)
        return pread(fd, text, 1, order->at) == 1 ? text[0] : -1;
    if (order->what == PUNCH)
        return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, order->at, 4096) < 0
                   ? errno
                   : 0;
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &facts) == 0
               ? (int64_t)facts.stx_size
               : -1;
}

static void serve_orders(int end) {
    struct order order;
    int fd;

    if (dup2(end, 3) < 0 || close_range(4, ~0U, 0) < 0) /* our locks, too */
        _exit(1);
    fd = open(file_path, O_RDWR);
    while (fd >= 0 && read(3, &order, sizeof(order)) == sizeof(order)) {
        int64_t result = obey(fd, &order);

        (void)!write(3, &result, sizeof(result));
    }
    _exit(0);
}

static int client(void) {
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    if (fork() == 0) {
        close(ends[0]);
        serve_orders(ends[1]);
    }
    close(ends[1]);
    return ends[0];
}

static void order(int end, struct order what) {
    ck_assert_int_eq(write(end, &what, sizeof(what)), sizeof(what));
}

static int64_t answer(int end) {
    int64_t result;

    ck_assert_int_eq(read(end, &result, sizeof(result)), sizeof(result));
    return result;
}

static int64_t size_of(int end) {
    order(end, (struct order){ SIZE_OF, 0, 0 });
    return answer(end);
}

static int64_t get_by(int end, int64_t at) {
    order(end, (struct order){ GET, at, 0 });
    return answer(end);
}

static void put(int end, int64_t at, char byte) {
    order(end, (struct order){ PUT, at, byte });
    ck_assert_int_eq(answer(end), 0);
}

static char get(const char *path, int64_t at) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char byte;

    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    return byte;
}

static void assert_stored(unsigned i, int64_t at, char byte) {
    ck_assert_int_eq(get(file_of(i, "data"), at), byte);
}

static bool is_mounted(void) {
    autofile FILE *file = fopen("/proc/self/mountinfo", "r");
    char line[1024];
    bool found = false;

    while (file && fgets(line, sizeof(line), file))
        found |= strstr(line, file_path) != NULL;
    return found;
}

START_TEST(writes_to_the_file_are_on_all_replicas_and_a_stop_removes_it) {
    int fd;

    assert_done(start());
    target_status(target, &status);
    ck_assert(status.has_file);
    fd = client();
    ck_assert_int_eq(size_of(fd), SIZE);
    put(fd, SIZE - 4096, 'a');
    order(fd, (struct order){ PUT, SIZE, 'b' }); /* it ends there */
    ck_assert_int_eq(answer(fd), -1);
    ck_assert_int_eq(size_of(fd), SIZE);
    for (unsigned i = 0; i < REPLICAS; i++)
        assert_stored(i, SIZE - 4096, 'a');
    ck_assert(connect_checker()); /* the socket is there as ever */
    ck_assert(is_mounted());
    close(fd);

    stop();
    ck_assert(!is_mounted());
    ck_assert_int_eq(access(file_path, F_OK), -1);
    ck_assert_int_eq(access(file_run, F_OK), -1);
    target_clear(target);
    ck_assert_int_eq(access(run, F_OK), -1);
    assert_equal(0, 1);
}
END_TEST

START_TEST(users_of_the_file_wait_while_the_daemon_restarts) {
    int fd;

    assert_done(start());
    fd = client();
    put(fd, 0, 'a');
    kill_daemon();
    order(fd, (struct order){ PUT, 4096, 'b' });
    ck_assert_int_eq(target_watch(target, &err), -1);
    ck_assert_int_eq(start(), 1); /* an unclean stop */
    ck_assert_int_eq(answer(fd), 0);
    put(fd, 8192, 'c');
    for (unsigned i = 0; i < REPLICAS; i++) {
        assert_stored(i, 4096, 'b');
        assert_stored(i, 8192, 'c');
    }

    target_close(target); /* its owner dies, and the next one adopts it */
    put(fd, 0, 'd');
    open_target();
    assert_done(target_watch(target, &err));
    target_status(target, &status);
    ck_assert(status.has_file);
    put(fd, 0, 'e');
    assert_stored(0, 0, 'e');
    close(fd);
    stop();
}
END_TEST

/* QEMU's daemon may die as it starts, by an assertion about a connection of its monitor: the next
 * watch starts another one. */
static void serve_again(void) {
    for (int i = 0; i < 9 && target_watch(target, &err) < 0; i++)
        poll(NULL, 0, 100);
    assert_done(target_watch(target, &err));
}

START_TEST(a_file_is_served_again_after_its_daemons_death) {
    int fd;

    assert_done(start());
    fd = client();
    put(fd, 0, 'a');
    assert_done(daemon_kill(file_run, 10000, &err));
    ck_assert_int_eq(get_by(fd, 1 << 20), -1); /* fails, and does not hang */
    assert_voters(3);
    serve_again();
    assert_voters(3);
    ck_assert_int_eq(get_by(fd, 1 << 20), -1);
    close(fd);
    ck_assert_int_eq(get(file_path, 0), 'a');

    target_close(target); /* the same, found by the next owner */
    target = NULL;
    assert_done(daemon_kill(file_run, 10000, &err));
    open_target();
    serve_again();
    ck_assert_int_eq(get(file_path, 0), 'a');
    stop();
    ck_assert(!is_mounted());
}
END_TEST

/* Opens the file for writing repeatedly, until its end of `end` is closed; reports how often that
 * was no export. */
static void open_again_and_again(int end) {
    int64_t opened_elsewhere = 0;
    char byte;

    if (dup2(end, 3) < 0 || close_range(4, ~0U, 0) < 0)
        _exit(1);
    while (recv(3, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
        int fd = open(file_path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        struct statfs system;

        if (fd >= 0) {
            opened_elsewhere += fstatfs(fd, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC;
            close(fd);
        }
    }
    (void)!write(3, &opened_elsewhere, sizeof(opened_elsewhere));
    _exit(0);
}

START_TEST(no_opening_between_two_daemons_takes_writes) {
    int ends[2];

    assert_done(start());
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    if (fork() == 0) {
        close(ends[0]);
        open_again_and_again(ends[1]);
    }
    close(ends[1]);
    for (int i = 0; i < 5; i++) {
        assert_done(daemon_kill(file_run, 10000, &err));
        if (i % 2 == 0) /* as after the death of its owner, or a restart of the machine */
            while (umount2(file_path, MNT_DETACH) == 0)
                ;
        serve_again();
    }
    ck_assert_int_eq(write(ends[0], "", 1), 1);
    ck_assert_int_eq(answer(ends[0]), 0);
    close(ends[0]);
    stop();
    ck_assert(!is_mounted());
    ck_assert_int_eq(access(file_path, F_OK), -1);
}
END_TEST

START_TEST(the_mount_point_is_never_writable_itself) {
    assert_done(start());
    assert_done(daemon_kill(file_run, 10000, &err));
    ck_assert_int_eq(umount2(file_path, MNT_DETACH), 0);
    ck_assert_int_eq(open(file_path, O_RDWR | O_CLOEXEC), -1);
    ck_assert_int_eq(errno, EROFS);
    ck_assert_int_eq(umount2(file_path, MNT_DETACH), 0);
    ck_assert_int_eq(open(file_path, O_RDWR | O_CLOEXEC), -1);
    ck_assert_int_eq(errno, ENXIO);
    serve_again();
    stop();
}
END_TEST

/* An earlier version had a plain file there. */
START_TEST(a_plain_file_of_an_earlier_version_is_replaced) {
    autoclose int fd = -1;

    ck_assert(mkdir(run, 0700) == 0 || errno == EEXIST);
    fd = open(file_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    assert_done(start());
    ck_assert_int_eq(get(file_path, 0), 0);
    assert_done(daemon_kill(file_run, 10000, &err));
    while (umount2(file_path, MNT_DETACH) == 0)
        ;
    ck_assert_int_eq(open(file_path, O_RDWR | O_CLOEXEC), -1);
    ck_assert_int_eq(errno, ENXIO);
    stop();
}
END_TEST

START_TEST(a_file_grows_and_replicas_are_rebuilt_below_it) {
    int fd;

    assert_done(start());
    fd = client();
    put(fd, 0, 'a');
    for (int64_t size = 2 * SIZE; size <= 3 * SIZE; size += SIZE) {
        assert_done(target_resize(target, size, &err));
        ck_assert_int_eq(size_of(fd), size);
        put(fd, size - 4096, 'b');
        assert_stored(2, size - 4096, 'b');
    }
    assert_done(target_evict(target, uids[1], &err));
    put(fd, 4096, 'c');
    rebuild(1);
    put(fd, 8192, 'd');
    assert_stored(1, 4096, 'c');
    assert_stored(1, 8192, 'd');
    target_status(target, &status);
    ck_assert_int_eq(status.size_bytes, 3 * SIZE);
    close(fd);
    stop();
}
END_TEST

START_TEST(waiting_writes_never_overwrite_another_owners) {
    struct target_settings elsewhere = settings;
    struct target *other;
    char place[64];
    int fd;

    assert_done(start());
    fd = client();
    put(fd, 0, 'a');
    kill_daemon();
    snprintf(place, sizeof(place), "%s/other", top);
    elsewhere.run = place;
    elsewhere.export = TARGET_EXPORT_NBD;
    assert_done(target_open(&elsewhere, &other, &err));
    while (target_start(other, &err) > 0)
        poll(NULL, 0, 2);
    assert_done(target_stop(other, &err));
    target_close(other);

    watch();
    assert_done(start());
    ck_assert_int_eq(get_by(fd, 1 << 20), -1);
    ck_assert_int_eq(get(file_path, 0), 'a');
    close(fd);
    stop();
}
END_TEST

START_TEST(a_file_is_added_and_removed_while_clients_of_the_socket_stay) {
    target_close(target);
    settings.export = TARGET_EXPORT_NBD;
    open_target();
    serve();
    ck_assert(!is_mounted());
    assert_done(target_set_export(target, TARGET_EXPORT_FILE, &err));
    ck_assert(is_mounted());
    write_some(10);
    assert_done(target_set_export(target, TARGET_EXPORT_NBD, &err));
    ck_assert(!is_mounted());
    ck_assert(!daemon_runs(file_run));
    target_status(target, &status);
    ck_assert(!status.has_file);
    write_some(10);
    read_all();
    stop();
}
END_TEST

static void assert_space(int64_t bytes) {
    for (unsigned i = 0; i < REPLICAS; i++) {
        struct stat facts;

        ck_assert_int_eq(stat(file_of(i, "data"), &facts), 0);
        ck_assert_int_eq((int64_t)facts.st_blocks * 512, bytes);
    }
}

/* It would report zeros where the quorum has left the content as it was. */
static void assert_truthful(int fd) {
    order(fd, (struct order){ PUNCH, 4096, 0 });
    ck_assert_int_eq(answer(fd), EOPNOTSUPP);
    ck_assert_int_eq(get_by(fd, 4096), 'a');
}

START_TEST(holes_are_made_only_of_written_zeros) {
    int fd;

    assert_done(start());
    fd = client();
    for (int64_t at = 0; at < 4 * 4096; at += 4096)
        put(fd, at, 'a');
    assert_space(4 * 4096);
    assert_truthful(fd);
    put(fd, 4096, '\0');
    put(fd, 3 * 4096, '\0');
    assert_space(2 * 4096);
    ck_assert_int_eq(get_by(fd, 4096), 0);
    ck_assert_int_eq(get_by(fd, 2 * 4096), 'a');
    close(fd);
    stop();
}
END_TEST

/* As an earlier version has left it; `begun`: this one was to repair it, and died. */
static void put_on_a_dropping_source(bool begun) {
    autoarena struct arena *arena = arena_new();
    const char *above = arena_format(arena, "below-%jd", (intmax_t)SIZE);
    const char *client = arena_format(arena, "source-%jd", (intmax_t)SIZE);
    json_t *server =
        json_pack("{s:s, s:s}", "type", "unix", "path", arena_format(arena, "%s/nbd", run));
    json_t *arguments[] = {
        json_pack("{s:s, s:s, s:s, s:i, s:s, s:o}", "driver", "nbd", "node-name", client, "export",
                  TARGET_EXPORT, "reconnect-delay", 120, "discard", "unmap", "server", server),
        json_pack("{s:[{s:s, s:s, s:I, s:s, s:s}]}", "options", "driver", "raw", "node-name", "top",
                  "size", (json_int_t)SIZE, "discard", "unmap", "file", client),
        json_pack("{s:s}", "node-name", above),
    };
    static const char *const commands[] = { "blockdev-add", "blockdev-reopen", "blockdev-del" };
    struct qmp *qmp;

    assert_done(qmp_connect(arena_format(arena, "%s/qmp", file_run), 10000, &qmp, &err));
    for (unsigned i = 0; i < LENGTH(commands) - begun; i++)
        assert_done(qmp_execute(qmp, arena, commands[i], arguments[i], 10000, NULL, &err));
    if (begun)
        json_decref(arguments[LENGTH(commands) - 1]);
    qmp_close(qmp);
}

static void refuses_discards_after_adoption(bool begun) {
    int fd;

    assert_done(start());
    fd = client();
    put(fd, 4096, 'a');
    target_close(target);
    target = NULL;
    put_on_a_dropping_source(begun);
    order(fd, (struct order){ PUNCH, 4096, 0 });
    ck_assert_int_eq(answer(fd), 0); /* so it had */
    ck_assert_int_eq(get(file_of(0, "data"), 4096), 'a');

    open_target();
    assert_done(target_watch(target, &err));
    assert_truthful(fd);
    put(fd, 4096, '\0');
    assert_space(0);
    close(fd);
    stop();
}

START_TEST(discards_are_refused_from_the_next_adoption_on) {
    refuses_discards_after_adoption(false);
}
END_TEST

START_TEST(an_interrupted_change_to_refused_discards_is_completed) {
    refuses_discards_after_adoption(true);
}
END_TEST

/* The cases of a shell script in place of qemu-storage-daemon, in a target opened anew. */
static void use_program(const char *cases) {
    static char program[80];
    FILE *script;

    snprintf(program, sizeof(program), "%s/program", top);
    script = fopen(program, "w");
    ck_assert_ptr_nonnull(script);
    fprintf(script, "#!/bin/sh\ncd %s\ncase $* in\n%s\nesac\nexec qemu-storage-daemon \"$@\"\n",
            top, cases);
    ck_assert_int_eq(fclose(script), 0);
    ck_assert_int_eq(chmod(program, 0700), 0);
    target_close(target);
    settings.program = program;
    open_target();
}

/* The volume's daemon waits for that of the file. */
START_TEST(both_daemons_start_at_once) {
    char alone[80];

    snprintf(alone, sizeof(alone), "%s/alone", top);
    use_program("*/file/nbd*) : >begun;;\n"
                "*) for i in $(seq 200); do [ -e begun ] && break; sleep 0.1; done\n"
                "   [ -e begun ] || : >alone;;");
    assert_done(start());
    target_status(target, &status);
    ck_assert(status.has_file);
    ck_assert_int_eq(access(alone, F_OK), -1);
    assert_done(target_stop(target, &err));
    ck_assert_int_eq(access(file_run, F_OK), -1);
}
END_TEST

START_TEST(a_failed_start_leaves_no_daemon_of_the_file) {
    use_program("*/file/nbd*) ;;\n*) exit 1;;");
    ck_assert_int_eq(start(), -1);
    ck_assert(!daemon_runs(file_run));
    ck_assert_int_eq(access(file_path, F_OK), -1);
}
END_TEST

CHECK_MAIN_WITH(
    "target file", has_fuse() && adopt_daemons(), begin_with_file, end_with_file,
    both_daemons_start_at_once, a_failed_start_leaves_no_daemon_of_the_file,
    writes_to_the_file_are_on_all_replicas_and_a_stop_removes_it,
    users_of_the_file_wait_while_the_daemon_restarts,
    a_file_is_served_again_after_its_daemons_death, no_opening_between_two_daemons_takes_writes,
    the_mount_point_is_never_writable_itself, a_plain_file_of_an_earlier_version_is_replaced,
    a_file_grows_and_replicas_are_rebuilt_below_it, waiting_writes_never_overwrite_another_owners,
    a_file_is_added_and_removed_while_clients_of_the_socket_stay,
    holes_are_made_only_of_written_zeros, discards_are_refused_from_the_next_adoption_on,
    an_interrupted_change_to_refused_discards_is_completed)
