/*
 * Status queries of loop devices.  The kernel queries the file's server and waits as long as that
 * is unresponsive; here the caller waits for some seconds, and later callers not at all.
 */
#pragma once

#include <linux/loop.h>
#include <stdint.h>

/* LOOP_GET_STATUS64 of device `number` with this diskseq (loop_diskseq()).  0, or -1 with errno:
 * ETIMEDOUT without a response.  Thread-safe. */
int loop_get_status(int fd, unsigned number, uint64_t diskseq, struct loop_info64 *ret);
