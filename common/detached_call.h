/*
 * Calls that may never return, such as those into a hanging file system or daemon: the kernel does
 * not end a thread that waits there.  Each call has its own thread.  The caller waits for a limited
 * time and then abandons the call; further calls with its key are refused until it has returned.
 *
 * A call works on a copy of `work`, which points to nothing that the caller may free.  The copy is
 * returned by a call that ended in time.  That of an abandoned call belongs to its thread: drop()
 * releases its contents.  A set of calls lives until it is freed and its last call has returned.
 *
 * Thread-safe.  The functions passed here are called without a lock.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detached_calls; /* a set of calls */
struct detached_call;

struct detached_function {
    void (*run)(void *work, const atomic_bool *abandoned);
    void (*drop)(void *work); /* releases what run() stored in the work of an abandoned call; NULL:
                               * nothing */
};

/* Time during which this process was suspended does not count. */
struct detached_limit {
    int64_t us;
    /* Queried about once a second after the limit: continue to wait?  NULL: no. */
    bool (*extend)(void *arg, int64_t waited_us);
    void *arg;
};

/* `name` is that of the threads.  last(arg), which may be NULL, is called when the set is freed and
 * all its calls have returned, by the thread of the last one. */
struct detached_calls *detached_calls_new(const char *name, void (*last)(void *arg), void *arg);
/* Does not wait.  Must not be called from a function of the set; NULL is fine. */
void detached_calls_free(struct detached_calls *calls);

/*
 * 0: the call has returned, and *work is its copy.  Otherwise *work is unchanged, and the result is
 * ETIMEDOUT (abandoned: the resources of `work` belong to the call), EBUSY (refused: an abandoned
 * call with this key has not returned) or EAGAIN (no thread could be started).
 */
int detached_call(struct detached_calls *calls, const char *key,
                  const struct detached_function *function, void *work, size_t size,
                  const struct detached_limit *limit);

/* Starts a call without waiting; it is never refused.  NULL: no thread could be started. */
struct detached_call *detached_start(struct detached_calls *calls, const char *key,
                                     const struct detached_function *function, const void *work,
                                     size_t size);
bool detached_has_returned(struct detached_call *call);
/* Ends the use of a started call.  true: it has returned, and *work is its copy; false: it is
 * abandoned. */
bool detached_finish(struct detached_call *call, void *work);

/* Number of abandoned calls that have not returned. */
unsigned detached_calls_abandoned(struct detached_calls *calls);
/* How long, in milliseconds, an abandoned call with this key has been unresponsive; 0: there is
 * none.  At most some seconds are counted between two queries. */
int64_t detached_calls_silence_ms(struct detached_calls *calls, const char *key);
