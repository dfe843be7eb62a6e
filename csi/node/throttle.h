/*
 * The kernel's I/O limits of a block device, for all processes of a cgroup: io.max of cgroup v2; or
 * blkio.throttle of v1, which is not hierarchical and therefore written to all child groups as
 * well.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/io_limits.h"

#include <sys/types.h>

#define THROTTLE_RATES 4

struct throttle {
    int64_t of[THROTTLE_RATES]; /* bytes read, bytes written, requests of each; 0: unlimited */
};

/* The kernel has no limits for reading and writing together: each gets the total, and no burst. */
struct throttle throttle_of(const struct io_limits *limits);

/* The cgroup of a kubelet's pods, in the arena; NULL: none. */
const char *throttle_find_group(struct arena *arena);

/* Writes differing limits. */
int throttle_set(const char *group, dev_t device, const struct throttle *wanted, struct error *err);
/* The numbers of the loop devices with limits in the group.  Returns how many. */
int throttle_list(const char *group, struct arena *arena, unsigned **ret, struct error *err);
