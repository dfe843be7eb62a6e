#include "common/process.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct arena *arena;
static struct process_result result;
static struct error err;

/* Runs a script; the tests need a shell, the module has none. */
static int run_script(const char *script, struct process_limits limits) {
    const char *const arguments[] = { "sh", "-c", script, NULL };

    if (!arena)
        arena = arena_new();
    memset(&result, 0, sizeof(result));
    memset(&err, 0, sizeof(err));
    return process_run(arena, arguments, &limits, &result, &err);
}
#define RUN(script, ...) run_script(script, (struct process_limits){ __VA_ARGS__ })

static void assert_has(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

/* Nothing of ours is left behind. */
static void assert_no_child(void) {
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

START_TEST(output_errors_and_status_are_kept_apart) {
    ck_assert_int_eq(RUN("echo out; echo err >&2; exit 3"), 0);
    ck_assert_int_eq(result.exit_status, 3);
    ck_assert_str_eq(result.output, "out\n");
    ck_assert_str_eq(result.errors, "err\n");

    ck_assert_int_eq(RUN(":"), 0);
    ck_assert_int_eq(result.exit_status, 0);
    ck_assert_str_eq(result.output, "");
    ck_assert_str_eq(result.errors, "");

    ck_assert_int_eq(RUN("kill -TERM $$"), 0);
    ck_assert_int_eq(result.exit_status, 128 + SIGTERM);
    assert_no_child();
}
END_TEST

START_TEST(arguments_reach_the_program_as_they_are) {
    const char *const arguments[] = { "/bin/echo", "a b", "$HOME;`id`", "", "*", NULL };
    const struct process_limits limits = { 0 };

    arena = arena_new();
    ck_assert_int_eq(process_run(arena, arguments, &limits, &result, &err), 0);
    ck_assert_str_eq(result.output, "a b $HOME;`id`  *\n");
}
END_TEST

START_TEST(program_that_cannot_be_run_is_named) {
    static const char *const names[] = { "no-such-program", "/no/such/program", "/dev/null", "/" };
    const struct process_limits limits = { 0 };

    arena = arena_new();
    for (size_t i = 0; i < LENGTH(names); i++) {
        const char *const arguments[] = { names[i], NULL };

        result.exit_status = -7;
        ck_assert_int_eq(process_run(arena, arguments, &limits, &result, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_INTERNAL);
        assert_has(err.message, "cannot run ");
        assert_has(err.message, names[i]);
        ck_assert_int_eq(result.exit_status, -7);
        assert_no_child();
    }
}
END_TEST

START_TEST(path_is_searched_in_order) {
    ck_assert_int_eq(setenv("PATH", ":/no/such/directory:/usr/bin:/bin", 1), 0);
    ck_assert_int_eq(RUN("echo found"), 0);
    ck_assert_str_eq(result.output, "found\n");
    unsetenv("PATH");
    ck_assert_int_eq(RUN("echo found"), 0);
    ck_assert_str_eq(result.output, "found\n");
}
END_TEST

START_TEST(child_starts_clean) {
    autoclose int open_fd = open("/dev/null", O_RDONLY); /* not close-on-exec */
    sigset_t blocked;

    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("SCORIA_TEST", "kept", 1);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    ck_assert_int_ge(open_fd, 0);

    ck_assert_int_eq(RUN("echo $LC_ALL $SCORIA_TEST; readlink /proc/self/fd/0; cat"), 0);
    ck_assert_str_eq(result.output, "C kept\n/dev/null\n");
    ck_assert_int_eq(RUN("exec ls /proc/self/fd"), 0); /* 3 is the directory that ls reads */
    ck_assert_str_eq(result.output, "0\n1\n2\n3\n");
    /* Without the C library's own two signals, which the parent process may have left ignored. */
    ck_assert_int_eq(
        RUN("exec sed -nE 's/^(SigBlk|SigIgn):.*[0-9a-f]([0-7]?[0-9a-f]{7})$/\\1 \\2/p' "
            "/proc/self/status"),
        0);
    ck_assert_str_eq(result.output, "SigBlk 0000000\nSigIgn 0000000\n");
    ck_assert_int_eq(RUN("kill -TERM $$"), 0);
    ck_assert_int_eq(result.exit_status, 128 + SIGTERM);
}
END_TEST

START_TEST(own_standard_descriptors_may_be_closed) {
    int outcome;

    close(0);
    close(1);
    close(2);
    outcome = RUN("echo out; echo err >&2; readlink /proc/self/fd/0");
    dup2(open("/dev/null", O_RDWR), 2);
    ck_assert_int_eq(outcome, 0);
    ck_assert_str_eq(result.output, "out\n/dev/null\n");
    ck_assert_str_eq(result.errors, "err\n");
}
END_TEST

/* The process that the script wrote of; 0 when it did not come so far. */
static pid_t read_pid(void) {
    char path[64];
    autofile FILE *file = NULL;
    pid_t pid = 0;

    snprintf(path, sizeof(path), "/tmp/scoria-test.%d", (int)getpid());
    file = fopen(path, "r");
    unlink(path);
    return file && fscanf(file, "%d", &pid) == 1 ? pid : 0;
}

START_TEST(deadline_kills_the_whole_group) {
    int64_t timeout_ms = 100, start_us;
    pid_t grandchild = 0;
    char message[64];

    while (grandchild == 0 && timeout_ms < 10000) {
        timeout_ms *= 2;
        start_us = clock_monotonic_us();
        ck_assert_int_eq(
            RUN("sleep 1000 & echo $! > /tmp/scoria-test.$PPID; wait", .timeout_ms = timeout_ms),
            -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        snprintf(message, sizeof(message), "sh did not end within %d ms", (int)timeout_ms);
        ck_assert_str_eq(err.message, message);
        ck_assert_int_ge(clock_monotonic_us() - start_us, timeout_ms * 1000);
        assert_no_child();
        grandchild = read_pid();
    }
    ck_assert_int_ne(grandchild, 0);
    for (int i = 0; i < 30000 && kill(grandchild, 0) == 0; i++) { /* until init has reaped it */
        char status[64];
        autofile FILE *stat = NULL;
        char state = '?';

        snprintf(status, sizeof(status), "/proc/%d/stat", (int)grandchild);
        stat = fopen(status, "r");
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1 || state == 'Z')
            return;
        usleep(1000);
    }
    ck_assert_int_eq(kill(grandchild, 0), -1);
}
END_TEST

START_TEST(child_that_closes_its_output_is_still_waited_for) {
    ck_assert_int_eq(RUN("exec >&- 2>&-; sleep 0.05; exit 4"), 0);
    ck_assert_int_eq(result.exit_status, 4);

    ck_assert_int_eq(RUN("exec >&- 2>&-; sleep 1000", .timeout_ms = 100), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    assert_no_child();
}
END_TEST

START_TEST(a_descendant_that_keeps_the_pipe_open_does_not_delay_the_end) {
    ck_assert_int_eq(RUN("sleep 1000 & echo done"), 0); /* not the deadline's end */
    ck_assert_str_eq(result.output, "done\n");
}
END_TEST

START_TEST(output_up_to_the_limit_is_kept_and_more_is_a_failure) {
    ck_assert_int_eq(RUN("head -c 10000 /dev/zero | tr '\\0' x", .output_bytes = 10000), 0);
    ck_assert_uint_eq(strlen(result.output), 10000);

    ck_assert_int_eq(RUN("head -c 10001 /dev/zero | tr '\\0' x", .output_bytes = 10000), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "sh printed more than 10000 bytes");

    ck_assert_int_eq(RUN("yes >&2"), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "sh printed more than 65536 bytes");

    ck_assert_int_eq(RUN("head -c 65536 /dev/zero | tr '\\0' y; head -c 65536 /dev/zero >&2"), 0);
    ck_assert_uint_eq(strlen(result.output), 65536);
    assert_no_child();
}
END_TEST

START_TEST(the_end_of_more_output_is_kept_on_request) {
    ck_assert_int_eq(
        RUN("seq 1 100000; seq 1 99999 >&2; exit 3", .output_bytes = 10000, .keeps_end = true), 0);
    ck_assert_int_eq(result.exit_status, 3);
    ck_assert_uint_le(strlen(result.output), 10000);
    ck_assert_uint_ge(strlen(result.output), 5000);
    assert_has(result.output, "\n99998\n99999\n100000\n");
    assert_has(result.errors, "\n99998\n99999\n");
    assert_no_child();
}
END_TEST

START_TEST(limits_hold) {
    char path[] = "/tmp/scoria-process-XXXXXX";
    char script[128];
    struct stat status;
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    snprintf(script, sizeof(script), "head -c 100000 /dev/zero > %s", path);
    ck_assert_int_eq(RUN(script, .file_bytes = 5000), 0);
    ck_assert_int_ne(result.exit_status, 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_le(status.st_size, 5000);
    close(fd);
    unlink(path);

    ck_assert_int_eq(RUN("exec grep -E 'Max (cpu|address|file size)' /proc/self/limits",
                         .cpu_seconds = 7, .memory_bytes = 512 * 1024 * 1024, .file_bytes = 5000),
                     0);
    assert_has(result.output, "Max cpu time              7                    7 ");
    assert_has(result.output, "Max file size             5000                 5000 ");
    assert_has(result.output, "Max address space         536870912            536870912 ");

    ck_assert_int_eq(RUN("while :; do :; done", .timeout_ms = 200000, .cpu_seconds = 1), 0);
    ck_assert_int_eq(result.exit_status, 128 + SIGKILL);
}
END_TEST

START_TEST(run_without_descriptors_fails_and_loses_none) {
    int next = dup(0), failed = 0;

    close(next);
    for (int more = 0; more < 24; more++) {
        struct rlimit before, limit;
        int outcome, now;

        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
        limit = before;
        limit.rlim_cur = (rlim_t)(next + more);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        outcome = RUN("echo out");
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (outcome < 0) {
            failed++;
            ck_assert_str_ne(err.message, "");
            ck_assert_str_eq(result.output ? result.output : "", "");
        } else {
            ck_assert_str_eq(result.output, "out\n");
        }
        now = dup(0);
        close(now);
        ck_assert_int_eq(now, next);
        assert_no_child();
    }
    ck_assert_int_gt(failed, 3);
    ck_assert_int_lt(failed, 24);
}
END_TEST

static void *run_some(void *arg) {
    const char *const arguments[] = { "echo", arg, NULL };
    const struct process_limits limits = { 0 };

    for (int i = 0; i < 20; i++) {
        autoarena struct arena *own = arena_new();
        struct process_result answer;

        ck_assert_int_eq(process_run(own, arguments, &limits, &answer, NULL), 0);
        ck_assert_int_eq(strncmp(answer.output, arg, strlen(arg)), 0);
    }
    return NULL;
}

START_TEST(threads_run_programs_side_by_side) {
    static char words[4][8] = { "one", "two", "three", "four" };
    pthread_t threads[LENGTH(words)];

    for (size_t i = 0; i < LENGTH(words); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_some, words[i]), 0);
    for (size_t i = 0; i < LENGTH(words); i++)
        pthread_join(threads[i], NULL);
    assert_no_child();
}
END_TEST

/* Goes on until it has seen the end of the first output. */
static bool until_printed(void *arg, const char *output, size_t size) {
    ++*(int *)arg;
    return !(size >= 6 && memcmp(output + size - 6, "begun\n", 6) == 0);
}

START_TEST(the_progress_callback_may_cancel_the_program) {
    int queried = 0;

    ck_assert_int_eq(RUN("echo begun; exec sleep 600", .timeout_ms = 180000,
                         .goes_on = until_printed, .arg = &queried),
                     -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    assert_has(err.message, "was cancelled");
    ck_assert_int_ge(queried, 1);
    assert_no_child();

    ck_assert_int_eq(RUN("exit 4", .goes_on = until_printed, .arg = &queried), 0);
    ck_assert_int_eq(result.exit_status, 4);
}
END_TEST

START_TEST(a_program_that_consumes_no_processor_time_is_ended) {
    ck_assert_int_eq(RUN("exec sleep 600", .timeout_ms = 180000, .idle_ms = 300), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "sh hangs: idle for 300 ms");
    assert_no_child();

    ck_assert_int_eq(RUN("exit 4", .idle_ms = 100000), 0);
    ck_assert_int_eq(result.exit_status, 4);
    /* Its last second of processor time ends it, not the limit. */
    ck_assert_int_eq(
        RUN("while :; do :; done", .timeout_ms = 200000, .cpu_seconds = 1, .idle_ms = 100000), 0);
    ck_assert_int_eq(result.exit_status, 128 + SIGKILL);
}
END_TEST

CHECK_MAIN("process", output_errors_and_status_are_kept_apart,
           arguments_reach_the_program_as_they_are, program_that_cannot_be_run_is_named,
           path_is_searched_in_order, child_starts_clean, own_standard_descriptors_may_be_closed,
           deadline_kills_the_whole_group, child_that_closes_its_output_is_still_waited_for,
           a_descendant_that_keeps_the_pipe_open_does_not_delay_the_end,
           output_up_to_the_limit_is_kept_and_more_is_a_failure,
           the_end_of_more_output_is_kept_on_request, limits_hold,
           run_without_descriptors_fails_and_loses_none,
           the_progress_callback_may_cancel_the_program,
           a_program_that_consumes_no_processor_time_is_ended, threads_run_programs_side_by_side)
