/*
 * The guests and operators of the volumes of drivers/memory.h, and its faults.
 */
#pragma once

#include "drivers/memory.h"

/* A guest takes or releases the volume's lock: while it holds it, extend returns DEFERRED.  The
 * three functions return false when there is no such volume.  They and memory_bytes() know a
 * renamed volume also by its first name. */
bool memory_lock(void *handle, const char *name_id, bool locked);
/* The compute side (or another program) makes it this large; also smaller. */
bool memory_grow(void *handle, const char *name_id, int64_t bytes);
bool memory_remove(void *handle, const char *name_id);

/* An existing object outside the service: false when the name is taken; and does it exist? */
bool memory_put(void *handle, const char *name, int64_t bytes, int64_t content);
bool memory_has(void *handle, const char *name);
/* It is removed; a guest opens or closes it: false when there is none. */
bool memory_take(void *handle, const char *name);
bool memory_lock_foreign(void *handle, const char *name, bool locked);
/* All of a volume's content; a new one has 0.  false, -1: there is no such volume, or snapshot. */
bool memory_write(void *handle, const char *name_id, int64_t content);
int64_t memory_read(void *handle, const char *name_id);
int64_t memory_read_snapshot(void *handle, const char *name_id);
/* A guest has written so many bytes more, and no longer needs them, without a discard. */
bool memory_waste(void *handle, const char *name_id, int64_t bytes);
/* A guest discards all of these. */
bool memory_trim(void *handle, const char *name_id);
/* The guest's host does the requested work on that snapshot; and which work is requested? false:
 * none is prepared (any more). */
bool memory_assist(void *handle, const char *name_id);
/* The same for several snapshots of one moment: false, without effect, unless each was
 * requested. */
bool memory_assist_all(void *handle, const char (*name_ids)[37], unsigned count);
/* Sets whether the storage can neither take a moment nor delete one below a guest
 * (DRIVER_DEFERRED); at first it can. */
void memory_defer_snapshots(void *handle, bool defers);

/* From now on a volume is connected to one host at a time, until it is disconnected; at first the
 * number is unlimited. */
void memory_hold_connections(void *handle);
/* And to the destination of its instance's migration. */
void memory_share_connections(void *handle);
/* The host; NULL: not connected.  Valid until the next connect() or disconnect(). */
const char *memory_connected(void *handle, const char *name_id);
const char *memory_connected_too(void *handle, const char *name_id);

/* The next call of this member of struct driver ("extend_volume", …) fails with that kind and does
 * nothing.  `call` is kept by pointer; NULL clears it. */
void memory_fail_next(void *handle, const char *call, enum error_kind kind);
/* The same for lack of space. */
void memory_fill_before(void *handle, const char *call);

/* Set while no call runs; NULL clears it.  Several handles may share one memory: `arg` comes from
 * the function that knows the calling process. */
void memory_watch(void *handle, memory_between *between, void *arg);

/* The first name of the object that has this one now; false: none has it. */
bool memory_made_as(void *handle, const char *name_id, char *ret, size_t size);
size_t memory_count(void *handle);
int64_t memory_bytes(void *handle, const char *name_id); /* -1: there is no such volume */
