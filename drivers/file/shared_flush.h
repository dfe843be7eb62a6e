/*
 * A flush of one file or directory by several threads at once: those that come while one is in
 * progress share the next one, which begins after their changes.  All of them get its failure,
 * which the kernel reports once for a descriptor.
 *
 * The end of a flush wakes the threads that shared it, and of those that wait for the next one the
 * thread that makes it.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

struct shared_flush {
    pthread_mutex_t lock;
    pthread_cond_t changed[2]; /* for the threads of flushes with an even number, and an odd one */
    uint64_t begun, ended;     /* equal: none is in progress */
    unsigned waiting;          /* threads, for the one in progress or the next */
    uint64_t failed;           /* the last one that did, and its errno */
    int failed_errno;
};

void shared_flush_init(struct shared_flush *flush);
/* As fsync(). */
int shared_flush(struct shared_flush *flush, int fd);
