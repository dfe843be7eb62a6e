/*
 * Threads of the simulated processes: each has a stack of its own, one runs at a time, and which
 * one goes on is the caller's choice, so a run can be repeated exactly.
 *
 * A fiber may be left only by fiber_yield() and by its end, and never with a lock held.
 */
#pragma once

#include <stdbool.h>

struct fiber;

struct fiber *fiber_new(void (*run)(void *arg), void *arg);
/* Runs it until it yields: true; false: it has ended, and its memory is gone. */
bool fiber_resume(struct fiber *fiber);
/* Back to the caller that resumed the running fiber. */
void fiber_yield(void);
struct fiber *fiber_running(void); /* NULL: none */
