/*
 * Calls that may never return, as those into a file system or a daemon that hangs: the kernel ends
 * no thread that waits there.  Each call has a thread of its own.  The caller waits for it until a
 * limit and abandons it then, and a call with the same key is refused until the abandoned one has
 * returned.
 *
 * A call works on a copy of `work`, which points to nothing that the caller may free.  The copy
 * comes back with a call that returned in time.  The one of an abandoned call is its thread's:
 * drop() releases what it holds.  A set of calls lives until it is freed and its last call has
 * returned.
 *
 * Thread-safe.  No function that is given here is called with a lock.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detached_calls; /* a set */
struct detached_call;

struct detached_function {
    void (*run)(void *work, const atomic_bool *abandoned);
    void (*drop)(void *work); /* what run() left in the work of an abandoned call; NULL: nothing */
};

/* Time during which this process was suspended does not count. */
struct detached_limit {
    int64_t us;
    /* Behind it, about once in a second: does the caller wait on?  NULL: no. */
    bool (*extend)(void *arg, int64_t waited_us);
    void *arg;
};

/* The name is that of the threads.  last(arg), which may be NULL, is called when the set is freed
 * and all its calls have returned, by the thread of the last one. */
struct detached_calls *detached_calls_new(const char *name, void (*last)(void *arg), void *arg);
/* Waits for nothing.  No call of the set may be in a function below; NULL is fine. */
void detached_calls_free(struct detached_calls *calls);

/*
 * 0: it has returned, and *work is its copy.  Else *work is as it was, and the answer is
 *   ETIMEDOUT  the call is abandoned, and what `work` owns is the call's;
 *   EBUSY      refused: an abandoned call with this key has not returned;
 *   EAGAIN     there is no thread.
 */
int detached_call(struct detached_calls *calls, const char *key,
                  const struct detached_function *function, void *work, size_t size,
                  const struct detached_limit *limit);

/* One that the caller does not wait for, and that is never refused.  NULL: there is no thread. */
struct detached_call *detached_start(struct detached_calls *calls, const char *key,
                                     const struct detached_function *function, const void *work,
                                     size_t size);
bool detached_has_returned(struct detached_call *call);
/* Ends the use of a started call.  true: it has returned, and *work is its copy; false: it is
 * abandoned. */
bool detached_finish(struct detached_call *call, void *work);

/* Abandoned calls that have not returned. */
unsigned detached_calls_abandoned(struct detached_calls *calls);
/* 0: no abandoned call has this key; else for how many milliseconds one has not returned, of which
 * no more than some seconds lie between two queries. */
int64_t detached_calls_silence_ms(struct detached_calls *calls, const char *key);
