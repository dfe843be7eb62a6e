/* The storage daemon of a target, its environment and its access to files. */
#include "tests/lib/nbd.h"
#include "tests/unit/replication/engine/target_test.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define ROUNDS  200
#define AT_ONCE 16

static int daemon_pid(void) {
    char path[80];
    autofile FILE *file = NULL;
    int pid = 0;

    snprintf(path, sizeof(path), "%s/daemon", run);
    file = fopen(path, "r");
    ck_assert(file && fscanf(file, "%d", &pid) == 1);
    return pid;
}

static bool has_ring(void) {
    char place[64], path[PATH_MAX], name[64];
    const struct dirent *entry;
    bool found = false;
    DIR *fds;

    snprintf(place, sizeof(place), "/proc/%d/fd", daemon_pid());
    fds = opendir(place);
    ck_assert_ptr_nonnull(fds);
    while ((entry = readdir(fds))) {
        ssize_t size;

        snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
        size = readlink(path, name, sizeof(name) - 1);
        name[size > 0 ? size : 0] = '\0';
        found |= strcmp(name, "anon_inode:[io_uring]") == 0;
    }
    closedir(fds);
    return found;
}

/* Queried by a process of its own: the kernel interrupts a former user of a ring a moment later. */
static bool kernel_has_rings(void) {
    struct io_uring_params parameters = { 0 };
    pid_t child = fork();
    int ended = -1;

    if (child == 0)
        _exit(syscall(SYS_io_uring_setup, 1, &parameters) < 0);
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    return ended == 0;
}

/* For this process and its children. */
static bool forbid_rings(void) {
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = LENGTH(lines), .filter = lines };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

START_TEST(files_are_read_by_io_uring_where_available) {
    serve();
    ck_assert(has_ring() == kernel_has_rings());
    write_some(20);
    read_all();
}
END_TEST

START_TEST(a_volume_is_served_without_io_uring) {
    if (!forbid_rings())
        return;
    ck_assert(!kernel_has_rings());
    serve();
    ck_assert(!has_ring());
    assert_voters(3);
    write_some(20);
    read_all();
}
END_TEST

/* Of the daemon, but those of sockets and by io_uring; -1: the kernel does not count them. */
static int64_t count_writes(void) {
    char path[64];
    autofile FILE *file = NULL;
    int64_t count = -1;

    snprintf(path, sizeof(path), "/proc/%d/io", daemon_pid());
    file = fopen(path, "r");
    if (file && fscanf(file, "rchar: %*d wchar: %*d syscr: %*d syscw: %" SCNd64, &count) == 1)
        return count;
    return -1;
}

/* Requests at once: for each of them the daemon wrote its eventfd four times. */
START_TEST(a_daemon_at_work_is_not_woken_by_each_replica) {
    autoarena struct arena *arena = arena_new();
    autoclose int client = -1;
    int64_t size, before;
    char data[4096];
    uint64_t handle;

    if (!kernel_has_rings())
        return;
    serve();
    client = nbd_connect(daemon_path(arena, run, "nbd"), TARGET_EXPORT, &size);
    ck_assert_int_ge(client, 0);
    before = count_writes();
    for (int round = 0; before >= 0 && round < ROUNDS; round++) {
        for (uint64_t i = 0; i < AT_ONCE; i++)
            ck_assert_int_eq(nbd_send(client, NBD_READ, i, 0, NULL, sizeof(data)), 0);
        for (int i = 0; i < AT_ONCE; i++)
            ck_assert_int_eq(nbd_answer(client, &handle, data, sizeof(data)), 0);
    }
    ck_assert_int_lt(count_writes() - before, 2 * ROUNDS * AT_ONCE);
}
END_TEST

struct old_kernel {
    int listener;
    atomic_int refused, allowed; /* rings with that flag, and without */
};

