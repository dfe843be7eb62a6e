/*
 * A system call into storage whose server may be silent.  The kernel waits as long as the server
 * is; here the call is a detached one (common/detached_call.h), the caller waits some seconds for
 * it, and the next one about the same object not at all.  Thread-safe.
 */
#pragma once

#include "common/detached_call.h"
#include "common/error.h"

/* detached_call(); `about` names the object, as a path does. */
int async_call(const char *about, const struct detached_function *function, void *work,
               size_t size);

/* Does the server of what is at this absolute path answer?  Any answer will do.  -1:
 * ERROR_UNAVAILABLE. */
int async_probe(const char *path, struct error *err);
