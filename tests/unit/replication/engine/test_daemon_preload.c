/*
 * A copy that ends early while clients write, in a storage daemon: started with the preloaded
 * object, for without it the daemon dies of that.
 */
#include "replication/engine/daemon_environment.h"
#include "replication/engine/daemon_release.h"
#include "replication/engine/qmp.h"
#include "tests/lib/frozen_disk.h"
#include "tests/lib/nbd.h"
#include "tests/unit/replication/engine/target_test.h"

#include <dlfcn.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define MIB         (INT64_C(1) << 20)
#define SOURCE_SIZE (16 * MIB)
#define BAD_OFFSET  (8 * MIB)
#define WRITE_SIZE  65536
#define WRITES      8
#define LATE_NS     INT64_C(300000000)
#define TIMEOUT_MS  20000
#define RELEASES    20
#define WAKES       20000 /* of each thread */
#define FILES       600   /* many more than the kernel has queues for writes */

static struct qmp *qmp;

static json_t *command(struct arena *arena, const char *name, json_t *arguments) {
    json_t *got = NULL;

    ck_assert_msg(qmp_execute(qmp, arena, name, arguments, TIMEOUT_MS, &got, &err) == 0, "%s: %s",
                  name, err.message);
    return got;
}

static void execute(const char *name, json_t *arguments) {
    autoarena struct arena *arena = arena_new();

    command(arena, name, arguments);
}

/* Writes to its target are answered late, and at one position with an error. */
static void begin_copy(void) {
    json_t *late = json_pack("{s:s, s:I, s:I}", "driver", "null-co", "size",
                             (json_int_t)SOURCE_SIZE, "latency-ns", (json_int_t)LATE_NS);
    json_t *rules = json_pack("[{s:s, s:s, s:i, s:I}]", "event", "none", "iotype", "write", "errno",
                              ENOSPC, "sector", (json_int_t)(BAD_OFFSET / 512));

    execute("blockdev-add",
            json_pack("{s:s, s:s, s:{s:s, s:o, s:o}}", "driver", "raw", "node-name", "copy", "file",
                      "driver", "blkdebug", "image", late, "inject-error", rules));
    execute("blockdev-mirror",
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s}", "job-id", "job", "device",
                      "source", "target", "copy", "sync", "none", "copy-mode", "write-blocking",
                      "auto-dismiss", 0, "on-source-error", "report", "on-target-error", "report"));
}

static void await_status(const char *awaited) {
    for (;;) {
        autoarena struct arena *arena = arena_new();
        const json_t *jobs = command(arena, "query-jobs", NULL);
        const char *seen = json_string_value(json_object_get(json_array_get(jobs, 0), "status"));

        ck_assert_ptr_nonnull(seen);
        if (strcmp(seen, awaited) == 0)
            return;
        poll(NULL, 0, 5);
    }
}

static void send_writes(int fd, bool bad_one) {
    static unsigned char data[WRITE_SIZE] = { 0xff };

    for (int i = 0; i < WRITES; i++)
        ck_assert_int_eq(
            nbd_send(fd, NBD_WRITE, (uint64_t)i, i * INT64_C(2) * WRITE_SIZE, data, WRITE_SIZE), 0);
    if (bad_one)
        ck_assert_int_eq(nbd_send(fd, NBD_WRITE, WRITES, BAD_OFFSET, data, WRITE_SIZE), 0);
}

static void await_answers(int fd, int count) {
    uint64_t handle;

    for (int i = 0; i < count; i++)
        ck_assert_int_eq(nbd_answer(fd, &handle, NULL, 0), 0);
}

static void begin_daemon(void) {
    if (mkdir(run, 0700) < 0)
        ck_assert_int_eq(errno, EEXIST);
    assert_done(daemon_start(run, "qemu-storage-daemon", TIMEOUT_MS, &qmp, &err));
    execute("blockdev-add", json_pack("{s:s, s:s, s:I}", "driver", "null-co", "node-name", "source",
                                      "size", (json_int_t)SOURCE_SIZE));
    execute("block-export-add",
            json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id", "export", "node-name",
                      "source", "name", "volume", "writable", 1));
}

static void end_copy(void) {
    await_status("concluded");
    execute("job-dismiss", json_pack("{s:s}", "id", "job"));
    execute("blockdev-del", json_pack("{s:s}", "node-name", "copy"));
}