/* Refuses the flag, as Linux before 5.19. */
static void *refuse_flag(void *arg) {
    struct old_kernel *kernel = arg;
    struct seccomp_notif call = { 0 };

    while (ioctl(kernel->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
        struct seccomp_notif_resp answer = { .id = call.id,
                                             .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        struct io_uring_params parameters = { 0 };
        struct iovec here = { &parameters, sizeof(parameters) };
        struct iovec there = { (void *)(uintptr_t)call.data.args[1], sizeof(parameters) };

        if (process_vm_readv((pid_t)call.pid, &here, 1, &there, 1, 0) > 0 &&
            parameters.flags & IORING_SETUP_COOP_TASKRUN) {
            answer.error = -EINVAL;
            answer.flags = 0;
            atomic_fetch_add(&kernel->refused, 1);
        } else {
            atomic_fetch_add(&kernel->allowed, 1);
        }
        ioctl(kernel->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        call = (struct seccomp_notif){ 0 };
    }
    return NULL;
}

/* Rings of this process and its children are reported to a descriptor; -1: that is not possible. */
static int watch_rings(void) {
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = LENGTH(lines), .filter = lines };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &filter);
}

START_TEST(rings_interrupt_no_thread_where_the_kernel_can_do_without) {
    static struct old_kernel kernel;
    pthread_t thread;

    if (!kernel_has_rings())
        return;
    kernel.listener = watch_rings();
    if (kernel.listener < 0)
        return;
    ck_assert_int_eq(pthread_create(&thread, NULL, refuse_flag, &kernel), 0);
    serve();
    ck_assert(has_ring());
    write_some(20);
    read_all();
    ck_assert_int_gt(atomic_load(&kernel.refused), 0);
    ck_assert_int_ge(atomic_load(&kernel.allowed), atomic_load(&kernel.refused));
}
END_TEST

/* Killed while it reads and writes: requests that the kernel still completes do not exclude the
 * next one. */
START_TEST(a_daemon_killed_under_load_is_replaced_at_once) {
    serve();
    for (int i = 0; i < 10; i++) {
        checker_send(&checker, 60);
        kill_daemon();
        checker_disconnect(&checker);
        watch();
        ck_assert_msg(start() >= 0, "%s", err.message);
        assert_voters(3);
        ck_assert(connect_checker());
        read_all();
    }
}
END_TEST

static bool is_reported(const char *variable) {
    static char text[64 * 1024];
    char path[64];
    autofile FILE *file = NULL;
    size_t size;

    snprintf(path, sizeof(path), "/proc/%d/environ", daemon_pid());
    file = fopen(path, "r");
    size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    ck_assert_uint_gt(size, 0);
    text[size] = '\0';
    for (const char *one = text; one < text + size; one += strlen(one) + 1) {
        if (strcmp(one, variable) == 0)
            return true;
    }
    return false;
}

START_TEST(memory_for_large_requests_is_kept_unless_configured_otherwise) {
    unsetenv("MALLOC_MMAP_THRESHOLD_");
    setenv("MALLOC_TRIM_THRESHOLD_", "65536", 1);
    setenv("OTHERWISE", "as it was", 1);
    serve();
    ck_assert(is_reported("MALLOC_MMAP_THRESHOLD_=1126400"));
    ck_assert(is_reported("MALLOC_TRIM_THRESHOLD_=65536"));
    ck_assert(!is_reported("MALLOC_TRIM_THRESHOLD_=8388608"));
    ck_assert(is_reported("OTHERWISE=as it was"));
}
END_TEST

START_TEST(an_operators_preloaded_objects_are_kept) {
    setenv("LD_PRELOAD", "libdl.so.2", 1);
    serve();
    ck_assert(is_reported("LD_PRELOAD=/proc/self/fd/4:libdl.so.2"));
    ck_assert(!is_reported("LD_PRELOAD=libdl.so.2"));
}
END_TEST

CHECK_MAIN_WITH("target daemon", adopt_daemons(), begin, end,
                files_are_read_by_io_uring_where_available, a_volume_is_served_without_io_uring,
                a_daemon_at_work_is_not_woken_by_each_replica,
                rings_interrupt_no_thread_where_the_kernel_can_do_without,
                a_daemon_killed_under_load_is_replaced_at_once,
                memory_for_large_requests_is_kept_unless_configured_otherwise,
                an_operators_preloaded_objects_are_kept)
