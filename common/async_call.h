/*
 * A system call on storage whose server may be unresponsive.  The kernel waits as long as the
 * server is; here the call is a detached one (common/detached_call.h): its caller waits for some
 * seconds, and later callers for the same object are refused at once.  Thread-safe.
 */
#pragma once

#include "common/detached_call.h"
#include "common/error.h"

/* detached_call(); `about` identifies the object, for example by its path. */
int async_call(const char *about, const struct detached_function *function, void *work,
               size_t size);

/* Does the server of this absolute path respond?  Any response counts.  -1: ERROR_UNAVAILABLE. */
int async_probe(const char *path, struct error *err);
