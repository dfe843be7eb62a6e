/*
 * What a device was made as.  Whoever may write to one, as a pod with a block volume does, may
 * write another label on it, too: the first that this process has seen of a device counts until
 * its end.  The kernel numbers what stands behind devices: of another number it is another one.
 *
 * Thread-safe.  A kernel without such numbers (before 5.15) leaves labels as they are found.
 */
#pragma once

#include <linux/loop.h>
#include <stdbool.h>
#include <stdint.h>

/* Of what stands behind the device now; 0: nobody knows. */
uint64_t loop_seal_number(int fd);

/* `info` is what was read while the device had this number: its label is from now on what was read
 * first. */
void loop_seal(unsigned device, uint64_t number, struct loop_info64 *info);

/* What was read first: the label and which file (lo_device, lo_inode).  False: nothing was yet. */
bool loop_seal_recall(unsigned device, uint64_t number, struct loop_info64 *ret);

/* From now on what was seen is kept in this file, too (-1: in none), and what a process before us
 * has kept in it counts.  The descriptor stays the caller's, until another one is given. */
void loop_seal_keep(int file);
