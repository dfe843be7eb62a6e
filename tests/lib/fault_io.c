#include "tests/lib/fault_io.h"

#include "common/heap.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct fault_io {
    struct volume_io io;
    struct volume_io *next;
    struct fault_io_plan *plan;
};

static struct fault_io *fault_of(struct volume_io *io) {
    return (struct fault_io *)io;
}

static bool is_hit(struct fault_io_plan *plan, enum fault_io_call call) {
    return ++plan->counts[call] == plan->nth && plan->call == call;
}

/* -1: the call fails before its effect. */
static int before(struct fault_io_plan *plan, bool hit, struct error *err) {
    if (hit && plan->action == FAULT_IO_FAIL)
        return error_set(err, ERROR_BACKEND, "an injected fault");
    if (hit && plan->action == FAULT_IO_HANG) {
        plan->hangs = true;
        while (!plan->released)
            poll(NULL, 0, 1);
    }
    return 0;
}

static int after(const struct fault_io_plan *plan, bool hit, int result, struct error *err) {
    return hit && plan->action == FAULT_IO_LATE
               ? error_set(err, ERROR_BACKEND, "an injected fault behind the effect")
               : result;
}

/* Around a call of the next one. */
#define PASS(kind, call)                   \
    struct fault_io *fault = fault_of(io); \
    bool hit = is_hit(fault->plan, kind);  \
                                           \
    if (before(fault->plan, hit, err) < 0) \
        return -1;                         \
    return after(fault->plan, hit, call, err)

static int fault_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                        struct error *err) {
    PASS(FAULT_IO_EXTENT, volume_io_extent(fault->next, offset, ret, err));
}

static int fault_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                      struct error *err) {
    fault_of(io)->plan->read += (int64_t)size;
    PASS(FAULT_IO_READ, volume_io_read(fault->next, buffer, size, offset, err));
}

static int write_twisted(struct volume_io *next, const void *buffer, size_t size, int64_t offset,
                         struct error *err) {
    unsigned char *twisted = memcpy(heap_new(size), buffer, size);
    int result;

    twisted[size / 2] ^= 1;
    result = volume_io_write(next, twisted, size, offset, err);
    free(twisted);
    return result;
}

static int fault_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                       struct error *err) {
    fault_of(io)->plan->written += (int64_t)size;
    PASS(FAULT_IO_WRITE, hit && fault->plan->action == FAULT_IO_TWIST
                             ? write_twisted(fault->next, buffer, size, offset, err)
                             : volume_io_write(fault->next, buffer, size, offset, err));
}

static int fault_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    PASS(FAULT_IO_ZERO, volume_io_zero(fault->next, offset, size, err));
}

static int fault_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    PASS(FAULT_IO_DISCARD, volume_io_discard(fault->next, offset, size, err));
}

static int fault_flush(struct volume_io *io, struct error *err) {
    PASS(FAULT_IO_FLUSH, volume_io_flush(fault->next, err));
}

static void fault_close(struct volume_io *io) {
    struct fault_io *fault = fault_of(io);

    volume_io_close(fault->next);
    fault->plan->closed = true;
    free(fault);
}

static const struct volume_io_functions fault_functions = {
    .extent = fault_extent,
    .read = fault_read,
    .write = fault_write,
    .zero = fault_zero,
    .discard = fault_discard,
    .flush = fault_flush,
    .close = fault_close,
};

struct volume_io *fault_io_open(struct volume_io *next, struct fault_io_plan *plan) {
    struct fault_io *fault = heap_new(sizeof(*fault));

    fault->io = (struct volume_io){ .functions = &fault_functions,
                                    .size = next->size,
                                    .writable = next->writable };
    fault->next = next;
    fault->plan = plan;
    return &fault->io;
}
