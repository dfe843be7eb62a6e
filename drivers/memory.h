/*
 * Volumes that are only numbers: for tests, drills and the simulation.
 *
 * A volume is its virtual size, a number for its content and the question whether a guest holds it;
 * a snapshot is the first two.  What a guest and an operator would do to it is done by the
 * functions here; handles come from memory_driver.open() or memory_new().  Thread-safe; what
 * list_volumes() calls runs under the handle's lock.
 */
#pragma once

#include "drivers/driver.h"

/* A handle without a configuration; memory_driver.close() ends it. */
void *memory_new(const char *pool, int64_t capacity_gb);

/* A guest takes or leaves the volume's lock: while it holds it, extend answers DEFERRED.  The three
 * functions return false when there is no such volume.  They and memory_bytes() know one that
 * was renamed by the name that it was made with, too. */
bool memory_lock(void *handle, const char *name_id, bool locked);
/* The compute side (or somebody else) makes it this large; also smaller. */
bool memory_grow(void *handle, const char *name_id, int64_t bytes);
bool memory_remove(void *handle, const char *name_id);

/* An object that is nobody's, as somebody else has made it: false when the name is taken; and is
 * there one? */
bool memory_put(void *handle, const char *name, int64_t bytes, int64_t content);
bool memory_has(void *handle, const char *name);
/* It goes again; a guest has it open, or no more: false when there is none. */
bool memory_take(void *handle, const char *name);
bool memory_lock_foreign(void *handle, const char *name, bool locked);
/* All of a volume's content; a new one has 0.  false, -1: there is no such volume, or snapshot. */
bool memory_write(void *handle, const char *name_id, int64_t content);
int64_t memory_read(void *handle, const char *name_id);
int64_t memory_read_snapshot(void *handle, const char *name_id);
/* It has written so many bytes more, and needs them no more; nobody else knows. */
bool memory_waste(void *handle, const char *name_id, int64_t bytes);
/* It has said of all of these that it needs them no more. */
bool memory_trim(void *handle, const char *name_id);
/* The guest's host does what it was asked to do with that snapshot; and what is it asked?  false:
 * nothing, as nothing is prepared (any more). */
bool memory_assist(void *handle, const char *name_id);
/* The same of several that are made at one moment: false, and none is, unless each was asked
 * for. */
bool memory_assist_all(void *handle, const char (*name_ids)[37], unsigned count);
/* From now on the storage can neither take a moment nor delete one below a guest (DRIVER_DEFERRED);
 * at first it can. */
void memory_defer_snapshots(void *handle, bool defers);

/* From now on a volume is connected to one host at a time, until it is disconnected; at first it is
 * to any number. */
void memory_hold_connections(void *handle);
/* And to that where its instance goes. */
void memory_share_connections(void *handle);
/* The host; NULL: it is not.  Until the next call that changes that. */
const char *memory_connected(void *handle, const char *name_id);
const char *memory_connected_too(void *handle, const char *name_id);

/* The next call of this member of struct driver ("extend_volume", …) fails with that kind and does
 * nothing. `call` is kept by pointer; NULL takes the order back. */
void memory_fail_next(void *handle, const char *call, enum error_kind kind);

/*
 * A call that changes something looks first, asks the fence, and acts then; a process may be paused
 * at each of these points.  `between` is called there, without a lock held, with the member of
 * struct driver that was called: false, the process has died there and nothing happens any more.
 * Meanwhile an extend holds the image's lock itself, so that no guest can take it.
 */
enum memory_point { MEMORY_LOOKED, MEMORY_FENCED };
typedef bool memory_between(void *arg, enum memory_point point, const char *call,
                            const char *name_id);
/* Set while nothing runs; NULL ends it.  Several handles may share one memory: `arg` comes from the
 * function that knows who calls. */
void memory_watch(void *handle, memory_between *between, void *arg);

/* The name that the object which has this one now was made with; false: none has it. */
bool memory_made_as(void *handle, const char *name_id, char *ret, size_t size);
size_t memory_count(void *handle);
int64_t memory_bytes(void *handle, const char *name_id); /* -1: there is no such volume */