static int connect_client(void) {
    autoarena struct arena *arena = arena_new();
    int64_t size;
    int fd = nbd_connect(daemon_path(arena, run, "nbd"), "volume", &size);

    ck_assert_int_ge(fd, 0);
    return fd;
}

/* Running, with intact memory: it continues to allocate and to free. */
START_TEST(a_failed_copy_under_writes_does_not_damage_the_daemon) {
    autoclose int fd = -1;

    begin_daemon();
    fd = connect_client();
    for (int i = 0; i < 3; i++) {
        begin_copy();
        await_status("ready");
        send_writes(fd, true);
        await_answers(fd, WRITES + 1);
        end_copy();
    }
    qmp_close(qmp);
}
END_TEST

START_TEST(a_forced_cancellation_under_writes_does_not_damage_the_daemon) {
    autoclose int fd = -1;

    begin_daemon();
    fd = connect_client();
    for (int i = 0; i < 3; i++) {
        begin_copy();
        await_status("ready");
        send_writes(fd, false);
        execute("block-job-cancel", json_pack("{s:s, s:b}", "device", "job", "force", 1));
        await_answers(fd, WRITES);
        end_copy();
    }
    qmp_close(qmp);
}
END_TEST

/* ---- its free memory ---- */

static int64_t anonymous_kib(int process) {
    char line[256], path[40];
    int64_t kib = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", process);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (kib < 0 && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "Anonymous:", 10) == 0)
            kib = strtoll(line + 10, NULL, 10);
    }
    fclose(file);
    ck_assert_int_ge(kib, 0);
    return kib;
}

static int daemon_process(void) {
    autoarena struct arena *arena = arena_new();
    autoclose int fd = open(daemon_path(arena, run, "daemon"), O_RDONLY);
    char text[32] = "";

    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    return (int)strtol(text, NULL, 10);
}

/* Each request is answered late, so that all are in flight at once. */
static int connect_late(void) {
    autoarena struct arena *arena = arena_new();
    int64_t size;
    int fd;

    execute("blockdev-add",
            json_pack("{s:s, s:s, s:I, s:I}", "driver", "null-co", "node-name", "late", "size",
                      (json_int_t)SOURCE_SIZE, "latency-ns", (json_int_t)LATE_NS));
    execute("block-export-add", json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id", "late",
                                          "node-name", "late", "name", "late", "writable", 1));
    fd = nbd_connect(daemon_path(arena, run, "nbd"), "late", &size);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* The daemon has no more of it than without requests: some 1.5 MiB. */
START_TEST(an_idle_daemon_returns_its_free_memory) {
    enum { AT_ONCE = 12, REST_KIB = 4096 };
    autofree char *data = calloc(1, (size_t)MIB);
    autoclose int fd = -1;

    begin_daemon();
    fd = connect_late();
    for (uint64_t i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(nbd_send(fd, NBD_WRITE, i, 0, data, (uint32_t)MIB), 0);
    await_answers(fd, AT_ONCE);
    while (anonymous_kib(daemon_process()) > REST_KIB)
        poll(NULL, 0, 50);
    qmp_close(qmp);
}
END_TEST

/* ---- the object itself ---- */

static void *(*allocate)(size_t size);
static void *(*reallocate)(void *memory, size_t size);
static void (*give_back)(void *memory);

static void *function(void *object, const char *name) {
    void *found = dlsym(object, name);

    ck_assert_ptr_nonnull(found);
    return found;
}

static void *load(void) {
    autoclose int fd = daemon_preload_open();
    char path[40];
    void *object;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(object, "%s", dlerror());
    *(void **)&allocate = function(object, "g_try_malloc0");
    *(void **)&reallocate = function(object, "g_realloc");
    *(void **)&give_back = function(object, "g_free");
    return object;
}

static bool is_filled(const unsigned char *memory, size_t size, int with) {
    while (size > 0 && memory[size - 1] == with)
        size--;
    return size == 0;
}

START_TEST(freed_bitmaps_are_never_reused) {
    static const size_t sizes[] = { 1, 8, 4095, 4096, 4097, 100000, 8 << 20 };
    unsigned char *before[LENGTH(sizes)], *after[LENGTH(sizes)];

    load();
    ck_assert_ptr_null(allocate(0));
    give_back(NULL);
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        before[i] = allocate(sizes[i]);
        ck_assert(is_filled(before[i], sizes[i], 0));
        memset(before[i], 0xff, sizes[i]);
    }
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        ck_assert(is_filled(before[i], sizes[i], 0xff));
        give_back(before[i]);
    }
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        after[i] = allocate(sizes[i]);
        memset(after[i], 0x5a, sizes[i]);
    }
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        ck_assert(is_filled(before[i], sizes[i], 0)); /* and so the kernel has it */
        memset(before[i], 0x77, sizes[i]);
    }
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        ck_assert(is_filled(after[i], sizes[i], 0x5a));
        give_back(after[i]);
    }
}
END_TEST

