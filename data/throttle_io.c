#include "data/throttle_io.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/heap.h"

#include <stdlib.h>

#define PAUSE_US ((int64_t)250000)

struct throttle_io {
    struct volume_io io;
    struct volume_io *next;
    int64_t bytes_per_second;
    struct volume_io_wait wait;
    int64_t begun_us, moved; /* 0: nothing was moved yet */
};

static struct throttle_io *throttle_of(struct volume_io *io) {
    return (struct throttle_io *)io;
}

static void begin(struct throttle_io *throttle) {
    if (!throttle->begun_us)
        throttle->begun_us = clock_boottime_us();
}

/* Waits until the average rate is within the limit. */
static int keep_pace(struct throttle_io *throttle, int64_t moved, struct error *err) {
    double due_us;

    throttle->moved += moved;
    due_us = (double)throttle->begun_us +
             (double)throttle->moved / (double)throttle->bytes_per_second * 1e6;
    for (;;) {
        double ahead_us = due_us - (double)clock_boottime_us();
        struct timespec pause = clock_timespec(ahead_us < PAUSE_US ? (int64_t)ahead_us : PAUSE_US);

        if (ahead_us <= 0)
            return 0;
        nanosleep(&pause, NULL);
        if (volume_io_may(&throttle->wait, err) < 0)
            return -1;
    }
}

static int throttle_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                           struct error *err) {
    return volume_io_extent(throttle_of(io)->next, offset, ret, err);
}

static int throttle_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                         struct error *err) {
    struct throttle_io *throttle = throttle_of(io);

    begin(throttle);
    return volume_io_read(throttle->next, buffer, size, offset, err) < 0
               ? -1
               : keep_pace(throttle, (int64_t)size, err);
}

static int throttle_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                          struct error *err) {
    struct throttle_io *throttle = throttle_of(io);

    begin(throttle);
    return volume_io_write(throttle->next, buffer, size, offset, err) < 0
               ? -1
               : keep_pace(throttle, (int64_t)size, err);
}

static int throttle_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    return volume_io_zero(throttle_of(io)->next, offset, size, err);
}

static int throttle_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    return volume_io_discard(throttle_of(io)->next, offset, size, err);
}

static int throttle_flush(struct volume_io *io, struct error *err) {
    return volume_io_flush(throttle_of(io)->next, err);
}

static void throttle_close(struct volume_io *io) {
    volume_io_close(throttle_of(io)->next);
    free(io);
}

/* A quarter of a second's bytes at once. */
static int64_t throttle_send(struct volume_io *io, struct volume_io *to, int64_t offset,
                             int64_t size, struct error *err) {
    const int64_t least = 1 << 16;
    struct throttle_io *throttle = throttle_of(io);
    int64_t most = throttle->bytes_per_second / 4 > least ? throttle->bytes_per_second / 4 : least;
    int64_t moved;

    begin(throttle);
    moved = volume_io_send(throttle->next, to, offset, size < most ? size : most, err);
    return moved > 0 && keep_pace(throttle, moved, err) < 0 ? -1 : moved;
}

static const struct volume_io_functions throttle_functions = {
    .extent = throttle_extent,
    .read = throttle_read,
    .write = throttle_write,
    .zero = throttle_zero,
    .discard = throttle_discard,
    .flush = throttle_flush,
    .close = throttle_close,
    .send = throttle_send,
};

struct volume_io *throttle_io_open(struct volume_io *next, int64_t bytes_per_second,
                                   const struct volume_io_wait *wait) {
    struct throttle_io *throttle = heap_new(sizeof(*throttle));

    assert(bytes_per_second > 0);
    throttle->io = (struct volume_io){ .functions = &throttle_functions,
                                       .size = next->size,
                                       .writable = next->writable };
    throttle->next = next;
    throttle->bytes_per_second = bytes_per_second;
    throttle->wait = wait ? *wait : (struct volume_io_wait){ 0 };
    return &throttle->io;
}
