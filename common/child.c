#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t child_fork(void (*run)(void *arg), void *arg) {
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0) {
        run(arg);
        _exit(127);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

int child_reap(pid_t pid) {
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int child_report(int fd) {
    int code = 0;
    ssize_t got;

    do {
        got = read(fd, &code, sizeof(code));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(code) ? code : 0;
}

void child_reset_signals(void) {
    const struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        sigaction(i, &standard, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* First moved above all target numbers: a descriptor may occupy the target of another one. */
int child_place_fds(int *fds, int count) {
    for (int i = 0; i < count; i++) {
        fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, count);
        if (fds[i] < 0)
            return -1;
    }
    for (int i = 0; i < count; i++) {
        if (dup2(fds[i], i) < 0)
            return -1;
    }
    if (fcntl(count - 1, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    return (int)syscall(SYS_close_range, count, ~0U, 0);
}

int child_limit(int resource, int64_t value) {
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return -1;
    if (limit.rlim_max > (rlim_t)value)
        limit.rlim_max = (rlim_t)value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &limit);
}

void child_spare_from_oom(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "-900", 4);
        close(fd);
    }
}

_Noreturn void child_fail(int report) {
    int code = errno;
    ssize_t written = write(report, &code, sizeof(code));

    (void)written;
    _exit(127);
}
