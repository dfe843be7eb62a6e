/*
 * A system call into storage whose server may be silent.  The kernel waits as long as the server
 * is; here the call has a thread of its own, the caller waits some seconds for it, and the next one
 * about the same object not at all.
 */
#pragma once

#include "common/error.h"

typedef void async_function(void *arg);

/*
 * Calls run(arg) in a thread.  `about` names the object, as a path does.  0: it has returned, and
 * `arg` is the caller's.  -1 with errno, ETIMEDOUT when it has not: `arg` is given to drop(), once
 * it is in use no more.  Thread-safe.
 */
int async_call(const char *about, async_function *run, async_function *drop, void *arg);

/* Does the server of what is at this absolute path answer?  Any answer will do.  -1:
 * ERROR_UNAVAILABLE. */
int async_probe(const char *path, struct error *err);
