/*
 * Entries of one request for the logs of several replicas: a volume's write is submitted to the
 * kernel once for each of its replicas, with the same data, whose sums are computed once. Used by
 * the object that is preloaded into the storage daemon
 * (replication/engine/daemon_preload_writes.c).
 *
 * A submission does not name its request, and memory is used again by the next one. But as long as
 * a write is in flight its data do not change: they are in a buffer of QEMU's, which keeps it until
 * the write has completed. So a submission has the same data as an earlier one of the same memory
 * that is in flight: one whose completion QEMU has not taken from the ring. Completions that were
 * taken are still in the ring, until as many others follow as it has slots, and each submission has
 * one.
 *
 * Where the file system completes a write in its submission (XFS, Btrfs) none is in flight, and
 * sums are computed for each replica.
 */
#pragma once

#include "replication/engine/write_log_format.h"

#include <linux/io_uring.h>

#define WRITE_LOG_SHARED 257 /* entries: of 1 MiB at any offset */

/* The beginning of liburing's struct io_uring, in all of its versions from 2.0 on: its header may
 * be missing where this is built. */
struct write_log_submissions {
    unsigned *head, *tail, *mask, *entries, *flags, *dropped, *array;
    struct io_uring_sqe *sqes;
    unsigned begun, end; /* of those that are not yet submitted */
    size_t size;
    void *memory;
    unsigned unused[4];
};

struct write_log_completions {
    unsigned *head, *tail, *mask, *entries, *flags, *overflow;
    const struct io_uring_cqe *cqes;
};

struct write_log_ring {
    struct write_log_submissions submitted;
    struct write_log_completions completed;
};

/* The latest write, with its entries. */
struct write_log_shared {
    const struct write_log_ring *ring; /* NULL: none */
    uint64_t write;                    /* its user_data */
    unsigned since;                    /* completions that were taken before it */
    const void *data;
    size_t size;
    uint64_t offset;
    unsigned count;
    struct write_log_entry entries[WRITE_LOG_SHARED];
};

static inline bool write_log_is_in_flight(const struct write_log_shared *latest) {
    const struct write_log_completions *completed = &latest->ring->completed;
    unsigned taken = *completed->head - latest->since;
    unsigned most = latest->ring->submitted.end - latest->since;

    if (most > *completed->entries || taken > most)
        return false;
    for (unsigned i = 0; i < taken; i++) {
        if (completed->cqes[(latest->since + i) & *completed->mask].user_data == latest->write)
            return false;
    }
    return true;
}

static inline bool write_log_has_same(const struct write_log_shared *latest,
                                      const struct write_log_ring *ring, uint64_t offset,
                                      const struct iovec *data) {
    return latest->ring == ring && latest->data == data->iov_base &&
           latest->size == data->iov_len && latest->offset == offset &&
           write_log_is_in_flight(latest);
}

/* A submission that failed: QEMU may use its memory again, though it has no completion. */
static inline void write_log_forget(struct write_log_shared *latest) {
    latest->ring = NULL;
}

/* Of a write that is not yet submitted. */
static inline void write_log_append_shared(struct write_log_header *log,
                                           struct write_log_shared *latest,
                                           const struct write_log_ring *ring, uint64_t write,
                                           uint64_t offset, const struct iovec *iov, size_t count) {
    struct write_log_data data = write_log_data_of(offset, iov, count);

    if (count != 1 || iov->iov_len > (size_t)(WRITE_LOG_SHARED - 1) * WRITE_LOG_BLOCK) {
        write_log_append(log, offset, iov, count);
        return;
    }
    if (!write_log_has_same(latest, ring, offset, iov))
        latest->count = write_log_describe(&data, latest->entries, WRITE_LOG_SHARED);
    latest->ring = ring;
    latest->write = write;
    latest->since = *ring->completed.head;
    latest->data = iov->iov_base;
    latest->size = iov->iov_len;
    latest->offset = offset;
    write_log_put(log, latest->entries, latest->count);
}
