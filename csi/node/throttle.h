/*
 * The kernel's limits of a block device, for all processes of a cgroup together: io.max of cgroup
 * v2; or blkio.throttle of v1, which counts for each group alone and so is said to all below, too.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/io_limits.h"

#include <sys/types.h>

#define THROTTLE_RATES 4

struct throttle {
    int64_t of[THROTTLE_RATES]; /* bytes read, bytes written, requests of each; 0: any number */
};

/* The kernel has none for reading and writing together: each gets that of both, and no peak. */
struct throttle throttle_of(const struct io_limits *limits);

/* The group of a kubelet's pods, in the arena; NULL: there is none here. */
const char *throttle_find_group(struct arena *arena);

/* What differs is written. */
int throttle_set(const char *group, dev_t device, const struct throttle *wanted, struct error *err);
/* The numbers of the loop devices that the group is limited at.  Returns how many. */
int throttle_list(const char *group, struct arena *arena, unsigned **ret, struct error *err);