/* A size beyond any memory, and memory of another allocator. */
START_TEST(other_memory_is_allocated_as_usual) {
    unsigned char *memory;

#ifdef __SANITIZE_THREAD__ /* its allocator would have to free memory of the object */
    return;
#endif
    load();
    ck_assert_ptr_null(allocate((size_t)1 << 62));
    memory = reallocate(NULL, 10);
    memset(memory, 0x11, 10);
    memory = reallocate(memory, 100000);
    ck_assert(is_filled(memory, 10, 0x11));
    give_back(memory);

    memory = allocate(5000);
    memset(memory, 0x22, 5000);
    memory = reallocate(memory, 9000);
    ck_assert(is_filled(memory, 5000, 0x22));
    ck_assert_ptr_null(reallocate(memory, 0));
    memory = allocate(5000);
    memset(memory, 0x33, 5000);
    memory = reallocate(memory, 7);
    ck_assert(is_filled(memory, 7, 0x33));
    give_back(memory);
}
END_TEST

/* ---- its eventfds ---- */

static ssize_t (*write_event)(int fd, const void *data, size_t size);
static ssize_t (*read_event)(int fd, void *data, size_t size);
static int (*close_event)(int fd);

static int load_event(int flags) {
    void *object = load();
    int (*make_event)(unsigned, int);

    *(void **)&make_event = function(object, "eventfd");
    *(void **)&write_event = function(object, "write");
    *(void **)&read_event = function(object, "read");
    *(void **)&close_event = function(object, "close");
    return make_event(0, flags | EFD_CLOEXEC | EFD_NONBLOCK);
}

static void wake(int fd) {
    const uint64_t one = 1;

    ck_assert_int_eq(write_event(fd, &one, sizeof(one)), sizeof(one));
}

/* What the kernel has: the sum of the writes since the latest read. */
static uint64_t take_wakes(int fd) {
    uint64_t count = 0;

    if (read_event(fd, &count, sizeof(count)) < 0)
        ck_assert_int_eq(errno, EAGAIN);
    return count;
}

static void *wake_once(void *arg) {
    wake(*(const int *)arg);
    return NULL;
}

static void *take_once(void *arg) {
    take_wakes(*(const int *)arg);
    return NULL;
}

static void in_another_thread(void *(*run_it)(void *), int fd) {
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, run_it, &fd), 0);
    pthread_join(thread, NULL);
}

START_TEST(a_readable_eventfd_is_written_once_by_its_reader) {
    int fd = load_event(0);
    autoclose int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const uint64_t one = 1;

    ck_assert_uint_eq(take_wakes(fd), 0);
    for (int i = 0; i < 3; i++) {
        wake(fd);
        wake(fd);
        wake(fd);
        ck_assert_uint_eq(take_wakes(fd), 1);
        ck_assert_uint_eq(take_wakes(fd), 0);
    }
    wake(fd);
    ck_assert_int_eq(write_event(fd, &one, 1), -1);
    close_event(fd);
    ck_assert_int_eq(write_event(fd, &one, sizeof(one)), -1);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(write_event(file, &one, sizeof(one)), sizeof(one));
}
END_TEST

START_TEST(each_write_is_made_that_is_not_the_only_readers) {
    int fd = load_event(0), other;

    wake(fd); /* no thread has read it */
    wake(fd);
    ck_assert_uint_eq(take_wakes(fd), 2);
    wake(fd);
    in_another_thread(wake_once, fd);
    in_another_thread(wake_once, fd);
    ck_assert_uint_eq(take_wakes(fd), 3);
    wake(fd);
    in_another_thread(take_once, fd);
    wake(fd);
    ck_assert_uint_eq(take_wakes(fd), 1);
    wake(fd);
    wake(fd);
    ck_assert_uint_eq(take_wakes(fd), 2);
    close_event(fd);
    other = load_event(EFD_SEMAPHORE);
    ck_assert_uint_eq(take_wakes(other), 0);
    wake(other);
    wake(other);
    ck_assert_uint_eq(take_wakes(other), 1);
    ck_assert_uint_eq(take_wakes(other), 1);
    close_event(other);
}
END_TEST

