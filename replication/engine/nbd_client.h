/*
 * A client of the storage daemon's own NBD server, at its Unix socket: reads and writes before a
 * volume's clients are admitted. Each request waits `timeout_ms` at most for each part of its
 * reply. *until_us is postponed by the time for which this process was suspended in such a wait
 * (replication/engine/deadline.h).
 */
#pragma once

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

struct nbd_read {
    uint64_t offset;
    uint32_t size;
    unsigned char *data;
    int code; /* 0, or the errno of the server */
};

/* A descriptor, or -1. */
int nbd_client_open(const char *path, const char *export, int64_t timeout_ms, struct error *err);
/* All are sent before the first reply is awaited; so not more than a few hundred. */
int nbd_client_read(int fd, struct nbd_read *reads, unsigned count, int64_t *until_us,
                    struct error *err);
int nbd_client_write(int fd, uint64_t offset, const void *data, uint32_t size, int64_t *until_us,
                     struct error *err);
int nbd_client_flush(int fd, int64_t *until_us, struct error *err);
