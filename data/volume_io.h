/*
 * The bytes of a volume, a snapshot or a file, behind one struct of functions.
 *
 * Contract.  Offsets and sizes are in bytes, and every range lies within the size, which does not
 * change while the object is open.  No alignment is required.  A write is durable after the next
 * flush that succeeds; a failed one leaves an unknown state, and later ones prove nothing.  Reads
 * after a flush come from the storage where the endpoint can ensure that, not from a cache of this
 * host.  Failures are ERROR_BACKEND, and ERROR_UNAVAILABLE where the storage does not respond.
 *
 * An endpoint owns its resources until it is closed.  A filter is a volume_io that owns the next
 * one.  One thread at a time uses an object; different objects are independent.  Only filters and
 * endpoints with a timeout (deadline_io.h, nbd_io.h, http_source_io.h) limit the time of a call.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of one read or write. */
#define VOLUME_IO_MOST ((size_t)1 << 20)

struct volume_io;

struct volume_io_extent {
    int64_t size;
    bool zero; /* reads as zeros; otherwise unknown */
};

struct volume_io_functions {
    /* From `offset` on; it may end before the state of the bytes changes, or behind the end. */
    int (*extent)(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                  struct error *err);
    int (*read)(struct volume_io *io, void *buffer, size_t size, int64_t offset, struct error *err);
    int (*write)(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                 struct error *err);
    /* The range reads as zeros; its space is released where the endpoint does that. */
    int (*zero)(struct volume_io *io, int64_t offset, int64_t size, struct error *err);
    /* The content of the range is undefined until it is written; its space may be released. */
    int (*discard)(struct volume_io *io, int64_t offset, int64_t size, struct error *err);
    int (*flush)(struct volume_io *io, struct error *err);
    void (*close)(struct volume_io *io);
    /* Optional.  Moves the first bytes of the range to another object without a buffer here: how
     * many, 0 where this pair of objects does not support it, or -1. */
    int64_t (*send)(struct volume_io *io, struct volume_io *to, int64_t offset, int64_t size,
                    struct error *err);
};

/* The head of each endpoint and filter. */
struct volume_io {
    const struct volume_io_functions *functions;
    int64_t size;
    bool writable;               /* write, zero and discard are allowed */
    int held[2];                 /* descriptors of locks, plus one; 0: none (volume_io_hold()) */
    void (*on_close)(void *arg); /* NULL: none (volume_io_on_close()) */
    void *on_close_arg;
    char *place; /* NULL: none (volume_io_set_place()) */
};

/* Called about once a second while a call waits: -1 ends the wait with that error. */
struct volume_io_wait {
    int (*may)(void *arg, struct error *err); /* NULL: the wait is not interruptible */
    void *arg;
};
int volume_io_may(const struct volume_io_wait *wait, struct error *err);

/* The functions above with their arguments and results checked; an empty range does nothing. */
int volume_io_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                     struct error *err);
int volume_io_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                   struct error *err);
int volume_io_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                    struct error *err);
int volume_io_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err);
int volume_io_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err);
int volume_io_flush(struct volume_io *io, struct error *err);
/* For endpoints without a call for zeros. */
int volume_io_write_zeros(struct volume_io *io, int64_t offset, int64_t size, struct error *err);
int64_t volume_io_send(struct volume_io *io, struct volume_io *to, int64_t offset, int64_t size,
                       struct error *err);
void volume_io_close(struct volume_io *io); /* NULL is fine */
/* The object owns a descriptor, such as that of a lock, and closes it last; two at most.  -1 is
 * fine. */
void volume_io_hold(struct volume_io *io, int fd);
/* The directory of its files, which failures for lack of space name; once for an object. */
void volume_io_set_place(struct volume_io *io, const char *directory);
/* Called when the object has been closed, before the descriptors are; once for an object. */
void volume_io_on_close(struct volume_io *io, void (*function)(void *arg), void *arg);

static inline void volume_io_cleanup(struct volume_io *const *io) {
    volume_io_close(*io);
}
#define autovolumeio __attribute__((cleanup(volume_io_cleanup)))

struct volume_io_range {
    int64_t begin, end;
};

/* The next range from `from` on that may contain other bytes than zeros; behind the last one both
 * its ends are the size. */
int volume_io_find_data(struct volume_io *io, int64_t from, struct volume_io_range *ret,
                        struct error *err);