struct waking {
    int fd;
    atomic_uint work;
};

static void add_work(struct waking *waking) {
    atomic_fetch_add(&waking->work, 1);
    wake(waking->fd);
}

static void *add_works(void *arg) {
    for (unsigned i = 0; i < WAKES; i++)
        add_work(arg);
    return NULL;
}

/* As an event loop that writes to itself: it waits without a limit, and looks for work only after
 * it has read. */
START_TEST(no_work_is_left_behind_without_a_wake) {
    struct waking waking = { .fd = load_event(0) };
    unsigned done = 0, own = WAKES;
    pthread_t threads[2];

    take_wakes(waking.fd);
    for (size_t i = 0; i < LENGTH(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_works, &waking), 0);
    while (done < (LENGTH(threads) + 1) * WAKES) {
        struct pollfd readable = { .fd = waking.fd, .events = POLLIN };

        for (unsigned i = 0; i < 3 && own > 0; i++, own--)
            add_work(&waking);
        ck_assert_int_eq(poll(&readable, 1, -1), 1);
        take_wakes(waking.fd);
        done += atomic_exchange(&waking.work, 0);
    }
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
    close_event(waking.fd);
}
END_TEST

/* ---- the release of its files ---- */

struct reading {
    int fd; /* of a file without an end */
    atomic_uint before, failed, ended;
};

static void *read_on(void *arg) {
    struct reading *reading = arg;
    char byte;

    for (;;) {
        ssize_t got = read(reading->fd, &byte, 1);

        atomic_fetch_add(got == 1   ? &reading->before
                         : got == 0 ? &reading->ended
                                    : &reading->failed,
                         1);
    }
    return NULL;
}

/* In a process of its own, which is killed at the end. */
static void read_and_release(struct reading *reading) {
    pthread_t thread;

    load();
    reading->fd = fcntl(open("/dev/zero", O_RDONLY), F_DUPFD, DAEMON_LOCK_FD + 1);
    if (reading->fd < 0 || pthread_create(&thread, NULL, read_on, reading) != 0)
        _exit(1);
    while (atomic_load(&reading->before) == 0)
        poll(NULL, 0, 1);
    kill(getpid(), DAEMON_RELEASE_SIGNAL);
    for (;;)
        pause();
}

static void assert_killed(pid_t pid) {
    int ended;

    ck_assert_int_eq(waitpid(pid, &ended, 0), pid);
    ck_assert(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
}

/* QEMU takes a read that returns 0 for one beyond the end of the file, where all is zero. */
START_TEST(no_read_of_a_released_file_succeeds) {
    struct reading *reading =
        mmap(NULL, sizeof(*reading), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(reading, MAP_FAILED);
    for (int i = 0; i < RELEASES; i++) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0)
            read_and_release(reading);
        assert_killed(pid);
        ck_assert_uint_eq(atomic_load(&reading->ended), 0);
        atomic_store(&reading->before, 0);
    }
    ck_assert_uint_gt(atomic_load(&reading->failed), 0);
    munmap(reading, sizeof(*reading));
}
END_TEST

struct relayed {
    int replica, client;
};

/* As QEMU does with a write that another replica has: responds when the connection ends. */
static void *answer_at_end(void *arg) {
    const struct relayed *relayed = arg;
    struct pollfd end = { .fd = relayed->replica, .events = POLLIN };

    while (poll(&end, 1, -1) != 1)
        ;
    send(relayed->client, "", 1, MSG_NOSIGNAL);
    return NULL;
}

static int bound_socket(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, path);
    return fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                   listen(fd, 1) == 0
               ? fd
               : -1;
}

