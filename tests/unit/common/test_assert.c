/* The product keeps its assertions in a build that asks for none. */
#define NDEBUG

#include "common/assert.h"

#include "common/log.h"
#include "tests/lib/check_main.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int evaluated;

static int evaluate(int value) {
    evaluated++;
    return value;
}

/* A process whose assertion fails, with `fd` as its log and its stderr; returns its wait status. */
static int fail_in_child(int fd, bool log) {
    pid_t child = fork();
    int status;

    if (child == 0) {
        const struct log_context context = { "req-1", NULL, "operation-1" };

        dup2(fd, STDERR_FILENO);
        log_open(log ? fd : -1, LOG_ERROR, LOG_TEXT);
        log_within(&context);
        assert(evaluate(2) == 3);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static const char *output_of_failure(bool log) {
    static char text[4096];
    int ends[2];
    ssize_t size;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    int status = fail_in_child(ends[1], log);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(ends[1]);
    size = read(ends[0], text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    close(ends[0]);
    return text;
}

START_TEST(a_true_condition_is_evaluated_once_and_changes_nothing) {
    assert(evaluate(1));
    ck_assert_int_eq(evaluated, 1);
}
END_TEST

START_TEST(a_false_condition_is_logged_with_its_place_and_aborts) {
    const char *line = output_of_failure(true);

    ck_assert_ptr_nonnull(strstr(line, "Z ERROR assertion failed condition=\"evaluate(2) == 3\" "));
    ck_assert_ptr_nonnull(strstr(line, "tests/unit/common/test_assert.c line="));
    ck_assert_ptr_nonnull(strstr(line, " function=fail_in_child "));
    ck_assert_ptr_nonnull(strstr(line, " request_id=req-1 operation_id=operation-1\n"));
}
END_TEST

START_TEST(a_process_without_a_log_reports_the_condition_to_stderr) {
    const char *line = output_of_failure(false);

    ck_assert_ptr_nonnull(strstr(line, "tests/unit/common/test_assert.c:"));
    ck_assert_ptr_nonnull(strstr(line, ": fail_in_child: assertion failed: evaluate(2) == 3\n"));
}
END_TEST

CHECK_MAIN("assert", a_true_condition_is_evaluated_once_and_changes_nothing,
           a_false_condition_is_logged_with_its_place_and_aborts,
           a_process_without_a_log_reports_the_condition_to_stderr)
