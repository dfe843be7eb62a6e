/*
 * A storage daemon releases its files before it is killed.
 *
 * A process with a request that is stuck in the kernel does not die of SIGKILL, and keeps all of
 * its open files, with QEMU's locks: a pool that hangs would keep the replicas of all other pools
 * from the next daemon. So a thread in the daemon (daemon_release.c, preloaded) waits for this
 * signal, replaces each descriptor by a dead end and kills the process.
 *
 * A write in flight then keeps its own file open, and with it the lock of that replica, until it
 * has ended: no replica is opened, emptied or removed while a late write may reach it
 * (open_local(), replica_reset(), replica_delete()). The pool of a replica with a stuck write
 * hangs: the next generation excludes that replica until it was rebuilt.
 */
#pragma once

#include <signal.h>

#define DAEMON_RELEASE_SIGNAL SIGRTMAX
#define DAEMON_LOCK_FD        3 /* of the lock that a running daemon holds: it is closed last */

/* In the preloaded object: released files are written no more, and no write is logged, as the next
 * daemon has the logs. */
void daemon_writes_end(void);

/* Before a descriptor is closed (replication/engine/daemon_preload_wakes.c). */
void daemon_wakes_close(int fd);

/* The thread that waits for the signal calls it in these intervals. */
#define DAEMON_TRIM_S 5
void daemon_trim(void);
