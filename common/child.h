/*
 * fork() and exec for all that starts another program.
 *
 * Between the two only async-signal-safe calls are made: another thread may hold malloc's lock.
 * The child reports through a pipe why it could not run the program; the exec closes it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Calls `run`, which does not return, in the child.  Signals are blocked during the fork: no signal
 * handler of this process runs in the child.  Returns the child, or -1 with errno. */
pid_t child_fork(void (*run)(void *arg), void *arg);
/* The status of a child that has ended. */
int child_reap(pid_t pid);
/* Waits for the exec.  0, or the errno that prevented it. */
int child_report(int fd);

/* ---- in the child ---- */

/* Default dispositions and an empty mask. */
void child_reset_signals(void);
/* fds[i] becomes number i and all others are closed; the last one, for the report, is closed by the
 * exec.  0, or -1 with errno. */
int child_place_fds(int *fds, int count);
/* Lowers a limit (RLIMIT_…), which cannot be raised again.  0, or -1 with errno. */
int child_limit(int resource, int64_t value);
/* Makes the kernel prefer other processes when memory is short; without that privilege nothing
 * changes. */
void child_spare_from_oom(void);
/* Reports errno and exits. */
_Noreturn void child_fail(int report);
