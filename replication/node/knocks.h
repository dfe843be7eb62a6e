/*
 * Does a file system answer?  A thread of its own knocks at each directory that is asked for: it
 * opens it, has a block read from the disk and, every few seconds, one written to a file beside the
 * mark of a pool, which is removed again: a disk may hang on writes alone.  Who asks waits a moment
 * at most, and touches nothing there when nobody answers: a thread that the kernel holds cannot be
 * ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct knocks;

struct knocks *knocks_new(void);
/* 0: it answers now, if only by an error; else for how many milliseconds it has not, of which no
 * more than some seconds lie between two that asked. */
int64_t knocks_silence_ms(struct knocks *knocks, const char *directory);
/* Within `ms`; false: one hangs, and what it uses is left.  NULL is fine. */
bool knocks_stop(struct knocks *knocks, int64_t ms);
