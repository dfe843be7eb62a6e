/*
 * What everybody who starts another program does around fork() and exec.
 *
 * Between the two only async-signal-safe calls are made: another thread may hold malloc's lock.
 * The child reports through a pipe why it could not run the program; the exec closes it.
 */
#pragma once

#include <sys/types.h>

/* Runs `run`, which does not return, in the child.  Signals are blocked over the fork: no handler
 * of ours runs there.  The child, or -1 with errno. */
pid_t child_fork(void (*run)(void *arg), void *arg);
/* Its status, when it has ended. */
int child_reap(pid_t pid);
/* 0, or the errno that kept it from running the program; waits for the exec. */
int child_report(int fd);

/* ---- in the child ---- */

/* As a program has them that nobody has touched. */
void child_reset_signals(void);
/* fds[i] becomes number i, and every other is closed; the last, for the report, ends with the exec.
 * 0, or -1 with errno. */
int child_place_fds(int *fds, int count);
/* When memory is short others go first; without the right to say so it is like any process. */
void child_spare_from_oom(void);
/* Reports errno, and ends. */
_Noreturn void child_fail(int report);
