/*
 * A storage daemon that is to be killed gives its files back first.
 *
 * A process whose request is stuck in the kernel does not die of SIGKILL, and keeps every file that
 * it has open, with QEMU's locks: a pool that hangs would keep the replicas of all other pools from
 * the next daemon.  So a thread in the daemon (daemon_release.c, preloaded) waits for this signal,
 * puts a dead end in the place of each descriptor and kills the process.
 *
 * A write that is under way then keeps its own file open, and with it the lock of that replica,
 * until it has ended: no replica is opened, emptied or removed while a late write may reach it
 * (open_here(), replica_reset(), replica_delete()).  One that is stuck is of a replica whose pool
 * hangs: the next generation is without it, so that it votes no more before it was rebuilt.
 */
#pragma once

#include <signal.h>

#define DAEMON_RELEASE_SIGNAL SIGRTMAX
#define DAEMON_LOCK_FD        3 /* of the lock that says that a daemon runs: it goes last */
