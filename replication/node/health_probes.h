/*
 * Health probes of file systems.  A thread for each probed directory opens it, reads a block from
 * the disk and, every few seconds, writes one to a file beside the mark of a pool and removes that
 * file: a disk may block writes only.  A caller waits a few seconds at most and does not access an
 * unresponsive directory, as a thread blocked in the kernel cannot be ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct health_probes;

struct health_probes *health_probes_new(void);
/* 0: it responds, be it with an error; otherwise how long, in milliseconds, it has not.  At most a
 * few seconds between two calls count. */
int64_t health_probes_unresponsive_ms(struct health_probes *health_probes, const char *directory);
/* The errno with which its file system refused the last block, as a disk that takes no writes; 0:
 * the block was written, or there is no space for it. */
int health_probes_refusal(struct health_probes *health_probes, const char *directory);
/* Within `ms`; false: a probe is blocked, and its memory is kept.  NULL is fine. */
bool health_probes_stop(struct health_probes *health_probes, int64_t ms);
