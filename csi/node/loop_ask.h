/*
 * What is behind a loop device.  The kernel asks the file's server and waits as long as that one is
 * silent; who asks here waits some seconds, and the next one not at all.
 */
#pragma once

#include <linux/loop.h>
#include <stdint.h>

/* LOOP_GET_STATUS64 of device `number`, which had this seal (loop_seal_number()).  0, or -1 with
 * errno: ETIMEDOUT when nobody answers.  Thread-safe. */
int loop_ask(int fd, unsigned number, uint64_t seal, struct loop_info64 *ret);
