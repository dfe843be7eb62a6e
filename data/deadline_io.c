#include "data/deadline_io.h"

#include "common/clock.h"
#include "common/detached_call.h"
#include "common/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY "io"

/* Used by the thread of a call; freed when no call is left. */
struct shared {
    struct volume_io *next; /* NULL: closed */
    unsigned char buffer[VOLUME_IO_MOST];
};

struct deadline_io {
    struct volume_io io;
    struct detached_calls *calls;
    struct shared *shared; /* not used while an abandoned call may use it */
    int64_t timeout_us;
    struct volume_io_wait wait;
    bool abandoned;
};

enum function { EXTENT, READ, WRITE, ZERO, DISCARD, FLUSH, CLOSE };

struct work {
    struct shared *shared;
    enum function function;
    int64_t offset, size;
    struct volume_io_extent extent;
    int result;
    struct error error;
};

static struct deadline_io *deadline_of(struct volume_io *io) {
    return (struct deadline_io *)io;
}

/* ---- in the thread ---- */

static int call_next(struct work *work) {
    struct volume_io *next = work->shared->next;
    unsigned char *buffer = work->shared->buffer;
    size_t size = (size_t)work->size;

    switch (work->function) {
    case EXTENT:
        return volume_io_extent(next, work->offset, &work->extent, &work->error);
    case READ:
        return volume_io_read(next, buffer, size, work->offset, &work->error);
    case WRITE:
        return volume_io_write(next, buffer, size, work->offset, &work->error);
    case ZERO:
        return volume_io_zero(next, work->offset, work->size, &work->error);
    case DISCARD:
        return volume_io_discard(next, work->offset, work->size, &work->error);
    case FLUSH:
        return volume_io_flush(next, &work->error);
    case CLOSE:
        work->shared->next = NULL;
        volume_io_close(next);
        return 0;
    }
    abort();
}

static void run(void *arg, const atomic_bool *abandoned) {
    struct work *work = arg;

    (void)abandoned;
    work->result = call_next(work);
}

/* By the thread of the last call, if one was abandoned. */
static void free_shared(void *arg) {
    struct shared *shared = arg;

    volume_io_close(shared->next);
    free(shared);
}

/* ---- in the caller's thread ---- */

struct waiter {
    const struct deadline_io *deadline;
    struct error *err;
    bool refused;
};

static bool goes_on(void *arg, int64_t waited_us) {
    struct waiter *waiter = arg;

    waiter->refused = volume_io_may(&waiter->deadline->wait, waiter->err) < 0;
    return !waiter->refused && waited_us < waiter->deadline->timeout_us;
}

static int call(struct deadline_io *deadline, struct work *work, struct error *err) {
    static const struct detached_function function = { .run = run };
    struct waiter waiter = { deadline, err, false };
    const struct detached_limit limit = { deadline->timeout_us < SECOND_US ? deadline->timeout_us
                                                                           : SECOND_US,
                                          goes_on, &waiter };
    int reason = EBUSY;

    work->shared = deadline->shared;
    if (!deadline->abandoned)
        reason = detached_call(deadline->calls, KEY, &function, work, sizeof(*work), &limit);
    if (reason == EAGAIN)
        return error_set(err, ERROR_UNAVAILABLE, "cannot start a thread for the storage's call");
    if (reason != 0) {
        deadline->abandoned = true;
        return waiter.refused ? -1
                              : error_set(err, ERROR_UNAVAILABLE, "The storage does not respond.");
    }
    return work->result < 0 ? error_pass(err, &work->error) : 0;
}

static int deadline_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                           struct error *err) {
    struct work work = { .function = EXTENT, .offset = offset };

    if (call(deadline_of(io), &work, err) < 0)
        return -1;
    *ret = work.extent;
    return 0;
}

static int deadline_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                         struct error *err) {
    struct work work = { .function = READ, .offset = offset, .size = (int64_t)size };

    if (call(deadline_of(io), &work, err) < 0)
        return -1;
    memcpy(buffer, deadline_of(io)->shared->buffer, size);
    return 0;
}

static int deadline_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                          struct error *err) {
    struct work work = { .function = WRITE, .offset = offset, .size = (int64_t)size };

    if (!deadline_of(io)->abandoned)
        memcpy(deadline_of(io)->shared->buffer, buffer, size);
    return call(deadline_of(io), &work, err);
}

static int deadline_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    struct work work = { .function = ZERO, .offset = offset, .size = size };

    return call(deadline_of(io), &work, err);
}

static int deadline_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    struct work work = { .function = DISCARD, .offset = offset, .size = size };

    return call(deadline_of(io), &work, err);
}

static int deadline_flush(struct volume_io *io, struct error *err) {
    struct work work = { .function = FLUSH };

    return call(deadline_of(io), &work, err);
}

/* A close may hang, too. */
static void deadline_close(struct volume_io *io) {
    struct deadline_io *deadline = deadline_of(io);
    struct work work = { .function = CLOSE };

    deadline->wait.may = NULL;
    call(deadline, &work, NULL);
    detached_calls_free(deadline->calls);
    free(deadline);
}

static const struct volume_io_functions deadline_functions = {
    .extent = deadline_extent,
    .read = deadline_read,
    .write = deadline_write,
    .zero = deadline_zero,
    .discard = deadline_discard,
    .flush = deadline_flush,
    .close = deadline_close,
};

struct volume_io *deadline_io_open(struct volume_io *next, int64_t timeout_ms,
                                   const struct volume_io_wait *wait) {
    struct deadline_io *deadline = heap_new(sizeof(*deadline));

    deadline->shared = heap_new(sizeof(*deadline->shared));
    deadline->shared->next = next;
    deadline->io = (struct volume_io){ .functions = &deadline_functions,
                                       .size = next->size,
                                       .writable = next->writable };
    deadline->calls = detached_calls_new("volume-io", free_shared, deadline->shared);
    deadline->timeout_us = timeout_ms * 1000;
    deadline->wait = wait ? *wait : (struct volume_io_wait){ 0 };
    return &deadline->io;
}
