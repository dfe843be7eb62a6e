/*
 * The original label of a device.  A program that can write to a device, as in a pod with a block
 * volume, can change its label, too: the first label that this process has read is valid until the
 * device's end.  The kernel numbers attached devices (diskseq): another number is another device.
 *
 * Thread-safe.  A kernel without diskseq (before 5.15) leaves labels unverified.
 */
#pragma once

#include <linux/loop.h>
#include <stdbool.h>
#include <stdint.h>

/* The diskseq of the device; 0: unknown. */
uint64_t loop_diskseq(int fd);

/* `info` was read while the device had this diskseq: its label is replaced by the recorded one, or
 * recorded. */
void loop_identity_record(unsigned device, uint64_t number, struct loop_info64 *info);

/* The recorded label and file (lo_device, lo_inode).  False: nothing is recorded. */
bool loop_identity_recall(unsigned device, uint64_t number, struct loop_info64 *ret);

/* Stores records in this file, too (-1: in none), and reads those of a previous process from it.
 * The descriptor stays the caller's, and must be valid until another one is set. */
void loop_identity_set_file(int file);
