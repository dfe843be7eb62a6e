/*
 * A file that a storage daemon reads and writes: its file node, and a raw one above it.
 *
 * By io_uring where kernel and daemon have it, which costs half of what threads do. A request of
 * io_uring may outlive a killed daemon for a moment, and the daemon's locks live as long as the
 * request: a process that checks the locks (common/image_lock.h) sees both end together.
 */
#pragma once

#include "replication/engine/qmp.h"

struct file_node {
    const char *name, *path;
    int64_t size_bytes; /* of the raw node; 0: as large as the file */
    bool read_only;
};

int file_node_add(struct qmp *qmp, const struct file_node *node, int64_t timeout_ms,
                  struct error *err);