/* In a process of its own: its client's connection is the last of many. */
static void answer_and_release(int replica, int listener) {
    struct relayed relayed = { .replica = fcntl(replica, F_DUPFD, DAEMON_LOCK_FD + 1) };
    pthread_t thread;

    load();
    close(replica);
    for (unsigned i = 0; i < FILES; i++)
        (void)!socket(AF_UNIX, SOCK_STREAM, 0);
    relayed.client = accept(listener, NULL, NULL);
    if (relayed.replica < 0 || relayed.client < 0 ||
        pthread_create(&thread, NULL, answer_at_end, &relayed) != 0)
        _exit(1);
    kill(getpid(), DAEMON_RELEASE_SIGNAL);
    for (;;)
        pause();
}

static int connect_to(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

START_TEST(no_client_gets_a_response_because_a_replica_is_disconnected) {
    autoarena struct arena *arena = arena_new();
    const char *path = arena_join(arena, top, "/clients", NULL);

    for (int i = 0; i < RELEASES; i++) {
        autoclose int listener = bound_socket(path), client = connect_to(path);
        char byte;
        int pair[2];
        pid_t pid;

        ck_assert_int_ge(listener, 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            close(client); /* ends of other processes */
            close(pair[1]);
            answer_and_release(pair[0], listener);
        }
        close(pair[0]);
        ck_assert_int_le(read(client, &byte, 1), 0);
        assert_killed(pid);
        close(pair[1]);
        unlink(path);
    }
}
END_TEST

/* In a process of its own that cannot create threads. */
static void release_alone(const char *path) {
    const struct rlimit none = { 0 };

    load();
    if (fcntl(open(path, O_RDONLY), F_DUPFD, DAEMON_LOCK_FD + 1) < 0 ||
        setrlimit(RLIMIT_NPROC, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
        _exit(1);
    kill(getpid(), DAEMON_RELEASE_SIGNAL);
    for (;;)
        pause();
}

/* Of a locked one, as by a stuck request. */
START_TEST(a_file_is_released_without_a_thread) {
    autoarena struct arena *arena = arena_new();
    const char *path = arena_join(arena, top, "/locked", NULL);
    autoclose int fd = open(path, O_RDWR | O_CREAT, 0644);
    struct flock lock = { .l_type = F_RDLCK };
    pid_t pid;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    ck_assert_int_eq(chmod(top, 0755), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        release_alone(path);
    assert_killed(pid);
}
END_TEST

static int busy_ring;
static struct iovec unanswered; /* memory whose first use waits */

static void *lock_ring(void *arg) {
    syscall(SYS_io_uring_register, busy_ring, IORING_REGISTER_BUFFERS, &unanswered, 1);
    return arg;
}

/* -1: not possible here. */
static int watch_memory(void) {
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = { .api = UFFD_API };
    struct uffdio_register region = { .range = { .len = WRITE_SIZE },
                                      .mode = UFFDIO_REGISTER_MODE_MISSING };

    unanswered.iov_len = WRITE_SIZE;
    unanswered.iov_base =
        mmap(NULL, WRITE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    region.range.start = (uintptr_t)unanswered.iov_base;
    return unanswered.iov_base != MAP_FAILED && fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 &&
                   ioctl(fd, UFFDIO_REGISTER, &region) == 0
               ? fd
               : -1;
}

/* Another process has the descriptor, too: otherwise its release would end the thread's wait. */
static bool keep_open(void) {
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid > 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        pause();
    _exit(0);
}

/* In a process of its own: a thread waits inside a ring. */
static void release_locked_ring(void) {
    struct io_uring_params params = { 0 };
    struct pollfd faults = { .events = POLLIN };
    pthread_t thread;

    load();
    busy_ring =
        fcntl((int)syscall(SYS_io_uring_setup, 1, &params), F_DUPFD_CLOEXEC, DAEMON_LOCK_FD + 1);
    faults.fd = watch_memory();
    if (busy_ring < 0 || faults.fd < 0)
        kill(getpid(), SIGKILL);
    if (!keep_open() || pthread_create(&thread, NULL, lock_ring, NULL) != 0 ||
        poll(&faults, 1, -1) != 1)
        _exit(1);
    kill(getpid(), DAEMON_RELEASE_SIGNAL);
    for (;;)
        pause();
}

START_TEST(a_ring_with_a_stuck_thread_delays_no_release) {
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        release_locked_ring();
    assert_killed(pid);
}
END_TEST

/* Without waiting for any; false: not possible here. */
static bool submit_writes(const int *fds, unsigned count) {
    static char byte = 'x';
    struct io_uring_sync_cancel_reg none = { .fd = -1, .flags = IORING_ASYNC_CANCEL_ANY };
    struct io_uring_params params = { 0 };
    int ring = (int)syscall(SYS_io_uring_setup, count, &params);
    struct io_uring_sqe *entries;
    unsigned *indexes, *tail;
    char *queue;

    if (ring < 0 ||
        syscall(SYS_io_uring_register, ring, IORING_REGISTER_SYNC_CANCEL, &none, 1) == 0 ||
        errno == EINVAL) /* before Linux 6.0 */
        return false;
    queue = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned),
                 PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED,
                   ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entries == MAP_FAILED)
        return false;
    indexes = (unsigned *)(void *)(queue + params.sq_off.array);
    tail = (unsigned *)(void *)(queue + params.sq_off.tail);
    for (unsigned i = 0; i < count; i++) {
        entries[i] = (struct io_uring_sqe){
            .opcode = IORING_OP_WRITE, .fd = fds[i], .addr = (uintptr_t)&byte, .len = 1
        };
        indexes[i] = i;
    }
    __atomic_store_n(tail, count, __ATOMIC_RELEASE);
    return syscall(SYS_io_uring_enter, ring, count, 0, 0, NULL, 0) == (long)count;
}

static int open_file(unsigned i) {
    autoarena struct arena *arena = arena_new();

    return open(arena_format(arena, i == 0 ? "%s/disk/file" : "%s/file-%u", top, i),
                O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* The first is on the frozen disk.  In a process of its own, which is killed in the end. */
static void write_and_release(int told) {
    int fds[FILES];

    load();
    for (unsigned i = 0; i < FILES; i++) {
        struct flock lock = { .l_type = F_RDLCK };

        fds[i] = fcntl(open_file(i), F_DUPFD, DAEMON_LOCK_FD + 1);
        if (fds[i] < 0 || fcntl(fds[i], F_OFD_SETLK, &lock) < 0)
            _exit(1);
    }
    if (!submit_writes(fds, FILES))
        _exit(2);
    if (write(told, "", 1) == 1)
        kill(getpid(), DAEMON_RELEASE_SIGNAL);
    for (;;)
        pause();
}

static bool is_locked(int fd) {
    struct flock lock = { .l_type = F_WRLCK };

    ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
    return lock.l_type != F_UNLCK;
}

START_TEST(a_stuck_write_keeps_only_its_own_file) {
    autoarena struct arena *arena = arena_new();
    const char *disk = arena_join(arena, top, "/disk", NULL);
    int begun[2], fds[FILES];
    char byte;
    pid_t pid;

    ck_assert_int_eq(mkdir(disk, 0700), 0);
    if (!frozen_disk_mount(disk, arena_join(arena, top, "/image", NULL)))
        return;
    for (unsigned i = 0; i < FILES; i++)
        ck_assert_int_ge(fds[i] = open_file(i), 0);
    ck_assert_int_eq(pipe(begun), 0);
    ck_assert(disk_freeze(disk));
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        write_and_release(begun[1]);
    close(begun[1]);
    if (read(begun[0], &byte, 1) == 1) {
        for (unsigned i = 1; i < FILES; i++) {
            while (is_locked(fds[i]))
                poll(NULL, 0, 5);
        }
        ck_assert(is_locked(fds[0]));
    }
    ck_assert(disk_thaw(disk));
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    for (unsigned i = 0; i < FILES; i++)
        close(fds[i]);
    close(begun[0]);
    ck_assert_int_eq(umount2(disk, MNT_DETACH), 0);
}
END_TEST

CHECK_MAIN_WITH("daemon preload", adopt_daemons(), begin, end,
                a_failed_copy_under_writes_does_not_damage_the_daemon,
                a_forced_cancellation_under_writes_does_not_damage_the_daemon,
                an_idle_daemon_returns_its_free_memory, freed_bitmaps_are_never_reused,
                other_memory_is_allocated_as_usual,
                a_readable_eventfd_is_written_once_by_its_reader,
                each_write_is_made_that_is_not_the_only_readers,
                no_work_is_left_behind_without_a_wake, no_read_of_a_released_file_succeeds,
                no_client_gets_a_response_because_a_replica_is_disconnected,
                a_file_is_released_without_a_thread, a_ring_with_a_stuck_thread_delays_no_release,
                a_stuck_write_keeps_only_its_own_file)
